/* What every kernel needs: which thread this is, and states in memory, number by number: all first numbers stand
   together, then all second ones, so that neighbouring threads read neighbouring numbers. */
#ifndef NBM_THREADS_CUH
#define NBM_THREADS_CUH

#include "../elements/recurrence.h"

ELEMENT i64 thread_number() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }

ELEMENT State state_at(const u32 *states, i64 streams, i64 stream) {
    const u32 *x = states + stream, *y = x + 3 * streams;
    State s = {x[0], x[streams], x[2 * streams], y[0], y[streams], y[2 * streams]};
    return s;
}

ELEMENT void put_state(u32 *states, i64 streams, i64 stream, State s) {
    u32 *x = states + stream, *y = x + 3 * streams;
    x[0] = s.x1, x[streams] = s.x2, x[2 * streams] = s.x3;
    y[0] = s.y1, y[streams] = s.y2, y[2 * streams] = s.y3;
}

#endif
