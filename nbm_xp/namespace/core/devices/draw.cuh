/* Uniforms. REAL is the type of a number, UNIFORM(z) what an integer becomes; a float16 number is written as its bits. */
#include "steps.cuh"

/* `after` are the states after the draw; where the numbers are stretched, `line` is what each is multiplied by and what
   is added then */
extern "C" __global__ void draw(const u32 *states, const u32 *jumps, i64 streams, i64 n, i64 length, const REAL *line,
                                i64 stretched, REAL *out, u32 *after) {
    Steps own = own_steps(streams, n, length);
    if (own.none)
        return;
    State s = carried(jumps, own.panel, state_at(states, streams, own.stream));
    for (i64 step = own.begin; step < own.end; ++step) {
        REAL u = UNIFORM(stepped(&s));
        out[step * streams + own.stream] = stretched ? (REAL)(u * line[0] + line[1]) : u;
    }
    if (own.last)
        put_state(after, streams, own.stream, s);
}
