/* Elementary functions of double arrays, in stages that become vector instructions. */

static void logs_in_place(double *restrict x, i64 count) {
    for (i64 i = 0; i < count; ++i)
        x[i] = log_of(x[i]);
}

#define SIGN (-9223372036854775807ll - 1) /* the first bit of a double */

/* the normal quantiles of probabilities; `places` is overwritten, as is `spare` */
static void quantiles(const double *restrict p, i64 count, double *restrict out, double *restrict spare,
                      i32 *restrict places) {
    i8 outer[AT_ONCE];
    for (i64 i = 0; i < count; ++i) {
        double q = p[i] - 0.5;
        out[i] = q * central_quantile(HALF_WIDTH * HALF_WIDTH - q * q);
    }
    for (i64 i = 0; i < count; ++i)
        outer[i] = magnitude_of(p[i] - 0.5) > HALF_WIDTH;
    i64 found = places_of(outer, count, places);
    for (i64 m = 0; m < found; ++m)
        spare[m] = p[places[m]];
    for (i64 m = 0; m < found; ++m)
        spare[m] = log_of(tail_of(spare[m]));
    double farthest = 0.0;
    for (i64 m = 0; m < found; ++m) {
        spare[m] = root_of(-spare[m]);
        farthest = spare[m] > farthest ? spare[m] : farthest;
    }
    if (farthest <= FAR_TAIL)
        for (i64 m = 0; m < found; ++m)
            spare[m] = outer_quantile(spare[m] - 1.6);
    else
        for (i64 m = 0; m < found; ++m)
            spare[m] = quantile_of_tail(spare[m]);
    for (i64 m = 0; m < found; ++m)
        out[places[m]] = double_of(bits_of(spare[m]) | (bits_of(p[places[m]] - 0.5) & SIGN)); /* it is positive */
}

/* log(x), exp(x): in place */
static i64 log_in_place(const Argument *a) {
    logs_in_place(a[0].data, a[0].size);
    return 0;
}

static i64 exp_in_place(const Argument *a) {
    double *restrict x = a[0].data;
    for (i64 i = 0; i < a[0].size; ++i)
        x[i] = exp_of(x[i]);
    return 0;
}

/* normal_quantile(p, out) */
static i64 normal_quantile(const Argument *a) {
    const double *p = a[0].data;
    double *out = a[1].data, spare[AT_ONCE];
    i32 places[AT_ONCE];
    for (i64 begin = 0; begin < a[0].size; begin += AT_ONCE)
        quantiles(p + begin, a[0].size - begin < AT_ONCE ? a[0].size - begin : AT_ONCE, out + begin, spare, places);
    return 0;
}

/* normal numbers within two standard deviations, of uniforms, which are overwritten */
static void truncated(double *restrict u, i64 count, double *restrict out, double *restrict spare,
                      i32 *restrict places) {
    for (i64 i = 0; i < count; ++i)
        u[i] = within_two_sigma(u[i]);
    quantiles(u, count, out, spare, places);
    for (i64 i = 0; i < count; ++i)
        out[i] = clipped_at_two(out[i]);
}
