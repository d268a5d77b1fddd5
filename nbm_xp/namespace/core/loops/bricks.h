/* Bricks of a lattice: units of one colour, of one chain, in stretches that lie one after the other, and so do their
   neighbours; see nbm_xp.graphs.lattice_sweeps. Numbers are made from afar, so that a brick needs none but its own. */

typedef struct {
    const i64 *steps; /* to neighbours, from either half of a row: (2, axes, 2), on and back along each axis */
    const i8 *multiples;
    const double *couplings; /* of edges by their first units, axis after axis; neither where all are alike */
    i64 axes, units;
} Brick;

/* The neighbours' values times what joins with them, added to `out`: an edge that leads back belongs to its other end. */
#define AROUND(name, SUM, EDGES)                                                                                       \
    static void name(const Brick *b, i64 place, i64 count, i64 odd, const i8 *spins, SUM *restrict out) {              \
        const i64 *step = b->steps + odd * 2 * b->axes;                                                                \
        for (i64 axis = 0; axis < b->axes; ++axis, step += 2)                                                          \
            for (int back = 0; back < 2; ++back) {                                                                     \
                const i8 *there = spins + place + step[back];                                                          \
                if (b->EDGES) {                                                                                        \
                    const __typeof__(*b->EDGES) *edges = b->EDGES + axis * b->units + place + (back ? step[1] : 0);    \
                    for (i64 i = 0; i < count; ++i)                                                                    \
                        out[i] = (SUM)(out[i] + edges[i] * there[i]);                                                  \
                } else                                                                                                 \
                    for (i64 i = 0; i < count; ++i)                                                                    \
                        out[i] = (SUM)(out[i] + there[i]);                                                             \
            }                                                                                                          \
    }
AROUND(whole_sums_around, i16, multiples)
AROUND(local_fields_around, double, couplings)

/* graph_brick(places, counts, begins, odd, which, jumps, row, lanes, steps, multiples, couplings, fields, scale, levels,
   table, spins, metropolis, least, step): stretches of one colour; `begins` their first numbers, `row` that of the first
   of all, `which` of the jumps leads from a stretch to the next; of one field, or of a table, all are alike */
static i64 graph_brick(const Argument *a) {
    const i64 *places = a[0].data, *counts = a[1].data, *begins = a[2].data, *odd = a[3].data, *which = a[4].data;
    const u32 *jumps = a[5].data, *lanes = a[7].data;
    const double *fields = a[11].data;
    i8 *spins = a[15].data, least = (i8)a[17].integer, step = (i8)a[18].integer;
    Brick b = {a[8].data, a[9].size ? a[9].data : NULL, a[10].size ? a[10].data : NULL, a[8].size / 4, a[15].size};
    i64 tables = a[16].integer ? 2 : 1;
    Rule rule = {(int)a[16].integer, least, step, 1, a[12].data, a[13].data, a[14].data, a[13].size, a[14].size / tables};
    State row = row_at(a[6].data, 0);
    union {
        double fields[AT_ONCE];
        i16 sums[AT_ONCE];
    } x;
    u32 z[AT_ONCE];
    i8 upper[AT_ONCE];
    for (i64 k = 0; k < a[0].size; ++k) {
        if (k)
            row = later_row(row, jumps + 18 * which[k]);
        State now = row;
        i64 place = places[k], lane = begins[k] % LANES_OF_CHAIN;
        for (i64 rest = counts[k], some; rest; rest -= some, place += some) {
            some = rest < AT_ONCE ? rest : AT_ONCE;
            for (i64 made = 0, width; made < some; made += width) {
                width = some - made < LANES_OF_CHAIN - lane ? some - made : LANES_OF_CHAIN - lane;
                outputs(lanes, LANES_OF_CHAIN, lane, width, now, z + made);
                lane += width;
                if (lane == LANES_OF_CHAIN)
                    lane = 0, now = next_row(now);
            }
            if (rule.metropolis)
                for (i64 i = 0; i < some; ++i)
                    upper[i] = spins[place + i] != least;
            if (rule.rows) {
                memset(x.sums, 0, (size_t)some * sizeof *x.sums);
                whole_sums_around(&b, place, some, odd[k], spins, x.sums);
                draw_by_table(&rule, x.sums, (const i32 *)z, some, 1, upper);
            } else {
                for (i64 i = 0; i < some; ++i)
                    x.fields[i] = fields[a[11].size == 1 ? 0 : place + i];
                local_fields_around(&b, place, some, odd[k], spins, x.fields);
                for (i64 i = 0; i < some; ++i)
                    x.fields[i] *= rule.scales[0];
                draw_by_odds(&rule, x.fields, (const i32 *)z, some, upper);
            }
            for (i64 i = 0; i < some; ++i)
                spins[place + i] = (i8)(least + (-upper[i] & step));
        }
    }
    return 0;
}

/* graph_brick_sums(places, counts, odd, steps, multiples, couplings, fields, spins, sums): of stretches, the products of
   joined units times what joins them, values times fields, and values; no sum is rounded */
static i64 graph_brick_sums(const Argument *a) {
    const i64 *places = a[0].data, *counts = a[1].data, *odd = a[2].data;
    const i8 *spins = a[7].data;
    const double *fields = a[6].data;
    Brick b = {a[3].data, a[4].size ? a[4].data : NULL, a[5].size ? a[5].data : NULL, a[3].size / 4, a[7].size};
    double *sums = a[8].data, x[AT_ONCE];
    i16 whole[AT_ONCE];
    for (i64 k = 0; k < a[0].size; ++k)
        for (i64 done = 0, some; done < counts[k]; done += some) {
            i64 place = places[k] + done;
            const i8 *own = spins + place;
            some = counts[k] - done < AT_ONCE ? counts[k] - done : AT_ONCE;
            i32 values = 0, products = 0;
            for (i64 i = 0; i < some; ++i)
                values += own[i];
            sums[2] += values;
            if (b.couplings) {
                memset(x, 0, (size_t)some * sizeof *x);
                local_fields_around(&b, place, some, odd[k], spins, x);
                for (i64 i = 0; i < some; ++i)
                    sums[0] += x[i] * own[i];
            } else {
                memset(whole, 0, (size_t)some * sizeof *whole);
                whole_sums_around(&b, place, some, odd[k], spins, whole);
                for (i64 i = 0; i < some; ++i)
                    products += whole[i] * own[i];
                sums[0] += products;
            }
            for (i64 i = 0; a[6].size > 1 && i < some; ++i)
                sums[1] += fields[place + i] * own[i];
        }
    return 0;
}
