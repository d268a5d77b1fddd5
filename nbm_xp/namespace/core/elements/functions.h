/* Functions as NumPy's ufuncs have them: special values, signs of zeros, and exceptions of floating-point arithmetic.
   Where sums in float32 would cost digits the work is done in doubles, and rounded once. */
#ifndef NBM_FUNCTIONS_H
#define NBM_FUNCTIONS_H

#include "elementary.h"

/* exceptions of floating-point arithmetic that a kernel reports, as bits of its answer */
enum { DIVIDED_BY_ZERO = 1, OVERFLOWS = 2, UNDERFLOWS = 4, IS_INVALID = 8 };

#define INFINITE float_of(0x7f800000)
#define NOT_A_NUMBER float_of(0x7fc00000)
#define MOST_FLOAT 3.40282347e+38f
#define LEAST_NORMAL 1.17549435e-38f
#define SATURATED 40
#define INTEGERS_FLOAT 12582912.0f /* 1.5 * 2**23: the last bits of a sum with it are an integer */

/* 2**n, n from -126 to 127 */
ELEMENT float power_of_two(i32 n) { return float_of((i32)((u32)(n + 127) << 23)); }

/* with the sign of x, which it has already where it is not 0 */
ELEMENT float signed_as(float value, float x) { return float_of(bitsf_of(value) | (bitsf_of(x) & (i32)0x80000000)); }

ELEMENT i32 is_tiny(float x) { return x != 0.0f && x > -LEAST_NORMAL && x < LEAST_NORMAL; }

/* Each function comes twice: of any number, and of a plain one, which causes no exception and needs no choice. Where both
   are defined they have the same bits. */

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

/* x - n log 2, and n. Its exponential is Cephes's polynomial, in two halves that loops may take one after the other. */
ELEMENT float exp_remainder(float x, i32 *whole) {
    float n = nearest_power(x, whole);
    return x - n * 0.693359375f - n * -2.12194440e-4f;
}

ELEMENT float exp_begun(float r) {
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    return p * r + 1.6666665459e-1f;
}

ELEMENT float exp_ended(float begun, float r) { return (begun * r + 5.0000001201e-1f) * r * r + r + 1.0f; }

/* exp(x) = 2**n exp(r), 2**n in two factors, since it may be too large or too small for one. */
ELEMENT float exp_float(float x) {
    i32 whole;
    float inside = x < -104.0f ? -104.0f : x, r = exp_remainder(inside > 89.0f ? 89.0f : inside, &whole);
    i32 half = whole >> 1;
    return exp_ended(exp_begun(r), r) * power_of_two(half) * power_of_two(whole - half);
}

ELEMENT float exp_float_of_plain(float x) {
    i32 whole;
    float r = exp_remainder(x, &whole);
    return exp_ended(exp_begun(r), r) * power_of_two(whole);
}

