/* Attempts at many elements at once: the stages of elements/samplers.h, each a loop that writes one array and so becomes
   vector instructions; logarithms are made for the undecided alone. */

/* the places of what is possible, but not quickly accepted; gives how many they are */
static i64 undecided(const i8 *restrict done, i64 count, i32 *restrict where) {
    i8 flags[AT_ONCE];
    for (i64 i = 0; i < count; ++i)
        flags[i] = done[i] == UNDECIDED;
    return places_of(flags, count, where);
}

static void gamma_attempts(double (*u)[AT_ONCE], double (*own)[AT_ONCE], i64 count, double *restrict value,
                           i8 *restrict done) {
    const double *restrict d = own[0], *restrict c = own[1], *restrict log_d = own[2];
    double x[AT_ONCE], v[AT_ONCE], log_v[AT_ONCE], log_u[AT_ONCE];
    i32 places[AT_ONCE];
    for (i64 i = 0; i < count; ++i)
        value[i] = folded_wide(u[0][i], u[1][i]);
    quantiles(value, count, x, v, places);
    for (i64 i = 0; i < count; ++i)
        x[i] = u[0][i] < 0.5 ? x[i] : -x[i];
    for (i64 i = 0; i < count; ++i)
        v[i] = gamma_cube(x[i], c[i]);
    for (i64 i = 0; i < count; ++i)
        log_v[i] = log_of(v[i]);
    for (i64 i = 0; i < count; ++i)
        log_u[i] = log_of(wide_of(u[2][i], u[3][i]));
    for (i64 i = 0; i < count; ++i)
        v[i] = gamma_bound(x[i], d[i], v[i], log_v[i]);
    for (i64 i = 0; i < count; ++i)
        value[i] = log_d[i] + log_v[i];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)gamma_verdict(x[i], c[i], d[i], log_u[i], v[i]);
}

static void poisson_attempts(double (*u)[AT_ONCE], double (*own)[AT_ONCE], i64 count, double *restrict value,
                             i8 *restrict done) {
    const double *restrict lam = own[0], *restrict a = own[1], *restrict b = own[2], *restrict quickly = own[3];
    const double *restrict u1 = u[0], *restrict u2 = u[1], *factor = own[4], *log_lam = own[5];
    double height[AT_ONCE], large[AT_ONCE], logs[AT_ONCE], mean[AT_ONCE], log_mean[AT_ONCE], bound[AT_ONCE];
    i32 where[AT_ONCE];
    for (i64 i = 0; i < count; ++i)
        value[i] = rejection_candidate(u1[i], a[i], b[i], lam[i], 0.43);
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)poisson_verdict(value[i], u1[i], u2[i], quickly[i]);
    for (i64 i = 0; i < count; ++i)
        value[i] = value[i] >= 0.0 ? value[i] : 0.0;
    i64 found = undecided(done, count, where);
    for (i64 m = 0; m < found; ++m) {
        i64 i = where[m];
        height[m] = poisson_height(u1[i], u2[i], a[i], b[i], factor[i]);
        large[m] = logs[m] = value[i] > 10.0 ? value[i] : 10.0;
        mean[m] = lam[i], log_mean[m] = log_lam[i];
    }
    logs_in_place(height, found);
    logs_in_place(logs, found);
    for (i64 m = 0; m < found; ++m)
        bound[m] = poisson_usual_bound(large[m], mean[m], log_mean[m], logs[m]);
    for (i64 m = 0; m < found; ++m) {
        i64 i = where[m];
        int usual = value[i] >= 10.0 && mean[m] < MANY_EVENTS;
        done[i] = height[m] <= (usual ? bound[m] : poisson_bound(value[i], mean[m], log_mean[m], logs[m]));
    }
}

