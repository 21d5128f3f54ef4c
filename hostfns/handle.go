package hostfns

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// maxHandles bounds the number of a session's handles, whatever their size.
const maxHandles = 4096

// maxPreview is the size of a handle's preview, in bytes.
const maxPreview = 400

// handles keeps large results of a session on the host. It is safe for concurrent use.
type handles struct {
	max, inline int64

	mu    sync.Mutex
	total int64
	last  int
	byID  map[int]*handle
	order []int // IDs, oldest first; some may be gone
}

// handle is a large value that the guest reads in pieces.
type handle struct {
	of   string // text, bytes, list or dict
	size int64  // in bytes, as it came
	src  source
	mem  *memory
}

// memory is what a handle keeps, and those made of parts of it.
type memory struct {
	size int64
	refs int
}

// source is a value that can be sliced. It does not change and is safe for concurrent use.
type source interface {
	// len is in the source's own units.
	len() int
	// slice returns the part from start to stop, which are in order and in range. With page it may end early, before it gets
	// larger than MaxPage; end is where it did.
	slice(start, stop int, page bool) (v *Value, end int, e *Error)
	preview() string
	// memory is the bytes that it takes.
	memory() int64
}

func newHandles(limit int64, inline int) *handles {
	// A session that comes back has handles in its memory that are not there any more: they must not be those of another.
	first := rand.N(1 << 50)
	return &handles{max: limit, inline: int64(inline), byID: map[int]*handle{}, last: first}
}

func (h *handles) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byID, h.order, h.total = map[int]*handle{}, nil, 0
	h.max = -1 // what comes late is not kept
}

// offer makes a handle of a large value, and the frame that tells the guest of it. No frame and no error: the value should
// go to the guest whole.
func (h *handles) offer(v *Value) ([]byte, *Error) {
	hd := newHandle(v)
	if hd == nil {
		return nil, nil
	}
	return h.add(hd)
}

// newHandle returns nil for values that cannot be sliced.
func newHandle(v *Value) *handle {
	hd := &handle{}
	switch v.Kind {
	case ValueText:
		hd.of, hd.src = "text", newTextSource(v.Data)
	case ValueBytes:
		hd.of, hd.src = "bytes", bytesSource(v.Data)
	case ValueBlocks:
		if v.size() <= MaxPage {
			return nil
		}
		hd.of, hd.src = "list", blockSource(v.Blocks)
	case ValueJSON:
		data := v.Data[skipSpace(v.Data, 0):]
		switch {
		case len(data) == 0:
			return nil
		case data[0] == '[':
			hd.of, hd.src = "list", newListSource(data)
		case data[0] == '{':
			hd.of, hd.src = "dict", &dictSource{listSource: newListSource(data)}
		case data[0] == '"':
			var s string
			if json.Unmarshal(data, &s) != nil {
				return nil
			}
			hd.of, hd.src = "text", newTextSource([]byte(s))
		default: // a number of a million digits
			return nil
		}
	default:
		return nil
	}
	hd.size, hd.mem = int64(v.size()), &memory{size: hd.src.memory()}
	return hd
}

func (h *handles) add(hd *handle) ([]byte, *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hd.mem.size > h.max {
		return nil, &Error{
			Code: CodeTooLarge,
			Message: fmt.Sprintf("the result takes %d bytes, and all that a session keeps may take %d together",
				hd.mem.size, max(0, h.max)),
			Hint: "ask for less at once",
		}
	}
	if hd.mem.refs++; hd.mem.refs == 1 {
		h.total += hd.mem.size
	}
	for len(h.order) > 0 && (h.total > h.max || len(h.byID) >= maxHandles) {
		h.remove(h.order[0])
		h.order = h.order[1:]
	}
	h.last++
	h.byID[h.last] = hd
	h.order = append(h.order, h.last)
	if len(h.order) > 2*maxHandles {
		h.order = h.known()
	}
	head, err := json.Marshal(struct {
		Kind    ValueKind `json:"kind"`
		Handle  int       `json:"handle"`
		Of      string    `json:"of"`
		Len     int       `json:"len"`
		Size    int64     `json:"size"`
		Preview string    `json:"preview"`
	}{ValueHandle, h.last, hd.of, hd.src.len(), hd.size, cutText(hd.src.preview(), maxPreview)})
	if err != nil {
		return nil, Errorf(CodeServer, "%w", err)
	}
	return endHead(append(newFrame(answerOK, len(head)), head...)), nil
}

// known returns the IDs that are not gone, oldest first.
func (h *handles) known() []int {
	ids := make([]int, 0, len(h.byID))
	for _, id := range h.order {
		if h.byID[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h *handles) remove(id int) {
	hd := h.byID[id]
	if hd == nil {
		return
	}
	delete(h.byID, id)
	if hd.mem.refs--; hd.mem.refs == 0 {
		h.total -= hd.mem.size
	}
}

// close serves FnClose. That a handle is gone already is no error.
func (h *handles) close(args json.RawMessage) ([]byte, *Error) {
	a, e := parseRead(args)
	if e != nil {
		return nil, e
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(a.Handle)
	return valueFrame(nil)
}

// bytesSource is sliced by bytes.
type bytesSource []byte

func (b bytesSource) len() int { return len(b) }

func (b bytesSource) memory() int64 { return int64(len(b)) }

func (b bytesSource) preview() string { return "" }

func (b bytesSource) slice(start, stop int, page bool) (*Value, int, *Error) {
	if stop-start > MaxPage {
		if !page {
			return nil, 0, tooLarge()
		}
		stop = start + MaxPage
	}
	return &Value{Kind: ValueBytes, Data: b[start:stop]}, stop, nil
}

// blockSource is sliced by blocks.
type blockSource []Block

func (b blockSource) len() int { return len(b) }

func (b blockSource) memory() int64 { return int64((&Value{Blocks: b}).size()) }

func (b blockSource) preview() string {
	var s strings.Builder
	for i := 0; i < len(b) && s.Len() < maxPreview; i++ {
		fmt.Fprintf(&s, "%s %s, %d bytes\n", b[i].Type, cutText(b[i].MIMEType, maxName), len(b[i].Text)+len(b[i].Data))
	}
	return s.String()
}

func (b blockSource) slice(start, stop int, page bool) (*Value, int, *Error) {
	size := 0
	for i := start; i < stop; i++ {
		size += (&Value{Blocks: b[i : i+1]}).size()
		// A single block may be as large as an answer can be: there is no other way to get it.
		if size > MaxPage && i > start {
			if !page {
				return nil, 0, tooLarge()
			}
			stop = i
		}
	}
	return &Value{Kind: ValueBlocks, Blocks: b[start:stop]}, stop, nil
}
