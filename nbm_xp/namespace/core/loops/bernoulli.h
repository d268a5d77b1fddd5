/* Bernoulli numbers by uniforms of one dtype: included by trials.h for REAL float and double. */

static i64 NAMED(bernoulli)(const Argument *a, Compare *compare, u64 most) {
    const u32 *before = a[0].data;
    i64 streams = a[0].size / 6, size = a[2].size, length = panel_length(streams);
    int single = a[1].size == 1;
    u64 largest = 0;
    u32 *new = a[3].data;
    struct {
        Tile tile;
        REAL row1[TILE], row2[TILE], row3[TILE];
    } *room = a[4].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    for (i64 begin = 0; begin < size; begin += length) {
        i64 end = begin + length < size ? begin + length : size;
        i64 threes = begin + (end - begin) / (3 * streams) * 3 * streams;
        for (i64 first = 0; first < streams; first += TILE) {
            i64 width = streams - first < TILE ? streams - first : TILE, place = begin + first;
            load(&room->tile, before, streams, first, width);
            for (; place < threes; place += 3 * streams) {
                NAMED(three_steps)(&room->tile, width, room->row1, room->row2, room->row3);
                largest = compare(room->row1, width, a[1].data, place, single, a[2].data, largest);
                largest = compare(room->row2, width, a[1].data, place + streams, single, a[2].data, largest);
                largest = compare(room->row3, width, a[1].data, place + 2 * streams, single, a[2].data, largest);
            }
            for (; place < end; place += streams) {
                i64 some = end - place < width ? end - place : width;
                NAMED(one_step)(&room->tile, some, room->row1);
                largest = compare(room->row1, some, a[1].data, place, single, a[2].data, largest);
            }
            store(&room->tile, new, streams, first, width);
        }
        before = new;
    }
    return largest > most;
}