static void binomial_attempts(double (*u)[AT_ONCE], double (*own)[AT_ONCE], i64 count, double *restrict value,
                              i8 *restrict done) {
    const double *restrict n = own[0], *restrict mean = own[1], *restrict a = own[2], *restrict b = own[3];
    const double *restrict quickly = own[4], *restrict u1 = u[0], *restrict u2 = u[1];
    const double *factor = own[5], *spread = own[6], *mode = own[7], *odds = own[8], *at_mode = own[9], *error = own[10];
    double height[AT_ONCE], to_mode[AT_ONCE], from_mode[AT_ONCE];
    i32 where[AT_ONCE];
    for (i64 i = 0; i < count; ++i)
        value[i] = rejection_candidate(u1[i], a[i], b[i], mean[i], 0.5);
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)binomial_verdict(value[i], u1[i], u2[i], n[i], quickly[i]);
    i64 found = undecided(done, count, where);
    for (i64 m = 0; m < found; ++m) {
        i64 i = where[m];
        height[m] = binomial_height(u1[i], u2[i], a[i], b[i], factor[i], spread[i]);
        to_mode[m] = binomial_to_mode(value[i], n[i], mode[i]);
        from_mode[m] = binomial_from_mode(value[i], n[i], odds[i]);
    }
    logs_in_place(height, found);
    logs_in_place(to_mode, found);
    logs_in_place(from_mode, found);
    for (i64 m = 0; m < found; ++m) {
        i64 i = where[m];
        done[i] = height[m] <= binomial_bound(value[i], n[i], at_mode[i], error[i], to_mode[m], from_mode[m]);
    }
}

/* every number is accepted: normal ones within two standard deviations */
static void truncated_attempts(double (*u)[AT_ONCE], double (*own)[AT_ONCE], i64 count, double *restrict value,
                               i8 *restrict done) {
    double spare[AT_ONCE];
    i32 places[AT_ONCE];
    (void)own;
    for (i64 i = 0; i < count; ++i)
        u[0][i] = wide_of(u[0][i], u[1][i]);
    truncated(u[0], count, value, spare, places);
    memset(done, ACCEPTED, (size_t)count);
}

static void digit_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value, i8 *restrict done) {
    const i32 *restrict z = u[0];
    const i64 *restrict low = own[0], *restrict span = own[1];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)digit(z[i], low[i], span[i], value + i);
}

/* The same of one span for all, whose reciprocal is taken once: half more than the number is so far from each multiple of
   the span that the product, rounded, has the quotient's whole part. */
static void digit_attempts_alike(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value,
                                 i8 *restrict done) {
    const i32 *restrict z = u[0];
    i32 d = (i32)own[1][0], last = (i32)M1 - d, whole[AT_ONCE], refusals = 0;
    u64 low = (u64)own[0][0] - 1u;
    double share = 1.0 / (double)d;
    for (i64 i = 0; i < count; ++i) {
        whole[i] = (i32)(((double)z[i] - 0.5) * share) * d;
        refusals |= last - whole[i];
    }
    for (i64 i = 0; i < count; ++i)
        value[i] = (i64)(low + (u64)(i64)(z[i] - whole[i]));
    if (refusals >= 0)
        memset(done, ACCEPTED, (size_t)count);
    else
        for (i64 i = 0; i < count; ++i)
            done[i] = (i8)(whole[i] <= last);
}

static void digit_of_two_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value,
                                  i8 *restrict done) {
    const i32 *restrict first = u[0], *restrict second = u[1];
    const i64 *restrict low = own[0], *restrict span = own[1];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)digit_of_two(first[i], second[i], low[i], span[i], value + i);
}

