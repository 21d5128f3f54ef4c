package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	maxLogs      = 1000    // of a call
	maxLogText   = 4 << 10 // of a message
	maxRedirects = 10
	// maxResponse bounds the body of a response, unless the manifest says max_http_response_bytes.
	maxResponse = 8 << 20
	// logInfo is the level from which on plug-ins log, as Extism counts them.
	logInfo = 2
)

// functions are the host functions of Extism that are ours, see replaced.
func (p *plugin) functions() []extism.HostFunction {
	ptr := extism.ValueTypePTR
	all := []extism.HostFunction{
		extism.NewHostFunctionWithStack("http_request", p.request, []extism.ValueType{ptr, ptr}, []extism.ValueType{ptr}),
		extism.NewHostFunctionWithStack("get_log_level", func(_ context.Context, _ *extism.CurrentPlugin, stack []uint64) {
			stack[0] = logInfo
		}, nil, []extism.ValueType{extism.ValueTypeI32}),
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		all = append(all, extism.NewHostFunctionWithStack("log_"+level, logger(level), []extism.ValueType{ptr}, nil))
	}
	for i := range all {
		all[i].SetNamespace(ours)
	}
	return all
}

// fail ends the call; the runtime catches it.
func (c *running) fail(format string, args ...any) {
	c.failure = fmt.Errorf(format, args...)
	panic(c.failure)
}

// read copies what a plug-in handed over, at most limit bytes of it.
func (c *running) read(ctx context.Context, cp *extism.CurrentPlugin, offset uint64, limit uint64) []byte {
	n, err := cp.LengthWithContext(ctx, offset)
	if err != nil {
		panic(err)
	}
	b, ok := cp.Memory().Read(uint32(offset), uint32(min(n, limit)))
	if !ok {
		c.fail("it handed over something outside of its memory")
	}
	return bytes.Clone(b)
}

func logger(level string) extism.HostFunctionStackCallback {
	mcp := level
	switch level {
	case "trace":
		mcp = "debug"
	case "warn":
		mcp = "warning"
	}
	return func(ctx context.Context, cp *extism.CurrentPlugin, stack []uint64) {
		c := ctx.Value(runningKey{}).(*running)
		if c.logged++; c.logged > maxLogs {
			return
		}
		text := c.read(ctx, cp, stack[0], maxLogText)
		if err := cp.FreeWithContext(ctx, stack[0]); err != nil {
			panic(err)
		}
		if c.emit == nil {
			return
		}
		data, err := json.Marshal(map[string]string{
			"server": c.plugin.name, "level": mcp, "logger": c.plugin.name, "data": strings.ToValidUTF8(string(text), "\uFFFD"),
		})
		if err == nil {
			c.emit(hostfns.Event{Kind: hostfns.EventLog, Data: data})
		}
	}
}

// request is http_request: it takes {"url", "method", "headers"} and a body, and returns the body of the response. Its
// status and headers are then there for http_status_code and http_headers.
func (p *plugin) request(ctx context.Context, cp *extism.CurrentPlugin, stack []uint64) {
	c := ctx.Value(runningKey{}).(*running)
	sdk := ctx.Value(extism.PluginCtxKey("plugin")).(*extism.Plugin)
	sdk.LastStatusCode = 0
	clear(sdk.LastResponseHeaders)
	var asked extism.HttpRequest
	if err := json.Unmarshal(c.read(ctx, cp, stack[0], maxListing), &asked); err != nil {
		c.fail("it made an HTTP request that is none: %w", err)
	}
	var body []byte
	if stack[1] != 0 {
		body = c.read(ctx, cp, stack[1], 1<<32)
	}
	status, headers, answer, err := p.roundTrip(ctx, &asked, body)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which may have a secret in it
		}
		c.fail("HTTP request: %w", err)
	}
	sdk.LastStatusCode = status
	for k, v := range headers {
		sdk.LastResponseHeaders[strings.ToLower(k)] = strings.Join(v, ",")
	}
	stack[0] = 0
	if len(answer) == 0 {
		return
	}
	offset, err := cp.AllocWithContext(ctx, uint64(len(answer)))
	if err != nil {
		panic(err)
	}
	if offset == 0 || !cp.Memory().Write(uint32(offset), answer) {
		c.fail("HTTP request: its memory has no room for the response of %d bytes", len(answer))
	}
	stack[0] = offset
}

func (p *plugin) roundTrip(ctx context.Context, asked *extism.HttpRequest, body []byte) (int, http.Header, []byte, error) {
	method := strings.ToUpper(asked.Method)
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, asked.Url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if err := p.allowed(req.URL); err != nil {
		return 0, nil, nil, err
	}
	for k, v := range asked.Headers {
		req.Header.Set(k, v)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	limit := int64(maxResponse)
	if n := p.manifest.Memory.MaxHTTPResponseBytes; n != nil {
		limit = *n
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(answer)) > limit {
		err = fmt.Errorf("the response has more than %d bytes, memory.max_http_response_bytes", limit)
	}
	return resp.StatusCode, resp.Header, answer, err
}

// allowed checks a URL against allowed_hosts.
func (p *plugin) allowed(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("scheme %q is not allowed", clip(u.Scheme))
	}
	host := strings.ToLower(u.Hostname())
	for _, pattern := range p.manifest.AllowedHosts {
		if ok, _ := path.Match(pattern, host); ok {
			return nil
		}
	}
	return fmt.Errorf("host %q is not in allowed_hosts of %s.json", clip(host), p.name)
}

func (p *plugin) newClient() *http.Client {
	transport := p.owner.o.Transport
	if transport == nil {
		transport = &http.Transport{
			DialContext: p.dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute,
			MaxIdleConns: 16, MaxResponseHeaderBytes: 256 << 10,
		}
	}
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return p.allowed(req.URL)
		},
	}
}

// dial connects to public addresses only, unless the operator named the host itself: a name that a pattern matches is
// whatever its owner says it is.
func (p *plugin) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.manifest.AllowedHosts, strings.ToLower(host)) {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil || !public(a.Addr()) {
				return fmt.Errorf("%q is at an address that is not public; allowed_hosts has to name it without a wildcard", clip(host))
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}

// special are networks that are not public, besides those that net/netip knows.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	// addresses of IPv4 inside of IPv6
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(special, func(n netip.Prefix) bool { return n.Contains(a) })
}
