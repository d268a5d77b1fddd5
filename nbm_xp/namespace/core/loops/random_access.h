/* Outputs from afar: a row, which gives an output of a stream, times its state. Nothing runs from one element to the
   next. Included for float, double and the integers themselves: REAL is the type, NAMED(x) a name of its own, UNIFORM
   what an integer becomes. */

/* uniforms of some streams from one on, by the row of one output of each */
static void NAMED(at_random)(const u32 *restrict states, i64 streams, i64 stream, i64 width, State row,
                             REAL *restrict out) {
    const u32 *x1 = states + stream, *x2 = x1 + streams, *x3 = x2 + streams;
    const u32 *y1 = x3 + streams, *y2 = y1 + streams, *y3 = y2 + streams;
    for (i64 i = 0; i < width; ++i)
        out[i] = UNIFORM(output(row, x1[i], x2[i], x3[i], y1[i], y2[i], y3[i]));
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
