// The guest side of the ABI in guests/README.md for CPython: exports, and the built-in module _mayfly that the
// in-guest support library stands on. Everything that can be said in Python is left to the boot program.
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include "internal/pycore_ast.h"
#include "internal/pycore_backoff.h"
#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_compile.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_import.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_mayfly.h"
#include "internal/pycore_object.h"
#include "internal/pycore_obmalloc.h"
#include "internal/pycore_opcode_metadata.h"
#include "internal/pycore_parser.h"
#include "internal/pycore_pyarena.h"
#include "internal/pycore_pyerrors.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_pythread.h"
#include "internal/pycore_runtime.h"
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAYFLY_BUILD
#  define MAYFLY_BUILD "unknown"
#endif

#define ABI_VERSION 2
#define MAX_FRAME (64u << 20)
#define MAX_TRACEBACK 16384

#define EXPORT(n) __attribute__((export_name(n), visibility("default")))
#define IMPORT(n) __attribute__((import_module("mayfly"), import_name(n)))

IMPORT("call") int64_t mayfly_call(const void *ptr, uint32_t len);
IMPORT("recv") int32_t mayfly_recv(void *ptr, uint32_t len);
IMPORT("fork") int32_t mayfly_fork(const void *ptr, uint32_t len);
IMPORT("fork_wait") int64_t mayfly_fork_wait(int32_t handle, int64_t ns);
IMPORT("fork_end") void mayfly_fork_end(int32_t handle);
IMPORT("tick") void mayfly_tick(void);

extern const struct _frozen guest_frozen_modules[];

// wasi-libc: forget the cached pre-opened directories, look them up anew at the next use.
void __wasilibc_reset_preopens(void);

static PyObject *handler;  // serves guest_call
static PyObject *answer;   // what the last guest_call returned a pointer into
static PyObject *empty;    // the code of an empty module
static PyObject *settle;   // called before the base snapshot is taken, may be NULL
static PyThreadState *main_state;
static PyObject *deadlock_error;
static PyObject *deadlock_reporter;

// ---- _mayfly

// Gets a frame out of an argument.
static int
get_frame(PyObject *arg, Py_buffer *b)
{
    if (PyObject_GetBuffer(arg, b, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    if ((size_t)b->len > MAX_FRAME) {
        PyErr_Format(PyExc_ValueError, "the request has %zd bytes, more than a frame may have (%u)", b->len, MAX_FRAME);
        PyBuffer_Release(b);
        return -1;
    }
    return 0;
}

// Raises what the host has against a request.
static void
refused(int64_t code)
{
    switch (code) {
    case -1:
        PyErr_SetString(PyExc_ValueError, "the request is not a frame");
        break;
    case -2:
        PyErr_SetString(PyExc_ValueError, "the request is larger than the host takes");
        break;
    default:
        PyErr_Format(PyExc_OSError, "the host refused the call (%lld)", (long long)code);
    }
}

// Receives the host's answer of n bytes.
static PyObject *
receive(int64_t n)
{
    if (n > INT32_MAX) {
        PyErr_Format(PyExc_OSError, "the host's answer has %lld bytes, too many", (long long)n);
        return NULL;
    }
    PyObject *r = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (r == NULL) {
        mayfly_recv(NULL, 0);  // drops the answer
        return NULL;
    }
    if (mayfly_recv(PyBytes_AS_STRING(r), (uint32_t)n) != 0) {
        Py_DECREF(r);
        PyErr_SetString(PyExc_OSError, "the host's answer could not be received");
        return NULL;
    }
    return r;
}

PyDoc_STRVAR(call_doc,
"call(request, /)\n--\n\nSends a frame to the host and returns its answer as bytes.");

static PyObject *
m_call(PyObject *Py_UNUSED(self), PyObject *arg)
{
    Py_buffer b;
    if (get_frame(arg, &b) < 0) {
        return NULL;
    }
    // The host keeps an answer for each thread, so others may call before this one receives.
    int64_t n;
    Py_BEGIN_ALLOW_THREADS
    n = mayfly_call(b.buf, (uint32_t)b.len);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&b);
    if (n < 0) {
        refused(n);
        return NULL;
    }
    return receive(n);
}

PyDoc_STRVAR(fork_doc,
"fork(request, /)\n--\n\n"
"Forks the sandbox and returns a handle. The handler of the fork gets the request; only the main thread is there.");

static PyObject *
m_fork(PyObject *Py_UNUSED(self), PyObject *arg)
{
    Py_buffer b;
    if (get_frame(arg, &b) < 0) {
        return NULL;
    }
    // With the GIL, so that nobody else is in the middle of something.
    int32_t handle = mayfly_fork(b.buf, (uint32_t)b.len);
    PyBuffer_Release(&b);
    if (handle >= 0) {
        return PyLong_FromLong(handle);
    }
    if (handle == -3) {
        PyErr_SetString(PyExc_RuntimeError, "no process can be started here");
    }
    else if (handle == -4) {
        errno = EAGAIN;
        PyErr_SetFromErrno(PyExc_OSError);
    }
    else {
        refused(handle);
    }
    return NULL;
}

PyDoc_STRVAR(fork_wait_doc,
"fork_wait(handle, ns, /)\n--\n\n"
"Waits for a fork and returns its answer as bytes, or None when that takes more than ns nanoseconds or is interrupted.");

static PyObject *
m_fork_wait(PyObject *Py_UNUSED(self), PyObject *args)
{
    int handle;
    long long ns;
    if (!PyArg_ParseTuple(args, "iL:fork_wait", &handle, &ns)) {
        return NULL;
    }
    int64_t n;
    Py_BEGIN_ALLOW_THREADS
    n = mayfly_fork_wait(handle, ns);
    Py_END_ALLOW_THREADS
    if (n == -2) {
        Py_RETURN_NONE;
    }
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "there is no such fork");
        return NULL;
    }
    return receive(n);
}

