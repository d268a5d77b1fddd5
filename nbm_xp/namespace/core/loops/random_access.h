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

/* runs(begins, lengths, rows, states, out): runs of consecutive elements, `rows` those of the first element of each */
static i64 NAMED(runs)(const Argument *a) {
    const i64 *begins = a[0].data, *lengths = a[1].data;
    i64 streams = a[3].size / 6;
    REAL *out = a[4].data;
    for (i64 k = 0; k < a[0].size; ++k) {
        State row = row_at(a[2].data, k);
        i64 stream = begins[k] % streams;
        for (i64 rest = lengths[k]; rest;) {
            i64 width = rest < streams - stream ? rest : streams - stream;
            NAMED(at_random)(a[3].data, streams, stream, width, row, out);
            out += width, rest -= width, stream = 0;
            row = next_row(row);
        }
    }
    return 0;
}
