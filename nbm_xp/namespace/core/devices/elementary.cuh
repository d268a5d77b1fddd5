/* Elementary functions, an element to a thread. */
#include "../elements/elementary.h"
#include "threads.cuh"

extern "C" __global__ void logs(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = log_of(x[i]);
}

extern "C" __global__ void exponentials(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = exp_of(x[i]);
}

extern "C" __global__ void roots(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = root_of(x[i]);
}

extern "C" __global__ void normal_quantiles(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = quantile_of(x[i]);
}

extern "C" __global__ void truncated_normals(const double *u, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = clipped_at_two(quantile_of(within_two_sigma(u[i])));
}
