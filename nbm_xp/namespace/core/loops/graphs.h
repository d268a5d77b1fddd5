/* Units on a graph: rows of neighbours, colours, sweeps and energies of many chains side by side.

   Units are visited in the order of their slots, colour after colour; the states of a slot's chains lie together. What a
   unit is drawn by is what nbm_xp.graphs.sweeps makes of arrays: sums of couplings are exact there, so their order is
   free. */

typedef short i16;

enum {
    LANES_OF_CHAIN = 64,
    CHAINS = 64,   /* side by side: their states of a slot fill a line of the cache, their streams fit a tile */
    FILLED = 4096, /* integers that few chains make at a time, which stay in the first cache */
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

/* graph_reordered(order, slots, begins, neighbours, edges, begins, neighbours, edges): the same rows by slots, of which
   `order` has the units and `slots` those of units */
static i64 graph_reordered(const Argument *a) {
    const i64 *order = a[0].data, *begins = a[2].data;
    const i32 *slots = a[1].data, *neighbours = a[3].data, *edges = a[4].data;
    i64 units = a[0].size, *to = a[5].data, place = 0;
    i32 *there = a[6].data, *which = a[7].data;
    for (i64 slot = 0; slot < units; ++slot) {
        to[slot] = place;
        for (i64 e = begins[order[slot]]; e < begins[order[slot] + 1]; ++e, ++place)
            there[place] = slots[neighbours[e]], which[place] = edges[e];
    }
    to[units] = place;
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
    const i8 *multiples; /* couplings by what all are multiples of, where sums of these have few values */
    const i64 *runs;     /* where runs begin, whose slots have neighbours one after the other; couplings lie run by run */
    i64 chains;          /* between slots */
    i64 tables;          /* where couplings are matrices, a row for each value of the neighbour: their width; else 0 */
} Graph;

/* Sums over the neighbours of a slot in some chains; as many as a constant says stay in registers. */
#define SUMS_BESIDE(name, SUM, START, COUPLINGS, MANY, FEW)                                                            \
    ELEMENT void name##_of(const Graph *g, i64 slot, const i8 *spins, i64 width, SUM *restrict out) {                  \
        SUM sums[MANY];                                                                                                \
        for (i64 k = 0; k < width; ++k)                                                                                \
            sums[k] = START;                                                                                           \
        for (i64 e = g->begins[slot], end = g->begins[slot + 1]; e < end; ++e) {                                       \
            const i8 *there = spins + g->neighbours[e] * g->chains;                                                    \
            SUM coupling = g->COUPLINGS[e];                                                                            \
            for (i64 k = 0; k < width; ++k)                                                                            \
                sums[k] = (SUM)(sums[k] + coupling * there[k]);                                                        \
        }                                                                                                              \
        for (i64 k = 0; k < width; ++k)                                                                                \
            out[k] = sums[k];                                                                                          \
    }                                                                                                                  \
    static void name(const Graph *g, i64 slot, const i8 *spins, i64 width, SUM *restrict out) {                        \
        i64 k = 0;                                                                                                     \
        for (; k + MANY <= width; k += MANY)                                                                           \
            name##_of(g, slot, spins + k, MANY, out + k);                                                              \
        for (; k + FEW <= width; k += FEW)                                                                             \
            name##_of(g, slot, spins + k, FEW, out + k);                                                               \
        for (; k < width; ++k)                                                                                         \
            name##_of(g, slot, spins + k, 1, out + k);                                                                 \
    }
SUMS_BESIDE(local_fields, double, g->fields[slot], couplings, 64, 16)
SUMS_BESIDE(whole_sums, i16, 0, multiples, 64, 16) /* without the fields */

/* Of one chain, along runs: `run` is that of the first slot, and becomes that of the last. */
#define ALONG_RUNS(name, SUM, START, COUPLINGS)                                                                        \
    static void name(const Graph *g, i64 slot, i64 end, const i8 *spins, i64 *run, SUM *restrict out) {                \
        while (slot < end) {                                                                                           \
            while (g->runs[*run + 1] <= slot)                                                                          \
                ++*run;                                                                                                \
            i64 first = g->runs[*run], last = g->runs[*run + 1], length = last - first;                                \
            i64 base = g->begins[first], degree = g->begins[first + 1] - base;                                         \
            i64 some = (last < end ? last : end) - slot;                                                               \
            for (i64 i = 0; i < some; ++i)                                                                             \
                out[i] = START;                                                                                        \
            for (i64 d = 0; d < degree; ++d) {                                                                         \
                const i8 *there = spins + g->neighbours[base + d] + (slot - first);                                    \
                const __typeof__(*g->COUPLINGS) *coupling = g->COUPLINGS + base + d * length + (slot - first);         \
                for (i64 i = 0; i < some; ++i)                                                                         \
                    out[i] = (SUM)(out[i] + coupling[i] * there[i]);                                                   \
            }                                                                                                          \
            slot += some, out += some;                                                                                 \
        }                                                                                                              \
    }
