/* Ones and zeros by probabilities: uniforms are compared while they are in the cache, and never reach memory. */

/* Samples of each dtype, by the letter that says it in a kernel's arguments. */
#define FOR_EACH_SAMPLE(DO) DO(b, i8) DO(i, i32) DO(l, i64) DO(f, float) DO(d, double)

/* What compares a row of uniforms u with probabilities p, one for all or one for each; gives the largest of p's bits
   and `largest`. Read as unsigned integers, the bits of probabilities are at most those of 1: what is larger, negative
   or nan has larger ones, so that one look at the largest tells whether all are probabilities. */
#define COMPARE(NAME, REAL, P, BITS, OUT)                                                                             \
    static u64 NAME(const void *uniforms, i64 width, const void *probabilities, i64 place, int single, void *target,  \
                    u64 largest) {                                                                                    \
        const REAL *restrict u = uniforms;                                                                            \
        const P *restrict p = (const P *)probabilities + (single ? 0 : place);                                        \
        OUT *restrict out = (OUT *)target + place;                                                                    \
        if (single) {                                                                                                 \
            P bound = *p;                                                                                             \
            for (i64 i = 0; i < width; ++i)                                                                           \
                out[i] = u[i] < bound ? (OUT)1 : (OUT)0;                                                              \
            BITS bits;                                                                                                \
            memcpy(&bits, p, sizeof bits);                                                                            \
            return largest > bits ? largest : bits;                                                                   \
        }                                                                                                             \
        for (i64 i = 0; i < width; ++i)                                                                               \
            out[i] = u[i] < p[i] ? (OUT)1 : (OUT)0;                                                                   \
        BITS most = (BITS)largest;                                                                                    \
        for (i64 i = 0; i < width; ++i) {                                                                             \
            BITS bits;                                                                                                \
            memcpy(&bits, p + i, sizeof bits);                                                                        \
            most = most > bits ? most : bits;                                                                         \
        }                                                                                                             \
        return most;                                                                                                  \
    }
