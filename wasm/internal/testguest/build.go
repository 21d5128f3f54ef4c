package testguest

// Opcodes that the guest uses.
const (
	opUnreachable = 0x00
	opIf          = 0x04
	opBr          = 0x0c
	opBrIf        = 0x0d
	opReturn      = 0x0f
	opIndirect    = 0x11
	opDrop        = 0x1a
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opLoad        = 0x28
	opLoad64      = 0x29
	opLoad8       = 0x2d
	opStore       = 0x36
	opStore64     = 0x37
	opStoreF32    = 0x38
	opStoreF64    = 0x39
	opStore8      = 0x3a
	opSize        = 0x3f
	opGrow        = 0x40
	opEqz         = 0x45
	opEq          = 0x46
	opLtU         = 0x49
	opGeU         = 0x4f
	opLtS64       = 0x53
	opAdd         = 0x6a
	opSub         = 0x6b
	opShl         = 0x74
	opShrU        = 0x76
	opAdd64       = 0x7c
	opOr64        = 0x84
	opShl64       = 0x86
	opAddF32      = 0x92
	opAddF64      = 0xa0
	opWrap        = 0xa7
	opExtendU     = 0xad
	opConvF32     = 0xb3
	opConvF64     = 0xb8
)

// guest holds the indices that its functions refer to.
type guest struct {
	m                                      *Module
	call, recv, exit, random, write, yield uint32
	gi, gl, gd, gf                         uint32
	reserve, status, interrupt, deep       uint32

	// Only with threads.
	start, wait, wake, threadYield, threadExit, threadInterrupt, drop, poll uint32
	fork, forkWait, forkEnd                                                 uint32
	sp, deepN, deepWait, interpret                                          uint32
}

func build(o *Options) *Module {
	m := &Module{MinPages: Pages}
	g := &guest{m: m}
	const wasi = "wasi_snapshot_preview1"
	g.call = m.Import("mayfly", "call", "ii:l")
	if !o.NoTick {
		m.Import("mayfly", "tick", ":")
	}
	g.recv = m.Import("mayfly", "recv", "ii:i")
	g.exit = m.Import(wasi, "proc_exit", "i:")
	g.random = m.Import(wasi, "random_get", "ii:i")
	g.write = m.Import(wasi, "fd_write", "iiii:i")
	g.yield = m.Import(wasi, "sched_yield", ":i")
	if o.Threads {
		g.start = m.Import("mayfly", "thread_start", "iii:i")
		g.wait = m.Import("mayfly", "thread_wait", "il:i")
		g.wake = m.Import("mayfly", "thread_wake", "ii:")
		g.threadYield = m.Import("mayfly", "thread_yield", ":")
		g.threadExit = m.Import("mayfly", "thread_exit", ":")
		g.threadInterrupt = m.Import("mayfly", "thread_interrupt", ":")
		g.drop = m.Import("mayfly", "thread_drop", ":")
		g.fork = m.Import("mayfly", "fork", "ii:i")
		g.forkWait = m.Import("mayfly", "fork_wait", "il:l")
		g.forkEnd = m.Import("mayfly", "fork_end", "i:")
		g.poll = m.Import(wasi, "poll_oneoff", "iiii:i")
	}
	m.Global('i', false, 99) // immutable: not part of the state
	g.gi = m.Global('i', true, GlobalI32)
	g.gl = m.Global('l', true, GlobalI64)
	g.gd = m.Global('d', true, 0x3fe0000000000000)
	g.gf = m.Global('f', true, 0x3e800000)
	if o.Threads {
		g.sp = m.Global('i', true, StackTop)
	}
	m.Data(Greeting, []byte(Hello))

	g.helpers()
	if o.Threads {
		g.threads()
	}
	m.Table(g.ops()...)
	export := func(name, sig, locals string, c *Code) {
		if f := m.Func(sig, locals, c); name != o.Omit {
			m.Export(name, KindFunc, f)
		}
	}
	if o.Omit != "memory" {
		m.Export("memory", KindMemory, 0)
	}
	m.Export("mayfly_reserved", KindFunc, g.status) // the host drops it
	export("_initialize", ":", "", add(code(), startFlag, 1))
	export("guest_abi", ":i", "", code().I32(o.ABI))
	export("guest_control", ":i", "", code().I32(o.Control))
	export("guest_free", "i:", "", code())
	export("guest_alloc", "i:i", "", g.alloc())
	export("guest_init", "ii:i", "", g.init())
	export("guest_call", "ii:l", "i", g.dispatch())
	if o.Threads {
		m.Export("guest_child", KindFunc, m.NextFunc()-1)
	}
	return m
}

func code() *Code { return &Code{} }

// load pushes the word at a fixed address, put pops into it what f pushes, add adds to it.
func load(c *Code, addr int32) *Code { return c.I32(addr).Mem(opLoad, 0) }

func put(c *Code, addr int32, f func(*Code)) *Code {
	c.I32(addr)
	f(c)
	return c.Mem(opStore, 0)
}

func add(c *Code, addr, n int32) *Code {
	return put(c, addr, func(c *Code) { load(c, addr).I32(n).Op(opAdd) })
}

// arg pushes argument i of an operation, whose local 0 is the body's address.
func arg(c *Code, i uint32) *Code { return c.Get(0).Mem(opLoad, 4*i) }

// answer pushes a result of guest_call.
func answer(c *Code, addr, n int64) *Code { return c.I64(addr<<32 | n) }