PyDoc_STRVAR(fork_end_doc,
"fork_end(handle, /)\n--\n\nEnds a fork early. It has to be waited for nevertheless.");

static PyObject *
m_fork_end(PyObject *Py_UNUSED(self), PyObject *arg)
{
    int handle = PyLong_AsInt(arg);
    if (handle == -1 && PyErr_Occurred()) {
        return NULL;
    }
    mayfly_fork_end(handle);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(interrupted_doc,
"interrupted()\n--\n\nTells whether the host wants the present call to end: it has raised, or is about to.");

static PyObject *
m_interrupted(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(_PyMayfly_control.limit_ms != 0);
}

PyDoc_STRVAR(set_handler_doc,
"set_handler(callable, /)\n--\n\nRegisters the function that serves requests of the host: it takes and returns bytes.");

static PyObject *
m_set_handler(PyObject *Py_UNUSED(self), PyObject *f)
{
    if (!PyCallable_Check(f)) {
        PyErr_SetString(PyExc_TypeError, "the handler must be callable");
        return NULL;
    }
    Py_XSETREF(handler, Py_NewRef(f));
    Py_RETURN_NONE;
}

PyDoc_STRVAR(set_settle_doc,
"set_settle(callable, /)\n--\n\n"
"Registers a function that guest_init calls after the boot program. What it allocates lies together, away from the rest.");

static PyObject *
m_set_settle(PyObject *Py_UNUSED(self), PyObject *f)
{
    if (!PyCallable_Check(f)) {
        PyErr_SetString(PyExc_TypeError, "the function must be callable");
        return NULL;
    }
    Py_XSETREF(settle, Py_NewRef(f));
    Py_RETURN_NONE;
}

// The single name that a statement assigns to, or NULL.
static PyObject *
assigned_name(stmt_ty s)
{
    expr_ty t = NULL;
    switch (s->kind) {
    case Assign_kind:
        if (asdl_seq_LEN(s->v.Assign.targets) == 1) {
            t = asdl_seq_GET(s->v.Assign.targets, 0);
        }
        break;
    case AnnAssign_kind:
        if (s->v.AnnAssign.value != NULL) {
            t = s->v.AnnAssign.target;
        }
        break;
    case AugAssign_kind:
        t = s->v.AugAssign.target;
        break;
    default:
        break;
    }
    return t != NULL && t->kind == Name_kind ? t->v.Name.id : NULL;
}

PyDoc_STRVAR(compile_doc,
"compile(source, filename, flags=0, /)\n--\n\n"
"Compiles a piece of code and splits off what makes up its result: (code, last, name).\n\n"
"When the last statement is an expression, code is the rest and last the expression, to be evaluated after it.\n"
"When it assigns to one name, code is the whole and name that name. Else last and name are None.\n"
"Of the flags, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT and those of __future__ count.");

static PyObject *
m_compile(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 2 || nargs > 3) {
        PyErr_Format(PyExc_TypeError, "compile() takes 2 or 3 arguments (%zd given)", nargs);
        return NULL;
    }
    PyObject *source = args[0], *filename = args[1];
    PyCompilerFlags cf = _PyCompilerFlags_INIT;
    cf.cf_flags = PyCF_SOURCE_IS_UTF8;
    if (nargs == 3) {
        long f = PyLong_AsLong(args[2]);
        if (f == -1 && PyErr_Occurred()) {
            return NULL;
        }
        if (f & ~(long)(PyCF_MASK | PyCF_ALLOW_TOP_LEVEL_AWAIT)) {
            PyErr_SetString(PyExc_ValueError, "compile(): unrecognised flags");
            return NULL;
        }
        cf.cf_flags |= (int)f;
    }
    if (!PyUnicode_Check(filename)) {
        PyErr_SetString(PyExc_TypeError, "compile(): the filename must be a str");
        return NULL;
    }
    const char *text;
    Py_ssize_t size;
    if (PyUnicode_Check(source)) {
        cf.cf_flags |= PyCF_IGNORE_COOKIE;
        text = PyUnicode_AsUTF8AndSize(source, &size);
        if (text == NULL) {
            return NULL;
        }
    }
    else if (PyBytes_Check(source)) {
        text = PyBytes_AS_STRING(source);
        size = PyBytes_GET_SIZE(source);
    }
    else {
        PyErr_SetString(PyExc_TypeError, "compile(): the source must be str or bytes");
        return NULL;
    }
    if (strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_SyntaxError, "source code string cannot contain null bytes");
        return NULL;
    }

    PyArena *arena = _PyArena_New();
    if (arena == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    PyObject *code = NULL, *last = NULL, *name = NULL, *result = NULL;
    mod_ty mod = _PyParser_ASTFromString(text, filename, Py_file_input, &cf, arena);
    if (mod == NULL) {
        goto done;
    }
    asdl_stmt_seq *body = mod->v.Module.body;
    Py_ssize_t n = asdl_seq_LEN(body);
    mod_ty expression = NULL;
    if (n > 0) {
        stmt_ty s = asdl_seq_GET(body, n - 1);
        if (s->kind == Expr_kind) {
            expression = _PyAST_Expression(s->v.Expr.value, arena);
            if (expression == NULL) {
                goto done;
            }
            body->size = --n;
        }
        else {
            // The arena owns the name.
            name = Py_XNewRef(assigned_name(s));
        }
    }
    // The compiler adds the __future__ features of the code to the flags, so the expression gets them as well.
    if (n == 0) {
        code = Py_NewRef(empty);
    }
    else {
        code = (PyObject *)_PyAST_Compile(mod, filename, &cf, -1, arena);
        if (code == NULL) {
            goto done;
        }
    }
    if (expression != NULL) {
        last = (PyObject *)_PyAST_Compile(expression, filename, &cf, -1, arena);
        if (last == NULL) {
            goto done;
        }
    }
    result = PyTuple_Pack(3, code, last ? last : Py_None, name ? name : Py_None);
done:
    Py_XDECREF(code);
    Py_XDECREF(last);
    Py_XDECREF(name);
    _PyArena_Free(arena);
    return result;
}

