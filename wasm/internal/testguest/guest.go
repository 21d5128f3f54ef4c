package testguest

import (
	"encoding/binary"
	"math"
)

// Op is what a request asks the guest to do. Arguments are the little-endian words of the request's body, answers are
// raw bytes.
type Op uint32

// Operations of the guest.
const (
	Echo       Op = iota // answers the body
	Count                // (delta): adds to a word of memory and to a global of each type; answers like State
	Status               // answers a State
	Spin                 // runs for ever
	SpinUntil            // runs until the interrupt word is set; answers an Interrupt and clears it
	SpinN                // (n): a loop of n iterations
	Grow                 // (pages): answers the result of memory.grow and memory.size
	Fill                 // (address, value, length)
	Copy                 // (destination, source, length)
	Trap                 // unreachable
	Recurse              // recursion without end
	Exit                 // (code): proc_exit
	HostCall             // (pointer, length, delta, payload...): see HostCallBody
	Answer               // (low, high): the result of guest_call as it is
	Random               // answers 16 bytes of random_get
	Write                // (fd, bytes...): answers errno and length of fd_write
	Poke                 // (address, value)
	Touch                // (address, length, value): a byte in each 4 KiB
	Load                 // (address): answers a word
	Yield                // sched_yield; answers an Interrupt and clears it
	RunProgram           // runs the body as a Program in the first thread
	Deep                 // (n): recursion of n calls
	numOps
)

// Addresses in the guest's memory. Requests stand at Heap.
const (
	Control   = 0x100
	Breaker   = 0x200
	Counter   = 0x300
	initCount = 0x304
	startFlag = 0x308
	AllocMode = 0x30c // what guest_alloc returns: 0 memory, 1 null, else this address
	iovec     = 0x310
	written   = 0x318
	out       = 0x400
	Greeting  = 0x800
	Heap      = 0x10000
	// Pages is the size of the memory after initialisation.
	Pages = 8
)

// Hello stands at Greeting, from a data segment.
const Hello = "hello from a data segment"

// BreakerBits are the bits that the guest wants in its breaker word.
const BreakerBits = 0x30

// First values of the guest's mutable globals.
const (
	GlobalI32 = 7
	GlobalI64 = 1 << 40
	GlobalF64 = 0.5
	GlobalF32 = 0.25
)

// State is the answer of Status.
type State struct {
	Counter, I32    uint32
	I64             uint64
	F64             float64
	F32             float32
	Pages           uint32
	Inits, Startups uint32
}

// ParseState decodes the answer of Status.
func ParseState(b []byte) (s State) {
	if len(b) != 40 {
		return s
	}
	w := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	return State{
		w(0), w(4), binary.LittleEndian.Uint64(b[8:]), math.Float64frombits(binary.LittleEndian.Uint64(b[16:])),
		math.Float32frombits(w(24)), w(28), w(32), w(36),
	}
}

// Request builds a request frame from words.
func Request(op Op, args ...uint32) []byte {
	var body []byte
	for _, a := range args {
		body = binary.LittleEndian.AppendUint32(body, a)
	}
	return RequestBytes(op, body)
}

// RequestBytes builds a request frame.
func RequestBytes(op Op, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(op))
	b = append(b, 2, 0, 0, 0, '{', '}')
	return append(b, body...)
}

// HostCallBody is the body of HostCall: payload is sent with mayfly.call, or what stands at pointer with this length if
// they are not 0; then recv is called with a buffer whose length differs by delta. The answer is the result of call
// (8 bytes); if it is not negative, that of recv (4 bytes) and the buffer follow.
func HostCallBody(pointer, length uint32, delta int32, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, pointer)
	b = binary.LittleEndian.AppendUint32(b, length)
	b = binary.LittleEndian.AppendUint32(b, uint32(delta))
	return append(b, payload...)
}

// Boot frames for guest_init, which looks at the payload's first byte.
var (
	BootOK   = bootFrame("")
	BootFail = bootFrame("f") // explains itself on stderr and fails
	BootSpin = bootFrame("s") // never ends
	BootTrap = bootFrame("t")
	BootGrow = bootFrame("g") // also grows the memory by a page
)

func bootFrame(payload string) []byte {
	return append([]byte{3, 0, 0, 0, 'r', 'u', 'n'}, payload...)
}

// Options are ways in which the guest can break the ABI.
type Options struct {
	ABI     int32  // answer of guest_abi; default 2
	Control int32  // answer of guest_control; default Control
	Omit    string // an export to leave out
	NoTick  bool   // do not import mayfly.tick
	Threads bool   // with threads, see Program
}

// Guest returns the guest's module. The result depends only on o, which may be nil.
func Guest(o *Options) []byte {
	opts := Options{}
	if o != nil {
		opts = *o
	}
	if opts.ABI == 0 {
		opts.ABI = 2
	}
	if opts.Control == 0 {
		opts.Control = Control
	}
	return build(&opts).Bytes()
}
