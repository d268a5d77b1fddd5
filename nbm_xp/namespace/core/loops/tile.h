/* Streams carried along side by side, and the stretches of memory that they fill.

   States lie number by number, (6, streams). A tile holds the six numbers of some streams, each in a row of its own, so
   that a step is a loop of vector instructions over all of them. */

enum {
    TILE = 5120,    /* streams carried along together: a third of 15,360, whose numbers stay in the second cache */
    APART = 48,     /* numbers between rows: a row that began at the same place of a page would wait for the others */
    PANEL = 524288, /* numbers that are filled while they stay in the caches */
    AT_ONCE = 1024, /* elements made at once out of uniforms, which stay in the first cache */
};

typedef struct {
    u32 x1[TILE + APART], x2[TILE + APART], x3[TILE + APART], y1[TILE + APART], y2[TILE + APART], y3[TILE + APART];
} Tile;

ELEMENT State state_of(const Tile *tile, i64 i) {
    State s = {tile->x1[i], tile->x2[i], tile->x3[i], tile->y1[i], tile->y2[i], tile->y3[i]};
    return s;
}

ELEMENT void put_state(Tile *tile, i64 i, State s) {
    tile->x1[i] = s.x1, tile->x2[i] = s.x2, tile->x3[i] = s.x3;
    tile->y1[i] = s.y1, tile->y2[i] = s.y2, tile->y3[i] = s.y3;
}

static void load(Tile *tile, const u32 *states, i64 streams, i64 first, i64 width) {
    u32 *rows[6] = {tile->x1, tile->x2, tile->x3, tile->y1, tile->y2, tile->y3};
    for (int k = 0; k < 6; ++k)
        memcpy(rows[k], states + k * streams + first, (size_t)width * sizeof(u32));
}

static void store(const Tile *tile, u32 *states, i64 streams, i64 first, i64 width) {
    const u32 *rows[6] = {tile->x1, tile->x2, tile->x3, tile->y1, tile->y2, tile->y3};
    for (int k = 0; k < 6; ++k)
        memcpy(states + k * streams + first, rows[k], (size_t)width * sizeof(u32));
}

/* Stretches of a draw that stay in the caches while tile after tile of streams fills its part of them; memory that is
   new to the process is so written right after it was first touched. */
static i64 panel_length(i64 streams) {
    i64 threes = PANEL / (3 * (streams ? streams : 1)); /* there are none for a draw of nothing */
    return (threes > 1 ? threes : 1) * 3 * streams;
}

ELEMENT State row_at(const void *rows, i64 k) {
    const u32 *r = (const u32 *)rows + 6 * k;
    State row = {r[0], r[1], r[2], r[3], r[4], r[5]};
    return row;
}
