/* The first number whose distribution function exceeds a uniform, an element to a thread. */
#include "../elements/samplers.h"
#include "threads.cuh"

/* Parameters are one for all elements or one for each: bit k of `each` says so of the k-th. */
extern "C" __global__ void poisson_search_of_each(const double *u, i64 n, const double *first, const double *mean,
                                                  i64 each, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = poisson_search(u[i], first[each & 1 ? i : 0], mean[each & 2 ? i : 0]);
}

extern "C" __global__ void binomial_search_of_each(const double *u, i64 n, const double *first, const double *trials,
                                                   const double *odds, i64 each, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = binomial_search(u[i], first[each & 1 ? i : 0], trials[each & 2 ? i : 0], odds[each & 4 ? i : 0]);
}