/* The same of one span for all: quotients by its reciprocal, to the nearest integer. */
static void digit_of_two_attempts_alike(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value,
                                        i8 *restrict done) {
    const u32 *restrict first = (const u32 *)u[0], *restrict second = (const u32 *)u[1];
    u64 low = (u64)own[0][0], span = (u64)own[1][0];
    i64 last = (i64)M1 * (i64)M1 - (i64)span, refusals = 0;
    double share = 1.0 / (double)(i64)span, ratio[AT_ONCE];
    for (i64 i = 0; i < count; ++i) {
        double n = (double)(i32)(first[i] - 1u) * 2147483647.0 + (double)(i32)(second[i] - 1u);
        ratio[i] = n * share + 4503599627370496.0; /* 2**52: the last bits of the sum are an integer */
    }
    for (i64 i = 0; i < count; ++i) {
        u64 a = first[i] - 1u, b = second[i] - 1u, n = (a << 31) - a + b;
        u64 rest = n - ((u64)bits_of(ratio[i]) & 0xffffffffull) * span;
        rest += (u64)((i64)rest >> 63) & span;
        refusals |= last - (i64)(n - rest);
        value[i] = (i64)(low + rest);
    }
    if (refusals >= 0)
        memset(done, ACCEPTED, (size_t)count);
    else
        for (i64 i = 0; i < count; ++i) {
            i64 n = (i64)(first[i] - 1u) * (i64)M1 + (i64)(second[i] - 1u);
            done[i] = (i8)(n - (i64)((u64)value[i] - low) <= last);
        }
}

static void wide_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value, i8 *restrict done) {
    const u32 *restrict first = (const u32 *)u[0], *restrict second = (const u32 *)u[1];
    const u32 *restrict third = (const u32 *)u[2];
    u64 start = (u64)own[0][0];
    i64 most = own[1][0];
    i64 over = 0;
    for (i64 i = 0; i < count; ++i) {
        u32 a = first[i] - 1u, b = second[i] - 1u, c = third[i] - 1u;
        u32 high = (a & 0x3fffffu) << 10 | (b & 0x1fffffu) >> 11, low = b << 21 | (c & 0x1fffffu);
        i64 n = (i64)((u64)high << 32 | low);
        over |= n > most ? -1 : 0;
        value[i] = (i64)((u64)n + start);
    }
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)has_all_bits(first[i] - 1u, second[i] - 1u, third[i] - 1u);
    if (over)
        for (i64 i = 0; i < count; ++i)
            done[i] &= (i8)((i64)((u64)value[i] - start) <= most);
}

/* of one bound for all: `a`, see loops/accepted.h */
static int is_alike(const Argument *a) { return a[7].size == 1 && a[8].size == 1; }

static i64 truncated_normals(const Argument *a) { return until_accepted_double(a, truncated_attempts, 2, 0); }
static i64 log_gamma(const Argument *a) { return until_accepted_double(a, gamma_attempts, 4, 3); }
static i64 poisson(const Argument *a) { return until_accepted_double(a, poisson_attempts, 2, 6); }
static i64 binomial(const Argument *a) { return until_accepted_double(a, binomial_attempts, 2, 11); }
static i64 digits(const Argument *a) {
    return until_accepted_integer(a, is_alike(a) ? digit_attempts_alike : digit_attempts, 1, 2);
}
static i64 digits_of_two(const Argument *a) {
    return until_accepted_integer(a, is_alike(a) ? digit_of_two_attempts_alike : digit_of_two_attempts, 2, 2);
}
static i64 wide_integers(const Argument *a) { return until_accepted_integer(a, wide_attempts, 3, 2); }

/* whole_digits_…(states, low, span, out, claims): integers of one output each for all elements of a draw, one span for all,
   as digit_attempts_alike makes them; `states` are moved on. Gives whether an
   output is to be refused. */