ELEMENT i32 reported_by_exp_float(float x) {
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

ELEMENT i32 reported_by_expm1_float(float x) {
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

ELEMENT i32 reported_by_log1p_float(float x) {
    return x == -1.0f ? DIVIDED_BY_ZERO : x < -1.0f ? IS_INVALID : is_tiny(x) ? UNDERFLOWS : 0;
}

ELEMENT i32 is_tiny_double(double x) { return x != 0.0 && magnitude_of(x) < 2.2250738585072014e-308; }

ELEMENT double signed_as_double(double value, double x) {
    return double_of(bits_of(value) | (bits_of(x) & (i64)0x8000000000000000ull));
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
    value = x < infinite ? signed_as_double(value, x) : x;
    return x > -1.0 || x != x ? value : x == -1.0 ? -infinite : (double)NOT_A_NUMBER;
}

ELEMENT i32 reported_by_log1p_double(double x) {
    return x == -1.0 ? DIVIDED_BY_ZERO : x < -1.0 ? IS_INVALID : is_tiny_double(x) ? UNDERFLOWS : 0;
}

/* exp(x) in doubles, 2**k in two factors likewise; for a plain x, |x| <= 708, in one */
ELEMENT i32 is_plain_to_exp_double(double x) { return magnitude_of(x) <= 708.0; }

ELEMENT double exp_double(double x) {
    double k, inside = x < -746.0 ? -746.0 : x, value = exp_begun_double(inside > 710.0 ? 710.0 : inside, &k);
    double half = floor_of(0.5 * k);
    return value * double_power_of_two(half) * double_power_of_two(k - half);
}

ELEMENT i32 reported_by_exp_double(double x) {
    i32 finite = x - x == 0.0;
    return finite ? (x > 709.782712893384 ? OVERFLOWS : x < -708.3964185322641 ? UNDERFLOWS : 0) : 0;
}

/* The functions below report nothing.

   tanh(x) in floats: with h = |x| - n log(2) / 2 and t = tanh(h), an odd polynomial, and s = 2**n, it is the quotient of
   s - 1 + (s + 1) t and s + 1 + (s - 1) t: t itself where n is 0. Where n is 3 or more, its difference from 1 is the
   quotient of 2 - 2 t and the same. Three functions, for three loops one after another. The product of n and the rounded
   log(2) / 2 is exact up to n = 2; beyond, where the result is close to 1, its rounding does not count. */
ELEMENT float tanh_remainder(float x, float *power) {
    float size = float_of(bitsf_of(x) & 0x7fffffff), inside = size > 10.0f ? 10.0f : size; /* from there on 1 is nearest */
    float rounded = inside * 2.88539008177792681f + INTEGERS_FLOAT;
    *power = power_of_two((i32)((u32)bitsf_of(rounded) - (u32)bitsf_of(INTEGERS_FLOAT)));
    return inside - (rounded - INTEGERS_FLOAT) * 0.346573590279972655f;
}

ELEMENT float tanh_near_zero(float h) {
    float z = h * h;
    return h + h * z * (-0.333333226f + z * (0.133311730f + z * -0.0527240580f));
}

ELEMENT float tanh_ended(float x, float t, float power) {
    float less = power - 1.0f, more = power + 1.0f;
    i32 is_far = power > 4.0f;
    float above = is_far ? t + t - 2.0f : less + more * t;
    return signed_as((is_far ? 1.0f : 0.0f) + above / (more + less * t), x);
}

/* The others are functions of a number and of the exponential e of what `exponent_of_` says.

   tanh(x) in doubles is near 0 x and a quotient of polynomials, so that nothing cancels, else 1 - 2 / (e + 1) with
   e = exp(2 |x|). */
ELEMENT double exponent_of_tanh_double(double x) {
    double size = magnitude_of(x + x);
    return size > 44.0 ? 44.0 : size;
}

ELEMENT double tanh_double(double x, double e) {
    double size = magnitude_of(x), z = size * size;
    double p = -3.3333333333333249383e-01 + z * (-2.0489788673052941946e-02 + z * -1.9877935006334323727e-04);
    double q = 1.0 + z * (4.6146936601906782340e-01 + z * (2.3279322554157015310e-02 + z * 2.0610679224157234172e-04));
    i32 is_near = size < 0.75;
    double above = is_near ? p * z * size : -2.0, below = is_near ? q : e + 1.0;
    return signed_as_double((is_near ? size : 1.0) + above / below, x);
}

/* the sigmoid is e / (1 + e) with e = exp(x); from SATURATED on it rounds to 1 */
#define SIGMOID(KIND)                                                                                                 \
    ELEMENT KIND exponent_of_sigmoid_##KIND(KIND x) { return x > (KIND)SATURATED ? (KIND)SATURATED : x; }             \
    ELEMENT KIND sigmoid_##KIND(KIND x, KIND e) { return (void)x, e / (1 + e); }
SIGMOID(float)
SIGMOID(double)

/* The softplus is max(x, 0) + log(1 + e) with e = exp(-|x|), from 0 to 1. In floats log(1 + e) = 2 artanh(s),
   s = e / (2 + e) from 0 to 1/3, an odd polynomial in s, so that nothing cancels for small e. */
ELEMENT float exponent_of_softplus_float(float x) { return x > 0.0f ? -x : x; }
ELEMENT float softplus_float(float x, float e) {
    float s = e / (2.0f + e), z = s * s;
    float odd = 1.42962910e-1f + z * (1.08516610e-1f + z * 1.16195290e-1f);
    float tail = s + s * z * (3.33333340e-1f + z * (1.99998510e-1f + z * odd));
    return (x > 0.0f ? x : 0.0f) + (tail + tail);
}
ELEMENT double exponent_of_softplus_double(double x) { return x > 0.0 ? -x : x; }
ELEMENT double softplus_double(double x, double e) { return (x > 0.0 ? x : 0.0) + log1p_double_of_plain(e); }

#endif
