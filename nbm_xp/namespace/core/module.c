/* The Python module nbm_xp.namespace.core.compiled: kernels as functions of arrays and integers.

   Arrays are taken by the buffer protocol, contiguous, of the width and kind that the kernel's letters say, and writable
   where they are written to. No lock is held while a kernel runs. Only the limited API is used, so that one file serves
   every Python from 3.11 on. */

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#ifdef NBM_X86_LEVELS
#include <cpuid.h>
#endif

#include "kernels.h"

typedef struct {
    const char *name;
    const Kernel *kernels;
} Level;

/* from the least to the most that this file was built for; a machine that has one has those before it */
static const Level levels[] = {
#ifdef NBM_X86_LEVELS
    {"x86-64-v2", kernels_v2},
    {"x86-64-v3", kernels_v3},
    {"x86-64-v4", kernels_v4},
#else
    {"portable", kernels_portable},
#endif
};
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* How many of these the machine has: what the processor's manual and the x86-64 psABI say, asked of the processor itself,
   since not every compiler brings the library that answers __builtin_cpu_supports. */
#ifdef NBM_X86_LEVELS
static int has(unsigned word, unsigned bits) { return (word & bits) == bits; }

static int levels_here(void) {
    unsigned a, b, c, d, b7 = 0, c81 = 0, kept = 0, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23))
        return 0; /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT */
    unsigned c1 = c;
    if (has(c1, 1u << 27)) /* OSXSAVE: the registers that the system keeps for each thread */
        __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        b7 = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        c81 = c;
    if (!has(kept, 0x06) || !has(c1, 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29) || !has(c81, 1u << 5) ||
        !has(b7, 1u << 3 | 1u << 5 | 1u << 8))
        return 1; /* FMA, MOVBE, AVX, F16C; LZCNT; BMI1, AVX2, BMI2 */
    if (!has(kept, 0xe6) || !has(b7, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31))
        return 2; /* AVX-512 F, DQ, CD, BW, VL */
    return LEVELS;
}
#else
static int levels_here(void) { return LEVELS; }
#endif

/* the letter of what a buffer holds: by its width, and whether these are floating-point numbers */
static char letter_of(const Py_buffer *view) {
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        ++format;
    int floating = *format == 'f' || *format == 'd';
    switch (view->itemsize) {
    case 1: return 'b';
    case 2: return 'h';
    case 4: return floating ? 'f' : 'i';
    case 8: return floating ? 'd' : 'l';
    default: return '?';
    }
}

/* Rooms: memory of one size that is kept when it is let go. Stretches of this size the C library gives back to the
   system, which would make each of their pages anew in each call. The interpreter's lock guards them. */
enum { MOST_KEPT = 8 };
static void *kept[MOST_KEPT];
static int kept_count;

static void *enter_room(void) { return kept_count ? kept[--kept_count] : malloc(ROOM); }

static void leave_room(void *room) {
    if (kept_count < MOST_KEPT)
        kept[kept_count++] = room;
    else
        free(room);
}

/* a room as a Python object, which arrays can lie in */
typedef struct {
    PyObject_HEAD
    void *data;
} Room;

static int show_room(PyObject *self, Py_buffer *view, int flags) {
    return PyBuffer_FillInfo(view, self, ((Room *)self)->data, ROOM, 0, flags);
}

