/* Functions of each element: name(x, out), where out may be x. */

/* Functions that have something to tell of some numbers, by bits of the answer; plain ones have a loop of their own. */
#define TELLING(NAME, REAL, OF_PLAIN)                                                                                 \
    static i64 NAME##_of_each(const Argument *a) {                                                                    \
        const REAL *x = a[0].data;                                                                                    \
        REAL *out = a[1].data, in[STAGED];                                                                            \
        i32 told = 0;                                                                                                 \
        for (i64 begin = 0; begin < a[0].size; begin += STAGED) {                                                     \
            i64 count = a[0].size - begin < STAGED ? a[0].size - begin : STAGED;                                      \
            i32 plain = 1;                                                                                            \
            for (i64 i = 0; i < count; ++i) {                                                                         \
                in[i] = x[begin + i];                                                                                 \
                plain &= is_plain_to_##NAME(in[i]);                                                                   \
            }                                                                                                         \
            if (plain) {                                                                                              \
                OF_PLAIN;                                                                                             \
                continue;                                                                                             \
            }                                                                                                         \
            for (i64 i = 0; i < count; ++i)                                                                           \
                out[begin + i] = NAME(in[i]);                                                                         \
            for (i64 i = 0; i < count; ++i)                                                                           \
                told |= told_by_##NAME(in[i]);                                                                        \
        }                                                                                                             \
        return told;                                                                                                  \
    }
#define ONE_BY_ONE(FUNCTION)                                                                                          \
    for (i64 i = 0; i < count; ++i)                                                                                   \
        out[begin + i] = FUNCTION(in[i])

enum { STAGES_PAY = 64 }; /* elements from which on exponentials in stages are faster than in one */
TELLING(exp_float, float, if (count < STAGES_PAY) ONE_BY_ONE(exp_float); else exponentials(in, 0.0f, count, out + begin))
TELLING(exp_double, double, ONE_BY_ONE(exp_double_of_plain))
TELLING(expm1_float, float, ONE_BY_ONE(expm1_float_of_plain))
TELLING(log1p_float, float, ONE_BY_ONE(log1p_float_of_plain))
TELLING(log1p_double, double, ONE_BY_ONE(log1p_double_of_plain))

/* Functions of a number and the exponential of another, which tell of nothing. BEGIN and END make exponentials of plain
   numbers. */
#define OF_EXPONENTIAL(NAME, KIND, BEGIN, END)                                                                        \
    static i64 NAME##_##KIND##_of_each(const Argument *a) {                                                           \
        const KIND *x = a[0].data;                                                                                    \
        KIND *out = a[1].data, in[STAGED], e[STAGED], scales[STAGED];                                                 \
        for (i64 begin = 0; begin < a[0].size; begin += STAGED) {                                                     \
            i64 count = a[0].size - begin < STAGED ? a[0].size - begin : STAGED;                                      \
            i32 plain = 1;                                                                                            \
            for (i64 i = 0; i < count; ++i) {                                                                         \
                in[i] = x[begin + i];                                                                                 \
                KIND exponent = exponent_of_##NAME##_##KIND(in[i]);                                                   \
                plain &= is_plain_to_exp_##KIND(exponent);                                                            \
                e[i] = BEGIN(exponent, scales + i);                                                                   \
            }                                                                                                         \
            if (plain)                                                                                                \
                END(e, scales, count, e);                                                                             \
            else                                                                                                      \
                for (i64 i = 0; i < count; ++i)                                                                       \
                    e[i] = exp_##KIND(exponent_of_##NAME##_##KIND(in[i]));                                            \
            for (i64 i = 0; i < count; ++i)                                                                           \
                out[begin + i] = NAME##_##KIND(in[i], e[i]);                                                          \
        }                                                                                                             \
        return 0;                                                                                                     \
    }

OF_EXPONENTIAL(sigmoid, float, exp_parts, exp_of_parts)
OF_EXPONENTIAL(softplus, float, exp_parts, exp_of_parts)

ELEMENT double exponent_alone(double exponent, double *unused) { return (void)unused, exponent; }
ELEMENT void exp_double_of_each_plain(const double *x, const double *unused, i64 count, double *powers) {
    (void)unused;
    for (i64 i = 0; i < count; ++i)
        powers[i] = exp_double_of_plain(x[i]);
}
OF_EXPONENTIAL(sigmoid, double, exponent_alone, exp_double_of_each_plain)
OF_EXPONENTIAL(softplus, double, exponent_alone, exp_double_of_each_plain)
OF_EXPONENTIAL(tanh, double, exponent_alone, exp_double_of_each_plain)

static i64 tanh_float_of_each(const Argument *a) {
    const float *x = a[0].data;
    float *out = a[1].data, in[STAGED], t[STAGED], powers[STAGED];
    for (i64 begin = 0; begin < a[0].size; begin += STAGED) {
        i64 count = a[0].size - begin < STAGED ? a[0].size - begin : STAGED;
        for (i64 i = 0; i < count; ++i) {
            in[i] = x[begin + i];
            t[i] = tanh_remainder(in[i], powers + i);
        }
        for (i64 i = 0; i < count; ++i)
            t[i] = tanh_near_zero(t[i]);
        for (i64 i = 0; i < count; ++i)
            out[begin + i] = tanh_ended(in[i], t[i], powers[i]);
    }
    return 0;
}
