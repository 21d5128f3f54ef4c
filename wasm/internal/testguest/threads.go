package testguest

import "encoding/binary"

// Instr is an instruction of a thread's program, which is data: threads of the guest run an interpreter for it. An
// instruction has an operation and up to three arguments, each a word.
type Instr struct {
	Op      ThreadOp
	A, B, C uint32
}

// ThreadOp is what an instruction does.
type ThreadOp uint32

// Operations of threads.
const (
	End         ThreadOp = iota
	StartT               // (program, low, high): thread_start; the errno is stored at Errno
	WaitT                // (address, milliseconds, where): thread_wait; its result is stored at where
	WakeT                // (address, n)
	YieldT               // thread_yield
	ExitT                // thread_exit
	InterruptT           // thread_interrupt
	DropT                // thread_drop
	AddT                 // (address, n)
	CopyT                // (to, from): a word
	SpinT                // (n): a loop of n iterations
	SpinUntilT           // (address, value): a loop that ends when the word has the value
	TrapT                // unreachable
	LocalT               // (n): sets the thread-local word
	StackT               // (n): lowers the stack pointer n times by 1 KiB and writes to each, then raises it again
	DeepT                // (n): recursion of n calls, which needs native stack
	SleepT               // (milliseconds): poll_oneoff
	SchedYieldT          // sched_yield
	GrowT                // (pages)
	CallT                // mayfly.call with a frame in the mailbox of the address, the first byte of the answer goes to B
	JumpUnless           // (address, value, back): goes back so many instructions unless the word has the value
	ClearT               // clears the interrupt
	DeepWaitT            // (n, address): recursion of n calls without a loop, at the end of which it waits for ever
	ForkT                // (message, where): fork with the 12 bytes of a frame at message; the handle is stored at where
	ForkWaitT            // (handle, milliseconds, where): the handle is a word; the result is stored at where, the answer behind it
	ForkEndT             // (handle)
	numThreadOps
)

// Addresses of what threads use.
const (
	threadBlock = 0x500
	ThreadLocal = 0x540 // the thread-local word
	Record      = 0x544 // what thread_block.current points to: the address of Preempted minus 4
	Preempted   = 0x548 // here the host sets PreemptBits
	Errno       = 0x54c
	pollIn      = 0x560
	pollOut     = 0x590
	pollN       = 0x5b8
	// StackTop is the first value of the stack pointer.
	StackTop = 0x8000
	// Scratch is memory that nothing else uses, for programs, stacks and variables.
	Scratch = 0x40000
)

// PreemptBits are the bits that the guest wants to be preempted by.
const PreemptBits = 0x8

