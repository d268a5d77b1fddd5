/* Whether a uniform lies below the sigmoid of x, without the sigmoid: u < e / (1 + e), e = exp(x), is u (1 + e) < e.

   The exponential is good to six digits: its polynomial, of degree 4 with the least relative error on half of log 2
   (Remez), is off by 2**-18.5 at most, and what is rounded by 2**-19. Where both sides are closer than that, the answer
   is left open, and the library's own sigmoid decides: about once in 10**5. */
#ifndef NBM_TRIALS_H
#define NBM_TRIALS_H

#include "language.h"

#define CLOSE 7.62939453125e-06f /* 2**-17, of the odds */
#define HIGHEST 40.0f            /* where the sigmoid rounds to 1 */
#define LOWEST -30.0f            /* where it is far below the least uniform, 2**-31 */

/* Rounded once or twice: no answer that is given depends on it. */
#if defined(__CUDACC__)
#define fused(a, b, c) fmaf(a, b, c)
#elif defined(__FMA__)
#define fused(a, b, c) __builtin_fmaf(a, b, c)
#else
#define fused(a, b, c) ((a) * (b) + (c))
#endif

/* x as r and a multiple of log 2, which is `power`, to be added to an exponent; for nan, these are those of LOWEST */
ELEMENT float remainder_of(float x, u32 *power) {
    float v = x > LOWEST ? x : LOWEST;
    v = v < HIGHEST ? v : HIGHEST;
    float rounded = fused(v, 1.44269504088896341f, 12582912.0f); /* 1.5 * 2**23: its last bits are an integer */
    *power = (u32)bitsf_of(rounded) << 23;
    return fused(rounded - 12582912.0f, -0.6931471805599453f, v);
}

ELEMENT float odds_of(float r, u32 power) {
    float e = fused(4.145856574177742e-2f, r, 1.6790932416915894e-1f);
    e = fused(e, r, 5.000436305999756e-1f);
    e = fused(e, r, 9.999634027481079e-1f);
    e = fused(e, r, 9.999992847442627e-1f);
    return float_of((i32)((u32)bitsf_of(e) + power));
}

/* u (1 + e) - e, below 0 where u is below the sigmoid, and the odds e */
ELEMENT float distance_of(float u, float x, float *odds) {
    u32 power;
    float r = remainder_of(x, &power);
    *odds = odds_of(r, power);
    return fused(u - 1.0f, *odds, u);
}

/* negative where the answer is open */
ELEMENT float margin_of(float distance, float odds) {
    return fused(odds, -CLOSE, distance < 0.0f ? -distance : distance);
}

#endif
