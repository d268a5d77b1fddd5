/* Exponentials and their sums along the rows of a float matrix.

   exp(x) = 2**n exp(r) with n the integer nearest to x / log 2, and Cephes's polynomial for exp(r): one or two units in
   the last place. Below -87.3, where the result would be no normal number, it is 0; nan stays nan. Sums run in PARTS
   parts that are added up in a fixed order, so that they do not depend on the width of vectors. */

enum { PARTS = 32 };

ELEMENT float short_exp(float x) {
    float n = x * 1.44269504088896341f + 12582912.0f - 12582912.0f;
    float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    float power = float_of((i32)(((u32)bitsf_of(n + 12582912.0f) + 127u) << 23));
    return x < -87.3f ? 0.0f : p * power;
}

/* the largest element, compared as integers that are in the order of the numbers; nan is above all */
static float largest_of(const float *row, i64 size) {
    i32 largest = -2147483647 - 1;
    for (i64 j = 0; j < size; ++j) {
        i32 bits = bitsf_of(row[j]);
        bits ^= (bits >> 31) & 0x7fffffff;
        largest = largest > bits ? largest : bits;
    }
    return float_of(largest ^ ((largest >> 31) & 0x7fffffff));
}

static void exponentials(const float *restrict row, i64 size, float shift, float *restrict out) {
    for (i64 j = 0; j < size; ++j)
        out[j] = short_exp(row[j] - shift);
}

static void add_parts(const float *restrict row, i64 size, float *restrict parts) {
    i64 j = 0;
    for (; j + PARTS <= size; j += PARTS)
        for (i64 l = 0; l < PARTS; ++l)
            parts[l] += row[j + l];
    for (i64 l = 0; j + l < size; ++l)
        parts[l] += row[j + l];
}

static float sum_of_parts(float *parts) {
    for (i64 width = PARTS / 2; width; width /= 2)
        for (i64 l = 0; l < width; ++l)
            parts[l] += parts[l + width];
    return parts[0];
}

/* the largest element, and the logarithm of the sum of exponentials of what the others are below it */
static float log_of_sum(const float *row, i64 size, float *largest) {
    float parts[PARTS] = {0}, some[16 * PARTS];
    *largest = largest_of(row, size);
    for (i64 begin = 0; begin < size; begin += 16 * PARTS) {
        i64 count = size - begin < 16 * PARTS ? size - begin : 16 * PARTS;
        exponentials(row + begin, count, *largest, some);
        add_parts(some, count, parts);
    }
    float total = sum_of_parts(parts);
    return total > 0.0f ? (float)log_of((double)total) : total; /* nan where an element is */
}

/* softmax(x, columns, out), log_softmax(x, columns, out), logsumexp(x, columns, out): of each row */
static i64 softmax(const Argument *a) {
    i64 columns = a[1].integer;
    for (i64 begin = 0; begin < a[0].size; begin += columns) {
        const float *row = (const float *)a[0].data + begin;
        float *restrict weights = (float *)a[2].data + begin, parts[PARTS] = {0};
        exponentials(row, columns, largest_of(row, columns), weights);
        add_parts(weights, columns, parts);
        float share = 1.0f / sum_of_parts(parts);
        for (i64 j = 0; j < columns; ++j)
            weights[j] *= share;
    }
    return 0;
}

static i64 log_softmax(const Argument *a) {
    i64 columns = a[1].integer;
    for (i64 begin = 0; begin < a[0].size; begin += columns) {
        const float *restrict row = (const float *)a[0].data + begin;
        float *restrict logarithms = (float *)a[2].data + begin, largest;
        float rest = log_of_sum(row, columns, &largest);
        for (i64 j = 0; j < columns; ++j)
            logarithms[j] = row[j] - largest - rest;
    }
    return 0;
}

static i64 logsumexp(const Argument *a) {
    i64 columns = a[1].integer;
    float *out = a[2].data;
    for (i64 begin = 0; begin < a[0].size; begin += columns) {
        float largest, rest = log_of_sum((const float *)a[0].data + begin, columns, &largest);
        *out++ = largest - largest == 0.0f ? largest + rest : largest; /* an infinite largest element decides it */
    }
    return 0;
}
