/* Outputs from afar: a row, which gives an output of a stream, times its state. Nothing runs from one element to the
   next. Included for float, double and the integers themselves: REAL is the type, NAMED(x) a name of its own, UNIFORM
   what an integer becomes. */

/* uniforms of some streams from one on, by the row of one output of each */
static void NAMED(at_random)(const u32 *states, i64 streams, i64 stream, i64 width, State row, REAL *restrict out) {
    u32 z[AT_ONCE];
    for (i64 begin = 0; begin < width; begin += AT_ONCE) {
        i64 some = width - begin < AT_ONCE ? width - begin : AT_ONCE;
        outputs(states, streams, stream + begin, some, row, z);
        for (i64 i = 0; i < some; ++i)
            out[begin + i] = UNIFORM(z[i]);
    }
}

RUNS_OF(NAMED(runs), REAL, NAMED(at_random))
