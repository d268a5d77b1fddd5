/* Exponentials and their sums along the rows of a float matrix.

   exp(x) = 2**n exp(r) with n the integer nearest to x / log 2, and Cephes's polynomial for exp(r): one or two units in
   the last place. Below -87.3, where the result would be no normal number, it is 0; nan stays nan. Sums run in parts that
   are added up in a fixed order, so that they do not depend on the width of vectors.

   Short rows are taken some at a time: their exponentials and logarithms are loops over all of them. */

enum {
    LONG = 128,     /* elements of a long row */
    TOGETHER = 2048, /* elements of short rows */
    MOST_ROWS = 256, /* of them */
};

ELEMENT float short_exp(float x) {
    float rounded = x * 1.44269504088896341f + 12582912.0f, n = rounded - 12582912.0f; /* its last bits are n */
    float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    float power = float_of((i32)(((u32)bitsf_of(rounded) + 127u) << 23));
    return x < -87.3f ? 0.0f : p * power;
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

/* of a constant number of parts, so that they stay in registers */
#define SUM_OF(NAME, WIDTH)                                                                                           \
    static float NAME(const float *restrict row, i64 size) {                                                          \
        float parts[WIDTH] = {0};                                                                                     \
        i64 j = 0;                                                                                                    \
        for (; j + WIDTH <= size; j += WIDTH)                                                                         \
            for (int l = 0; l < WIDTH; ++l)                                                                           \
                parts[l] += row[j + l];                                                                               \
        for (int l = 0; j + l < size; ++l)                                                                            \
            parts[l] += row[j + l];                                                                                   \
        for (int half = WIDTH / 2; half; half /= 2)                                                                   \
            for (int l = 0; l < half; ++l)                                                                            \
                parts[l] += parts[l + half];                                                                          \
        return parts[0];                                                                                              \
    }
SUM_OF(sum_of_few, 8)
SUM_OF(sum_of_many, 32)

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
    for (i64 j = 0; j < count * columns; ++j)
        powers[j] = short_exp(powers[j]);
}

static void long_row(const float *restrict x, i64 columns, float *restrict largest, float *restrict powers) {
    float most = *largest = largest_of(x, columns);
    for (i64 j = 0; j < columns; ++j)
        powers[j] = short_exp(x[j] - most);
}

static i64 by_rows(const Argument *a, i64 per_row, Finish *finish) {
    const float *x = a[0].data;
    float *out = a[2].data, largest[MOST_ROWS], totals[MOST_ROWS];
    i64 columns = a[1].integer, rows = columns ? a[0].size / columns : 0;
    i64 step = columns < TOGETHER / MOST_ROWS ? MOST_ROWS : columns < TOGETHER ? TOGETHER / columns : 1;
    float *powers = malloc((size_t)(step * columns + 1) * sizeof(float));
    if (!powers)
        return NO_MEMORY;
    for (i64 begin = 0; begin < rows; begin += step) {
        i64 count = rows - begin < step ? rows - begin : step;
        const float *some = x + begin * columns;
        if (columns < LONG)
            short_rows(some, count, columns, largest, powers);
        else
            for (i64 r = 0; r < count; ++r)
                long_row(some + r * columns, columns, largest + r, powers + r * columns);
        for (i64 r = 0; r < count; ++r)
            totals[r] = (columns < LONG ? sum_of_few : sum_of_many)(powers + r * columns, columns);
        finish(some, largest, powers, totals, count, columns, out + begin * per_row);
    }
    free(powers);
    return 0;
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

/* softmax(x, columns, out), log_softmax(x, columns, out), logsumexp(x, columns, out): of each row */
static i64 softmax(const Argument *a) { return by_rows(a, a[1].integer, finish_softmax); }
static i64 log_softmax(const Argument *a) { return by_rows(a, a[1].integer, finish_log_softmax); }
static i64 logsumexp(const Argument *a) { return by_rows(a, 1, finish_logsumexp); }
