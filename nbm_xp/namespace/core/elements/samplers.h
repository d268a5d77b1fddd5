/* Integers, gamma, Poisson and binomial numbers of one element's uniforms: what nbm_xp.rng.distributions makes of
   arrays, sum by sum. An attempt is cut where a processor takes many elements at once: what is cheap for all, what
   needs logarithms, and the verdict. Methods and references stand in nbm_xp/rng/distributions/rejection.py. */
#ifndef NBM_SAMPLERS_H
#define NBM_SAMPLERS_H

#include "elementary.h"
#include "recurrence.h"

#define HALF_LOG_TWO_PI 0.9189385332046727
#define MANY_EVENTS 1073741824.0 /* so many that logarithms of factorials would lose the digits that decide */
#define SURELY_ACCEPTED 1099511627776.0 /* the shape above which fewer than one gamma number in 10**10 is refused */

enum verdict { REFUSED = 0, ACCEPTED = 1, UNDECIDED = 2 };

TABLE double log_factorials[10] = {
    0.0, 0.0, 0.6931471805599453, 1.791759469228055, 3.1780538303479458, 4.787491742782046, 6.579251212010101,
    8.525161361065415, 10.60460290274525, 12.801827480081469,
};

TABLE double stirling_errors[10] = {
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
    0.013876128823070748, 0.01189670994591177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
};

/* what Stirling's formula for the logarithm of a factorial lacks, from 10 on */
ELEMENT double stirling_series(double x) {
    double r = 1.0 / x, z = r * r;
    return r *
           (0.08333333333333333 - z * (0.002777777777777778 - z * (0.0007936507936507937 - z * 0.0005952380952380953)));
}

ELEMENT double stirling_error(double k) { return k < 10.0 ? stirling_errors[(int)k] : stirling_series(k + 1.0); }

/* k log(k / lam) - (k - lam) for a k that is delta more than a lam of MANY_EVENTS or more */
ELEMENT double large_poisson_deviance(double delta, double lam) {
    double x = delta / lam;
    return 0.5 * delta * x * (1.0 - x * (0.3333333333333333 - x * 0.16666666666666666));
}

/* two uniforms of 31 bits as one of 53; and its distance from the nearer of 0 and 1, from 2**-62 on */
ELEMENT double wide_of(double high, double low) {
    return (high - 4.656612873077393e-10) + low * 4.656612873077393e-10;
}

ELEMENT double folded_wide(double high, double low) { return wide_of(high < 0.5 ? high : 1.0 - high, low); }

/* --- gamma: Marsaglia and Tsang */

ELEMENT double gamma_cube(double x, double c) {
    double root = 1.0 + c * x;
    return root > 0.0 ? root * root * root : 1.0;
}

ELEMENT double gamma_bound(double x, double d, double v, double log_v) {
    return 0.5 * x * x + d - d * v + d * log_v;
}

ELEMENT int gamma_verdict(double x, double c, double d, double log_u, double bound) {
    return (1.0 + c * x > 0.0) & ((d > SURELY_ACCEPTED) | (log_u < bound));
}

ELEMENT int gamma_attempt(const double *u, double d, double c, double log_d, double *value) {
    double z = quantile_of(folded_wide(u[0], u[1])), x = u[0] < 0.5 ? z : -z, v = gamma_cube(x, c), log_v = log_of(v);
    *value = log_d + log_v;
    return gamma_verdict(x, c, d, log_of(wide_of(u[2], u[3])), gamma_bound(x, d, v, log_v));
}

/* --- Poisson of a mean of 10 or more, binomial likewise: Hörmann's transformed rejection */

ELEMENT double rejection_candidate(double u, double a, double b, double mean, double shift) {
    double centred = u - 0.5, us = 0.5 - magnitude_of(centred);
    return floor_of((2.0 * a / us + b) * centred + mean + shift);
}

ELEMENT int poisson_verdict(double k, double u, double v, double quickly) {
    double us = 0.5 - magnitude_of(u - 0.5);
    int quick = (us >= 0.07) & (v <= quickly), possible = (k >= 0.0) & ((us >= 0.013) | (v <= us));
    return quick ? ACCEPTED : possible ? UNDECIDED : REFUSED;
}

ELEMENT double poisson_height(double u, double v, double a, double b, double factor) {
    double us = 0.5 - magnitude_of(u - 0.5);
    return v * factor / (a / (us * us) + b);
}

/* of 10 events or more, where the mean is below MANY_EVENTS */
ELEMENT double poisson_usual_bound(double k, double lam, double log_lam, double log_k) {
    return k * log_lam - lam - ((k + 0.5) * log_k - k + (HALF_LOG_TWO_PI + stirling_series(k)));
}

/* `log_large` is the logarithm of k, or of 10 where that is more */
ELEMENT double poisson_bound(double k, double lam, double log_lam, double log_large) {
    if (lam >= MANY_EVENTS)
        return -(large_poisson_deviance(k - lam, lam) + 0.5 * log_large + HALF_LOG_TWO_PI);
    return k < 10.0 ? k * log_lam - lam - log_factorials[(int)k] : poisson_usual_bound(k, lam, log_lam, log_large);
}

