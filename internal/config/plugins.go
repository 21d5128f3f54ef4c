package config

import (
	"path/filepath"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/hostfns/tools/plugins"
)

func openPlugins(dir string, set *secrets.Set, o *HostOptions) (hostfns.Provider, error) {
	po := &plugins.Options{Secrets: set}
	if o.CacheDir != "" {
		po.CacheDir = filepath.Join(o.CacheDir, "plugins")
	}
	p, err := plugins.New(dir, po)
	if err != nil {
		return nil, err // and no provider that is a nil pointer
	}
	return p, nil
}