ALONG_RUNS(local_fields_along, double, g->fields[slot + i], couplings)
ALONG_RUNS(whole_sums_along, i16, 0, multiples)

/* How one of two values is drawn: `scales` of chains, inverse temperatures times the step between values. */
typedef struct {
    int metropolis;
    i8 least, step;
    i64 chains; /* between rows of the table */
    const double *scales;
    const i32 *levels, *table; /* of whole sums: up to which integer the upper value, or a change, is drawn; first below
                                  level 0, then from each level on. Metropolis's has these twice, from either value. */
    i64 count;                 /* of levels; of none the table has all sums, the middle one 0 */
    i64 rows;                  /* of the table, for one value */
    i64 values;                /* of Potts units; 0 of others */
} Rule;

static void draw_potts(const Graph *g, const Rule *rule, i64 begin, i64 end, i64 width, const i8 *free, const i32 *z,
                       i8 *spins);

enum { FAR = 65536 }; /* parts of the odds: answers closer than one are left to double precision */

static int exactly(const Rule *rule, double x, i32 z, int upper) {
    double u = uniform_double((u32)z);
    return rule->metropolis ? upper != (u < exp_of(upper ? -x : x)) : u < 1.0 / (1.0 + exp_of(-x));
}

/* by log-odds x; `upper` holds which value there was, and then which there is */
static void draw_by_odds(const Rule *rule, const double *restrict x, const i32 *restrict z, i64 count,
                         i8 *restrict upper) {
    i8 open[AT_ONCE], drawn[AT_ONCE];
    i64 any = 0;
    if (rule->metropolis)
        for (i64 i = 0; i < count; ++i) {
            u32 power;
            float v = upper[i] ? (float)-x[i] : (float)x[i], r = remainder_of(v, &power), odds = odds_of(r, power);
            float distance = uniform_float((u32)z[i]) - odds, size = distance < 0.0f ? -distance : distance;
            open[i] = size < odds * (1.0f / FAR);
            drawn[i] = (distance < 0.0f) != upper[i];
        }
    else
        for (i64 i = 0; i < count; ++i) {
            float odds, distance = distance_of(uniform_float((u32)z[i]), (float)x[i], &odds);
            float size = distance < 0.0f ? -distance : distance;
            open[i] = size < odds * (1.0f / FAR);
            drawn[i] = distance < 0.0f;
        }
    for (i64 i = 0; i < count; ++i)
        any |= open[i];
    if (any)
        for (i64 i = 0; i < count; ++i)
            if (open[i])
                drawn[i] = (i8)exactly(rule, x[i], z[i], upper[i]);
    memcpy(upper, drawn, (size_t)count);
}

/* the integers of a table up to which whole sums draw */
static void looked_up(const Rule *rule, const i32 *table, const i32 *restrict sums, i64 count, i64 width,
                      i32 *restrict out) {
    if (!rule->count) {
        const i32 *middle = table + rule->rows / 2 * rule->chains;
        for (i64 i = 0; i < count; i += width)
            for (i64 k = 0; k < width; ++k)
                out[i + k] = middle[sums[i + k] * rule->chains + k];
        return;
    }
    if (width == 1) {
        for (i64 i = 0; i < count; ++i)
            out[i] = table[0];
        for (i64 l = 0; l < rule->count; ++l) {
            i32 level = rule->levels[l], there = table[(l + 1) * rule->chains];
            for (i64 i = 0; i < count; ++i)
                out[i] = sums[i] >= level ? there : out[i];
        }
        return;
    }
    for (i64 i = 0; i < count; i += width) {
        memcpy(out + i, table, (size_t)width * sizeof *out);
        for (i64 l = 0; l < rule->count; ++l) {
            i32 level = rule->levels[l];
            const i32 *there = table + (l + 1) * rule->chains;
            for (i64 k = 0; k < width; ++k)
                out[i + k] = sums[i + k] >= level ? there[k] : out[i + k];
        }
    }
}

