/* The sums of Winograd's convolution of 3 × 3 kernels: each runs along memory, over all tiles of a row at once. Included
   for float and double. Elements of a row lie in two halves, the even columns and then the odd ones, so that the four
   columns of all tiles are four stretches of memory. */

static void NAMED(difference)(const REAL *restrict a, const REAL *restrict b, REAL *restrict out, i64 size) {
    for (i64 i = 0; i < size; ++i)
        out[i] = a[i] - b[i];
}

static void NAMED(sum)(const REAL *restrict a, const REAL *restrict b, REAL *restrict out, i64 size) {
    for (i64 i = 0; i < size; ++i)
        out[i] = a[i] + b[i];
}

/* the four differences and sums of rows a, b, c, d of tiles that overlap by two, `apart` elements apart */
static void NAMED(split_four)(const REAL *a, const REAL *b, const REAL *c, const REAL *d, REAL *out, i64 apart,
                              i64 size) {
    NAMED(difference)(a, c, out, size);
    NAMED(sum)(b, c, out + apart, size);
    NAMED(difference)(c, b, out + 2 * apart, size);
    NAMED(difference)(b, d, out + 3 * apart, size);
}

/* what the adjoint of `join` makes of rows a and b: a, a + b, a - b, -b */
static void NAMED(split_two)(const REAL *a, const REAL *b, REAL *out, i64 apart, i64 size) {
    memcpy(out, a, (size_t)size * sizeof(REAL));
    NAMED(sum)(a, b, out + apart, size);
    NAMED(difference)(a, b, out + 2 * apart, size);
    for (i64 i = 0; i < size; ++i)
        out[3 * apart + i] = -b[i];
}

/* split_tiles(rows, parts, tiles, height, length, width, channels): the 16 sums of each tile of 4 × 4 elements, from
   images of `height` rows of `length` elements in halves; `parts` has room for four rows, `tiles` is (16, count, width) */
static i64 NAMED(split_tiles)(const Argument *a) {
    i64 height = a[3].integer, length = a[4].integer, width = a[5].integer, channels = a[6].integer;
    i64 half = length / 2, high = height / 2 - 1, count = a[2].size / (16 * width);
    REAL *parts = a[1].data, *tiles = a[2].data;
    for (i64 t = 0; t < count; ++t) {
        const REAL *row = (const REAL *)a[0].data + (t / high * height + 2 * (t % high)) * length;
        NAMED(split_four)(row, row + length, row + 2 * length, row + 3 * length, parts, length, length);
        for (i64 p = 0; p < 4; ++p) {
            const REAL *even = parts + p * length, *odd = even + half;
            NAMED(split_four)(even, odd, even + channels, odd + channels, tiles + (4 * p * count + t) * width,
                              count * width, width);
        }
    }
    return 0;
}

/* split_results(rows, parts, results, width): the 16 sums of each 2 × 2 results, from rows of 2 `width` in halves */
static i64 NAMED(split_results)(const Argument *a) {
    i64 width = a[3].integer, count = a[2].size / (16 * width);
    REAL *parts = a[1].data, *results = a[2].data;
    for (i64 i = 0; i < count; ++i) {
        const REAL *row = (const REAL *)a[0].data + 4 * i * width;
        NAMED(split_two)(row, row + 2 * width, parts, 2 * width, 2 * width);
        for (i64 p = 0; p < 4; ++p)
            NAMED(split_two)(parts + 2 * p * width, parts + (2 * p + 1) * width, results + (4 * p * count + i) * width,
                             count * width, width);
    }
    return 0;
}

/* join(products, parts, out, images, height, width, across, filters): the 2 × 2 results of each tile from its 16
   products; those beyond an image are left out */
static i64 NAMED(join)(const Argument *a) {
    i64 images = a[3].integer, height = a[4].integer, width = a[5].integer, across = a[6].integer;
    i64 filters = a[7].integer, stretch = across * filters, count = a[0].size / (16 * stretch), high = count / images;
    REAL *parts = a[1].data;
    for (i64 t = 0; t < count; ++t) {
        REAL *image = (REAL *)a[2].data + t / high * height * width * filters;
        i64 row = 2 * (t % high);
        for (i64 p = 0; p < 4; ++p) {
            const REAL *restrict first = (const REAL *)a[0].data + (p * count + t) * stretch;
            const REAL *restrict second = first + 4 * count * stretch, *restrict third = second + 4 * count * stretch;
            const REAL *restrict fourth = third + 4 * count * stretch;
            REAL *restrict sums = parts + p * stretch, *restrict differences = parts + (4 + p) * stretch;
            for (i64 i = 0; i < stretch; ++i)
                sums[i] = first[i] + second[i] + third[i];
            for (i64 i = 0; i < stretch; ++i)
                differences[i] = second[i] - third[i] - fourth[i];
        }
        for (i64 q = 0; q < 2 && row + q < height; ++q) {
            const REAL *restrict cells = parts + 4 * q * stretch;
            REAL *restrict line = image + (row + q) * width * filters;
            for (i64 j = 0; j < across; ++j) {
                const REAL *restrict cell = cells + j * filters;
                REAL *restrict even = line + 2 * j * filters, *restrict odd = even + filters;
                for (i64 k = 0; k < filters; ++k)
                    even[k] = cell[k] + cell[stretch + k] + cell[2 * stretch + k];
                if (2 * j + 1 < width)
                    for (i64 k = 0; k < filters; ++k)
                        odd[k] = cell[stretch + k] - cell[2 * stretch + k] - cell[3 * stretch + k];
            }
        }
    }
    return 0;
}
