package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	maxPlugins  = 1000
	maxManifest = 16 << 20  // it may have a module in it
	maxModule   = 128 << 20 // far more than any plug-in has
	pageSize    = 64 << 10
	// minPages is what Extism's own module takes, which has the same bound.
	minPages = 16
)

// manifest is Extism's, see https://extism.org/docs/concepts/manifest.
type manifest struct {
	Wasm   []module `json:"wasm"`
	Memory struct {
		MaxPages             uint32 `json:"max_pages"`
		MaxHTTPResponseBytes *int64 `json:"max_http_response_bytes"`
		MaxVarBytes          *int64 `json:"max_var_bytes"`
	} `json:"memory"`
	Config       map[string]string `json:"config"`
	AllowedHosts []string          `json:"allowed_hosts"`
	AllowedPaths map[string]string `json:"allowed_paths"`
	TimeoutMS    uint32            `json:"timeout_ms"`
}

type module struct {
	Path    string          `json:"path"`
	Data    []byte          `json:"data"`
	Hash    string          `json:"hash"`
	Name    string          `json:"name"`
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers"`
	Method  string          `json:"method"`
}

// scan finds the plug-ins of the directory.
func (p *Plugins) scan() error {
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("plug-ins: %w", err)
	}
	wasm, manifests, lists := map[string]bool{}, map[string]*manifest{}, map[string]*toolset{}
	parts := map[string]bool{} // of modules that a manifest names
	for _, e := range entries {
		file := e.Name()
		if strings.HasPrefix(file, ".") {
			continue
		}
		var err error
		if name, ok := strings.CutSuffix(file, ".wasm"); ok {
			wasm[name] = true
		} else if name, ok := strings.CutSuffix(file, ".tools.json"); ok {
			lists[name], err = p.readList(file)
		} else if name, ok := strings.CutSuffix(file, ".json"); ok {
			manifests[name], err = p.readManifest(file)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.path(file), err)
		}
	}
	p.all = map[string]*plugin{}
	add := func(name, file string, m *manifest) error {
		if !validName(name) {
			return fmt.Errorf("%s: the name of a plug-in has letters, digits, - and _ only, 64 at most", p.path(file))
		}
		if len(p.names) == maxPlugins {
			return fmt.Errorf("%s: more than %d plug-ins", p.dir, maxPlugins)
		}
		p.names = append(p.names, name)
		p.all[name] = newPlugin(p, name, file, m, lists[name])
		return nil
	}
	for name, m := range manifests {
		file := name + ".json"
		if len(m.Wasm) == 0 && wasm[name] {
			m.Wasm = []module{{Path: name + ".wasm"}}
		}
		if len(m.Wasm) == 0 {
			return fmt.Errorf("%s: it names no module, and there is no %s.wasm", p.path(file), name)
		}
		for _, w := range m.Wasm {
			parts[path.Clean(w.Path)] = true
		}
		if err := add(name, file, m); err != nil {
			return err
		}
	}
	for name := range wasm {
		file := name + ".wasm"
		if p.all[name] == nil && !parts[file] {
			if err := add(name, file, &manifest{Wasm: []module{{Path: file}}}); err != nil {
				return err
			}
		}
	}
	for name := range lists {
		if p.all[name] == nil {
			return fmt.Errorf("%s: there is no plug-in %s", p.path(name+".tools.json"), name)
		}
	}
	slices.Sort(p.names)
	return nil
}

func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// readFile reads a file of the directory; neither ".." nor a symbolic link leads out of it.
func (p *Plugins) readFile(name string, limit int64) ([]byte, error) {
	info, err := p.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, bare(err)
	}
	f, err := p.root.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return b, nil
}

// bare is an error without the file's name, which the caller says.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (p *Plugins) readList(file string) (*toolset, error) {
	b, err := p.readFile(file, maxListing)
	if err != nil {
		return nil, err
	}
	return parseTools(b)
}

func (p *Plugins) readManifest(file string) (*manifest, error) {
	b, err := p.readFile(file, maxManifest)
	if err != nil {
		return nil, err
	}
	return parseManifest(b)
}

// parseManifest refuses what it does not know: a misspelt limit would be none.
func parseManifest(b []byte) (*manifest, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var m manifest
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("no manifest of an Extism plug-in: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("no manifest of an Extism plug-in: something follows it")
	}
	for i, w := range m.Wasm {
		what := fmt.Sprintf("wasm[%d]", i)
		switch {
		case w.URL != "":
			return nil, fmt.Errorf("%s: modules are not fetched from a URL; download it, and say path and hash", what)
		case (w.Path == "") == (len(w.Data) == 0):
			return nil, fmt.Errorf("%s: it needs either path or data", what)
		case w.Headers != nil || w.Method != "":
			return nil, fmt.Errorf("%s: headers and method are for a URL", what)
		case w.Hash != "" && !validHash(w.Hash):
			return nil, fmt.Errorf("%s: hash has to be 64 hexadecimal digits, of SHA-256", what)
		case w.Path != "" && !fs.ValidPath(path.Clean(w.Path)):
			return nil, fmt.Errorf("%s: path has to be relative to the manifest, and inside its directory", what)
		}
	}
	if n := m.Memory.MaxPages; n > 65536 || n > 0 && n < minPages {
		return nil, fmt.Errorf("memory.max_pages: a number from %d to 65536", minPages)
	}
	for _, n := range []*int64{m.Memory.MaxHTTPResponseBytes, m.Memory.MaxVarBytes} {
		if n != nil && (*n < 0 || *n > 1<<32) {
			return nil, errors.New("memory: a number of bytes is from 0 to 4 GiB")
		}
	}
	for i, h := range m.AllowedHosts {
		m.AllowedHosts[i] = strings.ToLower(h)
		if _, err := path.Match(m.AllowedHosts[i], ""); err != nil || h == "" || strings.ContainsAny(h, "/:@ ") {
			return nil, fmt.Errorf("allowed_hosts: %q is not a host's name or a pattern of names", h)
		}
	}
	for host, guest := range m.AllowedPaths {
		if strings.TrimPrefix(host, "ro:") == "" || !path.IsAbs(guest) {
			return nil, fmt.Errorf(`allowed_paths: %q: %q: say {"DIRECTORY": "/PATH/IN/PLUGIN"}, or "ro:DIRECTORY" to read only`,
				host, guest)
		}
	}
	return &m, nil
}

func validHash(h string) bool {
	return len(h) == 64 && strings.Trim(strings.ToLower(h), "0123456789abcdef") == ""
}

func (m *manifest) timeout(o *Options) time.Duration {
	if m.TimeoutMS > 0 {
		return time.Duration(m.TimeoutMS) * time.Millisecond
	}
	return o.Timeout
}

func (m *manifest) pages(o *Options) uint32 {
	if m.Memory.MaxPages > 0 {
		return m.Memory.MaxPages
	}
	return uint32(min(max(o.MaxMemory/pageSize, minPages), 65536))
}
