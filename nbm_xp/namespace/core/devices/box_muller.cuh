/* Pairs of uniforms become the cosines and the sines of pairs of normal numbers. */
#include "polar.cuh"
#include "threads.cuh"

extern "C" __global__ void box_muller(REAL *u1, REAL *u2, i64 pairs) {
    i64 i = thread_number();
    if (i < pairs)
        polar(u1[i], u2[i], nullptr, u1 + i, u2 + i);
}
