/* Numbers made each of its own uniforms, tried until one is accepted. Included for doubles and for integers: REAL is the
   type of a uniform, OWN that of parameters and numbers, NAMED(x) a name of its own.

   Uniforms are made a few at a time and never reach memory; those of a further attempt are made for the elements alone
   that need it, out of the same states. */

/* uniforms of the streams at some places from one stream on */
static void NAMED(at_places)(const u32 *restrict states, i64 streams, i64 stream, const i64 *restrict places,
                             i64 count, State row, REAL *restrict out) {
    const u32 *x1 = states + stream, *x2 = x1 + streams, *x3 = x2 + streams;
    const u32 *y1 = x3 + streams, *y2 = y1 + streams, *y3 = y2 + streams;
    for (i64 k = 0; k < count; ++k) {
        i64 i = places[k];
        out[k] = UNIFORM(output(row, x1[i], x2[i], x3[i], y1[i], y2[i], y3[i]));
    }
}

/* makes numbers of rows of uniforms and of parameters; `done` is 1 where one is accepted, else 0 */
typedef void NAMED(Attempt)(REAL (*u)[AT_ONCE], OWN (*own)[AT_ONCE], i64 count, OWN *value, i8 *done);

/* ARGUMENTS(states, ahead, begins, lengths, rows, to_first, onward, out, columns…): `ahead` streams are a step ahead of
   the others after a draw; runs of elements, with the rows of their first; for the other streams and for those ahead,
   the matrices from uniform 0 to the first that is counted (none where that is the same), and from one to the next;
   parameters, one for all elements or one for each. Gives how many elements were never accepted. */
static i64 NAMED(until_accepted)(const Argument *a, NAMED(Attempt) *attempt, int each, int columns) {
    const u32 *states = a[0].data, *to_first = a[5].data, *onward = a[6].data;
    const i64 *begins = a[2].data, *lengths = a[3].data;
    i64 streams = a[0].size / 6, ahead = a[1].integer, place = 0, lost = 0;
    OWN *out = a[7].data;
    const Argument *column = a + 8;
    struct {
        REAL u[MOST_UNIFORMS][AT_ONCE];
        OWN own[MOST_COLUMNS][AT_ONCE], value[AT_ONCE];
        i64 left[AT_ONCE];
        i32 where[AT_ONCE];
        i8 done[AT_ONCE];
    } *room = malloc(sizeof *room);
    if (!room)
        return NO_MEMORY;
    for (int c = 0; c < columns; ++c)
        for (i64 i = 0; i < AT_ONCE; ++i)
            room->own[c][i] = *(const OWN *)column[c].data;
    for (i64 k = 0; k < a[2].size; ++k) {
        State row = row_at(a[4].data, k);
        i64 stream = begins[k] % streams;
        for (i64 rest = lengths[k]; rest;) {
            int later = stream < ahead;
            i64 count = (later ? ahead : streams) - stream;
            count = count < rest ? count : rest;
            count = count < AT_ONCE ? count : AT_ONCE;
            State here = a[5].size ? later_row(row, to_first + 18 * later) : row;
            for (int c = 0; c < columns; ++c)
                if (column[c].size > 1)
                    memcpy(room->own[c], (const OWN *)column[c].data + place, (size_t)count * sizeof(OWN));
            for (int j = 0; j < each; ++j, here = later_row(here, onward + 18 * later))
                NAMED(at_random)(states, streams, stream, count, here, room->u[j]);
            attempt(room->u, room->own, count, out + place, room->done);
            i64 waiting = refused(room->done, count, room->where);
            for (i64 m = 0; m < waiting; ++m)
                room->left[m] = room->where[m];
            for (int tried = 1; waiting && tried < TRIES; ++tried) {
                for (int c = 0; c < columns; ++c)
                    if (column[c].size > 1)
                        for (i64 m = 0; m < waiting; ++m)
                            room->own[c][m] = room->own[c][room->where[m]];
                for (int j = 0; j < each; ++j, here = later_row(here, onward + 18 * later))
                    NAMED(at_places)(states, streams, stream, room->left, waiting, here, room->u[j]);
                attempt(room->u, room->own, waiting, room->value, room->done);
                for (i64 m = 0; m < waiting; ++m)
                    out[place + room->left[m]] = room->value[m];
                waiting = refused(room->done, waiting, room->where);
                for (i64 m = 0; m < waiting; ++m)
                    room->left[m] = room->left[room->where[m]];
            }
            lost += waiting, place += count, rest -= count, stream += count;
            if (stream == streams)
                stream = 0, row = next_row(row);
        }
    }
    free(room);
    return lost;
}
