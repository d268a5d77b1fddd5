/* Normal numbers of pairs of two steps of a stream, the cosine for the first and the sine for the second. OUTPUTS is how
   many outputs a uniform takes: 1, or 2 of which WHOLE makes one of 53 bits. */
#include "polar.cuh"
#include "steps.cuh"

/* a thread takes an even number of steps, `length` of `n` elements; `jumps` as for draw.cuh */
extern "C" __global__ void normals(const u32 *states, const u32 *jumps, i64 streams, i64 n, i64 length,
                                   const REAL *line, i64 stretched, REAL *out) {
    Steps own = own_steps(streams, n, length);
    if (own.begin >= own.end)
        return;
    State first = state_at(states, streams, own.stream), second = first;
    if (OUTPUTS == 2)
        second = carried(jumps, own.panel, jumped(next_output, first));
    first = carried(jumps, own.panel, first);
    for (i64 step = own.begin; step < own.end; step += 2) {
        REAL u[2], cosine, sine;
        for (int k = 0; k < 2; ++k) {
            u32 z = stepped(&first);
            u[k] = OUTPUTS == 2 ? (REAL)uniform_wide(z, stepped(&second)) : (REAL)UNIFORM(z);
        }
        polar(u[0], u[1], stretched ? line : nullptr, &cosine, &sine);
        i64 i = step * streams + own.stream;
        out[i] = cosine;
        if (i + streams < n)
            out[i + streams] = sine;
    }
}
