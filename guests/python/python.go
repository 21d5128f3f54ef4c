// Package python is the CPython guest: the compiled interpreter and the support library that runs in it.
//
// The artefact python.wasm.zst is built by build/build.sh from Debian's sources and committed; PROVENANCE.json says from
// which. The support library under lib is plain Python and becomes part of every image when that is made, so changing it
// needs no rebuild.
package python

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

//go:embed python.wasm.zst
var artefact []byte

//go:embed PROVENANCE.json
var provenance []byte

//go:embed lib/*.py lib/mayfly/*.py lib/requests/*.py
var library embed.FS

// maxModule bounds the decompressed artefact.
const maxModule = 64 << 20

// Guest is the CPython guest. The zero value is ready, and all values are the same.
type Guest struct{}

// New returns the guest, to be put into engine.Options.Guests.
func New() Guest { return Guest{} }

// Build says what the artefact is.
type Build struct {
	// Python is CPython's version.
	Python string `json:"python"`
	// Wasm describes the decompressed module.
	Wasm struct {
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	} `json:"wasm"`
	// Inputs is the hash of the recipe's files, see build/inputs-hash.sh.
	Inputs string `json:"inputs_sha256"`
}

var build = sync.OnceValue(func() (b Build) {
	if err := json.Unmarshal(provenance, &b); err != nil || b.Wasm.SHA256 == "" || b.Wasm.Size > maxModule {
		panic(fmt.Sprintf("PROVENANCE.json of the Python guest is damaged: %v", err))
	}
	return b
})

// Language returns "python".
func (Guest) Language() string { return "python" }

// Build returns the artefact's provenance in short.
func (Guest) Build() Build { return build() }

// Version returns CPython's version, for people.
func (Guest) Version() string { return "CPython " + build().Python }

// Provenance returns the whole PROVENANCE.json.
func (Guest) Provenance() []byte { return provenance }

// ID identifies the artefact: the hash of the WebAssembly module.
func (Guest) ID() string { return build().Wasm.SHA256 }

// Module decompresses the WebAssembly module, which takes about 50 ms.
func (Guest) Module() ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxModule), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b, err := d.DecodeAll(artefact, make([]byte, 0, build().Wasm.Size))
	if err != nil {
		return nil, fmt.Errorf("embedded Python guest: %w", err)
	}
	return b, nil
}

// Boot returns the program that the guest runs once when an image is made, and its payload: the support library.
func (Guest) Boot() (program, payload []byte) { return bootProgram(), bootPayload() }

var bootProgram = sync.OnceValue(func() []byte {
	b, err := library.ReadFile("lib/boot.py")
	if err != nil {
		panic(err)
	}
	return b
})

var bootPayload = sync.OnceValue(func() []byte {
	modules := map[string]string{}
	err := fs.WalkDir(library, "lib", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "lib/boot.py" {
			return err
		}
		b, err := library.ReadFile(name)
		module := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "lib/"), ".py"), "/", ".")
		modules[strings.TrimSuffix(module, ".__init__")] = string(b)
		return err
	})
	if err != nil {
		panic(err)
	}
	b, err := json.Marshal(modules) // sorted, so that the image's key is stable
	if err != nil {
		panic(err)
	}
	return b
})
