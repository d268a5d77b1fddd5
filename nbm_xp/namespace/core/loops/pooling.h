/* The largest elements of windows, their sums, and where gradients go back through them. Included for float and double;
   see places.h. Each inner loop runs over the channels. `places` has room for a number for each line of a window and
   for each of its elements. */

/* the body runs for each window, with what it has of the images at base + shift + places[0], …; from one window to the
   next these move on alike, where both lie inside */
#define FOR_WINDOWS(geometry_of, count, channels_of, room)                                                            \
    const i64 *geometry = (geometry_of).data, *last = geometry + (geometry_of).size - 6;                              \
    i64 axes = (geometry_of).size / 6, channels = (channels_of).integer, among = (room).size / (1 + last[1]);         \
    i64 *lines = (room).data, *places = lines + among, rows = window_rows(geometry, axes, (count).integer);           \
    i64 found = 0, shift = 0, low, high;                                                                              \
    whole_windows(last, &low, &high);                                                                                 \
    for (i64 row = 0, window = 0; row < rows; ++row)                                                                  \
        for (i64 o = (window_lines(geometry, axes, channels, row, among, lines), 0);                                  \
             o < last[5] && (shift = o > low && o < high ? shift + last[3] * channels : 0,                            \
                             found = shift ? found : window_places(last, channels, o, among, lines, places), 1);      \
             ++o, ++window)

static inline REAL NAMED(larger)(REAL a, REAL b) { return ((b > a) | (b != b)) ? b : a; }
static inline REAL NAMED(added)(REAL a, REAL b) { return a + b; }

/* all elements of a window joined, three more at a time: fewer loads of what there is so far */
#define REDUCE(join)                                                                                                  \
    memcpy(out, images + places[0], (size_t)channels * sizeof(REAL));                                                 \
    for (i64 k = 1; k < found; k += 3) {                                                                              \
        const REAL *restrict x = images + places[k];                                                                  \
        const REAL *restrict y = images + places[k + 1 < found ? k + 1 : k];                                          \
        const REAL *restrict z = images + places[k + 2 < found ? k + 2 : k];                                          \
        if (k + 2 < found)                                                                                            \
            for (i64 c = 0; c < channels; ++c)                                                                        \
                out[c] = join(join(join(out[c], x[c]), y[c]), z[c]);                                                  \
        else if (k + 1 < found)                                                                                       \
            for (i64 c = 0; c < channels; ++c)                                                                        \
                out[c] = join(join(out[c], x[c]), y[c]);                                                              \
        else                                                                                                          \
            for (i64 c = 0; c < channels; ++c)                                                                        \
                out[c] = join(out[c], x[c]);                                                                          \
    }

/* maxima(images, geometry, count, channels, places, out): nan where one is */
static i64 NAMED(maxima)(const Argument *a) {
    FOR_WINDOWS(a[1], a[2], a[3], a[4]) {
        const REAL *images = (const REAL *)a[0].data + shift;
        REAL *restrict out = (REAL *)a[5].data + window * channels;
        for (i64 c = 0; c < channels && !found; ++c)
            out[c] = -(REAL)INFINITY;
        if (found) {
            REDUCE(NAMED(larger))
        }
    }
    return 0;
}

/* sum_windows(images, geometry, count, channels, places, out): out holds zeros */
static i64 NAMED(sum_windows)(const Argument *a) {
    FOR_WINDOWS(a[1], a[2], a[3], a[4]) {
        const REAL *images = (const REAL *)a[0].data + shift;
        REAL *restrict out = (REAL *)a[5].data + window * channels;
        if (found) {
            REDUCE(NAMED(added))
        }
    }
    return 0;
}
#undef REDUCE

/* spread_windows(windows, geometry, count, channels, places, images): the adjoint, added to what the images hold */
static i64 NAMED(spread_windows)(const Argument *a) {
    FOR_WINDOWS(a[1], a[2], a[3], a[4])
        for (i64 k = 0; k < found; ++k)
            NAMED(add_run)((const REAL *)a[0].data + window * channels, (REAL *)a[5].data + shift + places[k],
                           channels);
    return 0;
}

/* place_maxima(g, images, out, geometry, count, channels, ties, places, values, result): each window's g added to
   `result` where the images are as large as its `out`, of which all are where it is nan; `values` has room for those of
   a window. Of several, all get a share (ties 0), the first all (1), or all of them all (2). */
static i64 NAMED(place_maxima)(const Argument *a) {
    i64 ties = a[6].integer;
    REAL *restrict values = a[8].data;
    FOR_WINDOWS(a[3], a[4], a[5], a[7]) {
        const REAL *restrict g = (const REAL *)a[0].data + window * channels;
        const REAL *restrict largest = (const REAL *)a[2].data + window * channels;
        memcpy(values, g, (size_t)channels * sizeof(REAL));
        if (ties == TIES_SHARE) {
            memset(values, 0, (size_t)channels * sizeof(REAL));
            for (i64 k = 0; k < found; ++k) {
                const REAL *restrict x = (const REAL *)a[1].data + shift + places[k];
                for (i64 c = 0; c < channels; ++c)
                    values[c] += x[c] < largest[c] ? (REAL)0 : (REAL)1;
            }
            for (i64 c = 0; c < channels; ++c)
                values[c] = g[c] / (values[c] > 1 ? values[c] : (REAL)1);
        }
        for (i64 k = 0; k < found; ++k) {
            const REAL *restrict x = (const REAL *)a[1].data + shift + places[k];
            REAL *restrict result = (REAL *)a[9].data + shift + places[k];
            for (i64 c = 0; c < channels; ++c)
                result[c] += x[c] < largest[c] ? (REAL)0 : values[c];
            if (ties == TIES_FIRST)
                for (i64 c = 0; c < channels; ++c)
                    values[c] = x[c] < largest[c] ? values[c] : (REAL)0;
        }
    }
    return 0;
}
#undef FOR_WINDOWS