#define COMPARE_ALL(LETTER, OUT)                                                                                      \
    COMPARE(compare_ff##LETTER, float, float, u32, OUT)                                                               \
    COMPARE(compare_fd##LETTER, float, double, u64, OUT)                                                              \
    COMPARE(compare_df##LETTER, double, float, u32, OUT)                                                              \
    COMPARE(compare_dd##LETTER, double, double, u64, OUT)
FOR_EACH_SAMPLE(COMPARE_ALL)

typedef u64 Compare(const void *uniforms, i64 width, const void *probabilities, i64 place, int single, void *target,
                    u64 largest);

#define REAL float
#define NAMED(name) name##_float
#include "bernoulli.h"
#undef REAL
#undef NAMED
#define REAL double
#define NAMED(name) name##_double
#include "bernoulli.h"
#undef REAL
#undef NAMED

/* bernoulli_…(states, p, out, new, claims): 1 where a uniform lies below p, else 0; gives whether the bits of any of p are more
   than those of 1. The letters say uniforms, probabilities and samples. */
#define ONE_f 0x3f800000u
#define ONE_d 0x3ff0000000000000ull
#define BERNOULLI_ALL(LETTER, OUT)                                                                                    \
    static i64 bernoulli_ff##LETTER(const Argument *a) { return bernoulli_float(a, compare_ff##LETTER, ONE_f); } \
    static i64 bernoulli_fd##LETTER(const Argument *a) { return bernoulli_float(a, compare_fd##LETTER, ONE_d); } \
    static i64 bernoulli_df##LETTER(const Argument *a) { return bernoulli_double(a, compare_df##LETTER, ONE_f); } \
    static i64 bernoulli_dd##LETTER(const Argument *a) { return bernoulli_double(a, compare_dd##LETTER, ONE_d); }
FOR_EACH_SAMPLE(BERNOULLI_ALL)

/* Answers that are open: where they stand, and what they are asked of, as far as there is room. */
typedef struct {
    i64 *places;
    float *uniforms, *odds;
    i64 room, found;
} Open;

static void note_open(const float *u, const float *x, i64 width, i64 place, Open *open) {
    for (i64 i = 0; i < width; ++i) {
        float odds, distance = distance_of(u[i], x[i], &odds);
        if (margin_of(distance, odds) < 0.0f) {
            if (open->found < open->room) {
                open->places[open->found] = place + i;
                open->uniforms[open->found] = u[i];
                open->odds[open->found] = x[i];
            }
            ++open->found;
        }
    }
}

/* elements of a matrix from some place on, each with the shift of its column or its row */
static const float *log_odds(const float *x, i64 place, i64 width, i64 columns, const float *shifts, int along_rows,
                             float *restrict sums) {
    if (!shifts)
        return x + place;
    for (i64 done = 0; done < width;) {
        i64 row = (place + done) / columns, first = (place + done) % columns;
        i64 some = columns - first < width - done ? columns - first : width - done;
        const float *restrict from = x + place + done;
        if (along_rows)
            for (i64 i = 0; i < some; ++i)
                sums[done + i] = from[i] + shifts[first + i];
        else
            for (i64 i = 0; i < some; ++i)
                sums[done + i] = from[i] + shifts[row];
        done += some;
    }
    return sums;
}

#define DECIDE(LETTER, OUT)                                                                                           \
    static void decide_##LETTER(const float *restrict u, const float *x, i64 width, void *target, i64 place,          \
                                Open *open) {                                                                         \
        OUT *restrict out = (OUT *)target + place;                                                                    \
        for (i64 begin = 0; begin < width; begin += SURE) {                                                           \
            i64 some = width - begin < SURE ? width - begin : SURE;                                                   \
            i32 signs = 0;                                                                                            \
            float copy[SURE], r[SURE]; /* the answers may take the place of x */                                      \
            u32 powers[SURE];                                                                                         \
            memcpy(copy, x + begin, (size_t)some * sizeof(float));                                                    \
            for (i64 i = 0; i < some; ++i)                                                                            \
                r[i] = remainder_of(copy[i], powers + i);                                                             \
            for (i64 i = 0; i < some; ++i) {                                                                          \
                float odds = odds_of(r[i], powers[i]), distance = fused(u[begin + i] - 1.0f, odds, u[begin + i]);     \
                out[begin + i] = distance < 0.0f ? (OUT)1 : (OUT)0;                                                   \
                signs |= bitsf_of(margin_of(distance, odds));                                                         \
            }                                                                                                         \
            if (signs < 0)                                                                                            \
                note_open(u + begin, copy, some, place + begin, open);                                                \
        }                                                                                                             \
    }
FOR_EACH_SAMPLE(DECIDE)

typedef void Decide(const float *u, const float *x, i64 width, void *target, i64 place, Open *open);

static i64 by_odds(const Argument *a, Decide *decide) {
    const float *x = a[1].data, *shifts = a[3].size ? a[3].data : NULL;
    i64 columns = a[2].integer;
    int along_rows = (int)a[4].integer;
    Open open = {a[7].data, a[8].data, a[9].data, a[7].size, 0};
    struct {
        Tile tile;
        float rows[3][TILE], sums[TILE];
    } *room = a[10].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    Walk walk = walk_through(a, 1, a[5].size, a + 6, &no_claims, &room->tile);
    while (goes_on(&walk)) {
        if (walk.rows == 3)
            three_steps_float(walk.tile, walk.some, room->rows[0], room->rows[1], room->rows[2]);
        else
            one_step_float(walk.tile, walk.some, room->rows[0]);
        for (i64 k = 0; k < walk.rows; ++k) {
            i64 place = walk.place + k * walk.streams;
            decide(room->rows[k], log_odds(x, place, walk.some, columns, shifts, along_rows, room->sums), walk.some,
                   a[5].data, place, &open);
        }
    }
    return open.found;
}

/* bernoulli_of_sigmoid_…(states, x, columns, shifts, along_rows, out, new, places, uniforms, odds): 1 where a float32
   uniform lies below the sigmoid of x and a shift, else 0. x is a matrix with so many columns; there is a shift for each
   column, or for each row, or none. `out` may be x. Gives how many answers are open. */
#define BY_ODDS(LETTER, OUT)                                                                                          \
    static i64 bernoulli_of_sigmoid_##LETTER(const Argument *a) { return by_odds(a, decide_##LETTER); }
FOR_EACH_SAMPLE(BY_ODDS)
