package rewrite

// The bulk helpers take the operands of the instructions that they stand for. Parameters are locals 0 (destination),
// 1 (source or value) and 2 (length).

// asm builds a function body.
type asm struct{ b []byte }

func (a *asm) op(ops ...byte) *asm  { a.b = append(a.b, ops...); return a }
func (a *asm) get(i byte) *asm      { return a.op(opLocalGet, i) }
func (a *asm) set(i byte) *asm      { return a.op(opLocalSet, i) }
func (a *asm) call(f uint32) *asm   { a.b = appendU32(append(a.b, opCall), f); return a }
func (a *asm) i32(x int64) *asm     { a.b = appendS64(append(a.b, opI32Const), x); return a }
func (a *asm) i64(x int64) *asm     { a.b = appendS64(append(a.b, opI64Const), x); return a }
func (a *asm) chunk() *asm          { return a.i32(bulkChunk) }
func (a *asm) copyOp() *asm         { return a.op(opPrefixFC, fcMemoryCopy, 0, 0) }
func (a *asm) fillOp() *asm         { return a.op(opPrefixFC, fcMemoryFill, 0) }
func (a *asm) move(i, op byte) *asm { return a.get(i).chunk().op(op).set(i) }
func (a *asm) sum(i, j byte) *asm   { return a.get(i).get(j).op(opI32Add) }
func (a *asm) whileMoreThanChunk() *asm {
	return a.op(opLoop, blockEmpty).get(2).chunk().op(opI32GtU, opIf, blockEmpty)
}

// smallFill is the length up to which stores are faster than memory.fill, which costs wazero a call for each doubling.
const smallFill = 64

// fillBody:
//
//	if n <= smallFill { while n >= 8 { store64(d, v * 0x01..01); d += 8; n -= 8 }; while n != 0 { store8(d, v); d++; n-- }; return }
//	while n > chunk { fill(d, v, chunk); tick; d += chunk; n -= chunk }; fill(d, v, n)
func (h *helpers) fillBody() []byte {
	a := (&asm{}).op(1, 1, typeI64) // local 3: the value in eight bytes
	a.get(2).i32(smallFill).op(opI32LeU, opIf, blockEmpty)
	a.get(1).i32(0xff).op(opI32And, opI64ExtendU).i64(0x0101010101010101).op(opI64Mul).set(3)
	a.op(opLoop, blockEmpty).get(2).i32(8).op(opI32GeU, opIf, blockEmpty)
	a.get(0).get(3).op(opI64Store, 0, 0)
	a.get(0).i32(8).op(opI32Add).set(0).get(2).i32(8).op(opI32Sub).set(2)
	a.op(opBr, 1, opEnd, opEnd)
	a.op(opLoop, blockEmpty).get(2).op(opIf, blockEmpty)
	a.get(0).get(1).op(opI32Store8, 0, 0)
	a.get(0).i32(1).op(opI32Add).set(0).get(2).i32(1).op(opI32Sub).set(2)
	a.op(opBr, 1, opEnd, opEnd)
	a.op(opReturn, opEnd)
	a.whileMoreThanChunk()
	a.get(0).get(1).chunk().fillOp().call(h.tick)
	a.move(0, opI32Add).move(2, opI32Sub)
	a.op(opBr, 1, opEnd, opEnd)
	a.get(0).get(1).get(2).fillOp()
	return a.op(opEnd).b
}

// copyBody goes upwards when the destination lies below the source, else downwards, so that overlapping regions come out
// right.
func (h *helpers) copyBody() []byte {
	a := (&asm{}).op(0)
	a.get(0).get(1).op(opI32LeU, opIf, blockEmpty)
	a.whileMoreThanChunk()
	a.get(0).get(1).chunk().copyOp().call(h.tick)
	a.move(0, opI32Add).move(1, opI32Add).move(2, opI32Sub)
	a.op(opBr, 1, opEnd, opEnd)
	a.op(opElse)
	a.whileMoreThanChunk()
	a.move(2, opI32Sub)
	a.sum(0, 2).sum(1, 2).chunk().copyOp().call(h.tick)
	a.op(opBr, 1, opEnd, opEnd)
	a.op(opEnd)
	a.get(0).get(1).get(2).copyOp()
	return a.op(opEnd).b
}
