/* Steps of all streams of a tile. Included for float, double and the integers themselves: REAL is the type of what each
   makes, NAMED(x) a name of its own, UNIFORM what an integer becomes. */

static void NAMED(three_steps)(Tile *restrict tile, i64 width, REAL *restrict row1, REAL *restrict row2,
                               REAL *restrict row3) {
    for (i64 i = 0; i < width; ++i) {
        u32 x1 = tile->x1[i], x2 = tile->x2[i], x3 = tile->x3[i];
        u32 y1 = tile->y1[i], y2 = tile->y2[i], y3 = tile->y3[i];
        x3 = next_first(x2, x3), y3 = next_second(y1, y3);
        row1[i] = UNIFORM(combined(x3, y3));
        x2 = next_first(x1, x2), y2 = next_second(y3, y2);
        row2[i] = UNIFORM(combined(x2, y2));
        x1 = next_first(x3, x1), y1 = next_second(y2, y1);
        row3[i] = UNIFORM(combined(x1, y1));
        tile->x1[i] = x1, tile->x2[i] = x2, tile->x3[i] = x3;
        tile->y1[i] = y1, tile->y2[i] = y2, tile->y3[i] = y3;
    }
}

static void NAMED(one_step)(Tile *restrict tile, i64 width, REAL *restrict row) {
    for (i64 i = 0; i < width; ++i) {
        State s = state_of(tile, i);
        row[i] = UNIFORM(stepped(&s));
        put_state(tile, i, s);
    }
}
