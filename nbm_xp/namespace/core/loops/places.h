/* Where the elements of windows lie, in images that are contiguous, with the channels last.

   `geometry` has six numbers for each spatial axis, axis after axis: its length, then as the functions of convolution
   name them sizes, starts, strides, dilation and lengths. A line is what a window has along the last axis. */

/* where the lines start that the windows of `row` have elements of; -1 for those outside */
static void window_lines(const i64 *geometry, i64 axes, i64 channels, i64 row, i64 among, i64 *lines) {
    for (i64 line = 0; line < among; ++line) {
        i64 where = 0, pitch = geometry[6 * (axes - 1)] * channels, tap = line, at = row, inside = 1;
        for (i64 k = axes - 2; k >= 0; --k) {
            const i64 *axis = geometry + 6 * k;
            i64 place = axis[2] + at % axis[5] * axis[3] + tap % axis[1] * axis[4];
            inside &= place >= 0 && place < axis[0];
            where += place * pitch;
            pitch *= axis[0];
            at /= axis[5];
            tap /= axis[1];
        }
        lines[line] = inside ? at * pitch + where : -1;
    }
}

/* the windows along the last axis that lie inside, if they have no gaps: from `low` to `high` */
static void whole_windows(const i64 *last, i64 *low, i64 *high) {
    i64 room = last[0] - last[1] - last[2];
    *low = last[2] < 0 ? (last[3] - 1 - last[2]) / last[3] : 0;
    *high = room < 0 || (last[4] != 1 && last[1] != 1) ? 0 : room / last[3] + 1;
    if (*high > last[5])
        *high = last[5];
}

static i64 window_rows(const i64 *geometry, i64 axes, i64 count) {
    for (i64 k = 0; k < axes - 1; ++k)
        count *= geometry[6 * k + 5];
    return count;
}

/* the elements of window `o` of those whose lines were found, as many as lie inside; gives how many */
static i64 window_places(const i64 *last, i64 channels, i64 o, i64 among, const i64 *lines, i64 *places) {
    i64 found = 0, first = last[2] + o * last[3];
    for (i64 line = 0; line < among; ++line)
        for (i64 i = 0; lines[line] >= 0 && i < last[1]; ++i) {
            i64 place = first + i * last[4];
            places[found] = lines[line] + place * channels;
            found += place >= 0 && place < last[0];
        }
    return found;
}

/* which of several largest elements of a window get its gradient, and how much; else all get all of it */
enum { TIES_SHARE, TIES_FIRST };

/* a register's bytes, and the positions whose sums there is room for in all registers but those that lead to them */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#elif defined(__GNUC__)
#define VECTOR_BYTES 16
#endif
#if defined(__AVX512F__)
enum { POSITIONS = 8 };
#elif defined(__AVX2__)
enum { POSITIONS = 6 };
#elif defined(__aarch64__)
enum { POSITIONS = 4 };
#else
enum { POSITIONS = 2 };
#endif