ELEMENT int poisson_attempt(double u, double v, double lam, double a, double b, double quickly, double factor,
                            double log_lam, double *value) {
    double k = rejection_candidate(u, a, b, lam, 0.43);
    int verdict = poisson_verdict(k, u, v, quickly);
    k = *value = k >= 0.0 ? k : 0.0;
    if (verdict != UNDECIDED)
        return verdict;
    return log_of(poisson_height(u, v, a, b, factor)) <= poisson_bound(k, lam, log_lam, log_of(k > 10.0 ? k : 10.0));
}

ELEMENT int binomial_verdict(double k, double u, double v, double n, double quickly) {
    double us = 0.5 - magnitude_of(u - 0.5);
    int quick = (us >= 0.07) & (v <= quickly), possible = (k >= 0.0) & (k <= n);
    return possible ? (quick ? ACCEPTED : UNDECIDED) : REFUSED;
}

ELEMENT double binomial_height(double u, double v, double a, double b, double factor, double spread) {
    double us = 0.5 - magnitude_of(u - 0.5);
    return v * factor * spread / (a / (us * us) + b);
}

ELEMENT double binomial_to_mode(double k, double n, double mode) { return (n - mode + 1.0) / (n - k + 1.0); }

ELEMENT double binomial_from_mode(double k, double n, double odds) { return odds * (n - k + 1.0) / (k + 1.0); }

ELEMENT double binomial_bound(double k, double n, double at_mode, double error, double log_to_mode,
                              double log_from_mode) {
    double bound = at_mode + (n + 1.0) * log_to_mode + (k + 0.5) * log_from_mode + error;
    return bound - (stirling_error(k) + stirling_error(n - k));
}

ELEMENT int binomial_attempt(double u, double v, double n, double mean, double a, double b, double quickly,
                             double factor, double spread, double mode, double odds, double at_mode, double error,
                             double *value) {
    double k = *value = rejection_candidate(u, a, b, mean, 0.5);
    int verdict = binomial_verdict(k, u, v, n, quickly);
    if (verdict != UNDECIDED)
        return verdict;
    return log_of(binomial_height(u, v, a, b, factor, spread)) <=
           binomial_bound(k, n, at_mode, error, log_of(binomial_to_mode(k, n, mode)),
                          log_of(binomial_from_mode(k, n, odds)));
}

/* --- searches: the first number whose distribution function exceeds u */

ELEMENT double poisson_search(double u, double first, double mean) {
    double mass = first, total = first, k = 0.0;
    while (u >= total && mass > 0.0) {
        k += 1.0;
        mass = mass * (mean / k);
        total = total + mass;
    }
    return k;
}

ELEMENT double binomial_search(double u, double first, double n, double odds) {
    double mass = first, total = first, k = 0.0;
    while (u >= total && mass > 0.0) {
        k += 1.0;
        mass = mass * ((n + 1.0 - k) / k * odds);
        total = total + mass;
    }
    return k;
}

/* --- integers of equal probability: remainders, by quotients of doubles that are exact or off by one */

/* of one output, for spans up to M1 */
ELEMENT int digit(i32 z, i64 low, i64 span, i64 *value) {
    i32 n = z - 1, d = (i32)span;
    i32 whole = (i32)((double)n / (double)d) * d;
    *value = (i64)((u64)low + (u64)(n - whole));
    return whole <= (i32)M1 - d;
}

/* of two outputs, for longer ones up to M1 squared; of shorter ones the value means nothing */
ELEMENT int digit_of_two(i32 first, i32 second, i64 low, i64 span, i64 *value) {
    i64 n = (i64)(first - 1) * (i64)M1 + (i64)(second - 1);
    double ratio = ((double)(first - 1) * 2147483647.0 + (double)(second - 1)) / (double)span;
    i64 r = n - (i64)(i32)(ratio < 2147483647.0 ? ratio : 2147483647.0) * span;
    r += r < 0 ? span : 0;
    r -= r >= span ? span : 0;
    *value = (i64)((u64)low + (u64)r);
    return n - r <= (i64)M1 * (i64)M1 - span;
}

/* of three outputs: 64 bits, of which those up to `most` are kept */
ELEMENT int has_all_bits(u32 a, u32 b, u32 c) {
    return (a < M1 - M1 % 4194304u) & ((b > c ? b : c) < M1 - M1 % 2097152u);
}

ELEMENT int wide_integer(i32 first, i32 second, i32 third, i64 start, i64 most, i64 *value) {
    u32 a = (u32)first - 1u, b = (u32)second - 1u, c = (u32)third - 1u;
    i64 n = (i64)((u64)(a & 0x3fffffu) << 42 | (u64)(b & 0x1fffffu) << 21 | (c & 0x1fffffu));
    *value = (i64)((u64)n + (u64)start);
    return has_all_bits(a, b, c) & (n <= most);
}

#endif
