package rewrite

// helpers are the indices of functions and globals that instrumented code refers to.
type helpers struct {
	tick       uint32
	countdown  uint32 // global
	copy, fill uint32
	interval   int32
	stack      uint32 // global of the shadow stack's pointer, none without threads
	limit      uint32 // global
}

// none stands for an index.
const none = ^uint32(0)

// emitter writes the new form of one body.
type emitter struct {
	w    *walker
	h    *helpers
	plan *mergePlan
	loop bool // count at loop headers
	out  []byte
	last int // everything before this position of the old body is written

	extra   []byte // types of added locals
	tmpI32  int
	tmpDst  int
	tmpSrc  int
	tmpF32  int
	tmpF64  int
	zero    int
	checked map[int64]bool // local and version, or zeroKey
	raised  stackRaise
	stats   *Stats
}

const zeroKey = -1

func rewriteBody(m *module, ft funcType, body []byte, h *helpers, o *Options, st *Stats) ([]byte, error) {
	e := &emitter{h: h, loop: h != nil, tmpI32: -1, tmpDst: -1, tmpSrc: -1, tmpF32: -1, tmpF64: -1, zero: -1, checked: map[int64]bool{}, stats: st}
	var err error
	if !o.KeepChecks {
		if e.plan, err = planMerges(m, ft, body); err != nil {
			return nil, err
		}
	}
	if e.w, err = newWalker(m, ft, body); err != nil {
		return nil, err
	}
	declared := body[:e.w.r.pos]
	e.last = e.w.r.pos
	e.w.visit = e.instruction
	if err := e.w.run(); err != nil {
		return nil, err
	}
	e.flush(len(body))

	// The declaration is a count of groups followed by the groups.
	r := &reader{b: declared}
	groups := r.u32()
	out := appendU32(nil, groups+uint32(len(e.extra)))
	out = append(out, declared[r.pos:]...)
	for _, t := range e.extra {
		out = append(out, 1, t)
	}
	return append(out, e.out...), nil
}

// flush copies the old code up to position to.
func (e *emitter) flush(to int) {
	e.out = append(e.out, e.w.r.b[e.last:to]...)
	e.last = to
}

// local returns the index of an added local, making it when slot is still -1.
func (e *emitter) local(slot *int, typ byte) uint32 {
	if *slot < 0 {
		*slot = len(e.w.locals) + len(e.extra)
		e.extra = append(e.extra, typ)
	}
	return uint32(*slot)
}

func (e *emitter) op(op byte, index uint32) {
	e.out = append(e.out, op)
	e.out = appendU32(e.out, index)
}

func (e *emitter) i32Const(x int32) {
	e.out = append(e.out, opI32Const)
	e.out = appendS64(e.out, int64(x))
}

func (e *emitter) instruction(in *instruction) {
	raised := e.raised.next(in, e.w.r.b)
	switch {
	case in.op >= opI32Load && in.op <= opI64Store32:
		e.memoryAccess(in)
		return
	case in.op == opLoop:
		clear(e.checked)
		e.flush(in.end)
		if e.loop {
			e.countdown()
		}
	case in.op == opElse || in.op == opEnd:
		clear(e.checked)
	case !in.live:
	case in.op == opI32Const && e.plan != nil && e.plan.constants[in.start] && e.plan.staticUses > 1:
		e.flush(in.start)
		e.last = in.end
		e.op(opLocalGet, e.local(&e.zero, typeI32))
	case in.op == opSelect || in.op == opSelectTyped:
		if in.typ == typeF32 || in.typ == typeF64 {
			e.flush(in.start)
			e.last = in.end
			e.floatSelect(in.typ)
		}
	case in.op == opGlobalSet && e.h != nil && in.index == e.h.stack && !raised:
		e.flush(in.start)
		e.last = in.end
		e.stackCheck()
	case in.op == opMemorySize:
		e.flush(in.end)
		e.i32Const(1)
		e.out = append(e.out, opI32Sub)
	case in.op == opMemoryGrow:
		e.flush(in.end)
		e.hideGuard()
	case in.op == opPrefixFC<<8|fcMemoryCopy && e.needsHelper(in, 0):
		e.flush(in.start)
		e.last = in.end
		e.bulkCopy()
	case in.op == opPrefixFC<<8|fcMemoryFill && e.needsHelper(in, smallFill):
		e.flush(in.start)
		e.last = in.end
		e.op(opCall, e.h.fill)
	}
}

