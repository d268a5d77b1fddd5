/* Attempts at many elements at once: the stages of elements/samplers.h, each a loop that writes one array and so becomes
   vector instructions; logarithms are made for the undecided alone. */

/* the places of what is possible, but not quickly accepted; gives how many they are */
static i64 undecided(const i8 *restrict done, i64 count, i32 *restrict where) {
    i64 found = 0;
    for (i64 i = 0; i < count; ++i) {
        where[found] = (i32)i;
        found += done[i] == UNDECIDED;
    }
    return found;
}

static void gamma_attempts(double (*u)[AT_ONCE], double (*own)[AT_ONCE], i64 count, double *restrict value,
                           i8 *restrict done) {
    const double *restrict d = own[0], *restrict c = own[1], *restrict log_d = own[2];
    double x[AT_ONCE], v[AT_ONCE], log_v[AT_ONCE], log_u[AT_ONCE];
    i32 places[AT_ONCE];
    quantiles(u[0], count, x, v, places);
    for (i64 i = 0; i < count; ++i)
        v[i] = gamma_cube(x[i], c[i]);
    for (i64 i = 0; i < count; ++i)
        log_v[i] = log_of(v[i]);
    for (i64 i = 0; i < count; ++i)
        log_u[i] = log_of(u[1][i]);
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
    double height[AT_ONCE], large[AT_ONCE], logs[AT_ONCE];
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
    }
    logs_in_place(height, found);
    logs_in_place(logs, found);
    for (i64 m = 0; m < found; ++m) {
        i64 i = where[m];
        done[i] = height[m] <= poisson_bound(value[i], lam[i], log_lam[i], large[m], logs[m]);
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

static void digit_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value, i8 *restrict done) {
    const i32 *restrict z = u[0];
    const i64 *restrict low = own[0], *restrict span = own[1];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)digit(z[i], low[i], span[i], value + i);
}

static void digit_of_two_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value,
                                  i8 *restrict done) {
    const i32 *restrict first = u[0], *restrict second = u[1];
    const i64 *restrict low = own[0], *restrict span = own[1];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)digit_of_two(first[i], second[i], low[i], span[i], value + i);
}

static void wide_attempts(i32 (*u)[AT_ONCE], i64 (*own)[AT_ONCE], i64 count, i64 *restrict value, i8 *restrict done) {
    const i32 *restrict first = u[0], *restrict second = u[1], *restrict third = u[2];
    const i64 *restrict start = own[0], *restrict most = own[1];
    for (i64 i = 0; i < count; ++i)
        done[i] = (i8)wide_integer(first[i], second[i], third[i], start[i], most[i], value + i);
}

static i64 log_gamma(const Argument *a) { return until_accepted_double(a, gamma_attempts, 2, 3); }
static i64 poisson(const Argument *a) { return until_accepted_double(a, poisson_attempts, 2, 6); }
static i64 binomial(const Argument *a) { return until_accepted_double(a, binomial_attempts, 2, 11); }
static i64 digits(const Argument *a) { return until_accepted_integer(a, digit_attempts, 1, 2); }
static i64 digits_of_two(const Argument *a) { return until_accepted_integer(a, digit_of_two_attempts, 2, 2); }
static i64 wide_integers(const Argument *a) { return until_accepted_integer(a, wide_attempts, 3, 2); }

/* poisson_searches(u, first, mean, out), binomial_searches(u, first, n, odds, out): one parameter for all or for each */
static i64 poisson_searches(const Argument *a) {
    const double *u = a[0].data, *first = a[1].data, *mean = a[2].data;
    double *out = a[3].data;
    i64 first_step = a[1].size > 1, mean_step = a[2].size > 1;
    for (i64 i = 0; i < a[0].size; ++i)
        out[i] = poisson_search(u[i], first[i * first_step], mean[i * mean_step]);
    return 0;
}

static i64 binomial_searches(const Argument *a) {
    const double *u = a[0].data, *first = a[1].data, *n = a[2].data, *odds = a[3].data;
    double *out = a[4].data;
    i64 first_step = a[1].size > 1, n_step = a[2].size > 1, odds_step = a[3].size > 1;
    for (i64 i = 0; i < a[0].size; ++i)
        out[i] = binomial_search(u[i], first[i * first_step], n[i * n_step], odds[i * odds_step]);
    return 0;
}
