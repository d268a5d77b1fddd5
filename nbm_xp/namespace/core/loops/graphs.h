/* Units on a graph: rows of neighbours, colours, sweeps and energies of many chains side by side.

   Units are visited in the order of their slots, colour after colour; the states of a slot's chains lie together. What a
   unit is drawn by is what nbm_xp.graphs.sweeps makes of arrays: sums of couplings are exact there, so their order is
   free. */

enum {
    LANES_OF_CHAIN = 64,
    CHAINS = 64, /* side by side: their states of a slot fill a line of the cache, their streams fit a tile */
};

/* graph_rows(first, second, begins, neighbours, edges): of each unit, the other ends of the edges that begin there, then
   of those that end there */
static i64 graph_rows(const Argument *a) {
    const i32 *first = a[0].data, *second = a[1].data;
    i64 count = a[0].size, units = a[2].size - 1, *begins = a[2].data, total = 0;
    i32 *neighbours = a[3].data, *edges = a[4].data;
    memset(begins, 0, (size_t)(units + 1) * sizeof *begins);
    for (i64 e = 0; e < count; ++e)
        ++begins[first[e]], ++begins[second[e]];
    for (i64 u = 0; u <= units; ++u) {
        i64 degree = begins[u];
        begins[u] = total, total += degree;
    }
    for (i64 e = 0; e < count; ++e) {
        i64 place = begins[first[e]]++;
        neighbours[place] = second[e], edges[place] = (i32)e;
    }
    for (i64 e = 0; e < count; ++e) {
        i64 place = begins[second[e]]++;
        neighbours[place] = first[e], edges[place] = (i32)e;
    }
    memmove(begins + 1, begins, (size_t)units * sizeof *begins); /* each had come to where the next one begins */
    begins[0] = 0;
    return 0;
}

/* graph_colours(begins, neighbours, colours, seen, used): the first colour that no lesser neighbour has; gives the place
   of a neighbour that is there twice, or -1. All of `seen` and `used` is -1 before. */
static i64 graph_colours(const Argument *a) {
    const i64 *begins = a[0].data;
    const i32 *neighbours = a[1].data;
    i32 *colours = a[2].data, *seen = a[3].data, *used = a[4].data;
    i64 units = a[2].size;
    for (i32 u = 0; u < units; ++u) {
        for (i64 e = begins[u]; e < begins[u + 1]; ++e) {
            i32 v = neighbours[e];
            if (seen[v] == u)
                return e;
            seen[v] = u;
            if (v < u)
                used[colours[v]] = u;
        }
        i32 colour = 0;
        while (used[colour] == u)
            ++colour;
        colours[u] = colour;
    }
    return -1;
}

typedef struct {
    const i64 *begins;
    const i32 *neighbours;
    const double *couplings, *fields;
    i64 chains; /* between slots */
} Graph;

/* the local fields of a slot in some chains */
static void local_fields(const Graph *g, i64 slot, const i8 *spins, i64 width, double *restrict out) {
    i64 e = g->begins[slot], end = g->begins[slot + 1];
    if (width == 1) {
        double sum = g->fields[slot];
        for (; e < end; ++e)
            sum += g->couplings[e] * spins[g->neighbours[e] * g->chains];
        *out = sum;
        return;
    }
    for (i64 k = 0; k < width; ++k)
        out[k] = g->fields[slot];
    for (; e < end; ++e) {
        const i8 *there = spins + g->neighbours[e] * g->chains;
        double coupling = g->couplings[e];
        for (i64 k = 0; k < width; ++k)
            out[k] += coupling * there[k];
    }
}

/* One of two values, by what lies between the log-probabilities of both (x), and an integer that makes a uniform. */
static void heat_bath(const double *restrict x, const i32 *restrict z, i64 count, i8 least, i8 step,
                      i8 *restrict values) {
    for (i64 i = 0; i < count; ++i) {
        double p = 1.0 / (1.0 + exp_of(-x[i]));
        values[i] = (i8)(least + (uniform_double((u32)z[i]) < p ? step : 0));
    }
}

static void metropolis(const double *restrict x, const i32 *restrict z, i64 count, i8 least, i8 step,
                       i8 *restrict values) {
    for (i64 i = 0; i < count; ++i) {
        int upper = values[i] != least, taken = uniform_double((u32)z[i]) < exp_of(upper ? -x[i] : x[i]);
        values[i] = (i8)(least + (upper != taken ? step : 0));
    }
}

typedef void Rule(const double *, const i32 *, i64, i8, i8, i8 *);

