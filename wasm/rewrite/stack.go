package rewrite

// The shadow stack of the first thread ends at address 0, so that an overflow is an access out of bounds. The stacks of
// other threads lie anywhere; running over the end of one would change what lies below. So every instruction that lowers
// the stack pointer is followed by a comparison with a limit, which the host exchanges at a switch of threads.

// stackCheck sets the stack pointer and traps when it is too low. The pointer is set first, by which the host can tell this
// trap from others.
func (e *emitter) stackCheck() {
	e.stats.StackChecks++
	t := e.local(&e.tmpI32, typeI32)
	e.op(opLocalTee, t)
	e.op(opGlobalSet, e.h.stack)
	e.op(opLocalGet, t)
	e.op(opGlobalGet, e.h.limit)
	e.out = append(e.out, opI32LtU, opIf, blockEmpty, opUnreachable, opEnd)
}

// stackRaise recognises the end of a function, "i32.const size, i32.add, global.set", which gives stack back and needs no
// check.
type stackRaise struct {
	constant, sum bool
}

// next takes in an instruction and tells whether the two before it added a positive constant.
func (s *stackRaise) next(in *instruction, code []byte) bool {
	raised := s.sum
	s.sum = s.constant && in.op == opI32Add
	s.constant = false
	if in.op == opI32Const {
		r := &reader{b: code, pos: in.start + 1}
		s.constant = r.s64() > 0
	}
	return raised
}
