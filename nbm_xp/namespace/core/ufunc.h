/* Kernels as ufuncs of NumPy: its rules for shapes, strides, dtypes and errors, and this package's numbers.

   A kernel of one array that writes another of its kind becomes the loop of a ufunc. Its answer says which exceptions to
   report, by bits (elements/functions.h). Those alone are set when the loop ends: vectors compute more than is used. */

#include <fenv.h>

#include "elements/functions.h"

enum { STRETCH = 1024 }; /* elements of arrays with gaps that are brought together at a time */

/* The exceptions that vectors raise: on x86 in the register of SSE alone, which takes less time to read than all. */
#if defined(__SSE2__)
#include <immintrin.h>
enum { RAISED = _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW | _MM_EXCEPT_INVALID };
static unsigned raised(void) { return _mm_getcsr(); }
static void restore(unsigned before) {
    if ((_mm_getcsr() ^ before) & RAISED)
        _mm_setcsr(before);
}
#else
enum { RAISED = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID }; /* to clear more takes longer */
static unsigned raised(void) { return (unsigned)fetestexcept(RAISED); }
static void restore(unsigned before) {
    if (raised() != before) {
        feclearexcept(RAISED);
        feraiseexcept((int)before);
    }
}
#endif

/* The type of ufuncs and PyUFunc_FromFuncAndData, by their places in NumPy's table, and how a ufunc begins: parts of
   NumPy's binary interface. */
typedef void Loop(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
typedef PyObject *MakeUfunc(Loop **, void *const *, const char *, int, int, int, int, const char *, const char *, int);
enum { UFUNC_TYPE = 0, MAKE_UFUNC = 1, FLOAT32 = 11, FLOAT64 = 12, NO_IDENTITY = -1 };
typedef struct {
    PyObject_HEAD
    int inputs, outputs, arguments, identity;
    Loop **loops;
    void *const *data;
    int kinds, reserved;
    const char *name, *types, *doc;
} Ufunc;

static void report(i64 what) {
    static const struct {
        int bit, flag;
    } flags[] = {
        {DIVIDED_BY_ZERO, FE_DIVBYZERO}, {OVERFLOWS, FE_OVERFLOW}, {UNDERFLOWS, FE_UNDERFLOW}, {IS_INVALID, FE_INVALID},
    };
    for (int k = 0; k < 4; ++k)
        if (what & flags[k].bit)
            feraiseexcept(flags[k].flag);
}

static void loop(char **arrays, const Py_ssize_t *sizes, const Py_ssize_t *steps, void *data) {
    const Kernel *kernel = data;
    unsigned before = raised();
    i64 what = 0, size = sizes[0], width = kernel->takes[0] == 'f' ? sizeof(float) : sizeof(double);
    if (steps[0] == width && steps[1] == width) {
        Argument whole[2] = {{{arrays[0], size}}, {{arrays[1], size}}};
        what = kernel->run(whole);
    } else
        for (i64 begin = 0; begin < size; begin += STRETCH) {
            double stretch[STRETCH];
            i64 count = size - begin < STRETCH ? size - begin : STRETCH;
            for (i64 i = 0; i < count; ++i)
                memcpy((char *)stretch + i * width, arrays[0] + (begin + i) * steps[0], (size_t)width);
            Argument part[2] = {{{stretch, count}}, {{stretch, count}}};
            what |= kernel->run(part);
            for (i64 i = 0; i < count; ++i)
                memcpy(arrays[1] + (begin + i) * steps[1], (char *)stretch + i * width, (size_t)width);
        }
    restore(before);
    if (what)
        report(what);
}

/* What a ufunc refers to as long as it lives, which is as long as the process does. */
enum { MOST_KINDS = 32 };
typedef struct Made {
    struct Made *before;
    Loop *loops[MOST_KINDS];
    void *data[MOST_KINDS];
    char types[2 * MOST_KINDS], name[32];
} Made;

static Made *last_made;

/* the kernel of a function that `functions` gave, if it is of one array and writes another of its kind */
static const Kernel *kernel_of_one_array(PyObject *function) {
    PyObject *self = PyCFunction_Check(function) ? PyCFunction_GetSelf(function) : NULL;
    const Kernel *kernel = NULL;
    if (self && PyCapsule_IsValid(self, capsule_name))
        kernel = PyCapsule_GetPointer(self, capsule_name);
    if (kernel && (!strcmp(kernel->takes, "fF") || !strcmp(kernel->takes, "dD")))
        return kernel;
    PyErr_Format(PyExc_TypeError, "%R is no kernel of one array that writes another of its kind", function);
    return NULL;
}

/* ufunc(table, like, name, functions): made of functions that `functions` gave, one for each dtype, and for the others of
   the loops of NumPy's ufunc `like`, if that is not None */
static PyObject *ufunc(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    Py_ssize_t own = count == 4 && PyTuple_Check(given[3]) ? PyTuple_Size(given[3]) : 0, length;
    if (own < 1 || own > 2)
        return PyErr_Format(PyExc_TypeError, "ufunc takes NumPy's table, a ufunc or None, a name and 1 or 2 functions");
    void **table = PyCapsule_GetPointer(given[0], NULL);
    const char *name = table ? PyUnicode_AsUTF8AndSize(given[2], &length) : NULL;
    if (!name)
        return NULL;
    const Ufunc *like = given[1] == Py_None ? NULL : (const Ufunc *)given[1];
    if (like && ((void *)Py_TYPE(given[1]) != table[UFUNC_TYPE] || like->arguments != 2 || like->kinds > MOST_KINDS))
        return PyErr_Format(PyExc_TypeError, "%R is no ufunc of one array", given[1]);
    Made *made = calloc(1, sizeof *made);
    if (!made)
        return PyErr_NoMemory();
    memcpy(made->name, name, (size_t)(length < 31 ? length : 31));
    int kinds = like ? like->kinds : 0;
    if (like) {
        memcpy(made->loops, like->loops, (size_t)kinds * sizeof *made->loops);
        memcpy(made->data, like->data, (size_t)kinds * sizeof *made->data);
        memcpy(made->types, like->types, 2 * (size_t)kinds);
    }
    PyObject *found = NULL;
    const Kernel *kernel;
    Py_ssize_t k = 0;
    for (; k < own && (kernel = kernel_of_one_array(PyTuple_GetItem(given[3], k))); ++k) {
        char type = kernel->takes[0] == 'f' ? FLOAT32 : FLOAT64;
        if (!like)
            made->types[2 * kinds] = made->types[2 * kinds + 1] = type, ++kinds;
        for (int place = 0; place < kinds; ++place)
            if (made->types[2 * place] == type) {
                made->loops[place] = loop;
                made->data[place] = (void *)kernel;
            }
    }
    if (k == own)
        found = ((MakeUfunc *)table[MAKE_UFUNC])(made->loops, made->data, made->types, kinds, 1, 1, NO_IDENTITY,
                                                 made->name, like ? like->doc : NULL, 0);
    if (!found) {
        free(made);
        return NULL;
    }
    made->before = last_made;
    last_made = made;
    return found;
}
