package rewrite

import "strings"

// Version changes whenever the same input would give another output, so that caches can be keyed by it.
const Version = 4

// DefaultInterval is the number of loop iterations between two ticks: at most about a millisecond of compiled code.
const DefaultInterval = 50_000

// bulkChunk is how much memory.copy and memory.fill move between two ticks: about 0.1 ms, more with page faults.
const bulkChunk = 1 << 20

const (
	countdownName  = "mayfly_countdown"
	stackLimitName = "mayfly_stack_limit"
	stackPointer   = "__stack_pointer"
	globalPrefix   = "mayfly_global_"
	reservedPrefix = "mayfly_"
)

// Options of Rewrite; nil and the zero value are the good defaults.
type Options struct {
	// Interval is the number of loop iterations between ticks; 0 means DefaultInterval.
	Interval int32
	// KeepChecks leaves bounds checks as they are.
	KeepChecks bool
}

// IsAdded tells whether the mutable global of this export name was added by Rewrite and is not one of the guest's own.
func IsAdded(name string) bool { return name == countdownName || name == stackLimitName }

// Stats counts what was done to a module.
type Stats struct {
	Functions, Safepoints, Accesses, Covered, FloatSelects, StackChecks int
}

// Result is a rewritten module.
type Result struct {
	// Module is the new binary. Its memory has one page more than the guest's own, see merge.go, and no data.
	Module []byte
	// Data are the removed segments, aliasing the input.
	Data []Segment
	// Globals are all mutable globals.
	Globals []Global
	// Countdown is the export name of the countdown to the next tick; also one of Globals. Empty without ticks.
	Countdown string
	// StackPointer and StackLimit are the export names of the shadow stack's pointer and of the address below which it must
	// not go; also two of Globals. Empty when the module has no threads.
	StackPointer, StackLimit string
	Stats                    Stats
}

// Rewrite returns the forkable form of a guest module. A module that imports mayfly.tick gets safepoints; one that does
// not is only stripped. Errors wrap ErrFormat.
func Rewrite(bin []byte, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	m, err := decode(bin)
	if err != nil {
		return nil, err
	}
	if m.start {
		return nil, formatErr("start function: a guest is a reactor")
	}
	res := &Result{Data: m.data}
	h, err := m.addHelpers(o)
	if err != nil {
		return nil, err
	}

	var exports []export
	for _, x := range m.exports {
		// Names of ours are reserved: guests may use them to mark things for tools, not to be called.
		if !strings.HasPrefix(x.name, reservedPrefix) {
			exports = append(exports, x)
		}
	}
	bodies := make([][]byte, len(m.bodies))
	for i, b := range m.bodies {
		index := uint32(len(m.importTypes) + i)
		if bodies[i], err = rewriteBody(m, m.types[m.funcs[i]], b, h, o, &res.Stats); err != nil {
			return nil, formatErr("function %d: %v", index, err)
		}
	}
	res.Stats.Functions = len(bodies)
	if h != nil {
		bodies = append(bodies, h.copyBody(), h.fillBody())
		res.Countdown = countdownName
		exports = append(exports, export{countdownName, 3, h.countdown})
		res.Globals = append(res.Globals, Global{countdownName})
	}
	if h != nil && h.stack != none {
		res.StackPointer, res.StackLimit = globalPrefix+itoa(int(h.stack)), stackLimitName
		exports = append(exports, export{stackLimitName, 3, h.limit})
		res.Globals = append(res.Globals, Global{stackLimitName})
	}
	for i, mut := range m.globalMut {
		if mut {
			g := Global{globalPrefix + itoa(i)}
			res.Globals = append(res.Globals, g)
			exports = append(exports, export{g.Name, 3, uint32(i)})
		}
	}
	res.Module = m.encode(h, exports, bodies)
	return res, nil
}

