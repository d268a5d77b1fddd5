/* Numbers made each of its own uniforms, tried until one is accepted, an element to a thread.

   What all these kernels take: states; rows and places of the pieces of elements (see pieces.cuh); matrices from uniform 0
   to the first that is counted, and from one counted uniform to the next. Then parameters,
   one for all elements or one for each: bit k of `each` says so of the k-th. `lost` counts the elements that were never
   accepted. */
#include "../elements/samplers.h"
#include "pieces.cuh"

enum { TRIES = 1000 }; /* more attempts than any element needs */

ELEMENT void put_uniform(u32 z, double *u) { *u = uniform_double(z); }
ELEMENT void put_uniform(u32 z, i32 *u) { *u = (i32)z; }

/* attempt(u, value) makes a number of EACH uniforms, doubles or integers, and gives whether it is accepted */
template <typename Uniform, int EACH, typename Own, typename Attempt>
ELEMENT void until_accepted(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices, Own *out,
                            i32 *lost, Attempt attempt) {
    i64 i = thread_number();
    if (i >= places[ELEMENTS])
        return;
    Element found = element_at(states, rows, places, i);
    const u32 *onward = matrices + 18;
    State row = later_row(found.row, matrices);
    Own value = 0;
    int accepted = 0;
    for (int tried = 0; tried < TRIES && !accepted; ++tried) {
        Uniform u[EACH];
        for (int k = 0; k < EACH; ++k) {
            if (tried || k)
                row = later_row(row, onward);
            put_uniform(output_of(row, found.state), u + k);
        }
        accepted = attempt(i, u, &value);
    }
    out[i] = value;
    if (!accepted)
        atomicAdd(lost, 1);
}

#define OF(column, k) column[each >> (k) & 1 ? i : 0]

extern "C" __global__ void log_gamma(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                     const double *d, const double *c, const double *log_d, i64 each, double *out,
                                     i32 *lost) {
    until_accepted<double, 4>(
        states, rows, places, matrices, out, lost, [=](i64 i, const double *u, double *value) {
            return gamma_attempt(u, OF(d, 0), OF(c, 1), OF(log_d, 2), value);
        });
}

extern "C" __global__ void poisson(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                   const double *lam, const double *a, const double *b, const double *quickly,
                                   const double *factor, const double *log_lam, i64 each, double *out, i32 *lost) {
    until_accepted<double, 2>(
        states, rows, places, matrices, out, lost, [=](i64 i, const double *u, double *value) {
            return poisson_attempt(u[0], u[1], OF(lam, 0), OF(a, 1), OF(b, 2), OF(quickly, 3), OF(factor, 4),
                                   OF(log_lam, 5), value);
        });
}

extern "C" __global__ void binomial(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                    const double *n, const double *mean, const double *a, const double *b,
                                    const double *quickly, const double *factor, const double *spread,
                                    const double *mode, const double *odds, const double *at_mode, const double *error,
                                    i64 each, double *out, i32 *lost) {
    until_accepted<double, 2>(
        states, rows, places, matrices, out, lost, [=](i64 i, const double *u, double *value) {
            return binomial_attempt(u[0], u[1], OF(n, 0), OF(mean, 1), OF(a, 2), OF(b, 3), OF(quickly, 4),
                                    OF(factor, 5), OF(spread, 6), OF(mode, 7), OF(odds, 8), OF(at_mode, 9),
                                    OF(error, 10), value);
        });
}

extern "C" __global__ void digits(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                  const i64 *low, const i64 *span, i64 each, i64 *out, i32 *lost) {
    until_accepted<i32, 1>(states, rows, places, matrices, out, lost, [=](i64 i, const i32 *z, i64 *value) {
        return digit(z[0], OF(low, 0), OF(span, 1), value);
    });
}

extern "C" __global__ void digits_of_two(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                         const i64 *low, const i64 *span, i64 each, i64 *out, i32 *lost) {
    until_accepted<i32, 2>(states, rows, places, matrices, out, lost, [=](i64 i, const i32 *z, i64 *value) {
        return digit_of_two(z[0], z[1], OF(low, 0), OF(span, 1), value);
    });
}

extern "C" __global__ void wide_integers(const u32 *states, const u32 *rows, const i64 *places, const u32 *matrices,
                                         const i64 *start, const i64 *most, i64 each, i64 *out, i32 *lost) {
    until_accepted<i32, 3>(states, rows, places, matrices, out, lost, [=](i64 i, const i32 *z, i64 *value) {
        return wide_integer(z[0], z[1], z[2], OF(start, 0), OF(most, 1), value);
    });
}