// ---- _mayfly: threads

PyDoc_STRVAR(set_deadlock_reporter_doc,
"set_deadlock_reporter(callable, /)\n--\n\n"
"Registers the function that returns the message of a DeadlockError, or None.");

static PyObject *
m_set_deadlock_reporter(PyObject *Py_UNUSED(self), PyObject *f)
{
    if (f != Py_None && !PyCallable_Check(f)) {
        PyErr_SetString(PyExc_TypeError, "the reporter must be callable");
        return NULL;
    }
    Py_XSETREF(deadlock_reporter, f == Py_None ? NULL : Py_NewRef(f));
    Py_RETURN_NONE;
}

// Raises DeadlockError in the main thread; set as _PyMayfly_raise_deadlock.
static void
raise_deadlock(void)
{
    static int reporting;
    PyObject *message = NULL;
    if (deadlock_reporter != NULL && !reporting) {
        PyObject *f = Py_NewRef(deadlock_reporter);
        reporting = 1;
        message = PyObject_CallNoArgs(f);
        reporting = 0;
        Py_DECREF(f);
        if (message == NULL && (PyErr_ExceptionMatches(PyExc_TimeoutError)
                                || !PyErr_ExceptionMatches(PyExc_Exception))) {
            return;   // an interrupt meanwhile
        }
        if (message != NULL && !PyUnicode_Check(message)) {
            Py_CLEAR(message);
        }
    }
    if (message != NULL) {
        PyErr_SetObject(deadlock_error, message);
        Py_DECREF(message);
    }
    else {
        PyErr_SetString(deadlock_error, "deadlock: every thread waits for another");
    }
}

PyDoc_STRVAR(thread_count_doc,
"thread_count()\n--\n\nReturns the number of threads besides the main one, whoever started them.");

static PyObject *
m_thread_count(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(_PyMayfly_threads);
}

PyDoc_STRVAR(end_threads_doc,
"end_threads()\n--\n\n"
"Sets SystemExit in all threads but the main one, and ends their present waits, sleeps and calls of the host.\n\n"
"They raise it as soon as they run again, and may catch it.");

