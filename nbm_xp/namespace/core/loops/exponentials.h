/* Exponentials and their sums along the rows of a float matrix.

   exp(x) = 2**n exp(r) with n the integer nearest to x / log 2, and Cephes's polynomial for exp(r): one or two units in
   the last place. Below -87.3, where the result would be no normal number, it is 0; nan stays nan. Sums run in parts that
   are added up in a fixed order, so that they do not depend on the width of vectors.

   Short rows are taken some at a time: their exponentials and logarithms are loops over all of them. */

enum {
    LONG = 128,     /* elements of a long row */
    TOGETHER = 2048, /* elements of short rows */
    MOST_ROWS = 256, /* of them */
    STAGED = 256,    /* elements that go through a stage together */
};

/* Exponentials come in three stages, since one would be so long a chain of operations that a processor sees the ends of
   few at once: r and 2**n, 0 for n = -127, then half the polynomial, then the rest. */
ELEMENT float exp_parts(float x, float *scale) {
    i32 whole;
    float r = exp_remainder(x, &whole);
    *scale = power_of_two(whole);
    return r;
}

static void exp_of_parts(const float *r, const float *scales, i64 count, float *powers) {
    float p[STAGED];
    for (i64 i = 0; i < count; ++i)
        p[i] = exp_begun(r[i]);
    for (i64 i = 0; i < count; ++i)
        powers[i] = exp_ended(p[i], r[i]) * scales[i];
}

/* The exponentials of what numbers are below one of them. */
static void exponentials(const float *x, float largest, i64 size, float *powers) {
    float r[STAGED], scales[STAGED];
    for (i64 begin = 0; begin < size; begin += STAGED) {
        i64 count = size - begin < STAGED ? size - begin : STAGED;
        for (i64 i = 0; i < count; ++i) {
            float below = x[begin + i] - largest;
            r[i] = exp_parts(below < -87.3f ? -88.0f : below, scales + i);
        }
        exp_of_parts(r, scales, count, powers + begin);
    }
}

