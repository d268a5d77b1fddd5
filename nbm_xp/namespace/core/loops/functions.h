/* Functions of each element: name(x, out), where out may be x. What arithmetic is to tell of is the answer, by bits. */

#define FUNCTION(NAME, REAL)                                                                                          \
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
                for (i64 i = 0; i < count; ++i)                                                                       \
                    out[begin + i] = NAME##_of_plain(in[i]);                                                          \
                continue;                                                                                             \
            }                                                                                                         \
            for (i64 i = 0; i < count; ++i)                                                                           \
                out[begin + i] = NAME(in[i]);                                                                        \
            for (i64 i = 0; i < count; ++i)                                                                           \
                told |= told_by_##NAME(in[i]);                                                                        \
        }                                                                                                             \
        return told;                                                                                                  \
    }

FUNCTION(exp_float, float)
FUNCTION(expm1_float, float)
FUNCTION(log1p_float, float)
FUNCTION(log1p_double, double)
