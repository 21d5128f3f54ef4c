package wasi

func (p *Process) arguments() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.args
}

func (p *Process) environment() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.env
}

func argsGet(c call) errno         { return c.putStrings(c.p.arguments()) }
func argsSizesGet(c call) errno    { return c.putSizes(c.p.arguments()) }
func environGet(c call) errno      { return c.putStrings(c.p.environment()) }
func environSizesGet(c call) errno { return c.putSizes(c.p.environment()) }

// putSizes writes the count of strings at parameter 0 and their size, final NULs included, at parameter 1.
func (c call) putSizes(list []string) errno {
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	if e := c.putU32(c.u32(0), uint32(len(list))); e != success {
		return e
	}
	return c.putU32(c.u32(1), uint32(size))
}

// putStrings writes the strings at parameter 1 and a pointer to each at parameter 0.
func (c call) putStrings(list []string) errno {
	ptrs, buf := uint64(c.u32(0)), uint64(c.u32(1))
	for _, s := range list {
		end := buf + uint64(len(s))
		if ptrs > 1<<32-4 || end >= 1<<32 {
			return errFault
		}
		if e := c.putU32(uint32(ptrs), uint32(buf)); e != success {
			return e
		}
		if !c.mem.WriteString(uint32(buf), s) || !c.mem.WriteByte(uint32(end), 0) {
			return errFault
		}
		ptrs, buf = ptrs+4, end+1
	}
	return success
}