static PyObject *
m_end_threads(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyThreadState *me = PyThreadState_Get();
    // The exception is immortal and nothing is freed, so nothing runs while the lists are followed. A state that is not
    // bound yet, without an ident, belongs to a thread that is about to start.
    for (PyInterpreterState *interp = PyInterpreterState_Head(); interp != NULL; interp = PyInterpreterState_Next(interp)) {
        for (PyThreadState *t = PyInterpreterState_ThreadHead(interp); t != NULL; t = PyThreadState_Next(t)) {
            if (t != me && t->thread_id != _PyRuntime.main_thread && t->async_exc == NULL) {
                t->async_exc = Py_NewRef(PyExc_SystemExit);
                _Py_set_eval_breaker_bit(t, _PY_ASYNC_EXCEPTION_BIT);
            }
        }
    }
    _PyMayfly_ThreadInterrupt();
    Py_RETURN_NONE;
}

// Frames of a dropped thread can be looked at later, through a traceback for instance. Some of those between them, which
// only mark where C code called the interpreter, stand on its stack, which is going to be freed.
static void
unlink_frames(PyThreadState *t)
{
    for (_PyInterpreterFrame *f = t->current_frame; f != NULL; f = f->previous) {
        while (f->previous != NULL && f->previous->owner == FRAME_OWNED_BY_CSTACK) {
            f->previous = f->previous->previous;
        }
    }
}

// What a thread held when it was dropped while it was importing: its modules are half done, and their locks taken.
static void
forget_imports(PyInterpreterState *interp)
{
    if (interp->imports.lock.thread != _PyRuntime.main_thread) {
        interp->imports.lock = (_PyRecursiveMutex){0};
    }
    const char *const tables[] = {"_module_locks", "_blocking_on"};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(tables); i++) {
        PyObject *d = PyObject_GetAttrString(interp->imports.importlib, tables[i]);
        if (d != NULL && PyDict_Check(d)) {
            PyDict_Clear(d);
        }
        Py_XDECREF(d);
    }
    PyErr_Clear();
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *names = modules ? PyDict_Keys(modules) : NULL;
    for (Py_ssize_t i = 0; names != NULL && i < PyList_GET_SIZE(names); i++) {
        PyObject *m = PyDict_GetItemWithError(modules, PyList_GET_ITEM(names, i));
        PyObject *spec = m != NULL && PyModule_Check(m) ? PyObject_GetAttrString(m, "__spec__") : NULL;
        PyObject *v = spec != NULL && spec != Py_None ? PyObject_GetAttrString(spec, "_initializing") : NULL;
        if (v == Py_True) {
            PyDict_DelItem(modules, PyList_GET_ITEM(names, i));
        }
        Py_XDECREF(v);
        Py_XDECREF(spec);
        PyErr_Clear();
    }
    Py_XDECREF(names);
    PyErr_Clear();
}

// Ends all other threads where they stand. Then the runtime is in the state of the child after a fork: the threads that
// it knows of do not exist, and what they held is held by nobody. Objects that only they referred to are lost.
static int
drop_threads(void)
{
    PyThreadState *me = PyThreadState_Get();
    PyInterpreterState *interp = me->interp;
    _PyMayfly_ThreadDrop();
    if (PyStatus_Exception(_PyRuntimeState_ReInitThreads(&_PyRuntime))) {
        PyErr_NoMemory();
        return -1;
    }
    _PyInterpreterState_ReinitRunningMain(me);
    _PyEval_ReInitThreads(me);
    interp->ceval.pending.handling_thread = NULL;
    interp->threads.count = 0;

    // A collection that a dropped thread was in has lists on its stack that go on being linked.
    int keep_stacks = interp->gc.collecting != 0;
    interp->gc.collecting = 0;
    PyThreadState *list = _PyThreadState_RemoveExcept(me);
    for (PyThreadState *t = list; t != NULL; t = t->next) {
        unlink_frames(t);
    }
    // Their data stacks stay: objects may still know a frame there.
    _PyThreadState_DeleteList(list);
    _PyMayfly_ForgetThreads(keep_stacks);
    forget_imports(interp);
    return 0;
}

PyDoc_STRVAR(drop_threads_doc,
"drop_threads()\n--\n\n"
"Ends all threads but the main one where they stand, without unwinding them.\n\n"
"threading._after_fork() must be called after it.");

