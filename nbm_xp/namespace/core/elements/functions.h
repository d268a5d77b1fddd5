/* Functions as NumPy's ufuncs have them: special values, signs of zeros, and what floating-point arithmetic is to tell
   of. Where sums in float32 would cost digits the work is done in doubles, and rounded once. */
#ifndef NBM_FUNCTIONS_H
#define NBM_FUNCTIONS_H

#include "elementary.h"

/* what is told, as bits of a kernel's answer */
enum { DIVIDED_BY_ZERO = 1, OVERFLOWS = 2, UNDERFLOWS = 4, IS_INVALID = 8 };

#define INFINITE float_of(0x7f800000)
#define NOT_A_NUMBER float_of(0x7fc00000)
#define MOST_FLOAT 3.40282347e+38f
#define LEAST_NORMAL 1.17549435e-38f
#define INTEGERS_FLOAT 12582912.0f /* 1.5 * 2**23: the last bits of a sum with it are an integer */

/* 2**n, n from -126 to 127 */
ELEMENT float power_of_two(i32 n) { return float_of((i32)((u32)(n + 127) << 23)); }

/* with the sign of x, which it has already where it is not 0 */
ELEMENT float signed_as(float value, float x) { return float_of(bitsf_of(value) | (bitsf_of(x) & (i32)0x80000000)); }

ELEMENT i32 is_tiny(float x) { return x != 0.0f && x > -LEAST_NORMAL && x < LEAST_NORMAL; }

/* Each function comes twice: of any number, and of a plain one, for which nothing is to be told and nothing to be chosen;
   where both are asked the bits are the same. */

ELEMENT i32 is_plain_to_exp_float(float x) { return (bitsf_of(x) & 0x7fffffff) <= 0x42ae0000; } /* |x| <= 87 */
ELEMENT i32 is_plain_to_expm1_float(float x) { /* neither 0 nor subnormal, |x| <= 87 */
    u32 size = (u32)bitsf_of(x) & 0x7fffffffu;
    return size >= 0x00800000u && size <= 0x42ae0000u;
}
ELEMENT i32 is_plain_to_log1p_float(float x) { /* neither 0 nor subnormal, above -1, finite */
    u32 size = (u32)bitsf_of(x) & 0x7fffffffu;
    return size >= 0x00800000u && size < 0x7f800000u && x > -1.0f;
}

/* n, the integer nearest to x / log 2, as a number and an integer */
ELEMENT float nearest_power(float x, i32 *whole) {
    float rounded = x * 1.44269504088896341f + INTEGERS_FLOAT;
    *whole = (i32)((u32)bitsf_of(rounded) - (u32)bitsf_of(INTEGERS_FLOAT));
    return rounded - INTEGERS_FLOAT;
}

/* x - n log 2, and its exponential by Cephes's polynomial, in two halves that loops may take one after the other */
ELEMENT float exp_remainder(float x, float n) { return x - n * 0.693359375f - n * -2.12194440e-4f; }

ELEMENT float exp_begun(float r) {
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    return p * r + 1.6666665459e-1f;
}

ELEMENT float exp_ended(float begun, float r) { return (begun * r + 5.0000001201e-1f) * r * r + r + 1.0f; }

/* exp(x) = 2**n times this */
ELEMENT float exp_rest(float x, float n) {
    float r = exp_remainder(x, n);
    return exp_ended(exp_begun(r), r);
}

ELEMENT float exp_float_of_plain(float x) {
    i32 whole;
    float n = nearest_power(x, &whole);
    return exp_rest(x, n) * power_of_two(whole);
}

/* 2**n in two factors, since it may be too large or too small for one */
ELEMENT float exp_float(float x) {
    i32 whole;
    float inside = x < -104.0f ? -104.0f : x;
    inside = inside > 89.0f ? 89.0f : inside;
    float n = nearest_power(inside, &whole);
    i32 half = whole >> 1;
    return exp_rest(inside, n) * power_of_two(half) * power_of_two(whole - half);
}

ELEMENT i32 told_by_exp_float(float x) {
    i32 finite = x >= -MOST_FLOAT && x <= MOST_FLOAT;
    return finite ? (x >= 88.7228394f ? OVERFLOWS : x < -87.3365402f ? UNDERFLOWS : 0) : 0;
}

/* exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1) */
ELEMENT float expm1_float_of_plain(float x) {
    i32 whole;
    float n = nearest_power(x, &whole);
    double r = (double)x - (double)n * 6.93147180559945309417e-01;
    double power = 2.0 * (double)power_of_two(whole - 1);
    double p = 1.394104978066921e-03 + r * 1.9913613351404394e-04;
    p = 8.333274068679578e-03 + r * p;
    p = 4.1666354092331284e-02 + r * p;
    p = 1.666666681270031e-01 + r * p;
    p = 5.000000046583094e-01 + r * p;
    return (float)(power * (r + r * r * p) + (power - 1.0));
}

ELEMENT float expm1_float(float x) {
    float inside = x < -20.0f ? -20.0f : x;
    return signed_as(expm1_float_of_plain(inside > 89.0f ? 89.0f : inside), x);
}

ELEMENT i32 told_by_expm1_float(float x) {
    return x >= 88.7228394f && x <= MOST_FLOAT ? OVERFLOWS : is_tiny(x) ? UNDERFLOWS : 0;
}

/* log(1 + x) = k log 2 + log(1 + f), 1 + f from the root of 1/2 to the root of 2; for small x, f is x. The power of two
   comes as its fourfold, which is a normal number for every k. */
ELEMENT float log1p_float_of_plain(float x) {
    i32 k = (i32)(((u32)bitsf_of(1.0f + x) + 0x004afb0du) >> 23) - 127;
    double power = 0.25 * (double)power_of_two(2 - k);
    double f = (double)x * power + (power - 1.0), s = f / (2.0 + f), z = s * s;
    double p = 0.6666677671878996 + z * (0.39977495411596 + z * 0.2987307705630677);
    return (float)(s * (2.0 + z * p) + (double)k * 6.93147180559945309417e-01);
}

ELEMENT float log1p_float(float x) {
    float value = x < INFINITE ? signed_as(log1p_float_of_plain(x), x) : x;
    return x > -1.0f || x != x ? value : x == -1.0f ? -INFINITE : NOT_A_NUMBER;
}

ELEMENT i32 told_by_log1p_float(float x) {
    return x == -1.0f ? DIVIDED_BY_ZERO : x < -1.0f ? IS_INVALID : is_tiny(x) ? UNDERFLOWS : 0;
}

/* In doubles what 1 + x has lost comes as a third part of the logarithm. */
ELEMENT i32 is_plain_to_log1p_double(double x) {
    u64 size = (u64)bits_of(x) & 0x7fffffffffffffffull;
    return size >= 0x0010000000000000ull && size < 0x7ff0000000000000ull && x > -1.0;
}

ELEMENT double log1p_double_of_plain(double x) {
    double u = 1.0 + x;
    u64 bits = (u64)bits_of(u), digits = bits & 0x000fffffffffffffull;
    u64 carry = (digits + 0x00095f619980c433ull) >> 52; /* whether they are those of the root of 2, or more */
    double k = small_double((i64)((bits >> 52) + carry) - 1023);
    double f = double_of((i64)(digits | ((1023 - carry) << 52))) - 1.0;
    double lost = (u >= 2.0 ? 1.0 - (u - x) : x - (u - 1.0)) / u;
    f = k == 0.0 ? x : f;
    return log_from_three_parts(f, k, k * LN2_LOW + (k == 0.0 ? 0.0 : lost));
}

ELEMENT double log1p_double(double x) {
    double infinite = (double)INFINITE, value = log1p_double_of_plain(x);
    value = double_of(bits_of(value) | (bits_of(x) & (i64)0x8000000000000000ull));
    value = x < infinite ? value : x;
    return x > -1.0 || x != x ? value : x == -1.0 ? -infinite : (double)NOT_A_NUMBER;
}

ELEMENT i32 told_by_log1p_double(double x) {
    return x == -1.0 ? DIVIDED_BY_ZERO
           : x < -1.0 ? IS_INVALID
           : x != 0.0 && magnitude_of(x) < 2.2250738585072014e-308 ? UNDERFLOWS
                                                                   : 0;
}

#endif
