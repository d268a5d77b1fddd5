/* Products modulo M1 and M2 in 64-bit lanes side by side. Compilers find most vector instructions by themselves; the
   product of two lanes' lower halves, and the lesser of these, are the two that not all of them find. A vector of 32-bit
   numbers is taken as lanes as it is: their lower halves are each second number, the upper halves the others. */

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE4_1__)
#define HAVE_LANES
#if defined(__AVX512F__)
#define LANES_BYTES 64
#elif defined(__AVX2__)
#define LANES_BYTES 32
#else
#define LANES_BYTES 16
#endif
typedef u64 Lanes __attribute__((vector_size(LANES_BYTES)));
typedef u64 Numbers __attribute__((vector_size(LANES_BYTES), aligned(4), may_alias)); /* 32-bit ones in memory */
typedef i64 Longs __attribute__((vector_size(LANES_BYTES)));
typedef i32 Halves __attribute__((vector_size(LANES_BYTES)));
enum { NUMBERS = LANES_BYTES / 4 };

/* GCC's own names of the two instructions: immintrin.h, which has others, takes a tenth of the time
   that all of this takes to compile */
#if defined(__clang__)
#include <immintrin.h>
#if defined(__AVX512F__)
#define low_product(a, b) ((Lanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define low_lesser(a, b) ((Lanes)_mm512_min_epu32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#define low_product(a, b) ((Lanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define low_lesser(a, b) ((Lanes)_mm256_min_epu32((__m256i)(a), (__m256i)(b)))
#else
#define low_product(a, b) ((Lanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#define low_lesser(a, b) ((Lanes)_mm_min_epu32((__m128i)(a), (__m128i)(b)))
#endif
#elif defined(__AVX512F__)
#define low_product(a, b) ((Lanes)__builtin_ia32_pmuludq512_mask((Halves)(a), (Halves)(b), (Longs){0}, -1))
#define low_lesser(a, b) ((Lanes)__builtin_ia32_pminud512_mask((Halves)(a), (Halves)(b), (Halves){0}, -1))
#elif defined(__AVX2__)
#define low_product(a, b) ((Lanes)__builtin_ia32_pmuludq256((Halves)(a), (Halves)(b)))
#define low_lesser(a, b) ((Lanes)__builtin_ia32_pminud256((Halves)(a), (Halves)(b)))
#else
#define low_product(a, b) ((Lanes)__builtin_ia32_pmuludq128((Halves)(a), (Halves)(b)))
#define low_lesser(a, b) ((Lanes)__builtin_ia32_pminud128((Halves)(a), (Halves)(b)))
#endif

ELEMENT Lanes all_of(u64 x) { return x - (Lanes){0}; }
ELEMENT Lanes numbers_at(const u32 *x) { return *(const Numbers *)x; }
ELEMENT void put_numbers(u32 *out, Lanes even, Lanes odd) { *(Numbers *)out = even | odd << 32; }

ELEMENT Lanes dot_lanes(const Lanes *entries, Lanes a, Lanes b, Lanes c) {
    return low_product(entries[0], a) + low_product(entries[1], b) + low_product(entries[2], c);
}

/* as reduced, dot_first, dot_second and output of elements/recurrence.h */
ELEMENT Lanes reduced_lanes(Lanes v, u64 m) { return low_lesser(v, v - m); }

ELEMENT Lanes first_lanes(Lanes v) {
    v = (v & M1) + (v >> 31);
    return reduced_lanes((v & M1) + (v >> 31), M1);
}

ELEMENT Lanes second_lanes(Lanes v) {
    v = (v & 0xffffffffu) + low_product(v >> 32, all_of(FOLD));
    return reduced_lanes((v & M1) + low_product(v >> 31, all_of(21069)), M2);
}

ELEMENT Lanes output_lanes(Lanes first, Lanes second) {
    Lanes v = (first & M1) + (first >> 31) + M1 - second_lanes(second);
    return reduced_lanes((v & M1) + (v >> 31) - 1, M1) + 1;
}
#endif

/* outputs of some streams from one on, by the row of one output of each */
static void outputs(const u32 *restrict states, i64 streams, i64 stream, i64 width, State row, u32 *restrict out) {
    const u32 *x1 = states + stream, *x2 = x1 + streams, *x3 = x2 + streams;
    const u32 *y1 = x3 + streams, *y2 = y1 + streams, *y3 = y2 + streams;
    i64 i = 0;
#ifdef HAVE_LANES
    const Lanes first[3] = {all_of(row.x1), all_of(row.x2), all_of(row.x3)};
    const Lanes second[3] = {all_of(row.y1), all_of(row.y2), all_of(row.y3)};
    for (; i + NUMBERS <= width; i += NUMBERS) {
        Lanes a = numbers_at(x1 + i), b = numbers_at(x2 + i), c = numbers_at(x3 + i);
        Lanes d = numbers_at(y1 + i), e = numbers_at(y2 + i), f = numbers_at(y3 + i);
        Lanes even = output_lanes(dot_lanes(first, a, b, c), dot_lanes(second, d, e, f));
        Lanes odd = output_lanes(dot_lanes(first, a >> 32, b >> 32, c >> 32),
                                 dot_lanes(second, d >> 32, e >> 32, f >> 32));
        put_numbers(out + i, even, odd);
    }
#endif
    for (; i < width; ++i)
        out[i] = output(row, x1[i], x2[i], x3[i], y1[i], y2[i], y3[i]);
}

/* p a + q b + r c of the first or the second half of states, of one row of a matrix */
static void dots(int half, const u32 *entries, const u32 *a, const u32 *b, const u32 *c, i64 width, u32 *out) {
    i64 i = 0;
#ifdef HAVE_LANES
    const Lanes row[3] = {all_of(entries[0]), all_of(entries[1]), all_of(entries[2])};
    for (; i + NUMBERS <= width; i += NUMBERS) {
        Lanes x = numbers_at(a + i), y = numbers_at(b + i), z = numbers_at(c + i);
        Lanes even = dot_lanes(row, x, y, z), odd = dot_lanes(row, x >> 32, y >> 32, z >> 32);
        if (half)
            put_numbers(out + i, second_lanes(even), second_lanes(odd));
        else
            put_numbers(out + i, first_lanes(even), first_lanes(odd));
    }
#endif
    for (; i < width; ++i)
        out[i] = half ? dot_second(entries[0], entries[1], entries[2], a[i], b[i], c[i])
                      : dot_first(entries[0], entries[1], entries[2], a[i], b[i], c[i]);
}
