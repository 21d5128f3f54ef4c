package main

import (
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newExport() *cobra.Command {
	var out string
	o := &engine.ExportOptions{}
	c := storeCommand(&cobra.Command{
		Use:   "export NAME",
		Short: "Write a session with its journal and states to an archive",
		Long: `Writes a session as a compressed archive (tar, zstd), which mayfly import makes a
session of again: here, in another store or on another machine.`,
		Example: `  mayfly export demo > demo.tar.zst
  mayfly export demo -o demo.tar.zst`,
		Args: cobra.ExactArgs(1),
	}, nil, func(ctx context.Context, s *sessions, args []string) error {
		if out != "" && out != "-" {
			r, w := io.Pipe()
			defer r.Close()
			go func() { w.CloseWithError(s.Export(ctx, args[0], w, o)) }()
			return writeWhole(out, fs.FileMode(0o644), r)
		}
		if isTerminal(os.Stdout) {
			return usageError("write it to a file: mayfly export "+args[0]+" -o "+args[0]+".tar.zst",
				"an archive is nothing for a terminal")
		}
		return s.Export(ctx, args[0], os.Stdout, o)
	})
	c.Flags().BoolVar(&o.LatestOnly, "latest-only", false,
		"leave out the states of all steps but the last one; the journal is whole anyway")
	c.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` instead of standard output")
	return c
}

func newImport() *cobra.Command {
	var asJSON bool
	var as string
	in := os.Stdin
	c := storeCommand(&cobra.Command{
		Annotations: map[string]string{makesStore: "true"},

		Use:   "import (FILE | -)",
		Short: "Make a session of an archive that mayfly export wrote",
		Long: `Makes a session of an archive, with its whole journal. Archives are checked: one that
is damaged or was tampered with is refused, and leaves nothing behind.`,
		Example: `  mayfly import demo.tar.zst
  mayfly import demo.tar.zst --as demo2
  mayfly import - < demo.tar.zst`,
		Args: cobra.ExactArgs(1),
		// No store is made for an archive that is not there.
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			if args[0] != "-" {
				in, err = openFile(args[0])
			}
			return err
		},
	}, &asJSON, func(ctx context.Context, s *sessions, _ []string) error {
		defer in.Close()
		info, err := s.Import(ctx, in, as)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, info)
		}
		return say("%s", info.ID)
	})
	c.Flags().StringVar(&as, "as", "", "`NAME` of the session; default: the one that it had")
	return c
}
