/* Ones and zeros by probabilities. REAL is the type of a uniform, UNIFORM(z) what an integer becomes, P the type of a
   probability, OUT that of a sample. */
#include "steps.cuh"

/* 1 where a uniform lies below its probability: p[0], or each its own; see draw.cuh */
extern "C" __global__ void bernoulli(const u32 *states, const u32 *jumps, i64 streams, i64 n, i64 length, const P *p,
                                     i64 each, OUT *out, u32 *after) {
    Steps own = own_steps(streams, n, length);
    if (own.none)
        return;
    State s = carried(jumps, own.panel, state_at(states, streams, own.stream));
    for (i64 step = own.begin; step < own.end; ++step) {
        i64 i = step * streams + own.stream;
        REAL u = UNIFORM(stepped(&s));
        out[i] = u < p[each ? i : 0] ? (OUT)1 : (OUT)0;
    }
    if (own.last)
        put_state(after, streams, own.stream, s);
}
