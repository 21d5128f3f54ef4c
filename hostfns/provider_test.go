package hostfns_test

import (
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/providertest"
)

func TestToolsConform(t *testing.T) {
	providertest.Suite(t, nil, func(_ *testing.T, server string) hostfns.Provider {
		p := hostfns.NewTools(server)
		for _, def := range providertest.Definitions() {
			p.Add(*def, providertest.Serve)
		}
		return p
	})
}
