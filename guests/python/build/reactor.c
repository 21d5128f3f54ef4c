// The guest side of the ABI in guests/README.md for CPython: exports, and the built-in module _mayfly that the
// in-guest support library stands on. Everything that can be said in Python is left to the boot program.
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include "internal/pycore_ast.h"
#include "internal/pycore_ceval.h"
#include "internal/pycore_compile.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_mayfly.h"
#include "internal/pycore_parser.h"
#include "internal/pycore_pyarena.h"
#include "internal/pycore_pyerrors.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAYFLY_BUILD
#  define MAYFLY_BUILD "unknown"
#endif

#define ABI_VERSION 1
#define MAX_FRAME (64u << 20)
#define MAX_TRACEBACK 16384

#define EXPORT(n) __attribute__((export_name(n), visibility("default")))
#define IMPORT(n) __attribute__((import_module("mayfly"), import_name(n)))

IMPORT("call") int64_t mayfly_call(const void *ptr, uint32_t len);
IMPORT("recv") int32_t mayfly_recv(void *ptr, uint32_t len);

extern const struct _frozen guest_frozen_modules[];

// wasi-libc: forget the cached pre-opened directories, look them up anew at the next use.
void __wasilibc_reset_preopens(void);

static PyObject *handler;  // serves guest_call
static PyObject *answer;   // what the last guest_call returned a pointer into
static PyObject *empty;    // the code of an empty module

// ---- _mayfly

PyDoc_STRVAR(call_doc,
"call(request, /)\n--\n\nSends a frame to the host and returns its answer as bytes.");

static PyObject *
m_call(PyObject *Py_UNUSED(self), PyObject *arg)
{
    Py_buffer b;
    if (PyObject_GetBuffer(arg, &b, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if ((size_t)b.len > MAX_FRAME) {
        PyErr_Format(PyExc_ValueError, "the request has %zd bytes, more than a frame may have (%u)", b.len, MAX_FRAME);
        PyBuffer_Release(&b);
        return NULL;
    }
    int64_t n = mayfly_call(b.buf, (uint32_t)b.len);
    PyBuffer_Release(&b);
    if (n < 0) {
        if (n == -1) {
            PyErr_SetString(PyExc_ValueError, "the request is not a frame");
        }
        else if (n == -2) {
            PyErr_SetString(PyExc_ValueError, "the request is larger than the host takes");
        }
        else {
            PyErr_Format(PyExc_OSError, "the host refused the call (%lld)", (long long)n);
        }
        return NULL;
    }
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

static PyMethodDef m_methods[] = {
    {"call", m_call, METH_O, call_doc},
    {"set_handler", m_set_handler, METH_O, set_handler_doc},
    {"compile", _PyCFunction_CAST(m_compile), METH_FASTCALL, compile_doc},
    {NULL, NULL, 0, NULL},
};

static int
m_exec(PyObject *m)
{
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
    c.cpu_count = 1;
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
    _PyMayfly_control.breaker = (uint32_t)(uintptr_t)&PyThreadState_Get()->eval_breaker;
    _PyMayfly_control.breaker_bits = _PY_SIGNALS_PENDING_BIT;
    if (run_boot(program, (char *)frame + 4 + n, len - 4 - n) < 0) {
        goto done;
    }
    PyGC_Collect();
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
