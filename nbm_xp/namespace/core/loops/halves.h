/* float16 numbers, by their bits, of integers. */

/* draw_half(states, table, out, new, claims): the bits of float16 numbers, looked up by the last 15 bits of each
   integer; see draws.h */
static i64 draw_half(const Argument *a) {
    const u16 *table = a[1].data;
    struct {
        Tile tile;
        i32 z[3][TILE];
    } *room = a[5].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    Walk walk = walk_through(a, 1, a[2].size, a + 3, a + 4, &room->tile);
    while (goes_on(&walk)) {
        if (walk.rows == 3)
            three_steps_integer(walk.tile, walk.some, room->z[0], room->z[1], room->z[2]);
        else
            one_step_integer(walk.tile, walk.some, room->z[0]);
        for (i64 k = 0; k < walk.rows; ++k) {
            u16 *row = (u16 *)a[2].data + walk.place + k * walk.streams;
            for (i64 i = 0; i < walk.some; ++i)
                row[i] = table[room->z[k][i] & 0x7fff];
        }
    }
    return 0;
}

/* half_table(out): the bits of the float16 numbers that the last 15 bits of an integer become */
static i64 half_table(const Argument *a) {
    u16 *out = a[0].data;
    for (u32 z = 0; z < 32768u; ++z)
        out[z] = uniform_half(z);
    return 0;
}
