package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// An image is cached in a directory of three files: the rewritten module, the pages of its memory that are not zero, and
// what follows, as JSON. The directory appears whole by a rename, so a reader never sees half of one.
type cachedImage struct {
	Size      int          `json:"size"`
	Spans     []span       `json:"spans"`
	Hot       []span       `json:"hot"`
	Read      []span       `json:"read"`
	Globals   []string     `json:"globals"`
	Values    []uint64     `json:"values"`
	Countdown string       `json:"countdown"`
	Control   uint32       `json:"control"`
	Threads   *threadBlock `json:"threads,omitempty"`
	Sum       string       `json:"sum"`
	ModuleCRC uint32       `json:"module_crc32c"`
	MemoryCRC uint32       `json:"memory_crc32c"`
}

const (
	moduleFile = "module.wasm"
	memoryFile = "memory.pages"
	stateFile  = "image.json"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func stateSum(state []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(state, castagnoli)) }

var errNoCache = errors.New("no cache")

func (im *Image) cachePath() string { return filepath.Join(im.rt.cacheDir, "images", im.key) }

// load reads the image from the cache.
func (im *Image) load(ctx context.Context) (err error) {
	if im.rt.cacheDir == "" {
		return errNoCache
	}
	raw, err := os.ReadFile(filepath.Join(im.cachePath(), stateFile))
	if err != nil {
		return err
	}
	// The first line is the checksum of the rest.
	sum, raw, _ := bytes.Cut(raw, []byte("\n"))
	if string(sum) != stateSum(raw) {
		return fmt.Errorf("%s is damaged", stateFile)
	}
	var st cachedImage
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&st); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			im.close(ctx)
		}
	}()
	// The two files take a while each, and do not depend on each other.
	memory := make(chan error, 1)
	go func() {
		var err error
		im.base, err = loadBase(filepath.Join(im.cachePath(), memoryFile), &st)
		memory <- err
	}()
	err = im.loadModule(ctx, &st)
	if err = errors.Join(err, <-memory); err != nil {
		return err
	}
	im.imageState = imageState{st.Globals, st.Values, st.Countdown, st.Control, st.Hot, st.Read, st.Threads, st.Sum}
	im.fromCache = true
	return im.checkState()
}

func (im *Image) loadModule(ctx context.Context, st *cachedImage) error {
	module, err := readChecked(filepath.Join(im.cachePath(), moduleFile), st.ModuleCRC)
	if err != nil {
		return err
	}
	im.compiled, err = im.rt.compile(ctx, module)
	return err
}

func readChecked(path string, crc uint32) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != crc {
		return nil, fmt.Errorf("%s is damaged", path)
	}
	return b, nil
}

// loadBase spreads the stored pages over a memory of the image's size.
func loadBase(path string, st *cachedImage) (*base, error) {
	if st.Size <= guardSize || st.Size%pageSize != 0 || st.Size > DefaultMemoryLimit+guardSize {
		return nil, fmt.Errorf("%s: size %d", path, st.Size)
	}
	pages, err := readChecked(path, st.MemoryCRC)
	if err != nil {
		return nil, err
	}
	if err := checkSpans(st.Spans, st.Size, len(pages)); err != nil {
		return nil, err
	}
	for _, spans := range [][]span{st.Hot, st.Read} {
		if err := checkSpans(spans, st.Size, -1); err != nil {
			return nil, err
		}
	}
	return newBaseFromSpans(st.Size, st.Spans, pages)
}

func checkSpans(spans []span, size, total int) error {
	sum, last := 0, 0
	for _, sp := range spans {
		if sp.Off < last || sp.Len <= 0 || sp.Off > size-sp.Len || sp.Off%osPage != 0 || sp.Len%osPage != 0 {
			return fmt.Errorf("cached pages at %d+%d", sp.Off, sp.Len)
		}
		last = sp.Off + sp.Len
		sum += sp.Len
	}
	if total >= 0 && sum != total {
		return fmt.Errorf("%d bytes of cached pages instead of %d", total, sum)
	}
	return nil
}

func (im *Image) checkState() error {
	if len(im.sum) != 2*sha256.Size || len(im.globals) != len(im.globalNames) || im.control == 0 || int64(im.control)+16 > int64(im.base.size) {
		return errors.New("cached state is inconsistent")
	}
	if b := im.threads; b != nil && (len(b.Local) > maxThreadLocals || min(b.Pointer, b.Limit) < 0 || max(b.Pointer, b.Limit) >= len(im.globals)) {
		return errors.New("cached thread block is inconsistent")
	}
	return nil
}

// store writes the image to the cache. Failing to is no error of the image, but it is remembered for Runtime.Cache.
func (im *Image) store(module []byte) error {
	if im.rt.cacheDir == "" {
		return nil
	}
	if err := im.writeCache(module); err != nil {
		im.rt.setCacheErr(err)
	}
	return nil
}

func (im *Image) writeCache(module []byte) error {
	parent := filepath.Dir(im.cachePath())
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mem := im.base.view
	spans := nonZero(mem)
	var pages []byte
	for _, sp := range spans {
		pages = append(pages, mem[sp.Off:sp.Off+sp.Len]...)
	}
	state, err := json.Marshal(cachedImage{
		Size: im.base.size, Spans: spans, Hot: im.hot, Read: im.read, Globals: im.globalNames, Values: im.globals,
		Countdown: im.countdown, Control: im.control, Threads: im.threads, Sum: im.sum,
		ModuleCRC: crc32.Checksum(module, castagnoli), MemoryCRC: crc32.Checksum(pages, castagnoli),
	})
	if err != nil {
		return err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, moduleFile), module, 0o600),
		os.WriteFile(filepath.Join(dir, memoryFile), pages, 0o600),
		os.WriteFile(filepath.Join(dir, stateFile), append([]byte(stateSum(state)+"\n"), state...), 0o600),
	)
	if err != nil {
		return err
	}
	if err := os.Rename(dir, im.cachePath()); err != nil {
		// Another process was faster, or a damaged entry is in the way: put ours in its place.
		if err := os.RemoveAll(im.cachePath()); err != nil {
			return err
		}
		return os.Rename(dir, im.cachePath())
	}
	return nil
}
