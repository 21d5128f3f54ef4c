package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/mayfly-run/mayfly/engine"
)

// Sessions lists the sessions that the filter selects; nil selects all.
func (c *Client) Sessions(ctx context.Context, f *engine.SessionFilter) ([]engine.SessionInfo, error) {
	q := url.Values{}
	if f != nil {
		if f.Tenant != "" {
			q.Set("tenant", f.Tenant)
		}
		for k, v := range f.Labels {
			q.Add("label", k+"="+v)
		}
	}
	var list sessionList
	err := c.call(ctx, http.MethodGet, "/v1/sessions?"+q.Encode(), nil, &list)
	return list.Sessions, err
}

// Session describes a session.
func (c *Client) Session(ctx context.Context, name string) (*engine.SessionInfo, error) {
	i := &engine.SessionInfo{}
	return i, c.call(ctx, http.MethodGet, sessionPath(name, ""), nil, i)
}

// Open opens a session, or makes it, as engine.Engine.Open does. It need not be closed.
func (c *Client) Open(ctx context.Context, name string, o *engine.SessionOptions) (*Opened, error) {
	if o == nil {
		o = &engine.SessionOptions{}
	}
	s := &Opened{}
	return s, c.call(ctx, http.MethodPut, sessionPath(name, ""), wireOptions(o), s)
}

// Remove deletes a session and its journal.
func (c *Client) Remove(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(name, ""), nil, nil)
}

// Reap removes the sessions that have expired, and returns their names.
func (c *Client) Reap(ctx context.Context) ([]string, error) {
	var r reaped
	err := c.call(ctx, http.MethodPost, "/v1/reap", nil, &r)
	return r.Removed, err
}

// Rewind brings back the state after a step.
func (c *Client) Rewind(ctx context.Context, name string, step int) (*Step, error) {
	s := &Step{}
	return s, c.call(ctx, http.MethodPost, sessionPath(name, "/rewind"), stepRequest{Step: &step}, s)
}

// Fork makes a session of the state of another after a step; as is its name, "" for one that is made up.
func (c *Client) Fork(ctx context.Context, name string, step int, as string) (*Opened, error) {
	s := &Opened{}
	return s, c.call(ctx, http.MethodPost, sessionPath(name, "/fork"), stepRequest{Step: &step, As: as}, s)
}

// Snapshot stores the memory of a session now.
func (c *Client) Snapshot(ctx context.Context, name string) (*engine.SnapshotInfo, error) {
	i := &engine.SnapshotInfo{}
	return i, c.call(ctx, http.MethodPost, sessionPath(name, "/snapshot"), nil, i)
}

// Export writes a session as an archive; nil options are the defaults.
func (c *Client) Export(ctx context.Context, name string, w io.Writer, o *engine.ExportOptions) error {
	path := "/export"
	if o != nil && o.LatestOnly {
		path += "?latest_only=true"
	}
	resp, err := c.send(ctx, http.MethodGet, sessionPath(name, path), nil)
	if err != nil {
		return err
	}
	body := &downloaded{resp.Body, resp}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// Import makes a session of an archive; as is its name, "" for the one that it had.
func (c *Client) Import(ctx context.Context, r io.Reader, as string) (*engine.SessionInfo, error) {
	resp, err := c.upload(ctx, http.MethodPost, "/v1/import?as="+url.QueryEscape(as), typeArchive, io.NopCloser(r))
	if err != nil {
		return nil, err
	}
	i := &engine.SessionInfo{}
	return i, readAnswer(resp, i)
}

// Content returns the content of a file, or a directory as a tar stream; mode is that of a file.
func (c *Client) Content(ctx context.Context, name, path string, step int) (*Content, error) {
	q := url.Values{"path": {path}, "step": {fmt.Sprint(step)}}
	resp, err := c.send(ctx, http.MethodGet, sessionPath(name, "/content?"+q.Encode()), nil) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	f := &Content{ReadCloser: &downloaded{resp.Body, resp}, Tar: resp.Header.Get("Content-Type") == typeTar, Mode: 0o644}
	if !f.Tar {
		if _, err := fmt.Sscanf(resp.Header.Get("Mayfly-Mode"), "%o", &f.Mode); err != nil {
			f.Mode = 0o644
		}
	}
	return f, nil
}

// Content is a file or a directory. Read fails when it did not come whole.
type Content struct {
	io.ReadCloser
	// Tar tells that this is a directory, as a tar stream with names relative to it.
	Tar bool
	// Mode has the permission bits of a file.
	Mode uint32
}

// Files lists a directory of a session, or describes a file.
func (c *Client) Files(ctx context.Context, name, path string, step int, recursive bool) ([]FileInfo, error) {
	q := url.Values{"path": {path}, "step": {fmt.Sprint(step)}, "recursive": {fmt.Sprint(recursive)}}
	var list fileList
	err := c.call(ctx, http.MethodGet, sessionPath(name, "/files?"+q.Encode()), nil, &list)
	return list.Files, err
}

// PutFile writes a file with these permission bits, making the directories that are missing.
func (c *Client) PutFile(ctx context.Context, name, path string, mode uint32, r io.Reader) (*Step, error) {
	q := url.Values{"path": {path}, "mode": {fmt.Sprintf("%o", mode&0o777)}}
	return c.put(ctx, name, q, typeFile, r)
}

// PutTar unpacks a tar stream into a directory.
func (c *Client) PutTar(ctx context.Context, name, path string, r io.Reader) (*Step, error) {
	return c.put(ctx, name, url.Values{"path": {path}}, typeTar, r)
}

func (c *Client) put(ctx context.Context, name string, q url.Values, contentType string, r io.Reader) (*Step, error) {
	resp, err := c.upload(ctx, http.MethodPut, sessionPath(name, "/content?"+q.Encode()), contentType, io.NopCloser(r))
	if err != nil {
		return nil, err
	}
	s := &Step{}
	return s, readAnswer(resp, s)
}