/* Integers in the order of floats, nan above all; and back, which is the same. */
ELEMENT i32 ordered(i32 bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

static float largest_of(const float *restrict row, i64 size) {
    i32 largest = -2147483647 - 1;
    for (i64 j = 0; j < size; ++j) {
        i32 key = ordered(bitsf_of(row[j]));
        largest = largest > key ? largest : key;
    }
    return float_of(ordered(largest));
}

/* Sums in parts, of a constant number, so that they stay in registers. */
enum { FEW = 8, MANY = 32 };

#define SUM_OF_PARTS(WIDTH)                                                                                           \
    for (int half = WIDTH / 2; half; half /= 2)                                                                       \
        for (int l = 0; l < half; ++l)                                                                                \
            parts[l] += parts[l + half];                                                                              \
    return parts[0];

/* of a short row, behind which there is room to read a few more */
static float sum_of_short(const float *restrict row, i64 size) {
    static const u32 masks[2 * FEW] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
    float parts[FEW] = {0};
    i64 j = 0;
    for (; j + FEW <= size; j += FEW)
        for (int l = 0; l < FEW; ++l)
            parts[l] += row[j + l];
    const u32 *restrict mask = masks + FEW - (size - j);
    for (int l = 0; l < FEW; ++l)
        parts[l] += float_of((i32)((u32)bitsf_of(row[j + l]) & mask[l]));
    SUM_OF_PARTS(FEW)
}

/* of a long row, stretch after stretch */
static void add_stretch(float *restrict parts, const float *restrict row, i64 size) {
    i64 j = 0;
    for (; j + MANY <= size; j += MANY)
        for (int l = 0; l < MANY; ++l)
            parts[l] += row[j + l];
    for (int l = 0; j + l < size; ++l)
        parts[l] += row[j + l];
}

static float sum_of_parts(float *restrict parts) { SUM_OF_PARTS(MANY) }

/* what a function makes of some rows x, their largest elements, the exponentials of what elements are below these, and
   the sums of them */
typedef void Finish(const float *x, const float *largest, const float *powers, const float *totals, i64 count,
                    i64 columns, float *out);

static void short_rows(const float *restrict x, i64 count, i64 columns, float *restrict largest,
                       float *restrict powers) {
    i32 keys[TOGETHER];
    for (i64 j = 0; j < count * columns; ++j)
        keys[j] = ordered(bitsf_of(x[j]));
    for (i64 r = 0; r < count; ++r) {
        i32 most = keys[r * columns];
        for (i64 j = 1; j < columns; ++j)
            most = keys[r * columns + j] > most ? keys[r * columns + j] : most;
        largest[r] = float_of(ordered(most));
        for (i64 j = 0; j < columns; ++j)
            powers[r * columns + j] = x[r * columns + j] - largest[r];
    }
    exponentials(powers, 0.0f, count * columns, powers);
}

/* nan where an element is */
static void logs_of_totals(const float *restrict totals, i64 count, float *restrict logs) {
    for (i64 r = 0; r < count; ++r) {
        float log = (float)log_of((double)totals[r]);
        logs[r] = totals[r] > 0.0f ? log : totals[r];
    }
}

static void finish_softmax(const float *x, const float *largest, const float *powers, const float *totals,
                           i64 count, i64 columns, float *out) {
    (void)x, (void)largest;
    for (i64 r = 0; r < count; ++r) {
        const float *restrict row = powers + r * columns;
        float *restrict weights = out + r * columns, share = 1.0f / totals[r];
        for (i64 j = 0; j < columns; ++j)
            weights[j] = row[j] * share;
    }
}

static void finish_log_softmax(const float *x, const float *largest, const float *powers, const float *totals,
                               i64 count, i64 columns, float *out) {
    (void)powers;
    float logs[MOST_ROWS];
    logs_of_totals(totals, count, logs);
    for (i64 r = 0; r < count; ++r) {
        const float *restrict row = x + r * columns;
        float *restrict logarithms = out + r * columns, most = largest[r], rest = logs[r];
        for (i64 j = 0; j < columns; ++j)
            logarithms[j] = row[j] - most - rest;
    }
}

static void finish_logsumexp(const float *x, const float *largest, const float *powers, const float *totals,
                             i64 count, i64 columns, float *out) {
    (void)x, (void)powers, (void)columns;
    float logs[MOST_ROWS];
    logs_of_totals(totals, count, logs);
    for (i64 r = 0; r < count; ++r)
        out[r] = largest[r] - largest[r] == 0.0f ? largest[r] + logs[r] : largest[r]; /* an infinite one decides */
}

static void by_short_rows(const Argument *a, i64 per_row, Finish *finish) {
    const float *x = a[0].data;
    float *out = a[2].data, largest[MOST_ROWS], totals[MOST_ROWS], powers[TOGETHER + FEW];
    i64 columns = a[1].integer, rows = a[0].size / columns, step = TOGETHER / columns;
    step = step < MOST_ROWS ? step : MOST_ROWS;
    for (i64 begin = 0; begin < rows; begin += step) {
        i64 count = rows - begin < step ? rows - begin : step;
        short_rows(x + begin * columns, count, columns, largest, powers);
        memset(powers + count * columns, 0, FEW * sizeof(float));
        for (i64 r = 0; r < count; ++r)
            totals[r] = sum_of_short(powers + r * columns, columns);
        finish(x + begin * columns, largest, powers, totals, count, columns, out + begin * per_row);
    }
}


static void by_long_rows(const Argument *a, i64 per_row, Finish *finish) {
    const float *x = a[0].data;
    float *out = a[2].data, powers[AT_ONCE];
    i64 columns = a[1].integer;
    for (const float *row = x; row < x + a[0].size; row += columns, out += per_row) {
        float parts[MANY] = {0}, largest = largest_of(row, columns);
        for (i64 begin = 0; begin < columns; begin += AT_ONCE) {
            i64 count = columns - begin < AT_ONCE ? columns - begin : AT_ONCE;
            exponentials(row + begin, largest, count, powers);
            add_stretch(parts, powers, count);
        }
        float total = sum_of_parts(parts);
        finish(row, &largest, NULL, &total, 1, columns, out);
    }
}

/* softmax(x, columns, out), log_softmax(x, columns, out), logsumexp(x, columns, out): of each row */
static i64 softmax(const Argument *a) {
    const float *x = a[0].data;
    float *out = a[2].data;
    i64 columns = a[1].integer;
    if (columns < LONG)
        by_short_rows(a, columns, finish_softmax);
    else
        for (i64 begin = 0; begin < a[0].size; begin += columns) {
            float *restrict weights = out + begin, parts[MANY] = {0};
            exponentials(x + begin, largest_of(x + begin, columns), columns, weights);
            add_stretch(parts, weights, columns);
            float share = 1.0f / sum_of_parts(parts);
            for (i64 j = 0; j < columns; ++j)
                weights[j] *= share;
        }
    return 0;
}

static i64 log_softmax(const Argument *a) {
    (a[1].integer < LONG ? by_short_rows : by_long_rows)(a, a[1].integer, finish_log_softmax);
    return 0;
}

static i64 logsumexp(const Argument *a) {
    (a[1].integer < LONG ? by_short_rows : by_long_rows)(a, 1, finish_logsumexp);
    return 0;
}
