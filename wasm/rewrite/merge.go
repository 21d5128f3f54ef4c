package rewrite

// Merging of bounds checks.
//
// wazero checks every access with five to seven instructions and a jump, about half of the time that CPython takes on it.
// It leaves the check out when it knows that the same base value was checked for an end at least as high, on every path.
// Compilers access the fields of a structure in any order, so the ends go up and down and most checks stay.
//
// So before the first access through a local in a block, a load is put that ends where the highest access through
// this local anywhere in the function ends. Its value is dropped and wazero removes the load, but not the check, and
// that check covers all the accesses that follow. The early check must not trap where the program would not have:
// memory therefore ends with a guard page that the guest does not know of (memory.size and memory.grow hide it), and
// only ends up to guardSlack are merged. An access that was in bounds is at most that far from the guard page's end.
//
// Accesses at constant addresses get the same treatment with one local that stays zero: all static variables of a
// function share one check. They lie below the memory's minimum size, so this check never fails.

const (
	pageSize = 65536
	maxPages = 65536
	// guardSlack leaves the size of the largest access below one page.
	guardSlack = pageSize - 16
)

// mergePlan says for one body what the emitter does about bounds checks.
type mergePlan struct {
	// end is the highest end of an access through each local.
	end []uint32
	// uses counts the accesses through each local.
	uses []int
	// static is the highest end of an access at a constant address; staticUses counts them.
	static     uint32
	staticUses int
	// constants are the positions of the i32.const instructions that become reads of the zero local.
	constants map[int]bool
}

// planMerges looks at every access of a body.
func planMerges(m *module, ft funcType, body []byte) (*mergePlan, error) {
	w, err := newWalker(m, ft, body)
	if err != nil {
		return nil, err
	}
	p := &mergePlan{end: make([]uint32, len(w.locals)), uses: make([]int, len(w.locals)), constants: map[int]bool{}}
	limit := uint64(m.memMin) * pageSize
	w.visit = func(in *instruction) {
		if !in.live || in.op < opI32Load || in.op > opI64Store32 {
			return
		}
		end := uint64(in.offset) + uint64(accesses[in.op-opI32Load].size)
		switch {
		case in.addr.local >= 0 && w.current(in.addr) && end <= guardSlack:
			p.end[in.addr.local] = max(p.end[in.addr.local], uint32(end))
			p.uses[in.addr.local]++
		case in.addr.constant && uint64(in.addr.imm)+end <= limit:
			p.static = max(p.static, in.addr.imm+uint32(end))
			p.staticUses++
			p.constants[in.addr.pos] = true
		}
	}
	return p, w.run()
}

// current tells whether a local still holds the value that was pushed.
func (w *walker) current(v value) bool { return w.versions[v.local] == v.version }
