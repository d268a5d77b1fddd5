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

typedef struct {
    const u32 *states;
    i64 streams;
    Leap to_first, onward; /* to the first uniform that is counted, and from one to the next */
    Leap to_second;        /* to the first of the second attempt */
    NAMED(Attempt) *attempt;
    int each, columns; /* uniforms of an attempt, and parameters */
    const Argument *column;
    OWN *out;
    struct {
        REAL u[3][MOST_UNIFORMS][AT_ONCE]; /* of three steps */
        OWN own[MOST_COLUMNS][AT_ONCE], value[AT_ONCE];
        i64 left[AT_ONCE];
        i32 where[AT_ONCE];
        i8 done[AT_ONCE];
        Tile tiles[MOST_UNIFORMS];
    } *room;
} NAMED(Work);

/* Makes `count` numbers from `place` on of the first uniforms that are counted, `u`, which are those of `row` of the
   streams from one on; gives how many were never accepted. */
static i64 NAMED(settle)(const NAMED(Work) *work, REAL (*u)[AT_ONCE], i64 place, i64 stream, i64 count, State row) {
    const Argument *column = work->column;
    OWN(*own)[AT_ONCE] = work->room->own;
    i64 *left = work->room->left;
    i32 *where = work->room->where;
    i8 *done = work->room->done;
    for (int c = 0; c < work->columns; ++c)
        if (column[c].size > 1)
            memcpy(own[c], (const OWN *)column[c].data + place, (size_t)count * sizeof(OWN));
    work->attempt(u, own, count, work->out + place, done);
    if (!memchr(done, REFUSED, (size_t)count))
        return 0;
    i64 waiting = refused(done, count, where);
    for (i64 m = 0; m < waiting; ++m)
        left[m] = where[m];
    row = later_row(row, work->to_second.at);
    for (int tried = 1; waiting && tried < TRIES; ++tried) {
        for (int c = 0; c < work->columns; ++c)
            if (column[c].size > 1)
                for (i64 m = 0; m < waiting; ++m)
                    own[c][m] = own[c][where[m]];
        for (int j = 0; j < work->each; ++j) {
            if (tried + j > 1)
                row = later_row(row, work->onward.at);
            NAMED(at_places)(work->states, work->streams, stream, left, waiting, row, u[j]);
        }
        work->attempt(u, own, waiting, work->room->value, done);
        for (i64 m = 0; m < waiting; ++m)
            work->out[place + left[m]] = work->room->value[m];
        waiting = refused(done, waiting, where);
        for (i64 m = 0; m < waiting; ++m)
            left[m] = left[where[m]];
    }
    return waiting;
}

/* so many elements, and no more than are made at once, of streams from one on */
static i64 NAMED(together)(const NAMED(Work) *work, i64 stream, i64 count) {
    i64 rest = work->streams - stream;
    count = count < rest ? count : rest;
    return count < AT_ONCE ? count : AT_ONCE;
}

/* All streams' elements of some steps from the one on that is so many after the first and has `row`, which moves on:
   streams are carried along, which costs half of what outputs from afar do. */
static i64 NAMED(by_stepping)(const NAMED(Work) *work, i64 before, i64 steps, i64 begin, State *row) {
    i64 lost = 0;
    State here = *row;
    Leap there = repeated(one_on, before);
    for (i64 stream = 0, width; stream < work->streams; stream += width) {
        Leap leap = joined(there, work->to_first);
        here = *row;
        width = NAMED(together)(work, stream, work->streams);
        for (int j = 0; j < work->each; ++j, leap = joined(leap, work->onward))
            multiply(leap.at, work->states + stream, work->streams, (u32 *)&work->room->tiles[j], TILE + APART, width);
        for (i64 step = 0; step < steps; step += 3) {
            i64 some = steps - step < 3 ? steps - step : 3;
            for (int j = 0; j < work->each; ++j) {
                Tile *tile = &work->room->tiles[j];
                REAL(*u)[MOST_UNIFORMS][AT_ONCE] = work->room->u;
                if (some == 3)
                    NAMED(three_steps)(tile, width, u[0][j], u[1][j], u[2][j]);
                else
                    for (i64 k = 0; k < some; ++k)
                        NAMED(one_step)(tile, width, u[k][j]);
            }
            for (i64 k = 0; k < some; ++k, here = next_row(here))
                lost += NAMED(settle)(work, work->room->u[k], begin + (step + k) * work->streams + stream, stream, width,
                                      here);
        }
    }
    *row = here;
    return lost;
}

/* the elements of a run from afar, from `place` on */
static i64 NAMED(by_rows)(const NAMED(Work) *work, i64 place, i64 stream, i64 length, State row) {
    i64 lost = 0;
    for (i64 end = place + length, count; place < end; place += count) {
        State here = later_row(row, work->to_first.at);
        count = NAMED(together)(work, stream, end - place);
        for (int j = 0; j < work->each; ++j, here = later_row(here, work->onward.at))
            NAMED(at_random)(work->states, work->streams, stream, count, here, work->room->u[0][j]);
        lost += NAMED(settle)(work, work->room->u[0], place, stream, count, row);
        stream += count;
        if (stream == work->streams)
            stream = 0, row = next_row(row);
    }
    return lost;
}

/* ARGUMENTS(states, first, step, begins, lengths, rows, out, columns…): runs of elements of a draw, with the rows of their
   first; of the uniforms of an element, which number is counted first, and how many further the next; parameters, one for
   all elements or one for each. Gives how many elements were never accepted. */
static i64 NAMED(until_accepted)(const Argument *a, NAMED(Attempt) *attempt, int each, int columns) {
    const i64 *begins = a[3].data, *lengths = a[4].data;
    i64 streams = a[0].size / 6, place = 0, lost = 0;
    NAMED(Work) work = {.states = a[0].data, .streams = streams, .attempt = attempt, .each = each, .columns = columns,
                        .column = a + 7, .out = a[6].data, .room = a[7 + columns].data};
    _Static_assert(sizeof *work.room <= ROOM, "a room holds what is worked with");
    Leap one_output;
    memcpy(one_output.at, next_output, sizeof next_output);
    work.to_first = repeated(one_output, a[1].integer);
    work.onward = repeated(one_output, a[2].integer);
    work.to_second = joined(work.to_first, repeated(work.onward, each));
    for (int c = 0; c < columns; ++c)
        for (i64 i = 0; i < AT_ONCE; ++i)
            work.room->own[c][i] = *(const OWN *)work.column[c].data;
    for (i64 k = 0; k < a[3].size; ++k) {
        State row = row_at(a[5].data, k);
        i64 stream = begins[k] % streams, steps = lengths[k] / streams, rest = lengths[k];
        if (stream == 0 && steps >= WORTH_STEPPING && streams >= WORTH_A_TILE) {
            lost += NAMED(by_stepping)(&work, begins[k] / streams, steps, place, &row);
            place += steps * streams, rest -= steps * streams;
        }
        lost += NAMED(by_rows)(&work, place, stream, rest, row);
        place += rest;
    }
    return lost;
}
