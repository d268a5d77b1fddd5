/* Uniforms of 53 bits, of two outputs each: see draw.cuh and runs.cuh. */
#include "pieces.cuh"
#include "steps.cuh"

extern "C" __global__ void draw_wide(const u32 *states, const u32 *jumps, i64 streams, i64 n, i64 length,
                                     const double *line, i64 stretched, double *out) {
    Steps own = own_steps(streams, n, length);
    if (own.begin >= own.end)
        return;
    State high = state_at(states, streams, own.stream), low = carried(jumps, own.panel, jumped(next_output, high));
    high = carried(jumps, own.panel, high);
    for (i64 step = own.begin; step < own.end; ++step) {
        u32 z = stepped(&high);
        double u = uniform_wide(z, stepped(&low));
        out[step * streams + own.stream] = stretched ? u * line[0] + line[1] : u;
    }
}

extern "C" __global__ void runs_wide(const u32 *states, const u32 *rows, const i64 *places, double *out) {
    i64 i = thread_number();
    if (i >= places[ELEMENTS])
        return;
    Element found = element_at(states, rows, places, i);
    u32 z = output_of(found.row, found.state);
    out[i] = uniform_wide(z, output_of(later_row(found.row, next_output), found.state));
}