static void draw_by_table(const Rule *rule, const i16 *restrict sums, const i32 *restrict z, i64 count, i64 width,
                          i8 *restrict upper) {
    i32 wide[AT_ONCE], most[AT_ONCE], other[AT_ONCE];
    for (i64 i = 0; i < count; ++i)
        wide[i] = sums[i];
    looked_up(rule, rule->table, wide, count, width, most);
    if (!rule->metropolis) {
        for (i64 i = 0; i < count; ++i)
            upper[i] = z[i] <= most[i];
        return;
    }
    looked_up(rule, rule->table + rule->rows * rule->chains, wide, count, width, other);
    for (i64 i = 0; i < count; ++i)
        upper[i] = (i8)((z[i] <= (upper[i] ? other[i] : most[i])) ^ upper[i]);
}

/* slots from one on, by the integers of a row, none of them a neighbour of another */
static void draw_slots(const Graph *g, const Rule *rule, i64 begin, i64 end, i64 width, const i8 *free, const i32 *z,
                       i8 *spins, i64 *run) {
    union {
        double fields[AT_ONCE];
        i16 sums[AT_ONCE];
    } x;
    i8 upper[AT_ONCE], least = rule->least, step = rule->step;
    i64 together = AT_ONCE / width;
    for (i64 slot = begin; slot < end; slot += together, z += together * width) {
        i64 some = end - slot < together ? end - slot : together, count = some * width;
        if (g->runs)
            g->multiples ? whole_sums_along(g, slot, slot + some, spins, run, x.sums)
                         : local_fields_along(g, slot, slot + some, spins, run, x.fields);
        else
            for (i64 i = 0; i < some; ++i)
                g->multiples ? whole_sums(g, slot + i, spins, width, x.sums + i * width)
                             : local_fields(g, slot + i, spins, width, x.fields + i * width);
        if (rule->metropolis && width == g->chains)
            for (i64 i = 0; i < count; ++i)
                upper[i] = spins[slot * width + i] != least;
        else if (rule->metropolis)
            for (i64 i = 0; i < some; ++i)
                for (i64 k = 0; k < width; ++k)
                    upper[i * width + k] = spins[(slot + i) * g->chains + k] != least;
        if (g->multiples)
            draw_by_table(rule, x.sums, z, count, width, upper);
        else {
            if (width == 1)
                for (i64 i = 0; i < count; ++i)
                    x.fields[i] *= rule->scales[0];
            else
                for (i64 i = 0; i < count; i += width)
                    for (i64 k = 0; k < width; ++k)
                        x.fields[i + k] *= rule->scales[k];
            draw_by_odds(rule, x.fields, z, count, upper);
        }
        for (i64 i = 0; i < count; ++i)
            upper[i] = (i8)(least + (-upper[i] & step)); /* without a branch, which would be guessed wrong */
        if (width == g->chains && !free)
            memcpy(spins + slot * width, upper, (size_t)count);
        else
            for (i64 i = 0; i < some; ++i)
                if (!free || free[slot + i])
                    memcpy(spins + (slot + i) * g->chains, upper + i * width, (size_t)width);
    }
}

/* graph_runs(ends, begins, neighbours, runs): where runs begin, and the last one ends, in slots of one colour; gives how
   many there are */
static i64 graph_runs(const Argument *a) {
    const i64 *colour = a[0].data, *begins = a[1].data;
    const i32 *neighbours = a[2].data;
    i64 units = a[1].size - 1, *runs = a[3].data, found = 0;
    for (i64 slot = 0; slot < units; ++slot) {
        i64 here = begins[slot], degree = begins[slot + 1] - here, before = slot ? begins[slot - 1] : 0;
        int on = slot && slot != *colour && degree == here - before;
        for (i64 d = 0; on && d < degree; ++d)
            on = neighbours[here + d] == neighbours[before + d] + 1;
        colour += slot == *colour;
        if (!on)
            runs[found++] = slot;
    }
    runs[found] = units;
    return found;
}

/* graph_by_run(runs, begins, couplings, out): couplings of a run's slots by their neighbours' places in their rows */
static i64 graph_by_run(const Argument *a) {
    const i64 *runs = a[0].data, *begins = a[1].data;
    const double *couplings = a[2].data;
    double *out = a[3].data;
    for (i64 r = 0; r + 1 < a[0].size; ++r) {
        i64 base = begins[runs[r]], degree = begins[runs[r] + 1] - base, length = runs[r + 1] - runs[r];
        for (i64 i = 0; i < length; ++i)
            for (i64 d = 0; d < degree; ++d)
                out[base + d * length + i] = couplings[base + i * degree + d];
    }
    return 0;
}

