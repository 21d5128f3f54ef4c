package testguest

// ops adds a function for each operation: (address, length of the body) -> result of guest_call.
func (g *guest) ops() []uint32 {
	fs := make([]uint32, numOps)
	def := func(op Op, locals string, c *Code) { fs[op] = g.m.Func("ii:l", locals, c) }
	empty := func(c *Code) *Code { return answer(c, out, 0) }

	def(Echo, "", pack(code(), 0, 1))
	def(Count, "", g.count())
	fs[Status] = g.status
	def(Spin, "", empty(code().Loop(Void).Op(opBr, 0).End()))
	c := code().Loop(Void)
	load(c, Control).Op(opEqz).Op(opBrIf, 0).End()
	def(SpinUntil, "", c.Get(0).Get(1).Call(g.interrupt))
	c = arg(code(), 0).Set(2).Loop(Void).Get(2).I32(1).Op(opSub).Tee(2).Op(opBrIf, 0).End()
	def(SpinN, "i", empty(c))
	c = code()
	put(c, out, func(c *Code) { arg(c, 0).Op(opGrow, 0) })
	put(c, out+4, func(c *Code) { c.Op(opSize, 0) })
	def(Grow, "", answer(c, out, 8))
	three := func() *Code { return arg(arg(arg(code(), 0), 1), 2) }
	def(Fill, "", empty(three().Raw(0xfc, 11, 0)))
	def(Copy, "", empty(three().Raw(0xfc, 10, 0, 0)))
	def(Trap, "", code().Op(opUnreachable))
	def(Recurse, "", code().I32(0).Call(g.deep).Op(opExtendU))
	def(Exit, "", arg(code(), 0).Call(g.exit).Op(opUnreachable))
	def(HostCall, "iil", g.hostCall())
	def(Answer, "", code().Get(0).Mem(opLoad64, 0))
	check := func(c *Code) *Code { return c.If(Void).Op(opUnreachable).End() }
	def(Random, "", answer(check(code().I32(out).I32(16).Call(g.random)), out, 16))
	c = code()
	put(c, iovec, func(c *Code) { c.Get(0).I32(4).Op(opAdd) })
	put(c, iovec+4, func(c *Code) { c.Get(1).I32(4).Op(opSub) })
	put(c, out, func(c *Code) { arg(c, 0).I32(iovec).I32(1).I32(out + 4).Call(g.write) })
	def(Write, "", answer(c, out, 8))
	def(Poke, "", empty(arg(arg(code(), 0), 1).Mem(opStore, 0)))
	def(Touch, "ii", empty(touch()))
	c = code()
	put(c, out, func(c *Code) { arg(c, 0).Mem(opLoad, 0) })
	def(Load, "", answer(c, out, 4))
	def(Yield, "", check(code().Call(g.yield)).Get(0).Get(1).Call(g.interrupt))
	def(Deep, "", empty(arg(code(), 0).Call(g.deepN).Op(opDrop)))
	if g.interpret != 0 {
		def(RunProgram, "", empty(code().Get(0).Call(g.interpret)))
	} else {
		def(RunProgram, "", code().Op(opUnreachable))
	}
	return fs
}

func (g *guest) count() *Code {
	c := put(code(), Counter, func(c *Code) { arg(load(c, Counter), 0).Op(opAdd) })
	arg(c.Op(opGlobalGet, g.gi), 0).Op(opAdd).Op(opGlobalSet, g.gi)
	arg(c.Op(opGlobalGet, g.gl), 0).Op(opExtendU).Op(opAdd64).Op(opGlobalSet, g.gl)
	arg(c.Op(opGlobalGet, g.gd), 0).Op(opConvF64).Op(opAddF64).Op(opGlobalSet, g.gd)
	arg(c.Op(opGlobalGet, g.gf), 0).Op(opConvF32).Op(opAddF32).Op(opGlobalSet, g.gf)
	return c.Get(0).Get(1).Call(g.status)
}

// hostCall: local 2 is the buffer, 3 a length, 4 the result of mayfly.call. See HostCallBody.
func (g *guest) hostCall() *Code {
	const buf, n, r = 2, 3, 4
	or := func(c *Code, i uint32, alternative func()) {
		arg(c, i).If(I32T)
		arg(c, i).Else()
		alternative()
		c.End()
	}
	c := code()
	or(c, 0, func() { c.Get(0).I32(12).Op(opAdd) })
	or(c, 1, func() { c.Get(1).I32(12).Op(opSub) })
	c.Call(g.call).Set(r)
	c.I32(out).Get(r).Mem(opStore64, 0)
	c.Get(r).I64(0).Op(opLtS64).If(Void)
	answer(c, out, 8).Op(opReturn).End()
	c.Get(0).Get(1).Op(opAdd).Set(buf)
	c.Get(r).Op(opWrap).I32(12).Op(opAdd).Set(n)
	c.Get(buf).Get(n).Op(opAdd).Call(g.reserve).Op(opEqz).If(Void).I64(-1).Op(opReturn).End()
	c.Get(buf).Get(r).Mem(opStore64, 0)
	c.Get(buf)
	c.Get(buf).I32(12).Op(opAdd)
	arg(c.Get(r).Op(opWrap), 2).Op(opAdd).Call(g.recv).Mem(opStore, 8)
	return pack(c, buf, n)
}

// touch: local 2 is the address, 3 the end.
func touch() *Code {
	c := arg(code(), 0).Set(2)
	arg(arg(c, 0), 1).Op(opAdd).Set(3)
	c.Block(Void).Loop(Void)
	c.Get(2).Get(3).Op(opGeU).Op(opBrIf, 1)
	arg(c.Get(2), 2).Mem(opStore8, 0)
	c.Get(2).I32(4096).Op(opAdd).Set(2).Op(opBr, 0)
	return c.End().End()
}
