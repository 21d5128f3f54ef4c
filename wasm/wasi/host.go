package wasi

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ModuleName is the name of the host module that guests import.
const ModuleName = "wasi_snapshot_preview1"

// An ExitError ends the call of a guest that called proc_exit. It goes through the wasm frames as a panic, and wazero
// wraps it in the error of the call, where errors.As finds the *ExitError. The module instance is not closed.
type ExitError struct {
	Code uint32 // 0 is success
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("guest exited with code %d", e.Code) }

// Instantiate adds the host module "wasi_snapshot_preview1" to a runtime; closing the result removes it. It adds all
// functions of preview 1.
//
// get returns the process that a call belongs to, from the context given to the call of the guest's function. It must
// be cheap, as every host call asks. For nil all functions fail with ENOSYS, except that proc_exit works.
func Instantiate(ctx context.Context, r wazero.Runtime, get func(context.Context) *Process) (api.Closer, error) {
	b := r.NewHostModuleBuilder(ModuleName)
	for _, f := range functions {
		params := make([]api.ValueType, len(f.params))
		for i, t := range f.params {
			params[i] = api.ValueTypeI32
			if t == 'l' {
				params[i] = api.ValueTypeI64
			}
		}
		results := []api.ValueType{api.ValueTypeI32}
		if f.name == "proc_exit" {
			results = nil
		}
		b.NewFunctionBuilder().WithGoModuleFunction(f.bind(get), params, results).Export(f.name)
	}
	m, err := b.Instantiate(ctx)
	if err != nil {
		return nil, fmt.Errorf("wasi: instantiate host module: %w", err)
	}
	return m, nil
}

// A call is one call of a host function.
type call struct {
	ctx   context.Context
	p     *Process
	mem   api.Memory
	stack []uint64
}

func (c call) u32(i int) uint32 { return uint32(c.stack[i]) }
func (c call) u16(i int) uint16 { return uint16(c.stack[i]) }

// A function is a host function: its parameters as "i" (i32) and "l" (i64) in order, and what it does.
type function struct {
	name, params string
	do           func(call) errno
}

func (f function) bind(get func(context.Context) *Process) api.GoModuleFunc {
	if f.name == "proc_exit" {
		return func(_ context.Context, _ api.Module, stack []uint64) {
			panic(&ExitError{Code: uint32(stack[0])})
		}
	}
	do := f.do
	if worksOnFile(f.name) {
		do = notStale(do)
	}
	return func(ctx context.Context, m api.Module, stack []uint64) {
		p := get(ctx)
		if p == nil {
			stack[0] = uint64(errNosys)
			return
		}
		p.calling = ctx
		stack[0] = uint64(do(call{ctx, p, m.Memory(), stack}))
		p.calling = nil
	}
}

var functions = []function{
	{"args_get", "ii", argsGet},
	{"args_sizes_get", "ii", argsSizesGet},
	{"clock_res_get", "ii", clockResGet},
	{"clock_time_get", "ili", clockTimeGet},
	{"environ_get", "ii", environGet},
	{"environ_sizes_get", "ii", environSizesGet},
	{"fd_advise", "illi", fdAdvise},
	{"fd_allocate", "ill", fdAllocate},
	{"fd_close", "i", fdClose},
	{"fd_datasync", "i", fdDatasync},
	{"fd_fdstat_get", "ii", fdFdstatGet},
	{"fd_fdstat_set_flags", "ii", fdFdstatSetFlags},
	{"fd_fdstat_set_rights", "ill", fdFdstatSetRights},
	{"fd_filestat_get", "ii", fdFilestatGet},
	{"fd_filestat_set_size", "il", fdFilestatSetSize},
	{"fd_filestat_set_times", "illi", fdFilestatSetTimes},
	{"fd_pread", "iiili", fdPread},
	{"fd_prestat_dir_name", "iii", fdPrestatDirName},
	{"fd_prestat_get", "ii", fdPrestatGet},
	{"fd_pwrite", "iiili", fdPwrite},
	{"fd_read", "iiii", fdRead},
	{"fd_readdir", "iiili", fdReaddir},
	{"fd_renumber", "ii", fdRenumber},
	{"fd_seek", "ilii", fdSeek},
	{"fd_sync", "i", fdSync},
	{"fd_tell", "ii", fdTell},
	{"fd_write", "iiii", fdWrite},
	{"path_create_directory", "iii", pathCreateDirectory},
	{"path_filestat_get", "iiiii", pathFilestatGet},
	{"path_filestat_set_times", "iiiilli", pathFilestatSetTimes},
	{"path_link", "iiiiiii", pathLink},
	{"path_open", "iiiiillii", pathOpen},
	{"path_readlink", "iiiiii", pathReadlink},
	{"path_remove_directory", "iii", pathRemoveDirectory},
	{"path_rename", "iiiiii", pathRename},
	{"path_symlink", "iiiii", pathSymlink},
	{"path_unlink_file", "iii", pathUnlinkFile},
	{"poll_oneoff", "iiii", pollOneoff},
	{"proc_exit", "i", nil}, // see bind
	{"proc_raise", "i", func(call) errno { return errNosys }},
	{"random_get", "ii", randomGet},
	{"sched_yield", "", schedYield},
	{"sock_accept", "iii", notSocket},
	{"sock_recv", "iiiiii", notSocket},
	{"sock_send", "iiiii", notSocket},
	{"sock_shutdown", "ii", notSocket},
}

func schedYield(c call) errno {
	c.p.block(c.ctx, func() {})
	return success
}

func notSocket(c call) errno {
	if c.p.lookup(c.u32(0)) == nil {
		return errBadf
	}
	return errNotsock
}
