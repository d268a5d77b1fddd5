/* Windows of images copied side by side, and their adjoint. Included for float and double; see places.h. */

/* copies of known widths are single instructions; the last one overlaps the one before */
#define COPY_BY(wide)                                                                                                 \
    for (; i <= size - (wide); i += (wide))                                                                           \
        memcpy(to + i, from + i, wide);                                                                               \
    if (i < size)                                                                                                     \
        memcpy(to + size - (wide), from + size - (wide), wide);

static inline void NAMED(copy_run)(const REAL *source, REAL *out, i64 run) {
    const char *restrict from = (const char *)source;
    char *restrict to = (char *)out;
    i64 size = run * (i64)sizeof(REAL), i = 0;
    if (size >= 32) {
        COPY_BY(32)
    } else if (size >= 16) {
        COPY_BY(16)
    } else if (size >= 8) {
        COPY_BY(8)
    } else {
        COPY_BY(4)
    }
}
#undef COPY_BY

/* a window's part of one line of `width` positions: what lies outside is 0 */
static void NAMED(gather_run)(const REAL *line, i64 width, i64 first, i64 size, i64 step, i64 channels, REAL *out) {
    for (i64 i = 0; i < size; ++i, out += channels) {
        i64 place = first + i * step;
        if (place < 0 || place >= width)
            memset(out, 0, (size_t)channels * sizeof(REAL));
        else
            NAMED(copy_run)(line + place * channels, out, channels);
    }
}

/* gather_patches(images, geometry, count, channels, lines, patches): each window of `count` images a row of `patches`;
   `lines` has room for a number for each line of a window */
static i64 NAMED(gather_patches)(const Argument *a) {
    const i64 *geometry = a[1].data;
    i64 axes = a[1].size / 6, channels = a[3].integer, among = a[4].size, *lines = a[4].data, low, high;
    const i64 *last = geometry + 6 * (axes - 1);
    i64 width = last[0], size = last[1], start = last[2], stride = last[3], step = last[4], run = size * channels;
    i64 rows = window_rows(geometry, axes, a[2].integer);
    whole_windows(last, &low, &high);
    REAL *out = a[5].data;
    for (i64 row = 0; row < rows; ++row) {
        window_lines(geometry, axes, channels, row, among, lines);
        for (i64 o = 0; o < last[5]; ++o) {
            i64 first = start + o * stride;
            for (i64 line = 0; line < among; ++line, out += run) {
                const REAL *from = (const REAL *)a[0].data + lines[line];
                if (lines[line] < 0)
                    memset(out, 0, (size_t)run * sizeof(REAL));
                else if (o >= low && o < high)
                    NAMED(copy_run)(from + first * channels, out, run);
                else
                    NAMED(gather_run)(from, width, first, size, step, channels, out);
            }
        }
    }
    return 0;
}

static inline void NAMED(add_run)(const REAL *restrict from, REAL *restrict to, i64 run) {
    for (i64 i = 0; i < run; ++i)
        to[i] += from[i];
}

/* scatter_patches(patches, geometry, count, channels, lines, images): the adjoint, added to what the images hold; each
   element gets what it gets in the order of the windows */
static i64 NAMED(scatter_patches)(const Argument *a) {
    const i64 *geometry = a[1].data;
    i64 axes = a[1].size / 6, channels = a[3].integer, among = a[4].size, *lines = a[4].data, low, high;
    const i64 *last = geometry + 6 * (axes - 1);
    i64 width = last[0], size = last[1], start = last[2], stride = last[3], step = last[4], run = size * channels;
    i64 rows = window_rows(geometry, axes, a[2].integer);
    whole_windows(last, &low, &high);
    const REAL *from = a[0].data;
    for (i64 row = 0; row < rows; ++row) {
        window_lines(geometry, axes, channels, row, among, lines);
        for (i64 o = 0; o < last[5]; ++o) {
            i64 first = start + o * stride;
            for (i64 line = 0; line < among; ++line, from += run) {
                if (lines[line] < 0)
                    continue;
                REAL *to = (REAL *)a[5].data + lines[line];
                if (o >= low && o < high) {
                    NAMED(add_run)(from, to + first * channels, run);
                    continue;
                }
                for (i64 i = 0; i < size; ++i) {
                    i64 place = first + i * step;
                    if (place >= 0 && place < width)
                        NAMED(add_run)(from + i * channels, to + place * channels, channels);
                }
            }
        }
    }
    return 0;
}