// pack turns two locals into a result of guest_call.
func pack(c *Code, addr, n uint32) *Code {
	return c.Get(addr).Op(opExtendU).I64(32).Op(opShl64).Get(n).Op(opExtendU).Op(opOr64)
}

func (g *guest) helpers() {
	// reserve makes the memory reach to an address; 0 if it cannot.
	c := code().Get(0).I32(0xffff).Op(opAdd).I32(16).Op(opShrU).Op(opSize, 0).Op(opSub).Tee(1)
	c.I32(1).Op(0x48).If(Void).I32(1).Op(opReturn).End() // i32.lt_s
	c.Get(1).Op(opGrow, 0).I32(-1).Op(0x47)              // i32.ne
	g.reserve = g.m.Func("i:i", "i", c)

	c = code()
	put(c, out, func(c *Code) { load(c, Counter) })
	put(c, out+4, func(c *Code) { c.Op(opGlobalGet, g.gi) })
	c.I32(out).Op(opGlobalGet, g.gl).Mem(opStore64, 8)
	c.I32(out).Op(opGlobalGet, g.gd).Mem(opStoreF64, 16)
	c.I32(out).Op(opGlobalGet, g.gf).Mem(opStoreF32, 24)
	put(c, out+28, func(c *Code) { c.Op(opSize, 0) })
	put(c, out+32, func(c *Code) { load(c, initCount) })
	put(c, out+36, func(c *Code) { load(c, startFlag) })
	g.status = g.m.Func("ii:l", "", answer(c, out, 40))

	// interrupt answers the control block's interrupt, the breaker and the limit, and clears the first two.
	c = code()
	put(c, out, func(c *Code) { load(c, Control) })
	put(c, out+4, func(c *Code) { load(c, Breaker) })
	put(c, out+8, func(c *Code) { load(c, Control+12) })
	put(c, Control, func(c *Code) { c.I32(0) })
	put(c, Breaker, func(c *Code) { c.I32(1) })
	g.interrupt = g.m.Func("ii:l", "", answer(c, out, 12))

	deep := g.m.NextFunc()
	c = code().Get(0).I32(0xfff).Raw(0x71).Mem(opLoad8, 0).Get(0).I32(1).Op(opAdd).Call(deep).Op(opAdd)
	g.deep = g.m.Func("i:i", "", c)

	// deepN calls itself n times.
	g.deepN = g.m.NextFunc()
	c = code().Get(0).Op(opEqz).If(Void).I32(0).Op(opReturn).End()
	c.Get(0).I32(1).Op(opSub).Call(g.deepN).Loop(Void).End().Get(0).Op(opAdd)
	g.m.Func("i:i", "", c)

	if g.wait == 0 {
		return
	}
	g.deepWait = g.m.NextFunc()
	c = code().Get(0).Op(opEqz).If(Void).Get(1).I64(-1).Call(g.wait).Op(opDrop).Op(opReturn).End()
	c.Get(0).I32(1).Op(opSub).Get(1).Call(g.deepWait)
	g.m.Func("ii:", "", c)
}

func (g *guest) alloc() *Code {
	c := load(code(), AllocMode).I32(1).Op(opEq).If(Void).I32(0).Op(opReturn).End()
	load(c, AllocMode).If(Void)
	load(c, AllocMode).Op(opReturn).End()
	c.Get(0).I32(Heap).Op(opAdd).Call(g.reserve).Op(opEqz).If(Void).I32(0).Op(opReturn).End()
	return c.I32(Heap)
}

func (g *guest) init() *Code {
	c := add(code(), initCount, 1)
	put(c, Control+4, func(c *Code) { c.I32(Breaker) })
	put(c, Control+8, func(c *Code) { c.I32(BreakerBits) })
	put(c, Breaker, func(c *Code) { c.I32(1) })
	// The payload starts at 4 + length of the program.
	c.Get(0).I32(4).Op(opAdd).Get(0).Mem(opLoad, 0).Op(opAdd).Set(0)
	mode := func(b byte, f func()) {
		c.Get(0).Mem(opLoad8, 0).I32(int32(b)).Op(opEq).If(Void)
		f()
		c.End()
	}
	mode('f', func() {
		put(c, iovec, func(c *Code) { c.I32(Greeting) })
		put(c, iovec+4, func(c *Code) { c.I32(int32(len(Hello))) })
		c.I32(2).I32(iovec).I32(1).I32(written).Call(g.write).Op(opDrop).I32(3).Op(opReturn)
	})
	mode('s', func() { c.Loop(Void).Op(opBr, 0).End() })
	mode('t', func() { c.Op(opUnreachable) })
	mode('g', func() { c.I32(1).Op(opGrow, 0).Op(opDrop) })
	return c.I32(0)
}

// dispatch calls the operation through the table. Local 2 is the head's length plus 8.
func (g *guest) dispatch() *Code {
	c := code().Get(0).Mem(opLoad, 0).I32(int32(numOps)).Op(opGeU).If(Void).I64(-2).Op(opReturn).End()
	c.Get(0).Mem(opLoad, 4).I32(8).Op(opAdd).Set(2)
	c.Get(0).Get(2).Op(opAdd).Get(1).Get(2).Op(opSub).Get(0).Mem(opLoad, 0)
	return c.Op(opIndirect, g.m.TypeIndex("ii:l"), 0)
}
