/* Logarithm, exponential, sine, cosine and normal quantiles in sums, products, quotients and roots alone, whose bits
   IEEE 754 fixes: the same numbers as nbm_xp.namespace.mrg31k3p.approximations makes of arrays. Nothing may be
   contracted to a fused product and sum. */
#ifndef NBM_ELEMENTARY_H
#define NBM_ELEMENTARY_H

#include "language.h"

#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#define HALF_PI_HIGH 1.57079632673412561417e+00
#define HALF_PI_LOW 6.07710050650619224932e-11
#define TWO_PI 6.283185307179586
#define HALF_WIDTH 0.425
#define LEAST_TAIL 9.332636185032189e-302 /* 2**-1000 */
#define FAR_TAIL 5.0 /* sqrt(-log(p)) beyond which far_quantile serves */
#define LEAST_EXPONENT -708.0
#define MOST_EXPONENT 709.0
#define INTEGERS 6755399441055744.0 /* 1.5 * 2**52: the last bits of a sum with it are an integer */

/* Doubles of small integers and back by their bits: vector instructions for it came late. */
ELEMENT double small_double(i64 k) { return double_of(bits_of(INTEGERS) + k) - INTEGERS; }

/* the logarithm of (1 + f) 2**k, 1 + f from the root of 1/2 to the root of 2; `low` is k * LN2_LOW and what else
   is to be added */
ELEMENT double log_from_three_parts(double f, double k, double low) {
    double s = f / (2.0 + f), z = s * s, w = z * z;
    double odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double even = w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
    double rest = odd + z * (6.666666666666735130e-01 + even), half_square = 0.5 * f * f;
    return k * LN2_HIGH - ((half_square - (s * (half_square + rest) + low)) - f);
}

ELEMENT double log_from_parts(double f, double k) { return log_from_three_parts(f, k, k * LN2_LOW); }

/* of a positive number that is no subnormal one */
ELEMENT double log_of(double x) {
    u64 bits = (u64)bits_of(x), digits = bits & 0x000fffffffffffffull;
    u64 carry = (digits + 0x00095f619980c433ull) >> 52; /* whether they are those of the root of 2, or more */
    double k = small_double((i64)((bits >> 52) + carry) - 1023);
    return log_from_parts(double_of((i64)(digits | ((1023 - carry) << 52))) - 1.0, k);
}

/* the exponential of high - low, at most half of the logarithm of 2 in size */
ELEMENT double exp_near_zero(double high, double low) {
    double r = high - low, t = r * r;
    double p = 6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08);
    double c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * p));
    return 1.0 - ((low - (r * c) / (2.0 - c)) - high);
}

/* 2**k, k from -1022 to 1023 */
ELEMENT double double_power_of_two(double k) { return double_of((i64)((u64)(bits_of(k + INTEGERS) + 1023) << 52)); }

/* exp(x) = 2**k exp(r): exp(r), and k */
ELEMENT double exp_begun_double(double x, double *k) {
    *k = nearest_of(x * 1.44269504088896338700e+00);
    return exp_near_zero(x - *k * LN2_HIGH, *k * LN2_LOW);
}

/* of a number whose exponential is a normal one */
ELEMENT double exp_double_of_plain(double x) {
    double k, value = exp_begun_double(x, &k);
    return value * double_power_of_two(k);
}

ELEMENT double exp_of(double x) {
    double inside = x < LEAST_EXPONENT ? LEAST_EXPONENT : x;
    double value = exp_double_of_plain(inside > MOST_EXPONENT ? MOST_EXPONENT : inside);
    return x < LEAST_EXPONENT ? 0.0 : value;
}

ELEMENT double sine_near_zero(double r) {
    double z = r * r;
    double p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p);
    return r + z * r * (-1.66666666666666324348e-01 + z * p);
}

ELEMENT double cosine_near_zero(double r) {
    double z = r * r;
    double p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11);
    p = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p));
    double half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + z * z * p);
}

/* the cosine and the sine of an angle from 0 to a turn */
ELEMENT void waves(double angle, double *cosine, double *sine) {
    double quarters = nearest_of(angle * 0.6366197723675814);
    double r = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW;
    double s = sine_near_zero(r), c = cosine_near_zero(r);
    u64 phase = (u64)bits_of(quarters + INTEGERS), sign = 0x8000000000000000ull; /* its last two bits count quarters */
    u64 swapped = (u64)(bits_of(s) ^ bits_of(c)) & (0 - (phase & 1));
    *sine = double_of((i64)((u64)bits_of(s) ^ swapped ^ ((phase << 62) & sign)));
    *cosine = double_of((i64)((u64)bits_of(c) ^ swapped ^ (((phase << 62) ^ (phase << 63)) & sign)));
}

/* the normal number of a probability near a half, over what it is more than a half; r = HALF_WIDTH**2 - that squared */
ELEMENT double central_quantile(double r) {
    double above = ((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r +
                   4.5921953931549871457e4;
    above = (((above * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r + 1.3314166789178437745e2) * r +
            3.3871328727963666080e0;
    double below = ((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r +
                   2.1213794301586595867e4;
    below = (((below * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r + 4.2313330701600911252e1) * r +
            1.0;
    return above / below;
}

/* the normal number beyond which lies a small probability p; r = sqrt(-log(p)) - 1.6 */
ELEMENT double outer_quantile(double r) {
    double above = ((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r +
                   1.27045825245236838258e0;
    above = (((above * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r + 4.63033784615654529590e0) *
                r + 1.42343711074968357734e0;
    double below = ((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r +
                   1.48103976427480074590e-1;
    below = (((below * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r + 2.05319162663775882187e0) *
                r + 1.0;
    return above / below;
}

/* the same of a probability below exp(-25); r = sqrt(-log(p)) - 5 */
ELEMENT double far_quantile(double r) {
    double above = ((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r +
                   2.65321895265761230930e-2;
    above = (((above * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r + 5.46378491116411436990e0) *
                r + 6.65790464350110377720e0;
    double below = ((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r +
                   7.86869131145613259100e-4;
    below = (((below * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r + 5.99832206555887937690e-1) *
                r + 1.0;
    return above / below;
}

/* how far a probability is from the nearer of 0 and 1, LEAST_TAIL at the least */
ELEMENT double tail_of(double p) {
    double tail = p < 1.0 - p ? p : 1.0 - p;
    return tail > LEAST_TAIL ? tail : LEAST_TAIL;
}

ELEMENT double quantile_of_tail(double root) {
    return root <= FAR_TAIL ? outer_quantile(root - 1.6) : far_quantile(root - FAR_TAIL);
}

ELEMENT double quantile_of(double p) {
    double q = p - 0.5;
    if (magnitude_of(q) <= HALF_WIDTH)
        return q * central_quantile(HALF_WIDTH * HALF_WIDTH - q * q);
    double outer = quantile_of_tail(root_of(-log_of(tail_of(p))));
    return p < 0.5 ? -outer : outer;
}

/* The probability of a number within two standard deviations of whose uniform u is, and the number without what is
   rounded beyond these. */
#define BEYOND_TWO_SIGMA 0.022750131948179207
ELEMENT double within_two_sigma(double u) { return BEYOND_TWO_SIGMA + u * (1.0 - 2.0 * BEYOND_TWO_SIGMA); }

ELEMENT double clipped_at_two(double z) {
    double above = z > -2.0 ? z : -2.0;
    return above < 2.0 ? above : 2.0;
}

#endif