// needsHelper tells whether a bulk instruction may be so long that it has to be split, or so short, up to small, that the
// helper is faster.
func (e *emitter) needsHelper(in *instruction, small uint32) bool {
	known := in.length.constant && in.length.imm <= bulkChunk && in.length.imm > small
	return e.h != nil && !known
}

// bulkCopy calls the helper for long copies only: short ones are everywhere, and a call costs as much as they do.
func (e *emitter) bulkCopy() {
	d, s, n := e.local(&e.tmpDst, typeI32), e.local(&e.tmpSrc, typeI32), e.local(&e.tmpI32, typeI32)
	operands := func() {
		e.op(opLocalGet, d)
		e.op(opLocalGet, s)
		e.op(opLocalGet, n)
	}
	e.op(opLocalSet, n)
	e.op(opLocalSet, s)
	e.op(opLocalSet, d)
	e.op(opLocalGet, n)
	e.i32Const(bulkChunk)
	e.out = append(e.out, opI32GtU, opIf, blockEmpty)
	operands()
	e.op(opCall, e.h.copy)
	e.out = append(e.out, opElse)
	operands()
	e.out = append(e.out, opPrefixFC, fcMemoryCopy, 0, 0, opEnd)
}

// countdown is the safepoint at a loop header.
func (e *emitter) countdown() {
	e.stats.Safepoints++
	t := e.local(&e.tmpI32, typeI32)
	e.op(opGlobalGet, e.h.countdown)
	e.i32Const(1)
	e.out = append(e.out, opI32Sub)
	e.op(opLocalTee, t)
	e.op(opGlobalSet, e.h.countdown)
	e.op(opLocalGet, t)
	e.i32Const(0)
	e.out = append(e.out, opI32LtS, opIf, blockEmpty)
	e.i32Const(e.h.interval)
	e.op(opGlobalSet, e.h.countdown)
	e.op(opCall, e.h.tick)
	e.out = append(e.out, opEnd)
}

// hideGuard turns the result of memory.grow, old pages or -1, into what the guest would see without a guard page.
func (e *emitter) hideGuard() {
	t := e.local(&e.tmpI32, typeI32)
	e.op(opLocalTee, t)
	e.op(opLocalGet, t)
	e.i32Const(-1)
	e.out = append(e.out, 0x47, opI32Sub) // i32.ne
}

// floatSelect selects between the bit patterns.
func (e *emitter) floatSelect(typ byte) {
	e.stats.FloatSelects++
	c := e.local(&e.tmpI32, typeI32)
	slot, toInt, toFloat := &e.tmpF32, byte(opI32ReinterpretF32), byte(opF32ReinterpretI32)
	if typ == typeF64 {
		slot, toInt, toFloat = &e.tmpF64, opI64ReinterpretF64, opF64ReinterpretI64
	}
	b := e.local(slot, typ)
	e.op(opLocalSet, c)
	e.op(opLocalSet, b)
	e.out = append(e.out, toInt)
	e.op(opLocalGet, b)
	e.out = append(e.out, toInt)
	e.op(opLocalGet, c)
	e.out = append(e.out, opSelect, toFloat)
}

func (e *emitter) memoryAccess(in *instruction) {
	e.stats.Accesses++
	if e.plan == nil || !in.live {
		return
	}
	a := accesses[in.op-opI32Load]
	end := uint64(in.offset) + uint64(a.size)
	switch {
	case in.addr.constant && e.plan.constants[in.addr.pos] && e.plan.staticUses > 1:
		// The constant moves into the offset, since the address operand is zero now.
		z := e.local(&e.zero, typeI32)
		e.flush(in.start)
		e.last = in.end
		e.check(zeroKey, z, e.plan.static, end+uint64(in.addr.imm))
		e.out = append(e.out, byte(in.op))
		e.out = append(e.out, 0) // alignment is a hint
		e.out = appendU32(e.out, in.offset+in.addr.imm)
	case in.addr.local >= 0 && e.w.current(in.addr) && end <= guardSlack:
		x := uint32(in.addr.local)
		e.flush(in.start)
		e.check(int64(in.addr.version)<<32|int64(x), x, e.plan.end[x], end)
	}
}

// check puts the early check before an access that ends at end, unless it is of no use.
func (e *emitter) check(key int64, local, highest uint32, end uint64) {
	if e.checked[key] {
		e.stats.Covered++
		return
	}
	e.checked[key] = true
	if uint64(highest) <= end {
		return
	}
	e.op(opLocalGet, local)
	e.out = append(e.out, opI32Load8U, 0)
	e.out = appendU32(e.out, highest-1)
	e.out = append(e.out, opDrop)
}
