package egress

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// head is the head of FnRequest's value.
type head struct {
	Status  int         `json:"status"`
	Reason  string      `json:"reason"`
	Headers [][2]string `json:"headers"`
	URL     string      `json:"url"`
	Version string      `json:"http_version"`
}

// hopByHop are headers that say nothing about the response itself.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Alt-Svc",
}

var (
	errTooLarge = errors.New("the response is too large")
	errEncoding = errors.New("the response is not what its Content-Encoding says")
)

// response reads a response.
func (s *sending) response(resp *http.Response) (*hostfns.Value, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.New("the server switched to another protocol")
	}
	data, decoded, err := s.read(resp)
	if err != nil {
		return nil, err
	}
	data = s.scrub(data)
	for _, name := range hopByHop {
		resp.Header.Del(name)
	}
	if decoded {
		resp.Header.Del("Content-Encoding")
	}
	if bodyless := s.method == http.MethodHead || resp.StatusCode == http.StatusNotModified; !bodyless {
		resp.Header.Del("Content-Length")
		if resp.StatusCode != http.StatusNoContent {
			resp.Header.Set("Content-Length", strconv.Itoa(len(data)))
		}
	}
	h := head{
		Status: resp.StatusCode, URL: s.told, Version: fmt.Sprintf("%d.%d", resp.ProtoMajor, resp.ProtoMinor),
		Reason: s.headerText(strings.TrimPrefix(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)), " ")),
	}
	if resp.ProtoMajor == 2 {
		h.Version = "2"
	}
	h.Headers = [][2]string{}
	for name, values := range resp.Header {
		for _, v := range values {
			h.Headers = append(h.Headers, [2]string{s.headerText(name), s.headerText(v)})
		}
	}
	slices.SortStableFunc(h.Headers, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return &hostfns.Value{Kind: hostfns.ValueBytes, Data: data, Head: b}, nil
}

func (s *sending) headerText(v string) string { return fromLatin1(string(s.scrub([]byte(v)))) }

// read reads the body, decompressed if the server did what it was asked for.
func (s *sending) read(resp *http.Response) (data []byte, decoded bool, err error) {
	limit := s.client.o.MaxResponse
	if resp.ContentLength > limit && s.method != http.MethodHead {
		return nil, false, errTooLarge
	}
	// What is sent is bounded as well: compressed data can be endless and hold nothing.
	body := &limited{r: resp.Body, left: limit}
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	gzipped := (encoding == "gzip" || encoding == "x-gzip") && len(resp.Header["Content-Encoding"]) == 1 &&
		resp.StatusCode != http.StatusPartialContent && s.method != http.MethodHead
	if !gzipped {
		data, err = io.ReadAll(body)
		return data, false, err
	}
	z, err := gzip.NewReader(body)
	if errors.Is(err, io.EOF) { // no body at all, as with 304
		return nil, true, nil
	}
	if err == nil {
		data, err = io.ReadAll(&limited{r: z, left: limit})
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || isCorrupt(err) {
		err = errEncoding
	}
	return data, true, err
}

// limited fails when there is more than it may read.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	// One byte more is asked for, to tell an end from a cut.
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), errTooLarge
	}
	l.left -= int64(n)
	return n, err
}

// scrub replaces secrets by their placeholders.
func (s *sending) scrub(b []byte) []byte {
	for _, p := range s.spelled {
		b = bytes.ReplaceAll(b, []byte(p[0]), []byte(p[1]))
	}
	return s.client.o.Secrets.Scrub(b)
}