#define WHOLE_DIGITS(BYTES, OUT)                                                                                      \
    static i64 whole_digits_##BYTES(const Argument *a) {                                                              \
        i32 d = (i32)a[2].integer, last = (i32)M1 - d;                                                                \
        u64 low = (u64)a[1].integer - 1u;                                                                             \
        double share = 1.0 / (double)d;                                                                               \
        i64 refusals = 0;                                                                                             \
        struct {                                                                                                      \
            Tile tile;                                                                                                \
            i32 z[3][TILE];                                                                                           \
        } *room = a[5].data;                                                                                          \
        Walk walk = walk_through(a, 1, a[3].size, a, a + 4, &room->tile);                                             \
        while (goes_on(&walk)) {                                                                                      \
            if (walk.rows == 3)                                                                                       \
                three_steps_integer(walk.tile, walk.some, room->z[0], room->z[1], room->z[2]);                        \
            else                                                                                                      \
                one_step_integer(walk.tile, walk.some, room->z[0]);                                                   \
            for (i64 k = 0; k < walk.rows; ++k) {                                                                     \
                const i32 *restrict z = room->z[k];                                                                   \
                OUT *restrict out = (OUT *)a[3].data + walk.place + k * walk.streams;                                 \
                i32 signs = 0;                                                                                        \
                for (i64 i = 0; i < walk.some; ++i) {                                                                 \
                    i32 whole = (i32)(((double)z[i] - 0.5) * share) * d;                                              \
                    signs |= last - whole;                                                                            \
                    out[i] = (OUT)(low + (u64)(i64)(z[i] - whole));                                                   \
                }                                                                                                     \
                refusals += signs < 0;                                                                                \
            }                                                                                                         \
        }                                                                                                             \
        return refusals;                                                                                              \
    }
WHOLE_DIGITS(1, i8)
WHOLE_DIGITS(4, i32)
WHOLE_DIGITS(8, i64)

/* Searches of some elements at a time: all count on until the last has found its number, which none of the others
   changes any more. poisson_searches(u, first, mean, out), binomial_searches(u, first, n, odds, out): a parameter is one
   for all or one for each. */
enum { SEARCHED = 16 };

static void spread_out(const Argument *a, i64 begin, i64 count, double *restrict out) {
    const double *x = (const double *)a->data + (a->size > 1 ? begin : 0);
    for (i64 i = 0; i < SEARCHED; ++i)
        out[i] = x[a->size > 1 && i < count ? i : 0];
}

#define SEARCH(RATIO)                                                                                                 \
    i64 beyond[SEARCHED], passed[SEARCHED] = {0}, any = 1;                                                            \
    for (double k = 1.0; any; k += 1.0) {                                                                             \
        any = 0;                                                                                                      \
        for (i64 i = 0; i < SEARCHED; ++i)                                                                            \
            any |= beyond[i] = (u[i] >= total[i]) & (mass[i] > 0.0);                                                  \
        for (i64 i = 0; i < SEARCHED; ++i)                                                                            \
            passed[i] += beyond[i];                                                                                   \
        for (i64 i = 0; i < SEARCHED; ++i) {                                                                          \
            mass[i] = mass[i] * (RATIO);                                                                              \
            total[i] = total[i] + mass[i];                                                                            \
        }                                                                                                             \
    }                                                                                                                 \
    for (i64 i = 0; i < count; ++i)                                                                                   \
        out[begin + i] = (double)passed[i];

static i64 poisson_searches(const Argument *a) {
    double *out = a[3].data;
    for (i64 begin = 0; begin < a[0].size; begin += SEARCHED) {
        i64 count = a[0].size - begin < SEARCHED ? a[0].size - begin : SEARCHED;
        double u[SEARCHED], mass[SEARCHED], total[SEARCHED], mean[SEARCHED];
        spread_out(a, begin, count, u);
        spread_out(a + 1, begin, count, mass);
        spread_out(a + 2, begin, count, mean);
        memcpy(total, mass, sizeof total);
        SEARCH(mean[i] / k)
    }
    return 0;
}

static i64 binomial_searches(const Argument *a) {
    double *out = a[4].data;
    for (i64 begin = 0; begin < a[0].size; begin += SEARCHED) {
        i64 count = a[0].size - begin < SEARCHED ? a[0].size - begin : SEARCHED;
        double u[SEARCHED], mass[SEARCHED], total[SEARCHED], n[SEARCHED], odds[SEARCHED];
        spread_out(a, begin, count, u);
        spread_out(a + 1, begin, count, mass);
        spread_out(a + 2, begin, count, n);
        spread_out(a + 3, begin, count, odds);
        memcpy(total, mass, sizeof total);
        SEARCH((n[i] + 1.0 - k) / k * odds[i])
    }
    return 0;
}
