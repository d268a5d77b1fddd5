/* log(1 + exp(x)) of floats = max(x, 0) + log(1 + e) with e = exp(-|x|), from 0 to 1: within two and a half units in the
   last place, subnormal results included; nan stays nan. `out` may be `x`.

   The exponential as in exponentials.h, its power of two in two factors, since one would be no normal number below -87.3.
   log(1 + e) = 2 artanh(s), s = e / (2 + e) from 0 to 1/3: an odd polynomial in s, so that nothing cancels for small e. */

static void softplus_of_some(const float *x, i64 count, float *out) {
    float in[STAGED], r[STAGED], high[STAGED], low[STAGED], p[STAGED];
    memcpy(in, x, (size_t)count * sizeof *in);
    for (i64 i = 0; i < count; ++i) {
        float below = in[i] > 0.0f ? -in[i] : in[i], inside = below < -104.0f ? -104.0f : below; /* exp(-104) is 0 */
        i32 whole;
        float n = nearest_power(inside, &whole);
        i32 half = whole >> 1;
        r[i] = exp_remainder(inside, n);
        high[i] = power_of_two(half);
        low[i] = power_of_two(whole - half);
    }
    for (i64 i = 0; i < count; ++i)
        p[i] = exp_begun(r[i]);
    for (i64 i = 0; i < count; ++i) {
        float e = exp_ended(p[i], r[i]) * high[i] * low[i];
        float s = e / (2.0f + e), z = s * s;
        float odd = 1.42962910e-1f + z * (1.08516610e-1f + z * 1.16195290e-1f);
        float tail = s + s * z * (3.33333340e-1f + z * (1.99998510e-1f + z * odd));
        out[i] = (in[i] > 0.0f ? in[i] : 0.0f) + (tail + tail);
    }
}

/* softplus(x, out) */
static i64 softplus(const Argument *a) {
    const float *x = a[0].data;
    float *out = a[1].data;
    for (i64 begin = 0; begin < a[0].size; begin += STAGED)
        softplus_of_some(x + begin, a[0].size - begin < STAGED ? a[0].size - begin : STAGED, out + begin);
    return 0;
}
