/* Windows times weights, summed without a copy of the windows. Included for float and double; see places.h.

   The sums of some positions, each with BLOCK bytes of filters, stay in registers; they run over the elements of a
   window in row-major order, one after the other, so that each level gives the same bits. */

#ifdef VECTOR_BYTES
typedef REAL NAMED(Vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAMED(Loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias)); /* in memory */
#else
typedef REAL NAMED(Vector);
typedef REAL NAMED(Loose);
#endif
enum { NAMED(WIDE) = sizeof(NAMED(Vector)) / sizeof(REAL), NAMED(VECTORS) = BLOCK / sizeof(NAMED(Vector)) };

/* of the windows that start at `from`, with `among` lines of `run` elements each; the sums of each are so far apart */
static void NAMED(sum_products)(const REAL *const *from, const i64 *lines, i64 among, i64 run, const REAL *weights,
                                REAL *out, i64 apart) {
    NAMED(Vector) sums[POSITIONS][NAMED(VECTORS)], w[NAMED(VECTORS)];
    for (int p = 0; p < POSITIONS; ++p)
        for (int k = 0; k < NAMED(VECTORS); ++k)
            sums[p][k] = (NAMED(Vector)){0};
    for (i64 line = 0; line < among; ++line) {
        const REAL *at[POSITIONS];
        for (int p = 0; p < POSITIONS; ++p)
            at[p] = from[p] + lines[line];
        for (i64 i = 0; i < run; ++i, weights += BLOCK / sizeof(REAL)) {
            for (int k = 0; k < NAMED(VECTORS); ++k)
                w[k] = *(const NAMED(Loose) *)(weights + k * NAMED(WIDE));
            for (int p = 0; p < POSITIONS; ++p)
                for (int k = 0; k < NAMED(VECTORS); ++k)
                    sums[p][k] += at[p][i] * w[k];
        }
    }
    for (int p = 0; p < POSITIONS; ++p)
        for (int k = 0; k < NAMED(VECTORS); ++k)
            *(NAMED(Loose) *)(out + p * apart + k * NAMED(WIDE)) = sums[p][k];
}

/* correlate(images, geometry, count, channels, weights, lines, out): of `count` images, all of whose windows lie inside
   and have no gaps along the last axis; the weights are block after block of filters, the last one filled up; `lines` has
   room for a number for each line of a window */
static i64 NAMED(correlate)(const Argument *a) {
    enum { WIDTH = BLOCK / sizeof(REAL) };
    const i64 *geometry = a[1].data;
    i64 axes = a[1].size / 6, channels = a[3].integer, among = a[5].size, *lines = a[5].data, here;
    const i64 *last = geometry + 6 * (axes - 1);
    i64 run = last[1] * channels, positions = window_rows(geometry, axes, a[2].integer) * last[5];
    i64 filters = a[6].size / positions;
    window_lines(geometry, axes, channels, 0, among, lines);
    for (i64 line = among; line--;)
        lines[line] -= lines[0];
    i64 row = 0, place = 0;
    for (i64 begin = 0; begin < positions; begin += NEARBY) {
        i64 count = positions - begin < NEARBY ? positions - begin : NEARBY;
        const REAL *from[NEARBY + POSITIONS], *weights = a[4].data;
        for (i64 i = 0; i < count; ++i) {
            if (place == 0 || i == 0)
                window_lines(geometry, axes, channels, row, 1, &here);
            from[i] = (const REAL *)a[0].data + here + (last[2] + place * last[3]) * channels;
            if (++place == last[5])
                place = 0, ++row;
        }
        for (i64 i = 0; i < POSITIONS; ++i) /* what is made of these is not kept */
            from[count + i] = from[count - 1];
        for (i64 filter = 0; filter < filters; filter += WIDTH, weights += among * run * WIDTH) {
            i64 some = filters - filter < WIDTH ? filters - filter : WIDTH;
            for (i64 i = 0; i < count; i += POSITIONS) {
                REAL found[POSITIONS * WIDTH], *out = (REAL *)a[6].data + (begin + i) * filters + filter;
                if (some == WIDTH && i + POSITIONS <= count) {
                    NAMED(sum_products)(from + i, lines, among, run, weights, out, filters);
                    continue;
                }
                NAMED(sum_products)(from + i, lines, among, run, weights, found, WIDTH);
                for (i64 p = 0; p < POSITIONS && i + p < count; ++p)
                    memcpy(out + p * filters, found + p * WIDTH, (size_t)some * sizeof(REAL));
            }
        }
    }
    return 0;
}
