/* States of streams, and rows that give their outputs from afar. */

/* Both matrices of a transition, row by row. */
typedef struct {
    u32 at[18];
} Leap;

static const Leap one_on = {{0, 1u << 22, 129, 1, 0, 0, 0, 1, 0, 1u << 15, 0, 32769, 1, 0, 0, 0, 1, 0}};

/* first one, then the other */
static Leap joined(Leap first, Leap other) {
    Leap both;
    for (int k = 0; k < 18; ++k) {
        const u32 *row = other.at + k / 3 * 3, *column = first.at + k / 9 * 9 + k % 3;
        both.at[k] = k < 9 ? dot_first(row[0], row[1], row[2], column[0], column[3], column[6])
                           : dot_second(row[0], row[1], row[2], column[0], column[3], column[6]);
    }
    return both;
}

static Leap repeated(Leap leap, i64 times) {
    Leap all = {{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (; times; times /= 2, leap = joined(leap, leap))
        if (times % 2)
            all = joined(all, leap);
    return all;
}

/* The products of both matrices with some states, whose numbers of each kind lie so far apart. */
static void multiply(const u32 *m, const u32 *from, i64 pitch_from, u32 *to, i64 pitch_to, i64 width) {
    for (int row = 0; row < 6; ++row) {
        const u32 *a = from + row / 3 * 3 * pitch_from;
        dots(row / 3, m + 3 * row, a, a + pitch_from, a + 2 * pitch_from, width, to + row * pitch_to);
    }
}

/* substreams(jumps, states): complete states from the first; `jumps` holds the matrices of 1, 2, 4, … streams */
static i64 substreams(const Argument *a) {
    const u32 *jumps = a[0].data;
    u32 *states = a[1].data;
    i64 count = a[1].size / 6;
    for (i64 length = 1; length < count; length *= 2, jumps += 18)
        multiply(jumps, states, count, states + length, count, length < count - length ? length : count - length);
    return 0;
}

/* advance(matrices, states, ahead, new): move the first streams on by the first pair of matrices, the others by the
   second */
static i64 advance(const Argument *a) {
    const u32 *matrices = a[0].data, *states = a[1].data;
    u32 *new = a[3].data;
    i64 streams = a[1].size / 6, ahead = a[2].integer;
    multiply(matrices, states, streams, new, streams, ahead);
    multiply(matrices + 18, states + ahead, streams, new + ahead, streams, streams - ahead);
    return 0;
}

/* rows(first, table): the rows of consecutive outputs, (6, count) */
static i64 rows(const Argument *a) {
    State row = row_at(a[0].data, 0);
    i64 *table = a[1].data, count = a[1].size / 6;
    for (i64 k = 0; k < count; ++k, row = next_row(row)) {
        u32 numbers[6] = {row.x1, row.x2, row.x3, row.y1, row.y2, row.y3};
        for (int i = 0; i < 6; ++i)
            table[i * count + k] = numbers[i];
    }
    return 0;
}

/* runs(begins, lengths, rows, states, out): runs of consecutive elements of some type, `rows` those of the first element
   of each; `make` gives elements of one step of the streams */
#define RUNS_OF(name, type, make)                                                                                       \
    static i64 name(const Argument *a) {                                                                                \
        const i64 *begins = a[0].data, *lengths = a[1].data;                                                            \
        i64 streams = a[3].size / 6;                                                                                    \
        type *out = a[4].data;                                                                                          \
        for (i64 k = 0; k < a[0].size; ++k) {                                                                           \
            State row = row_at(a[2].data, k);                                                                           \
            i64 stream = begins[k] % streams;                                                                           \
            for (i64 rest = lengths[k]; rest;) {                                                                        \
                i64 width = rest < streams - stream ? rest : streams - stream;                                          \
                make(a[3].data, streams, stream, width, row, out);                                                      \
                out += width, rest -= width, stream = 0;                                                                \
                row = next_row(row);                                                                                    \
            }                                                                                                           \
        }                                                                                                               \
        return 0;                                                                                                       \
    }
