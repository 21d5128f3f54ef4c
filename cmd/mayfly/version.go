package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/guests/python"
)

type versionInfo struct {
	Version  string      `json:"version"`
	Revision string      `json:"revision,omitempty"`
	Go       string      `json:"go"`
	Platform string      `json:"platform"`
	Wazero   string      `json:"wazero"`
	Guests   []guestInfo `json:"guests"`
}

type guestInfo struct {
	Language string `json:"language"`
	Version  string `json:"version"`
	SHA256   string `json:"wasm_sha256"`
	Bytes    int64  `json:"wasm_bytes"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of mayfly and of its guests",
		Example: `  mayfly version
  mayfly version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if asJSON {
				return writeJSON(os.Stdout, v)
			}
			fmt.Printf("mayfly %s (%s, %s, wazero %s)\n", v.Version, v.Go, v.Platform, v.Wazero)
			for _, g := range v.Guests {
				fmt.Printf("  %s: %s, %.1f MiB, sha256 %.16s\n", g.Language, g.Version, float64(g.Bytes)/(1<<20), g.SHA256)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func version() versionInfo {
	v := versionInfo{
		Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Guests: []guestInfo{pythonInfo()},
	}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v.Version = bi.Main.Version
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, d := range bi.Deps {
		if d.Path == "github.com/tetratelabs/wazero" {
			v.Wazero = d.Version
		}
	}
	return v
}

func pythonInfo() guestInfo {
	g := python.New()
	return guestInfo{Language: g.Language(), Version: g.Version(), SHA256: g.ID(), Bytes: g.Build().Wasm.Size}
}
