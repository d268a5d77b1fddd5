/* Normal numbers of uniforms of one output each, the first half of them paired with the second: see draw.cuh. */
#include "polar.cuh"
#include "steps.cuh"

/* A pair is element i and element half + i: a thread carries a stream along for either. `bases` are the matrices from
   the first to the second, of streams that do not start anew between them and of those that do. */
extern "C" __global__ void halved_normals(const u32 *states, const u32 *jumps, const u32 *bases, i64 streams,
                                          i64 half, i64 n, i64 length, const REAL *line, i64 stretched, REAL *out) {
    Steps own = own_steps(streams, half, length);
    if (own.begin >= own.end)
        return;
    i64 other = own.stream + half % streams;
    bool wraps = other >= streams;
    State s = carried(jumps, own.panel, state_at(states, streams, own.stream));
    State t = jumped(bases + (wraps ? 18 : 0), state_at(states, streams, wraps ? other - streams : other));
    t = carried(jumps, own.panel, t);
    for (i64 step = own.begin; step < own.end; ++step) {
        REAL u1 = UNIFORM(stepped(&s)), u2 = UNIFORM(stepped(&t));
        REAL first, second;
        polar(u1, u2, stretched ? line : nullptr, &first, &second);
        i64 i = step * streams + own.stream;
        out[i] = first;
        if (half + i < n)
            out[half + i] = second;
    }
}
