package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// Guest is an interpreter to make an image of.
type Guest struct {
	// Name is for people: "python".
	Name string
	// ID identifies the module's bytes, for example by their hash. Equal IDs must mean equal modules.
	ID string
	// Module returns the WebAssembly binary. It is called only when the cache does not have the image.
	Module func() ([]byte, error)
	// Boot is the boot frame, see guests/README.md.
	Boot []byte
	// FS is the file system during initialisation. No file may be open afterwards. Default: none. What is in it has to
	// follow from ID and Boot, by which images are cached.
	FS sys.FS
	// Warm runs something typical on a fresh memory, so that the pages it touches are known. May be nil.
	Warm func(ctx context.Context, im *Image, m *Memory) error
}

// cacheFormat changes with the layout of cached images.
const cacheFormat = 7

// key names the image in caches: everything that its bytes depend on goes in.
func (g *Guest) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %s %s %s %s\n", cacheFormat, rewrite.Version, runtimeVersion(), runtime.GOARCH, g.Name, g.ID)
	h.Write(g.Boot)
	return g.Name + "-" + hex.EncodeToString(h.Sum(nil)[:12])
}
