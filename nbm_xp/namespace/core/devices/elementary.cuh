/* Elementary functions, an element to a thread. */
#include "../elements/elementary.h"
#include "threads.cuh"

extern "C" __global__ void log_of_each(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = log_of(x[i]);
}

extern "C" __global__ void exp_of_each(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = exp_of(x[i]);
}

extern "C" __global__ void sqrt_of_each(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = root_of(x[i]);
}

extern "C" __global__ void normal_quantile_of_each(const double *x, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = quantile_of(x[i]);
}

extern "C" __global__ void truncated_normals_of_each(const double *u, i64 n, double *out) {
    i64 i = thread_number();
    if (i < n)
        out[i] = clipped_at_two(quantile_of(within_two_sigma(u[i])));
}
