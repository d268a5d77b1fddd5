/* States of categorical sites, drawn with the probabilities of a softmax. Included for float and double. */

enum { NAMED(ACROSS) = 64 / sizeof(REAL) * 4 }; /* columns at a time, whose sums stay in registers */

/* `count` columns, `step` numbers from one to the next, with `apart` numbers between states; `sums` is memory to work in */
ELEMENT void NAMED(draw_columns)(const REAL *restrict x, const REAL *restrict uniforms, i64 states, i64 apart, i64 step,
                                 i64 count, REAL *restrict sums, REAL *restrict out) {
    REAL values[NAMED(ACROSS)];
    i32 above[NAMED(ACROSS)];
    for (i64 c = 0; c < count; ++c)
        values[c] = x[c * step];
    for (i64 k = 1; k < states; ++k)
        for (i64 c = 0; c < count; ++c)
            values[c] = x[k * apart + c * step] > values[c] ? x[k * apart + c * step] : values[c];
    for (i64 k = 0; k < states; ++k) {
        REAL *restrict row = sums + k * count;
        for (i64 c = 0; c < count; ++c)
            row[c] = EXP(x[k * apart + c * step] - values[c]);
        for (i64 c = 0; c < count && k; ++c)
            row[c] += row[c - count];
    }
    for (i64 c = 0; c < count; ++c) {
        values[c] = uniforms[c] * sums[(states - 1) * count + c];
        above[c] = 1;
    }
    for (i64 k = 0; k < states; ++k)
        for (i64 c = 0; c < count; ++c) {
            i32 next = k + 1 < states && sums[k * count + c] <= values[c];
            out[k * apart + c * step] = (REAL)(above[c] & !next);
            above[c] = next;
        }
}

/* softmax_states(inputs, uniforms, states, inner, out): `inputs` and `out` have the shape (sites, states, inner) and
   `uniforms` (sites, inner). `out` is 1 for the first state whose cumulative weight exceeds that part of the total. */
static i64 NAMED(softmax_states)(const Argument *a) {
    const REAL *x = a[0].data, *uniforms = a[1].data;
    i64 count = a[1].size, states = a[2].integer, inner = a[3].integer;
    REAL *out = a[4].data, *sums = a[5].data;
    i64 most = ROOM / (i64)sizeof(REAL) / states, some;
    most = most < NAMED(ACROSS) ? most : NAMED(ACROSS);
    for (i64 begin = 0; begin < count; begin += some) {
        i64 column = begin % inner, left = inner == 1 ? count - begin : inner - column;
        i64 place = (begin - column) * states + column;
        some = left < most ? left : most;
        if (inner == 1)
            NAMED(draw_columns)(x + place, uniforms + begin, states, 1, states, some, sums, out + place);
        else
            NAMED(draw_columns)(x + place, uniforms + begin, states, inner, 1, some, sums, out + place);
    }
    return 0;
}
