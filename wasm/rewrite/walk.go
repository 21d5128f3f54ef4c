package rewrite

// value is what the walker knows about an operand: its type and, for addresses, where it came from.
type value struct {
	typ byte
	// local is the local that this operand is a copy of, or -1; version tells its assignments apart.
	local   int32
	version uint32
	// constant is set for an i32.const, whose instruction starts at pos.
	constant bool
	pos      int
	imm      uint32
}

type frame struct {
	op          byte
	params      []byte
	results     []byte
	height      int
	unreachable bool
}

// instruction is what the walker hands to its visitor: the bytes code[start:end], the opcode (with 0xfc as high byte for
// prefixed ones), and the state of the stack before it.
type instruction struct {
	op         uint16
	start, end int
	// index is the function, local or global named by the instruction.
	index uint32
	// offset is the constant part of an access's address.
	offset uint32
	// addr is the address operand of an access.
	addr value
	// length is the length operand of a bulk instruction.
	length value
	// typ is the operand type of a select.
	typ byte
	// live is false in code that cannot be reached.
	live bool
}

// walker runs over one function body and follows the types of the operand stack, as the validation algorithm in the
// appendix of the specification does. It checks as much as the rewriter relies on; the runtime validates the result.
type walker struct {
	m        *module
	r        *reader
	locals   []byte
	versions []uint32
	stack    []value
	frames   []frame
	visit    func(in *instruction)
}

// maxLocals bounds what a body may declare; the specification's own limit is 2^32-1, compilers stay far below this.
const maxLocals = 50_000

// newWalker reads the locals of a body; the reader stands at the first instruction afterwards.
func newWalker(m *module, ft funcType, body []byte) (*walker, error) {
	w := &walker{m: m, r: &reader{b: body}}
	w.locals = append(w.locals, ft.params...)
	for n := w.r.count(); n > 0 && w.r.err == nil; n-- {
		k, t := w.r.u32(), w.r.u8()
		if k > maxLocals || len(w.locals)+int(k) > maxLocals {
			w.r.fail("more than %d locals", maxLocals)
			break
		}
		for ; k > 0; k-- {
			w.locals = append(w.locals, t)
		}
	}
	w.versions = make([]uint32, len(w.locals))
	w.frames = append(w.frames, frame{op: opBlock, results: ft.results})
	return w, w.r.err
}

// maxStack bounds the operands of a body: a call may push many with two bytes of code.
const maxStack = 1 << 16

func (w *walker) push(t byte) { w.pushValue(value{typ: t, local: -1}) }

func (w *walker) pushValue(v value) {
	if len(w.stack) >= maxStack {
		w.r.fail("more than %d operands", maxStack)
	}
	w.stack = append(w.stack, v)
}

func (w *walker) pop() value {
	f := &w.frames[len(w.frames)-1]
	if len(w.stack) == f.height {
		if !f.unreachable {
			w.r.fail("operand stack is empty")
		}
		return value{typ: typeAny, local: -1}
	}
	v := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	return v
}

func (w *walker) popAll(ts []byte) {
	for range ts {
		w.pop()
	}
}

func (w *walker) pushAll(ts []byte) {
	for _, t := range ts {
		w.push(t)
	}
}

// dead marks the rest of the block as unreachable.
func (w *walker) dead() {
	f := &w.frames[len(w.frames)-1]
	w.stack = w.stack[:f.height]
	f.unreachable = true
}

func (w *walker) enter(op byte, params, results []byte) {
	w.popAll(params)
	w.frames = append(w.frames, frame{op: op, params: params, results: results, height: len(w.stack)})
	w.pushAll(params)
}

// leave ends the innermost block and returns it.
func (w *walker) leave() frame {
	f := w.frames[len(w.frames)-1]
	if !f.unreachable && len(w.stack) != f.height+len(f.results) {
		w.r.fail("block ends with %d operands instead of %d", len(w.stack)-f.height, len(f.results))
	}
	w.stack = w.stack[:f.height]
	w.frames = w.frames[:len(w.frames)-1]
	return f
}

// forward handles the operands that a conditional branch takes along: they have a second use, as results of the block, so
// that they are not addresses only.
func (w *walker) forward(depth uint32) {
	if int64(depth) >= int64(len(w.frames)) {
		w.r.fail("branch to block %d of %d", depth, len(w.frames))
		return
	}
	f := &w.frames[len(w.frames)-1-int(depth)]
	n := len(f.results)
	if f.op == opLoop {
		n = len(f.params)
	}
	for i := max(0, len(w.stack)-n); i < len(w.stack); i++ {
		w.stack[i].constant = false
	}
}

func (w *walker) blockType() (params, results []byte) {
	t := w.r.s64()
	switch {
	case t == blockEmpty-0x80:
		return nil, nil
	case t < 0:
		return nil, []byte{byte(t) & 0x7f}
	case t < int64(len(w.m.types)):
		return w.m.types[t].params, w.m.types[t].results
	}
	w.r.fail("block type %d", t)
	return nil, nil
}

func (w *walker) local(index uint32) bool {
	if int64(index) >= int64(len(w.locals)) {
		w.r.fail("local %d of %d", index, len(w.locals))
		return false
	}
	return true
}

func (w *walker) run() error {
	for len(w.frames) > 0 && w.r.err == nil {
		if w.r.done() {
			w.r.fail("body without end")
			break
		}
		w.step()
	}
	if w.r.err == nil && !w.r.done() {
		w.r.fail("code after the end of the body")
	}
	return w.r.err
}

