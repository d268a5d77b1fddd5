/* Uniforms of 53 bits, of two outputs each: see uniform_wide and next_output. */

/* uniforms of some streams from one on, by the row of the first output of each */
static void wide_at_random(const u32 *states, i64 streams, i64 stream, i64 width, State row, double *restrict out) {
    u32 high[AT_ONCE], low[AT_ONCE];
    State next = later_row(row, next_output);
    for (i64 begin = 0; begin < width; begin += AT_ONCE) {
        i64 some = width - begin < AT_ONCE ? width - begin : AT_ONCE;
        outputs(states, streams, stream + begin, some, row, high);
        outputs(states, streams, stream + begin, some, next, low);
        for (i64 i = 0; i < some; ++i)
            out[begin + i] = uniform_wide(high[i], low[i]);
    }
}

RUNS_OF(runs_wide, double, wide_at_random)

/* draw_wide(states, line, out, claims): as draw of draws.h; `states` are two planes, of both outputs, and are moved on */
static i64 draw_wide(const Argument *a) {
    const double *line = a[1].size ? a[1].data : NULL;
    struct {
        Tile tiles[2];
        i32 high[3][TILE], low[3][TILE];
    } *room = a[4].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    Walk walk = walk_through(a, 2, a[2].size, a, a + 3, room->tiles);
    while (goes_on(&walk)) {
        if (walk.rows == 3) {
            three_steps_integer(walk.tile, walk.some, room->high[0], room->high[1], room->high[2]);
            three_steps_integer(walk.tile + 1, walk.some, room->low[0], room->low[1], room->low[2]);
        } else {
            one_step_integer(walk.tile, walk.some, room->high[0]);
            one_step_integer(walk.tile + 1, walk.some, room->low[0]);
        }
        for (i64 k = 0; k < walk.rows; ++k) {
            const i32 *restrict high = room->high[k], *restrict low = room->low[k];
            double *restrict row = (double *)a[2].data + walk.place + k * walk.streams;
            for (i64 i = 0; i < walk.some; ++i)
                row[i] = uniform_wide((u32)high[i], (u32)low[i]);
            stretch_double(row, walk.some, line);
        }
    }
    return 0;
}
