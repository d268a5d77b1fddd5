/* Uniform and normal numbers of one dtype. Included once for float and once for double, after random_access.h and
   steps.h: REAL is the type, NAMED(x) a name of its own, ROOT the square root. */

static void NAMED(stretch)(REAL *row, i64 width, const REAL *line) {
    if (line)
        for (i64 i = 0; i < width; ++i)
            row[i] = row[i] * line[0] + line[1];
}

/* draw(states, line, out, new, claims): fill `out` with uniforms, `new`, which may be `states`, with those after it;
   `line`, if it is not empty, is what each is multiplied by, and what is added then; claims as in tile.h */
static i64 NAMED(draw)(const Argument *a) {
    const REAL *line = a[1].size ? a[1].data : NULL;
    Walk walk = walk_through(a, 1, a[2].size, a + 3, a + 4, a[5].data);
    while (goes_on(&walk)) {
        REAL *row = (REAL *)a[2].data + walk.place;
        if (walk.rows == 3)
            NAMED(three_steps)(walk.tile, walk.some, row, row + walk.streams, row + 2 * walk.streams);
        else
            NAMED(one_step)(walk.tile, walk.some, row);
        for (i64 k = 0; k < walk.rows; ++k)
            NAMED(stretch)(row + k * walk.streams, walk.some, line);
    }
    return 0;
}

/* normal numbers of pairs of uniforms, by Box and Muller; u1 is overwritten */
static void NAMED(polar)(REAL *restrict u1, const REAL *restrict u2, i64 width, const REAL *line, REAL *cosines,
                         REAL *sines) {
    for (i64 i = 0; i < width; ++i)
        u1[i] = ROOT((REAL)-2.0 * (REAL)log_of((double)u1[i]));
    for (i64 i = 0; i < width; ++i) {
        double cosine, sine;
        waves((double)(REAL)(u2[i] * (REAL)TWO_PI), &cosine, &sine);
        cosines[i] = u1[i] * (REAL)cosine;
        sines[i] = u1[i] * (REAL)sine;
    }
    NAMED(stretch)(cosines, width, line);
    NAMED(stretch)(sines, width, line);
}

/* box_muller(u1, u2): pairs of uniforms become the cosines and the sines of pairs of normal numbers */
static i64 NAMED(box_muller)(const Argument *a) {
    REAL *u1 = a[0].data, *u2 = a[1].data, first[AT_ONCE], second[AT_ONCE];
    i64 pairs = a[0].size;
    for (i64 begin = 0, width; begin < pairs; begin += width) {
        width = pairs - begin < AT_ONCE ? pairs - begin : AT_ONCE;
        memcpy(first, u1 + begin, (size_t)width * sizeof(REAL));
        memcpy(second, u2 + begin, (size_t)width * sizeof(REAL));
        NAMED(polar)(first, second, width, NULL, u1 + begin, u2 + begin);
    }
    return 0;
}

/* normals(states, row, line, out): pairs of two steps of a stream, the cosine for the first and the sine for the second;
   `row` is that of the first step. WHOLE makes uniforms of all bits that the type has. */
static i64 NAMED(normals)(const Argument *a) {
    const REAL *line = a[2].size ? a[2].data : NULL;
    REAL *out = a[3].data, u1[AT_ONCE], u2[AT_ONCE], spare[AT_ONCE];
    i64 streams = a[0].size / 6, n = a[3].size;
    State row1 = row_at(a[1].data, 0);
    for (i64 begin = 0; begin < n; begin += 2 * streams) {
        State row2 = next_row(row1);
        i64 end = begin + streams < n ? begin + streams : n;
        for (i64 place = begin, width; place < end; place += width) {
            width = end - place < AT_ONCE ? end - place : AT_ONCE;
            WHOLE(a[0].data, streams, place - begin, width, row1, u1);
            WHOLE(a[0].data, streams, place - begin, width, row2, u2);
            i64 rest = n - place - streams;
            REAL *sines = rest >= width ? out + place + streams : spare;
            NAMED(polar)(u1, u2, width, line, out + place, sines);
            if (sines == spare && rest > 0)
                memcpy(out + place + streams, spare, (size_t)rest * sizeof(REAL));
        }
        row1 = next_row(row2);
    }
    return 0;
}