// step reads one instruction, applies it to the stack and shows it to the visitor.
func (w *walker) step() {
	r := w.r
	in := instruction{start: r.pos, live: !w.frames[len(w.frames)-1].unreachable}
	op := r.u8()
	in.op = uint16(op)
	switch {
	case op >= opI32Load && op <= opI64Store32:
		w.memoryAccess(op, &in)
	case op >= opI32Eqz && op <= 0xc4:
		s := numeric[op]
		w.popAll(s.in)
		w.push(s.out)
	case op >= opBlock && op <= opReturn && op != 0x06 && op != 0x07:
		w.control(op)
	default:
		w.other(op, &in)
	}
	in.end = r.pos
	if r.err == nil {
		w.visit(&in)
	}
}

func (w *walker) memoryAccess(op byte, in *instruction) {
	a := accesses[op-opI32Load]
	if align := w.r.u32(); align > 4 {
		w.r.fail("alignment %d", align)
	}
	in.offset = w.r.u32()
	if a.store {
		w.pop()
	}
	in.addr = w.pop()
	if !a.store {
		w.push(a.typ)
	}
}

func (w *walker) control(op byte) {
	r := w.r
	switch op {
	case opBlock, opLoop:
		p, res := w.blockType()
		w.enter(op, p, res)
	case opIf:
		p, res := w.blockType()
		w.pop()
		w.enter(op, p, res)
	case opElse:
		f := w.leave()
		if f.op != opIf {
			r.fail("else without if")
			return
		}
		w.frames = append(w.frames, frame{op: opElse, params: f.params, results: f.results, height: len(w.stack)})
		w.pushAll(f.params)
	case opEnd:
		f := w.leave()
		w.pushAll(f.results)
	case opBr:
		r.u32()
		w.dead()
	case opBrIf:
		depth := r.u32()
		w.pop()
		w.forward(depth)
	case opBrTable:
		for n := r.count(); n >= 0 && r.err == nil; n-- {
			r.u32()
		}
		w.dead()
	case opReturn:
		w.dead()
	default:
		r.fail("opcode %#x", op)
	}
}

func (w *walker) other(op byte, in *instruction) {
	r := w.r
	switch op {
	case opUnreachable:
		w.dead()
	case opNop:
	case opCall:
		in.index = r.u32()
		ft, ok := w.m.typeOf(in.index)
		if !ok {
			r.fail("call of function %d", in.index)
			return
		}
		w.popAll(ft.params)
		w.pushAll(ft.results)
	case opCallIndirect:
		t := r.u32()
		r.u32()
		if int64(t) >= int64(len(w.m.types)) {
			r.fail("call of type %d", t)
			return
		}
		w.pop()
		w.popAll(w.m.types[t].params)
		w.pushAll(w.m.types[t].results)
	case opDrop:
		w.pop()
	case opSelect, opSelectTyped:
		w.selectOp(op, in)
	case opLocalGet, opLocalSet, opLocalTee:
		w.localOp(op, in)
	case opGlobalGet, opGlobalSet:
		in.index = r.u32()
		if int64(in.index) >= int64(len(w.m.globalTypes)) {
			r.fail("global %d of %d", in.index, len(w.m.globalTypes))
			return
		}
		if op == opGlobalGet {
			w.push(w.m.globalTypes[in.index])
		} else {
			w.pop()
		}
	case opMemorySize:
		r.u8()
		w.push(typeI32)
	case opMemoryGrow:
		r.u8()
		w.pop()
		w.push(typeI32)
	case opI32Const:
		w.push(typeI32)
		v := &w.stack[len(w.stack)-1]
		v.constant, v.pos, v.imm = true, in.start, uint32(r.s64())
	case opI64Const:
		r.s64()
		w.push(typeI64)
	case opF32Const:
		r.bytes(4)
		w.push(typeF32)
	case opF64Const:
		r.bytes(8)
		w.push(typeF64)
	case opPrefixFC:
		w.prefixed(in)
	default:
		// Reference types, SIMD, atomics, exceptions, table instructions: state that a fork would not carry over, or
		// that no guest of ours uses.
		r.fail("opcode %#x", op)
	}
}

func (w *walker) selectOp(op byte, in *instruction) {
	if op == opSelectTyped {
		if w.r.count() != 1 {
			w.r.fail("select of more than one type")
			return
		}
		in.typ = w.r.u8()
	}
	w.pop()
	b, a := w.pop(), w.pop()
	if in.typ == 0 {
		in.typ = max(a.typ, b.typ) // one of them may be typeAny
	}
	w.push(in.typ)
}

func (w *walker) localOp(op byte, in *instruction) {
	in.index = w.r.u32()
	if !w.local(in.index) {
		return
	}
	if op != opLocalGet {
		w.pop()
		w.versions[in.index]++
	}
	if op != opLocalSet {
		w.pushValue(value{typ: w.locals[in.index], local: int32(in.index), version: w.versions[in.index]})
	}
}

func (w *walker) prefixed(in *instruction) {
	sub := w.r.u32()
	in.op = opPrefixFC<<8 | uint16(sub&0xff)
	switch {
	case sub < 8: // saturating truncations
		w.pop()
		if sub < 4 {
			w.push(typeI32)
		} else {
			w.push(typeI64)
		}
	case sub == fcMemoryCopy, sub == fcMemoryFill:
		memories := uint32(2)
		if sub == fcMemoryFill {
			memories = 1
		}
		w.r.bytes(memories)
		in.length = w.pop()
		w.popAll([]byte{typeI32, typeI32})
	default:
		w.r.fail("opcode 0xfc %d", sub)
	}
}