static void end_room(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (((Room *)self)->data)
        leave_room(((Room *)self)->data);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot room_slots[] = {
    {Py_tp_dealloc, (void *)end_room},
    {Py_bf_getbuffer, (void *)show_room},
    {0, NULL},
};

static PyType_Spec room_spec = {
    "nbm_xp.namespace.core.compiled.Room", sizeof(Room), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, room_slots,
};

static PyTypeObject *room_type;

static PyObject *room(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    Room *made = PyObject_New(Room, room_type);
    if (made && !(made->data = enter_room())) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    return (PyObject *)made;
}

static const char *capsule_name = "nbm_xp kernel";

static PyObject *call(PyObject *self, PyObject *const *values, Py_ssize_t count) {
    const Kernel *kernel = PyCapsule_GetPointer(self, capsule_name);
    Py_buffer views[MOST_ARGUMENTS];
    Argument arguments[MOST_ARGUMENTS];
    void *space = NULL;
    int viewed = 0;
    i64 answer = 0;
    if (!kernel)
        return NULL;
    Py_ssize_t taken = (Py_ssize_t)strlen(kernel->takes), given = taken - (kernel->takes[taken - 1] == 'w');
    if (count != given)
        return PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", kernel->name, given, count);
    for (Py_ssize_t k = 0; k < count; ++k) {
        char letter = kernel->takes[k];
        if (letter == 'n') {
            arguments[k].integer = PyLong_AsLongLong(values[k]);
            if (arguments[k].integer == -1 && PyErr_Occurred())
                goto failed;
            continue;
        }
        int written = letter >= 'A' && letter <= 'Z';
        Py_buffer *view = &views[viewed];
        if (PyObject_GetBuffer(values[k], view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0)))
            goto failed;
        ++viewed;
        if (letter_of(view) != (char)(written ? letter - 'A' + 'a' : letter)) {
            PyErr_Format(PyExc_TypeError, "argument %zd of %s has elements of %zd bytes and format %s, not '%c'", k,
                         kernel->name, view->itemsize, view->format ? view->format : "B", letter);
            goto failed;
        }
        arguments[k].data = view->buf;
        arguments[k].size = view->len / view->itemsize;
    }
    if (taken > given) {
        if (!(space = enter_room())) {
            PyErr_NoMemory();
            goto failed;
        }
        arguments[given].data = space;
    }
    Py_BEGIN_ALLOW_THREADS
    answer = kernel->run(arguments);
    Py_END_ALLOW_THREADS
failed:
    if (space)
        leave_room(space);
    while (viewed)
        PyBuffer_Release(&views[--viewed]);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(answer);
}

static PyMethodDef definition = {"kernel", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};

static PyObject *functions(PyObject *module, PyObject *name) {
    (void)module;
    PyObject *found = PyDict_New();
    int here = levels_here(), which = 0;
    while (which < here && PyUnicode_CompareWithASCIIString(name, levels[which].name))
        ++which;
    if (which == here) {
        Py_XDECREF(found);
        return PyErr_Format(PyExc_ValueError, "this machine has no kernels of level %R", name);
    }
    for (const Kernel *kernel = levels[which].kernels; found && kernel->name; ++kernel) {
        PyObject *self = PyCapsule_New((void *)kernel, capsule_name, NULL);
        PyObject *function = self ? PyCFunction_New(&definition, self) : NULL;
        Py_XDECREF(self);
        if (!function || PyDict_SetItemString(found, kernel->name, function))
            Py_CLEAR(found);
        Py_XDECREF(function);
    }
    return found;
}

#include "ufunc.h"

static PyMethodDef methods[] = {
    {"functions", functions, METH_O, "functions(level): the kernels of a level by their names"},
    {"ufunc", (PyCFunction)(void (*)(void))ufunc, METH_FASTCALL, "ufunc(table, like, name, functions): a ufunc of NumPy's"},
    {"room", room, METH_NOARGS, "room(): memory to lay arrays in, which is kept for others when it is let go"},
    {NULL, NULL, 0, NULL},
};

static int filled(PyObject *module) {
    int here = levels_here();
    PyObject *names = PyTuple_New(here);
    for (int k = 0; names && k < here; ++k) {
        PyObject *name = PyUnicode_FromString(levels[k].name);
        if (!name || PyTuple_SetItem(names, k, name))
            Py_CLEAR(names);
    }
    int wrong = !names || PyModule_AddObjectRef(module, "levels", names);
    Py_XDECREF(names);
    if (!wrong && !room_type)
        wrong = !(room_type = (PyTypeObject *)PyType_FromSpec(&room_spec));
    return wrong ? -1 : PyModule_AddIntConstant(module, "ROOM", ROOM) |
                            PyModule_AddStringConstant(module, "source", NBM_SOURCE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)filled},
    {0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "compiled", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_compiled(void) { return PyModuleDef_Init(&module); }