// Program encodes instructions; an End is added.
func Program(code ...Instr) []byte {
	var b []byte
	for _, in := range append(code, Instr{}) {
		for _, w := range []uint32{uint32(in.Op), in.A, in.B, in.C} {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
	}
	return b
}

// threads adds the interpreter and the exports of a guest with threads.
func (g *guest) threads() {
	const pc, n = 0, 1
	sp := g.sp
	c := code().Block(Void).Loop(Void)
	a := func(i uint32) *Code { return c.Get(pc).Mem(opLoad, 4*i) }
	op := func(o ThreadOp, f func()) {
		c.Get(pc).Mem(opLoad, 0).I32(int32(o)).Op(opEq).If(Void)
		f()
		c.End()
	}
	op(End, func() { c.Op(opReturn) })
	op(StartT, func() { c.I32(Errno); a(1); a(2); a(3); c.Call(g.start).Mem(opStore, 0) })
	op(WaitT, func() {
		a(3)
		a(1)
		a(2)
		c.Raw(0xac).I64(1_000_000).Raw(0x7e) // i64.extend_i32_s, i64.mul
		c.Call(g.wait).Mem(opStore, 0)
	})
	op(WakeT, func() { a(1); a(2); c.Call(g.wake) })
	op(YieldT, func() { c.Call(g.threadYield) })
	op(ExitT, func() { c.Call(g.threadExit).Op(opUnreachable) })
	op(InterruptT, func() { c.Call(g.threadInterrupt) })
	op(DropT, func() { c.Call(g.drop) })
	op(AddT, func() { a(1); a(1); c.Mem(opLoad, 0); a(2); c.Op(opAdd).Mem(opStore, 0) })
	op(CopyT, func() { a(1); a(2); c.Mem(opLoad, 0).Mem(opStore, 0) })
	op(SpinT, func() { a(1); c.Set(n).Loop(Void).Get(n).I32(1).Op(opSub).Tee(n).Op(opBrIf, 0).End() })
	op(SpinUntilT, func() {
		c.Loop(Void)
		// Like an interpreter, it yields when the host asks for it.
		c.I32(Preempted).Mem(opLoad, 0).If(Void)
		c.I32(Preempted).I32(0).Mem(opStore, 0).Call(g.threadYield).End()
		a(1)
		c.Mem(opLoad, 0)
		a(2)
		c.Raw(0x47).Op(opBrIf, 0).End() // i32.ne
	})
	op(TrapT, func() { c.Op(opUnreachable) })
	op(LocalT, func() { c.I32(ThreadLocal); a(1); c.Mem(opStore, 0) })
	op(StackT, func() {
		a(1)
		c.Set(n).Loop(Void)
		c.Op(opGlobalGet, sp).I32(1024).Op(opSub).Op(opGlobalSet, sp)
		c.Op(opGlobalGet, sp).Get(n).Mem(opStore, 0)
		c.Get(n).I32(1).Op(opSub).Tee(n).Op(opBrIf, 0).End()
		c.Op(opGlobalGet, sp)
		a(1)
		c.I32(1024).Raw(0x6c).Op(opAdd).Op(opGlobalSet, sp)
	})
	op(DeepT, func() { a(1); c.Call(g.deepN).Op(opDrop) })
	op(SleepT, func() {
		c.I32(pollIn).I64(0).Mem(opStore64, 0).I32(pollIn).I64(0).Mem(opStore64, 8).I32(pollIn).I64(1).Mem(opStore64, 16)
		c.I32(pollIn)
		a(1)
		c.Op(opExtendU).I64(1_000_000).Raw(0x7e).Mem(opStore64, 24)
		c.I32(pollIn).I64(0).Mem(opStore64, 32).I32(pollIn).I64(0).Mem(opStore64, 40)
		c.I32(pollIn).I32(pollOut).I32(1).I32(pollN).Call(g.poll).Op(opDrop)
	})
	op(SchedYieldT, func() { c.Call(g.yield).Op(opDrop) })
	op(GrowT, func() { a(1); c.Op(opGrow, 0).Op(opDrop) })
	op(CallT, func() {
		a(1)
		c.I32(9).Call(g.call).Op(opWrap).Set(n)
		a(2)
		c.Get(n).Call(g.recv).Op(opDrop)
	})
	op(JumpUnless, func() {
		a(1)
		c.Mem(opLoad, 0)
		a(2)
		c.Raw(0x47).If(Void).Get(pc)
		a(3)
		c.I32(4).Op(opShl).Op(opSub).Set(pc).Op(opBr, 2).End()
	})
	op(ForkT, func() {
		a(2)
		a(1)
		c.I32(12).Call(g.fork).Mem(opStore, 0)
	})
	op(ForkWaitT, func() {
		a(3)
		a(1)
		c.Mem(opLoad, 0)
		a(2)
		c.Raw(0xac).I64(1_000_000).Raw(0x7e)
		c.Call(g.forkWait).Op(opWrap).Tee(n).Mem(opStore, 0)
		c.Get(n).I32(0).Raw(0x4a).If(Void) // i32.gt_s
		a(3)
		c.I32(4).Op(opAdd).Get(n).Call(g.recv).Op(opDrop).End()
	})
	op(ForkEndT, func() {
		a(1)
		c.Mem(opLoad, 0).Call(g.forkEnd)
	})
	op(DeepWaitT, func() { a(1); a(2); c.Call(g.deepWait) })
	op(ClearT, func() { c.I32(Control).I32(0).Mem(opStore, 0) })
	c.Get(pc).I32(16).Op(opAdd).Set(pc).Op(opBr, 0).End().End()
	g.interpret = g.m.Func("i:", "i", c)

	g.m.Export("guest_thread", KindFunc, g.interpret)
	c = code()
	for i, w := range []uint32{1, Record, 4, PreemptBits, ThreadLocal} {
		c.I32(int32(threadBlock+4*i)).I32(int32(w)).Mem(opStore, 0)
	}
	c.I32(Record).I32(Record).Mem(opStore, 0)
	g.m.Export("guest_threads", KindFunc, g.m.Func(":i", "", c.I32(threadBlock)))
	g.m.Export("__stack_pointer", KindGlobal, sp)
}
