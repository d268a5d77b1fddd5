/* Functions of each element: name(x, out), where out may be x. */

/* Before a loop whose array of results may be that of its arguments, which are read in the same place before. */
#if defined(__clang__)
#define IN_PLACE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define IN_PLACE _Pragma("GCC ivdep")
#else
#define IN_PLACE
#endif

#define FOR_EACH for (i64 i = 0; i < count; ++i)

/* Functions of x + begin, count elements at a time. */
#define BY_STAGES(NAME, KIND, ...)                                                                                    \
    static i64 NAME##_of_each(const Argument *a) {                                                                    \
        i32 flags = 0;                                                                                                \
        for (i64 begin = 0; begin < a[0].size; begin += STAGED) {                                                     \
            i64 count = a[0].size - begin < STAGED ? a[0].size - begin : STAGED;                                      \
            const KIND *x = (const KIND *)a[0].data + begin;                                                          \
            KIND *out = (KIND *)a[1].data + begin;                                                                    \
            __VA_ARGS__                                                                                               \
        }                                                                                                             \
        return flags;                                                                                                 \
    }

/* Functions that report exceptions of floating-point arithmetic, as bits of the answer; plain numbers, which cause none,
   have a loop of their own. */
#define REPORTING(NAME, KIND, OF_PLAIN)                                                                               \
    BY_STAGES(NAME, KIND, {                                                                                           \
        i32 plain = 1;                                                                                                \
        FOR_EACH plain &= is_plain_to_##NAME(x[i]);                                                                   \
        if (plain) {                                                                                                  \
            OF_PLAIN;                                                                                                 \
            continue;                                                                                                 \
        }                                                                                                             \
        FOR_EACH flags |= reported_by_##NAME(x[i]);                                                                   \
        IN_PLACE FOR_EACH out[i] = NAME(x[i]);                                                                        \
    })

/* A few, in parts of a constant size, of which the last may overlap the one before: elements one by one take longer. */
static void exp_of_few(const float *x, i64 count, float *out) {
    float last[FEW];
    for (int l = 0; l < FEW; ++l)
        last[l] = exp_float_of_plain(x[count - FEW + l]);
    for (i64 i = 0; i + FEW < count; i += FEW)
        IN_PLACE for (int l = 0; l < FEW; ++l) out[i + l] = exp_float_of_plain(x[i + l]);
    memcpy(out + count - FEW, last, sizeof last);
}

enum { STAGES_PAY = 64 }; /* elements from which on exponentials in stages are faster than in one */
REPORTING(exp_float, float, if (count >= STAGES_PAY) exponentials(x, 0.0f, count, out); else if (count >= FEW)
          exp_of_few(x, count, out); else IN_PLACE FOR_EACH out[i] = exp_float_of_plain(x[i]))
REPORTING(exp_double, double, IN_PLACE FOR_EACH out[i] = exp_double_of_plain(x[i]))
REPORTING(expm1_float, float, IN_PLACE FOR_EACH out[i] = expm1_float_of_plain(x[i]))
REPORTING(log1p_float, float, IN_PLACE FOR_EACH out[i] = log1p_float_of_plain(x[i]))
REPORTING(log1p_double, double, IN_PLACE FOR_EACH out[i] = log1p_double_of_plain(x[i]))

/* Functions of a number and the exponential of another, which report nothing. BEGIN and END compute exponentials of plain
   numbers. */
#define OF_EXPONENTIAL(NAME, KIND, BEGIN, END)                                                                        \
    BY_STAGES(NAME##_##KIND, KIND, {                                                                                  \
        KIND e[STAGED], scales[STAGED];                                                                               \
        i32 plain = 1;                                                                                                \
        FOR_EACH {                                                                                                    \
            KIND exponent = exponent_of_##NAME##_##KIND(x[i]);                                                        \
            plain &= is_plain_to_exp_##KIND(exponent);                                                                \
            e[i] = BEGIN(exponent, scales + i);                                                                       \
        }                                                                                                             \
        if (plain)                                                                                                    \
            END(e, scales, count, e);                                                                                 \
        else                                                                                                          \
            FOR_EACH e[i] = exp_##KIND(exponent_of_##NAME##_##KIND(x[i]));                                            \
        IN_PLACE FOR_EACH out[i] = NAME##_##KIND(x[i], e[i]);                                                         \
    })

OF_EXPONENTIAL(sigmoid, float, exp_parts, exp_of_parts)
OF_EXPONENTIAL(softplus, float, exp_parts, exp_of_parts)

ELEMENT double exponent_alone(double exponent, double *unused) { return (void)unused, exponent; }
ELEMENT void exp_double_of_each_plain(const double *x, const double *unused, i64 count, double *powers) {
    (void)unused;
    FOR_EACH powers[i] = exp_double_of_plain(x[i]);
}
OF_EXPONENTIAL(sigmoid, double, exponent_alone, exp_double_of_each_plain)
OF_EXPONENTIAL(softplus, double, exponent_alone, exp_double_of_each_plain)
OF_EXPONENTIAL(tanh, double, exponent_alone, exp_double_of_each_plain)

BY_STAGES(tanh_float, float, {
    float t[STAGED], powers[STAGED];
    FOR_EACH t[i] = tanh_remainder(x[i], powers + i);
    FOR_EACH t[i] = tanh_near_zero(t[i]);
    IN_PLACE FOR_EACH out[i] = tanh_ended(x[i], t[i], powers[i]);
})

/* where(condition, x, y, out): x where a byte is not 0, else y, either of which may be one number for all elements */
#define WHERE(KIND)                                                                                                   \
    static i64 where_##KIND(const Argument *a) {                                                                      \
        KIND xs[STAGED], ys[STAGED];                                                                                  \
        for (i64 i = 0; i < STAGED && a[1].size == 1; ++i)                                                            \
            xs[i] = *(const KIND *)a[1].data;                                                                         \
        for (i64 i = 0; i < STAGED && a[2].size == 1; ++i)                                                            \
            ys[i] = *(const KIND *)a[2].data;                                                                         \
        for (i64 begin = 0; begin < a[0].size; begin += STAGED) {                                                     \
            i64 count = a[0].size - begin < STAGED ? a[0].size - begin : STAGED;                                      \
            const i8 *condition = (const i8 *)a[0].data + begin;                                                      \
            const KIND *x = a[1].size == 1 ? xs : (const KIND *)a[1].data + begin;                                    \
            const KIND *y = a[2].size == 1 ? ys : (const KIND *)a[2].data + begin;                                    \
            KIND *out = (KIND *)a[3].data + begin;                                                                    \
            IN_PLACE FOR_EACH out[i] = condition[i] ? x[i] : y[i];                                                    \
        }                                                                                                             \
        return 0;                                                                                                     \
    }
WHERE(float)
WHERE(double)
