/* Normal numbers of pairs of uniforms, the cosines first, then the sines. */
#include "polar.cuh"
#include "threads.cuh"

extern "C" __global__ void box_muller(const REAL *u1, const REAL *u2, i64 pairs, REAL *out) {
    i64 i = thread_number();
    if (i < pairs)
        polar(u1[i], u2[i], nullptr, out + i, out + pairs + i);
}