/* graph_sweeps(ends, begins, neighbours, couplings, multiples, fields, free, scales, runs, levels, table, spins, states,
   sweeps, rule, least, step, values): `ends` of colours; `states` those of lanes, number by number; empty arrays are
   none, and so are 0 values where there are two */
static i64 graph_sweeps(const Argument *a) {
    const i64 *ends = a[0].data;
    Graph g = {a[1].data, a[2].data, a[3].data, a[5].data, a[4].size ? a[4].data : NULL, a[8].size ? a[8].data : NULL,
               a[7].size, a[3].size > a[2].size ? a[17].integer : 0};
    const i8 *free = a[6].size ? a[6].data : NULL;
    i64 units = a[1].size - 1, streams = g.chains * LANES_OF_CHAIN, steps = (units + LANES_OF_CHAIN - 1) / LANES_OF_CHAIN;
    int metropolis = (int)a[14].integer;
    u32 *states = a[12].data;
    struct {
        Tile tile;
        i32 rows[3 * TILE];
    } *room = a[18].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    _Static_assert(LANES_OF_CHAIN * CHAINS <= TILE, "a tile holds all lanes");
    u32 *numbers[6] = {room->tile.x1, room->tile.x2, room->tile.x3, room->tile.y1, room->tile.y2, room->tile.y3};
    for (i64 first = 0; first < g.chains; first += CHAINS) {
        i64 width = g.chains - first < CHAINS ? g.chains - first : CHAINS, all = width * LANES_OF_CHAIN;
        i64 most = FILLED / all < 3 ? 3 : FILLED / all; /* steps made at a time */
        i8 *spins = (i8 *)a[11].data + first;
        Rule rule = {metropolis, (i8)a[15].integer, (i8)a[16].integer, g.chains, (const double *)a[7].data + first,
                     a[9].data, (const i32 *)a[10].data + first, a[9].size,
                     a[10].size / g.chains / (metropolis ? 2 : 1), a[17].integer};
        for (int k = 0; k < 6; ++k)
            for (i64 lane = 0; lane < LANES_OF_CHAIN; ++lane)
                memcpy(numbers[k] + lane * width, states + k * streams + lane * g.chains + first,
                       (size_t)width * sizeof(u32));
        for (i64 sweep = 0; sweep < a[13].integer; ++sweep) {
            const i64 *colour = ends;
            i64 run = 0;
            for (i64 done = 0, made; done < steps; done += made) {
                for (made = 0; made + 3 <= most && done + made + 3 <= steps; made += 3) {
                    i32 *row = room->rows + made * all;
                    three_steps_integer(&room->tile, all, row, row + all, row + 2 * all);
                }
                if (!made)
                    one_step_integer(&room->tile, all, room->rows), made = 1;
                i64 slot = done * LANES_OF_CHAIN, last = slot + made * LANES_OF_CHAIN;
                const i32 *z = room->rows;
                last = last < units ? last : units;
                while (slot < last) {
                    while (*colour <= slot)
                        ++colour;
                    i64 end = *colour < last ? *colour : last;
                    if (rule.values)
                        draw_potts(&g, &rule, slot, end, width, free, z, spins);
                    else
                        draw_slots(&g, &rule, slot, end, width, free, z, spins, &run);
                    z += (end - slot) * width, slot = end;
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
    Graph g = {a[0].data, a[1].data, a[2].data, a[3].data, NULL, NULL, a[5].size, 0};
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

static i32 root_of_unit(i32 *parents, i32 unit) {
    while (parents[unit] != unit)
        unit = parents[unit] = parents[parents[unit]]; /* the path is half as long the next time */
    return unit;
}

/* graph_roots(first, second, roots): the first unit of each cluster of joined units */
static i64 graph_roots(const Argument *a) {
    const i32 *first = a[0].data, *second = a[1].data;
    i32 *parents = a[2].data;
    for (i64 u = 0; u < a[2].size; ++u)
        parents[u] = (i32)u;
    for (i64 e = 0; e < a[0].size; ++e) {
        i32 one = root_of_unit(parents, first[e]), other = root_of_unit(parents, second[e]);
        if (one < other)
            parents[other] = one;
        else
            parents[one] = other;
    }
    for (i64 u = 0; u < a[2].size; ++u) /* what a unit points to comes before it, and points to its root by now */
        parents[u] = parents[parents[u]];
    return 0;
}