/* slots from one on, by the integers of a row, none of them a neighbour of another */
static void draw_slots(const Graph *g, Rule *rule, i64 begin, i64 end, i64 width, const double *scales, i8 least,
                       i8 step, const i8 *free, const i32 *z, i8 *spins) {
    double x[AT_ONCE];
    i8 values[AT_ONCE];
    i64 together = AT_ONCE / width;
    for (i64 slot = begin; slot < end; slot += together, z += together * width) {
        i64 some = end - slot < together ? end - slot : together;
        for (i64 i = 0; i < some; ++i) {
            double *own = x + i * width;
            local_fields(g, slot + i, spins, width, own);
            for (i64 k = 0; k < width; ++k)
                own[k] *= scales[k];
            memcpy(values + i * width, spins + (slot + i) * g->chains, (size_t)width);
        }
        rule(x, z, some * width, least, step, values);
        for (i64 i = 0; i < some; ++i)
            if (!free || free[slot + i])
                memcpy(spins + (slot + i) * g->chains, values + i * width, (size_t)width);
    }
}

/* graph_sweeps(ends, begins, neighbours, couplings, fields, free, scales, spins, states, sweeps, rule, least, step):
   `ends` of colours; `scales` of chains, inverse temperatures times a step; `states` those of lanes, number by number */
static i64 graph_sweeps(const Argument *a) {
    const i64 *ends = a[0].data;
    Graph g = {a[1].data, a[2].data, a[3].data, a[4].data, a[6].size};
    const i8 *free = a[5].size ? a[5].data : NULL;
    i64 units = a[1].size - 1, streams = g.chains * LANES_OF_CHAIN, steps = (units + LANES_OF_CHAIN - 1) / LANES_OF_CHAIN;
    u32 *states = a[8].data;
    struct {
        Tile tile;
        i32 rows[3][TILE];
    } *room = a[13].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    _Static_assert(LANES_OF_CHAIN * CHAINS <= TILE, "a tile holds all lanes");
    u32 *numbers[6] = {room->tile.x1, room->tile.x2, room->tile.x3, room->tile.y1, room->tile.y2, room->tile.y3};
    for (i64 first = 0; first < g.chains; first += CHAINS) {
        i64 width = g.chains - first < CHAINS ? g.chains - first : CHAINS, all = width * LANES_OF_CHAIN;
        i8 *spins = (i8 *)a[7].data + first;
        for (int k = 0; k < 6; ++k)
            for (i64 lane = 0; lane < LANES_OF_CHAIN; ++lane)
                memcpy(numbers[k] + lane * width, states + k * streams + lane * g.chains + first,
                       (size_t)width * sizeof(u32));
        for (i64 sweep = 0; sweep < a[9].integer; ++sweep) {
            const i64 *colour = ends;
            for (i64 done = 0; done < steps;) {
                i64 made = steps - done < 3 ? 1 : 3;
                if (made == 3)
                    three_steps_integer(&room->tile, all, room->rows[0], room->rows[1], room->rows[2]);
                else
                    one_step_integer(&room->tile, all, room->rows[0]);
                for (i64 row = 0; row < made; ++row, ++done) {
                    i64 slot = done * LANES_OF_CHAIN, last = slot + LANES_OF_CHAIN;
                    const i32 *z = room->rows[row];
                    last = last < units ? last : units;
                    while (slot < last) {
                        while (*colour <= slot)
                            ++colour;
                        i64 end = *colour < last ? *colour : last;
                        draw_slots(&g, a[10].integer ? metropolis : heat_bath, slot, end, width,
                                   (const double *)a[6].data + first, (i8)a[11].integer, (i8)a[12].integer, free, z,
                                   spins);
                        z += (end - slot) * width, slot = end;
                    }
                }
            }
        }
        for (int k = 0; k < 6; ++k)
            for (i64 lane = 0; lane < LANES_OF_CHAIN; ++lane)
                memcpy(states + k * streams + lane * g.chains + first, numbers[k] + lane * width,
                       (size_t)width * sizeof(u32));
    }
    return 0;
}

/* graph_energies(begins, neighbours, couplings, fields, spins, energies): of each chain; no sum is rounded */
static i64 graph_energies(const Argument *a) {
    Graph g = {a[0].data, a[1].data, a[2].data, a[3].data, a[5].size};
    i64 units = a[0].size - 1;
    double *energies = a[5].data;
    for (i64 first = 0; first < g.chains; first += CHAINS) {
        i64 width = g.chains - first < CHAINS ? g.chains - first : CHAINS;
        const i8 *spins = (const i8 *)a[4].data + first;
        double twice[CHAINS] = {0}, x[CHAINS];
        for (i64 slot = 0; slot < units; ++slot) {
            local_fields(&g, slot, spins, width, x);
            for (i64 k = 0; k < width; ++k)
                twice[k] += (x[k] + g.fields[slot]) * spins[slot * g.chains + k];
        }
        for (i64 k = 0; k < width; ++k)
            energies[first + k] = -0.5 * twice[k];
    }
    return 0;
}
