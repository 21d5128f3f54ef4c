package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
)

// trailer has the error of a download that failed half-way, and "ok" otherwise: the status was sent long before.
const trailer = "Mayfly-Error"

// download sends what f writes. An error before the first byte is an answer like any other.
func download(w http.ResponseWriter, contentType string, f func(io.Writer) error) error {
	d := &lazyBody{w: w, contentType: contentType}
	err := f(d)
	if err != nil && !d.begun {
		return err
	}
	d.begin()
	end := "ok"
	if err != nil {
		b, jsonErr := json.Marshal(describe(err))
		if jsonErr != nil {
			return jsonErr
		}
		end = string(b)
	}
	w.Header().Set(trailer, end)
	return nil
}

// lazyBody sends its header with the first byte.
type lazyBody struct {
	w           http.ResponseWriter
	contentType string
	begun       bool
}

func (d *lazyBody) begin() {
	if d.begun {
		return
	}
	d.begun = true
	d.w.Header().Set("Content-Type", d.contentType)
	d.w.Header().Set("Trailer", trailer)
	d.w.WriteHeader(http.StatusOK)
}

func (d *lazyBody) Write(b []byte) (int, error) {
	d.begin()
	return d.w.Write(b)
}

// downloaded reads a download and reports how it ended.
type downloaded struct {
	io.ReadCloser
	resp *http.Response
}

func (d *downloaded) Read(b []byte) (int, error) {
	n, err := d.ReadCloser.Read(b)
	if err != io.EOF {
		return n, err
	}
	var p Problem
	switch end := d.resp.Trailer.Get(trailer); {
	case end == "ok":
		return n, io.EOF
	case json.Unmarshal([]byte(end), &p) == nil:
		return n, p.err()
	}
	return n, io.ErrUnexpectedEOF
}
