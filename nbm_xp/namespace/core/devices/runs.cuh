/* Runs of uniforms from anywhere in a draw: see draw.cuh for REAL and UNIFORM. */
#include "pieces.cuh"

extern "C" __global__ void runs(const u32 *states, const u32 *rows, const i64 *places, REAL *out) {
    i64 i = thread_number();
    if (i >= places[ELEMENTS])
        return;
    Element found = element_at(states, rows, places, i);
    out[i] = UNIFORM(output_of(found.row, found.state));
}