// addHelpers reserves indices for the added functions and globals; nil when the module has no tick.
func (m *module) addHelpers(o *Options) (*helpers, error) {
	if m.tickImport < 0 {
		return nil, nil
	}
	n, g := uint32(len(m.importTypes)+len(m.funcs)), uint32(len(m.globalTypes))
	h := &helpers{tick: uint32(m.tickImport), copy: n, fill: n + 1, interval: o.Interval, countdown: g, limit: g + 1, stack: none}
	if h.interval <= 0 {
		h.interval = DefaultInterval
	}
	if m.threads {
		for _, x := range m.exports {
			if x.name == stackPointer && x.kind == 3 && x.index < g && m.globalMut[x.index] && m.globalTypes[x.index] == typeI32 {
				h.stack = x.index
			}
		}
		if h.stack == none {
			return nil, formatErr("threads, but no mutable i32 global %s", stackPointer)
		}
	}
	return h, nil
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + string(rune('0'+i%10))
}

func (m *module) encode(h *helpers, exports []export, bodies [][]byte) []byte {
	out := append([]byte(nil), header...)
	seenGlobals := false
	globals := func() {
		if seenGlobals {
			return
		}
		seenGlobals = true
		if b := m.encodeGlobals(h); b != nil {
			out = appendSection(out, secGlobal, b)
		}
	}
	for _, s := range m.sections {
		if s.id > secGlobal && s.id != secCount {
			globals()
		}
		switch s.id {
		case secData, secCount, secStart:
		case secType:
			out = appendSection(out, s.id, m.encodeTypes(h, s.body))
		case secFunction:
			out = appendSection(out, s.id, m.encodeFuncs(h))
		case secMemory:
			b := []byte{1, 1}
			b = appendU32(b, m.memMin+1)
			b = appendU32(b, maxPages)
			out = appendSection(out, s.id, b)
		case secGlobal:
			globals()
		case secExport:
			b := appendU32(nil, uint32(len(exports)))
			for _, x := range exports {
				b = appendName(b, x.name)
				b = append(b, x.kind)
				b = appendU32(b, x.index)
			}
			out = appendSection(out, s.id, b)
		case secCode:
			b := appendU32(nil, uint32(len(bodies)))
			for _, x := range bodies {
				b = appendU32(b, uint32(len(x)))
				b = append(b, x...)
			}
			out = appendSection(out, s.id, b)
		default:
			out = appendSection(out, s.id, s.body)
		}
	}
	return out
}

// encodeTypes adds the type of the bulk helpers.
func (m *module) encodeTypes(h *helpers, body []byte) []byte {
	if h == nil {
		return body
	}
	r := &reader{b: body}
	n := r.u32()
	b := appendU32(nil, n+1)
	b = append(b, body[r.pos:]...)
	return append(b, 0x60, 3, typeI32, typeI32, typeI32, 0)
}

func (m *module) encodeFuncs(h *helpers) []byte {
	funcs := m.funcs
	if h != nil {
		bulk := uint32(len(m.types))
		funcs = append(append([]uint32(nil), funcs...), bulk, bulk)
	}
	b := appendU32(nil, uint32(len(funcs)))
	for _, t := range funcs {
		b = appendU32(b, t)
	}
	return b
}

// encodeGlobals adds the countdown and the stack limit after the module's own globals.
func (m *module) encodeGlobals(h *helpers) []byte {
	var body []byte
	for _, s := range m.sections {
		if s.id == secGlobal {
			body = s.body
		}
	}
	if h == nil {
		return body
	}
	added := []int64{int64(h.interval)}
	if h.stack != none {
		added = append(added, 0)
	}
	r := &reader{b: body}
	n := uint32(0)
	if body != nil {
		n = r.u32()
	}
	b := appendU32(nil, n+uint32(len(added)))
	b = append(b, body[r.pos:]...)
	for _, x := range added {
		b = append(b, typeI32, 1, opI32Const)
		b = append(appendS64(b, x), opEnd)
	}
	return b
}