static PyObject *
m_drop_threads(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    if (!_Py_IsMainThread() || !_Py_IsMainInterpreter(PyInterpreterState_Get())) {
        PyErr_SetString(PyExc_RuntimeError, "only the main thread can drop the others");
        return NULL;
    }
    if (drop_threads() < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef m_methods[] = {
    {"call", m_call, METH_O, call_doc},
    {"fork", m_fork, METH_O, fork_doc},
    {"fork_wait", m_fork_wait, METH_VARARGS, fork_wait_doc},
    {"fork_end", m_fork_end, METH_O, fork_end_doc},
    {"interrupted", m_interrupted, METH_NOARGS, interrupted_doc},
    {"set_handler", m_set_handler, METH_O, set_handler_doc},
    {"set_settle", m_set_settle, METH_O, set_settle_doc},
    {"compile", _PyCFunction_CAST(m_compile), METH_FASTCALL, compile_doc},
    {"set_deadlock_reporter", m_set_deadlock_reporter, METH_O, set_deadlock_reporter_doc},
    {"thread_count", m_thread_count, METH_NOARGS, thread_count_doc},
    {"end_threads", m_end_threads, METH_NOARGS, end_threads_doc},
    {"drop_threads", m_drop_threads, METH_NOARGS, drop_threads_doc},
    {NULL, NULL, 0, NULL},
};

static int
m_exec(PyObject *m)
{
    if (deadlock_error == NULL) {
        deadlock_error = PyErr_NewExceptionWithDoc(
            "_mayfly.DeadlockError", "Every thread waits for another.", PyExc_RuntimeError, NULL);
        if (deadlock_error == NULL) {
            return -1;
        }
        _PyMayfly_raise_deadlock = raise_deadlock;
    }
    if (PyModule_AddObjectRef(m, "DeadlockError", deadlock_error) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(m, "BUILD", MAYFLY_BUILD);
}

static PyModuleDef_Slot m_slots[] = {
    {Py_mod_exec, m_exec},
    {0, NULL},
};

static struct PyModuleDef m_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_mayfly",
    .m_doc = PyDoc_STR("The interpreter's side of the host."),
    .m_methods = m_methods,
    .m_slots = m_slots,
};

static PyObject *
PyInit__mayfly(void)
{
    return PyModuleDef_Init(&m_def);
}

// ---- the base snapshot

// Objects whose references are still to be followed.
typedef struct {
    PyObject **items;
    size_t len, cap;
    int failed;
} Worklist;

// Makes one object immortal (PEP 683) and queues it.
static int
immortal_visit(PyObject *op, void *arg)
{
    Worklist *w = arg;
    if (op == NULL || w->failed || _Py_IsImmortal(op)) {
        return 0;
    }
    if (w->len == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 4096;
        PyObject **items = realloc(w->items, cap * sizeof(*items));
        if (items == NULL) {
            w->failed = 1;
            return 0;
        }
        w->items = items;
        w->cap = cap;
    }
    op->ob_refcnt = _Py_IMMORTAL_REFCNT;
    w->items[w->len++] = op;
    return 0;
}

// Code objects take no part in garbage collection, so they have no tp_traverse.
static void
immortal_code(PyCodeObject *co, Worklist *w)
{
    PyObject *refs[] = {
        co->co_consts, co->co_names, co->co_exceptiontable, co->co_localsplusnames, co->co_localspluskinds,
        co->co_filename, co->co_name, co->co_qualname, co->co_linetable,
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(refs); i++) {
        immortal_visit(refs[i], w);
    }
    // The support library is warm by now. Its code counts no longer when to specialise itself, which would dirty pages.
    if (strncmp(PyUnicode_AsUTF8(co->co_filename), "<mayfly>/", 9) == 0) {
        _Py_CODEUNIT *code = _PyCode_CODE(co);
        for (Py_ssize_t i = 0; i < Py_SIZE(co); i++) {
            int caches = _PyOpcode_Caches[_Py_GetBaseOpcode(co, (int)i)];
            if (caches > 0) {
                code[i + 1].cache = UNREACHABLE_BACKOFF;
            }
            i += caches;
        }
    }
}

// Makes every object that exists now immortal. Forks share the pages of the template until they write to them, and what
// is written most are reference counts; those of immortal objects stay as they are. Nothing here is ever freed anyway.
static int
make_immortal(void)
{
    Worklist w = {0};
    PyInterpreterState *interp = PyInterpreterState_Get();
    PyGC_Head *head = &interp->gc.permanent_generation.head;
    for (PyGC_Head *g = _PyGCHead_NEXT(head); g != head; g = _PyGCHead_NEXT(g)) {
        immortal_visit(_Py_FROM_GC(g), &w);
    }
    immortal_visit(handler, &w);
    immortal_visit(deadlock_error, &w);
    immortal_visit(deadlock_reporter, &w);
    immortal_visit(empty, &w);
    while (w.len > 0) {
        PyObject *op = w.items[--w.len];
        immortal_visit((PyObject *)Py_TYPE(op), &w);
        if (PyCode_Check(op)) {
            immortal_code((PyCodeObject *)op, &w);
        }
        else if (PyObject_IS_GC(op) && Py_TYPE(op)->tp_traverse != NULL) {
            Py_TYPE(op)->tp_traverse(op, immortal_visit, &w);
        }
    }
    free(w.items);
    return w.failed ? -1 : 0;
}

// Start-up leaves thousands of free blocks between its objects. A fork that allocates one of them dirties a page for it,
// so nobody gets them: allocations of forks come from fresh memory, where they lie together. That memory is no loss: a
// fork would have to make a private copy of each page to use it.

// Takes all that malloc has below top. Without a top, it is where memory ends now, and is returned.
static char *
fill_holes(char *top)
{
    if (top == NULL) {
        top = malloc(4 << 20);   // no hole is that large
        free(top);
    }
    for (size_t n = 4 << 20; top != NULL && n > 0; n = n > 4096 ? n / 2 : n - 8) {
        char *above[32];
        size_t count = 0;
        while (count < Py_ARRAY_LENGTH(above)) {
            char *p = malloc(n);
            if (p == NULL) {
                break;
            }
            if (p >= top) {
                above[count++] = p;
            }
            else {
                memset(p, 0, n);   // zeros take no room in the image
            }
            if (n > 65536) {
                break;
            }
        }
        while (count > 0) {
            free(above[--count]);
        }
    }
    return top;
}

// Makes the object allocator believe that its pools and arenas below top are full. What is freed there is used again.
static void
seal_pools(char *top)
{
    struct _obmalloc_state *state = PyInterpreterState_Get()->obmalloc;
    for (int i = 0; i < OBMALLOC_USED_POOLS_SIZE; i += 2) {
        // Pseudo header of the list, see pycore_obmalloc.h.
        poolp head = (poolp)((pymem_block *)&state->pools.used[i] - 2 * sizeof(pymem_block *));
        for (poolp p = head->nextpool, next; p != head; p = next) {
            next = p->nextpool;
            if ((char *)p < top) {
                p->freeblock = NULL;
                p->nextoffset = p->maxnextoffset + 1;
                p->nextpool->prevpool = p->prevpool;
                p->prevpool->nextpool = p->nextpool;
            }
        }
    }
    struct arena_object *last = NULL;
    memset(state->mgmt.nfp2lasta, 0, sizeof(state->mgmt.nfp2lasta));
    for (struct arena_object *a = state->mgmt.usable_arenas, *next; a != NULL; a = next) {
        next = a->nextarena;
        if ((char *)a->address < top) {
            a->nfreepools = 0;
            a->freepools = NULL;
            a->nextarena = a->prevarena = NULL;
            continue;
        }
        a->prevarena = last;
        a->nextarena = NULL;
        if (last != NULL) {
            last->nextarena = a;
        }
        else {
            state->mgmt.usable_arenas = a;
        }
        state->mgmt.nfp2lasta[a->nfreepools] = last = a;
    }
    if (last == NULL) {
        state->mgmt.usable_arenas = NULL;
    }
}

// ---- errors

// Prints the exception that is set to stderr, at most MAX_TRACEBACK bytes of it, and clears it.
static void
report(const char *what)
{
    PyObject *exc = PyErr_GetRaisedException();
    PyObject *tb = NULL, *lines = NULL, *none = NULL, *text = NULL;
    const char *s = NULL;
    Py_ssize_t n = 0;
    if (exc != NULL && (tb = PyImport_ImportModule("traceback")) != NULL
        && (lines = PyObject_CallMethod(tb, "format_exception", "O", exc)) != NULL
        && (none = PyUnicode_FromString("")) != NULL
        && (text = PyUnicode_Join(none, lines)) != NULL)
    {
        s = PyUnicode_AsUTF8AndSize(text, &n);
    }
    if (s == NULL) {
        PyErr_Clear();
        s = exc != NULL ? Py_TYPE(exc)->tp_name : "?";
        n = (Py_ssize_t)strlen(s);
    }
    fprintf(stderr, "%s:\n", what);
    if (n > MAX_TRACEBACK) {   // its beginning and, more telling, its end
        fwrite(s, 1, MAX_TRACEBACK / 2, stderr);
        fputs("\n[...]\n", stderr);
        s += n - MAX_TRACEBACK / 2;
        n = MAX_TRACEBACK / 2;
    }
    fwrite(s, 1, (size_t)n, stderr);
    fputc('\n', stderr);
    Py_XDECREF(text);
    Py_XDECREF(none);
    Py_XDECREF(lines);
    Py_XDECREF(tb);
    Py_XDECREF(exc);
    PyErr_Clear();
}

static int
init_failed(PyStatus st)
{
    fprintf(stderr, "guest_init: %s: %s\n", st.func ? st.func : "?", st.err_msg ? st.err_msg : "unknown error");
    return 1;
}

// ---- the ABI

EXPORT("guest_abi") int32_t
guest_abi(void)
{
    return ABI_VERSION;
}

EXPORT("guest_alloc") void *
guest_alloc(uint32_t n)
{
    return malloc(n ? n : 1);
}

EXPORT("guest_free") void
guest_free(void *p)
{
    free(p);
}

EXPORT("guest_control") _PyMayflyControl *
guest_control(void)
{
    return &_PyMayfly_control;
}

EXPORT("guest_thread") void
guest_thread(void *record)
{
    _PyMayfly_RunThread(record);
}

// Without WebAssembly's atomics the compiler makes one plain word of every thread-local variable, so the block has to
// name all that count. CPython has the two below, none in modules that this build has; SQLite, zlib, bzip2, liblzma, expat,
// libmpdec and HACL* have none. wasi-libc has errno, and in posix.c the buffers relative_buf (two, each with its length)
// of the path that an operation is about. Those are shared, like the buffers of chdir.c that are plain static: they
// are filled and passed to an import without another in between, the host has read the path when it switches, and what
// they point to is looked up again each time. remove() alone uses one for two imports; nobody here calls it. chdir() does
// read its buffer after an import: two threads that change the directory at the same time can end up in the same one.
extern _Thread_local PyThreadState *_Py_tss_tstate;
extern _Thread_local const char *pkgcontext;

EXPORT("guest_threads") const uint32_t *
guest_threads(void)
{
    static uint32_t block[8];
    const void *const local[] = {&_PyMayfly_self, &_Py_tss_tstate, &errno, &pkgcontext};
    block[0] = Py_ARRAY_LENGTH(local);
    block[1] = (uint32_t)(uintptr_t)&_Py_tss_tstate;
    block[2] = (uint32_t)offsetof(PyThreadState, eval_breaker);
    block[3] = _PY_GIL_DROP_REQUEST_BIT;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(local); i++) {
        block[4 + i] = (uint32_t)(uintptr_t)local[i];
    }
    return block;
}

static int
start_python(void)
{
    PyPreConfig pc;
    PyPreConfig_InitIsolatedConfig(&pc);
    pc.utf8_mode = 1;
    pc.coerce_c_locale = 0;
    pc.configure_locale = 0;
    PyStatus st = Py_PreInitialize(&pc);
    if (PyStatus_Exception(st)) {
        return init_failed(st);
    }
    PyImport_FrozenModules = guest_frozen_modules;
    if (PyImport_AppendInittab("_mayfly", PyInit__mayfly) < 0) {
        fputs("guest_init: no memory\n", stderr);
        return 1;
    }
    PyConfig c;
    PyConfig_InitIsolatedConfig(&c);
    c.install_signal_handlers = 0;
    c.site_import = 0;
    c.write_bytecode = 0;
    c.pathconfig_warnings = 0;
    c.buffered_stdio = 1;
    c.use_frozen_modules = 1;
    c.cpu_count = 8;   // what pools of threads go by: with 1, concurrent.futures makes 5 of them, with 8 it makes 12
    c.module_search_paths_set = 1;
    const struct { wchar_t **to; const wchar_t *value; } strings[] = {
        {&c.program_name, L"python"},
        {&c.executable, L""},
        {&c.base_executable, L""},
        {&c.home, L"/usr"},
        {&c.prefix, L"/usr"},
        {&c.base_prefix, L"/usr"},
        {&c.exec_prefix, L"/usr"},
        {&c.base_exec_prefix, L"/usr"},
        {&c.stdlib_dir, L"/usr/lib/python3.13"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(strings); i++) {
        st = PyConfig_SetString(&c, strings[i].to, strings[i].value);
        if (PyStatus_Exception(st)) {
            PyConfig_Clear(&c);
            return init_failed(st);
        }
    }
    st = PyWideStringList_Append(&c.module_search_paths, L"/packages");
    if (!PyStatus_Exception(st)) {
        st = Py_InitializeFromConfig(&c);
    }
    PyConfig_Clear(&c);
    return PyStatus_Exception(st) ? init_failed(st) : 0;
}

// Runs the boot program as the module _mayfly_boot, with the payload in its globals, and forgets the module.
static int
run_boot(const char *program, const char *payload, size_t payload_size)
{
    int rc = -1;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *m = PyModule_New("_mayfly_boot"), *code = NULL, *data = NULL, *v = NULL;
    if (m == NULL || PyDict_SetItemString(modules, "_mayfly_boot", m) < 0) {
        goto done;
    }
    PyObject *globals = PyModule_GetDict(m);
    data = PyBytes_FromStringAndSize(payload, (Py_ssize_t)payload_size);
    if (data == NULL || PyDict_SetItemString(globals, "payload", data) < 0
        || PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) < 0)
    {
        goto done;
    }
    Py_CLEAR(data);
    code = Py_CompileStringExFlags(program, "<boot>", Py_file_input, NULL, -1);
    if (code == NULL) {
        goto done;
    }
    v = PyEval_EvalCode(code, globals, globals);
    if (v != NULL) {
        rc = 0;
    }
done:
    if (rc < 0) {
        report("guest_init: the boot program failed");
    }
    Py_XDECREF(v);
    Py_XDECREF(code);
    Py_XDECREF(data);
    if (PyDict_DelItemString(modules, "_mayfly_boot") < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(m);
    return rc;
}

static uint32_t
load_u32(const unsigned char *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

EXPORT("guest_init") int32_t
guest_init(unsigned char *frame, uint32_t len)
{
    static int started;
    int rc = 1;
    char *program = NULL;
    if (started++) {
        fputs("guest_init: called twice\n", stderr);
        goto done;
    }
    // The host's rewriter has the loops call this import. It must be there, and the linker drops what is not used.
    mayfly_tick();
    if (frame == NULL || len < 4 || load_u32(frame) > len - 4) {
        fputs("guest_init: malformed boot frame\n", stderr);
        goto done;
    }
    uint32_t n = load_u32(frame);
    program = malloc((size_t)n + 1);
    if (program == NULL) {
        fputs("guest_init: no memory\n", stderr);
        goto done;
    }
    memcpy(program, frame + 4, n);
    program[n] = 0;
    if (start_python() != 0) {
        goto done;
    }
    empty = Py_CompileStringExFlags("", "<empty>", Py_file_input, NULL, -1);
    if (empty == NULL) {
        report("guest_init");
        goto done;
    }
    // The interpreter of the main thread never moves.
    main_state = PyThreadState_Get();
    _PyMayfly_control.breaker = (uint32_t)(uintptr_t)&main_state->eval_breaker;
    _PyMayfly_control.breaker_bits = _PY_SIGNALS_PENDING_BIT;
    if (run_boot(program, (char *)frame + 4 + n, len - 4 - n) < 0) {
        goto done;
    }
    free(program);
    free(frame);
    program = NULL;
    frame = NULL;
    PyGC_Collect();
    char *top = fill_holes(NULL);
    seal_pools(top);
    if (settle != NULL) {
        PyObject *done = PyObject_CallNoArgs(settle);
        if (done == NULL) {
            report("guest_init");
            goto done;
        }
        Py_DECREF(done);
        Py_CLEAR(settle);
        PyGC_Collect();
    }
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *v = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
    if (v == NULL) {
        report("guest_init");
        Py_XDECREF(gc);
        goto done;
    }
    Py_DECREF(v);
    Py_DECREF(gc);
    if (make_immortal() < 0) {
        fputs("guest_init: no memory\n", stderr);
        goto done;
    }
    // Blocks in free lists are anywhere, those of pools are where forks allocate.
    _PyGC_ClearAllFreeLists(PyInterpreterState_Get());
    fill_holes(top);
    seal_pools(top);
    rc = 0;
done:
    free(program);
    free(frame);
    fflush(NULL);
    // What runs from the snapshot may have other directories than this instance had.
    __wasilibc_reset_preopens();
    return rc;
}

EXPORT("guest_call") int64_t
guest_call(unsigned char *request, uint32_t len)
{
    _PyMayfly_control.limit_ms = 0;
    Py_CLEAR(answer);
    if (handler == NULL) {
        free(request);
        fputs("guest_call: no handler is set\n", stderr);
        return -2;
    }
    PyObject *data = PyBytes_FromStringAndSize((char *)request, (Py_ssize_t)len);
    free(request);
    PyObject *r = NULL;
    if (data != NULL) {
        PyObject *f = Py_NewRef(handler);
        r = PyObject_CallOneArg(f, data);
        Py_DECREF(f);
        Py_DECREF(data);
    }
    if (_PyMayfly_threads > 0) {
        // The host is going to drop them.
        PyObject *exc = PyErr_GetRaisedException();
        if (drop_threads() < 0) {
            PyErr_Clear();
        }
        PyErr_SetRaisedException(exc);
    }
    if (r == NULL) {
        int memory = PyErr_ExceptionMatches(PyExc_MemoryError);
        report("guest_call: the handler failed");
        return memory ? -1 : -2;
    }
    if (!PyBytes_Check(r)) {
        fprintf(stderr, "guest_call: the handler returned %.200s, not bytes\n", Py_TYPE(r)->tp_name);
        Py_DECREF(r);
        return -2;
    }
    if ((size_t)PyBytes_GET_SIZE(r) > MAX_FRAME) {
        fprintf(stderr, "guest_call: the answer has %zd bytes, more than a frame may have\n", PyBytes_GET_SIZE(r));
        Py_DECREF(r);
        return -2;
    }
    answer = r;
    return (int64_t)((uint64_t)(uintptr_t)PyBytes_AS_STRING(r) << 32 | (uint64_t)PyBytes_GET_SIZE(r));
}

EXPORT("guest_child") int64_t
guest_child(unsigned char *request, uint32_t len)
{
    if (_Py_tss_tstate == NULL) {
        // Another thread has forked, with the GIL, and the main thread was waiting without.
        main_state->interp->ceval.gil->locked = 0;
        PyEval_RestoreThread(main_state);
    }
    if (_PyMayfly_threads > 0 && drop_threads() < 0) {
        PyErr_Clear();
        return -1;
    }
    return guest_call(request, len);
}
