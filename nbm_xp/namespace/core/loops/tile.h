/* Streams carried along side by side, and the stretches of memory that they fill.

   States lie number by number, (6, streams). A tile holds the six numbers of some streams, each in a row of its own, so
   that a step is a loop of vector instructions over all of them. */

enum {
    TILE = 5120,    /* streams carried along together: a third of 15,360, whose numbers stay in the second cache */
    APART = 48,     /* numbers between rows: a row that began at the same place of a page would wait for the others */
    PANEL = 524288, /* numbers that are filled while they stay in the caches */
    AT_ONCE = 960,  /* elements made at once out of uniforms, which stay in the first cache: no power of two, by which their
                       rows would share its sets; a 16th of 15,360 */
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

/* A way through the elements of a draw, some rows of a tile at a time: tile after tile of streams, and panel after panel
   of steps, which stay in the caches until all tiles have filled their part of them; memory that is new to the process is
   so written right after it was first touched. Where an element takes several outputs, there are as many planes of
   states, and as many tiles. Threads that share claims, {the next stream, how many are taken at once},
   fill one draw together: each takes streams that no other has, and goes through all their steps. */
typedef struct {
    const u32 *states;
    u32 *new;
    Tile *tile; /* one for each plane */
    i64 planes, *claims, streams, size, length; /* of the draw, and of a panel */
    i64 low, high, begin, end, threes;  /* the streams that were taken; the panel, and where its threes of steps end */
    i64 first, width;                   /* the streams of the tile */
    i64 place, rows, some;              /* where the rows begin, how many they are, and how long each is */
} Walk;

static const Argument no_claims;

/* what a number in memory was before some was added to it, which no other thread then sees */
static i64 claimed(i64 *number, i64 some) {
#ifdef _MSC_VER
    return _InterlockedExchangeAdd64((volatile i64 *)number, some);
#else
    return __atomic_fetch_add(number, some, __ATOMIC_RELAXED);
#endif
}

/* through a draw of so many elements; `new`, which may be `states`, gets the states after it */
static Walk walk_through(const Argument *states, i64 planes, i64 size, const Argument *new, const Argument *claims,
                         Tile *tile) {
    Walk walk = {.states = states->data, .new = new->data, .tile = tile, .planes = planes, .size = size};
    walk.streams = states->size / (6 * planes);
    walk.claims = claims->size ? claims->data : NULL;
    i64 together = walk.claims ? walk.claims[1] : walk.streams;
    i64 threes = PANEL / (3 * (together ? together : 1)); /* there are none for a draw of nothing */
    walk.length = (threes > 1 ? threes : 1) * 3 * walk.streams;
    walk.end = size;
    return walk;
}

static int takes_streams(Walk *walk) {
    i64 some = walk->claims ? walk->claims[1] : walk->streams;
    walk->low = walk->claims ? claimed(walk->claims, some) : walk->high;
    walk->high = walk->streams - walk->low < some ? walk->streams : walk->low + some;
    return walk->size && walk->low < walk->streams;
}

static int takes_tile(Walk *walk) {
    for (i64 k = 0; k < walk->planes && walk->width; ++k)
        store(walk->tile + k, walk->new + k * 6 * walk->streams, walk->streams, walk->first, walk->width);
    walk->first += walk->width;
    if (walk->first >= walk->high) {
        walk->begin = walk->end;
        if (walk->begin == walk->size) {
            if (!takes_streams(walk))
                return 0;
            walk->begin = 0;
        }
        walk->first = walk->low;
        walk->end = walk->size - walk->begin < walk->length ? walk->size : walk->begin + walk->length;
        walk->threes = walk->begin + (walk->end - walk->begin) / (3 * walk->streams) * 3 * walk->streams;
    }
    walk->width = walk->high - walk->first < TILE ? walk->high - walk->first : TILE;
    walk->place = walk->begin + walk->first;
    for (i64 k = 0; k < walk->planes; ++k)
        load(walk->tile + k, (walk->begin ? walk->new : walk->states) + k * 6 * walk->streams, walk->streams, walk->first,
             walk->width);
    return 1;
}

/* to the next rows, if there are any */
static int goes_on(Walk *walk) {
    walk->place += walk->rows * walk->streams;
    while (walk->place >= walk->end)
        if (!takes_tile(walk))
            return 0;
    walk->rows = walk->place < walk->threes ? 3 : 1;
    walk->some = walk->end - walk->place < walk->width ? walk->end - walk->place : walk->width;
    return 1;
}

ELEMENT State row_at(const void *rows, i64 k) {
    const u32 *r = (const u32 *)rows + 6 * k;
    State row = {r[0], r[1], r[2], r[3], r[4], r[5]};
    return row;
}
