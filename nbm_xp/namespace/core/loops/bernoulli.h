/* Bernoulli numbers by uniforms of one dtype: included by trials.h for REAL float and double. */

static i64 NAMED(bernoulli)(const Argument *a, Compare *compare, u64 most) {
    int single = a[1].size == 1;
    u64 largest = 0;
    struct {
        Tile tile;
        REAL rows[3][TILE];
    } *room = a[5].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    Walk walk = walk_through(a, 1, a[2].size, a + 3, a + 4, &room->tile);
    while (goes_on(&walk)) {
        if (walk.rows == 3)
            NAMED(three_steps)(walk.tile, walk.some, room->rows[0], room->rows[1], room->rows[2]);
        else
            NAMED(one_step)(walk.tile, walk.some, room->rows[0]);
        for (i64 k = 0; k < walk.rows; ++k)
            largest = compare(room->rows[k], walk.some, a[1].data, walk.place + k * walk.streams, single, a[2].data,
                              largest);
    }
    return largest > most;
}
