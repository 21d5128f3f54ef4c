package httpapi

import (
	"io"
	"net/http"

	"github.com/mayfly-run/mayfly/engine"
)

const typeArchive = "application/zstd"

func (h *handler) export(w http.ResponseWriter, r *http.Request) error {
	o := &engine.ExportOptions{LatestOnly: r.URL.Query().Get("latest_only") == "true"}
	return download(w, typeArchive, func(w io.Writer) error { return h.e.Export(r.Context(), r.PathValue("name"), w, o) })
}

func (h *handler) importArchive(w http.ResponseWriter, r *http.Request) error {
	info, err := h.e.Import(r.Context(), http.MaxBytesReader(w, r.Body, h.o.MaxUpload), r.URL.Query().Get("as"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, info)
	return nil
}
