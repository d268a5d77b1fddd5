/* Potts units: what nbm_xp.graphs.sweeps makes of arrays, with the same bits. Sums of couplings are exact, and so are
   their differences. */

enum {
    POTTS_VALUES = 127,
    PROTEIN = 21, /* amino acids and the gap: loops of a constant length */
    POTTS_WORK = 3072, /* numbers of values and units at once, which stay in the first cache, where a slot's chains do */
};

/* values of so many slots' chains, from one array to another; where there is one chain, a call would cost more */
static void copied(i64 some, i64 width, const i8 *from, i64 apart, i8 *to, i64 between, const i8 *free) {
    for (i64 i = 0; i < some; ++i)
        if (free && !free[i])
            continue;
        else if (width == 1)
            to[i * between] = from[i * apart];
        else
            memcpy(to + i * between, from + i * apart, (size_t)width);
}

/* the inverse temperatures of so many slots' chains */
static void scales_of(const Rule *rule, i64 count, i64 width, double *restrict out) {
    if (width == 1)
        for (i64 i = 0; i < count; ++i)
            out[i] = rule->scales[0];
    else
        for (i64 i = 0; i < count; i += width)
            memcpy(out + i, rule->scales, (size_t)width * sizeof *out);
}

/* the row of a coupling's matrix for the value of the neighbour in a chain */
static const double *row_of(const Graph *g, i64 e, const i8 *spins) {
    return g->couplings + (e * g->tables + spins[g->neighbours[e] * g->chains]) * g->tables;
}

/* adds rows of an edge's matrix to each chain's values; where there are many chains, the next matrix is fetched whole */
ELEMENT void rows_added(const Graph *g, i64 e, i64 values, i64 width, const i8 *spins, double *restrict sums) {
    const double *table = g->couplings + e * values * values;
    const i8 *there = spins + g->neighbours[e] * g->chains;
    for (i64 k = 0; k < values * values && width >= values; k += 8)
        fetch_ahead(table + values * values + k);
    for (i64 c = 0; c < width; ++c) {
        const double *restrict row = table + there[c] * values;
        double *restrict own = sums + c * values;
        for (i64 k = 0; k < values; ++k)
            own[k] += row[k];
    }
}

/* as fields_of_values, of matrices: rows are added to each chain's values, which lie together until the end */
static void fields_of_tables(const Graph *g, i64 slot, i64 some, i64 width, const i8 *spins, double *restrict x) {
    i64 values = g->tables, count = some * width;
    double sums[CHAINS * POTTS_VALUES];
    for (i64 i = 0; i < some; ++i) {
        for (i64 c = 0; c < width; ++c)
            memcpy(sums + c * values, g->fields + (slot + i) * values, (size_t)values * sizeof *sums);
        for (i64 e = g->begins[slot + i]; e < g->begins[slot + i + 1]; ++e)
            if (values == PROTEIN)
                rows_added(g, e, PROTEIN, width, spins, sums);
            else
                rows_added(g, e, values, width, spins, sums);
        for (i64 c = 0; c < width; ++c)
            for (i64 k = 0; k < values; ++k)
                x[k * count + i * width + c] = sums[c * values + k];
    }
}

/* what neighbours and fields give for each value: x[k * count + i] */
static void fields_of_values(const Graph *g, i64 values, i64 slot, i64 some, i64 width, const i8 *spins,
                             double *restrict x) {
    i64 count = some * width;
    if (width == 1) {
        for (i64 i = 0; i < some; ++i) {
            for (i64 k = 0; k < values; ++k)
                x[k * count + i] = g->fields[(slot + i) * values + k];
            for (i64 e = g->begins[slot + i]; e < g->begins[slot + i + 1]; ++e)
                x[spins[g->neighbours[e] * g->chains] * count + i] += g->couplings[e];
        }
        return;
    }
    for (i64 k = 0; k < values; ++k)
        for (i64 i = 0; i < some; ++i)
            for (i64 c = 0; c < width; ++c)
                x[k * count + i * width + c] = g->fields[(slot + i) * values + k];
    for (i64 i = 0; i < some; ++i)
        for (i64 e = g->begins[slot + i]; e < g->begins[slot + i + 1]; ++e) {
            const i8 *there = spins + g->neighbours[e] * g->chains;
            double coupling = g->couplings[e], *restrict own = x + i * width;
            if (values <= 4)
                for (i64 k = 0; k < values; ++k)
                    for (i64 c = 0; c < width; ++c)
                        own[k * count + c] += there[c] == k ? coupling : 0.0;
            else
                for (i64 c = 0; c < width; ++c)
                    own[there[c] * count + c] += coupling;
        }
}

static void potts_heat_bath(const Rule *rule, i64 values, i64 count, i64 width, const i32 *restrict z, double *restrict x,
                            i8 *restrict found) {
    double scales[AT_ONCE], largest[AT_ONCE], total[AT_ONCE];
    scales_of(rule, count, width, scales);
    for (i64 i = 0; i < count; ++i)
        largest[i] = x[i] = scales[i] * x[i];
    for (i64 k = 1; k < values; ++k) {
        double *restrict own = x + k * count;
        for (i64 i = 0; i < count; ++i) {
            own[i] = scales[i] * own[i];
            largest[i] = own[i] > largest[i] ? own[i] : largest[i];
        }
    }
    for (i64 i = 0; i < count; ++i)
        total[i] = x[i] = exp_of(x[i] - largest[i]);
    for (i64 k = 1; k < values; ++k) {
        double *restrict own = x + k * count;
        for (i64 i = 0; i < count; ++i)
            own[i] = total[i] = total[i] + exp_of(own[i] - largest[i]);
    }
    for (i64 i = 0; i < count; ++i)
        total[i] = uniform_double((u32)z[i]) * total[i], found[i] = 0;
    for (i64 k = 0; k + 1 < values; ++k) {
        const double *restrict own = x + k * count;
        for (i64 i = 0; i < count; ++i)
            found[i] = (i8)(found[i] + (total[i] >= own[i]));
    }
}

static void potts_metropolis(const Graph *g, const Rule *rule, i64 values, i64 slot, i64 some, i64 width, const i8 *spins,
                             const i32 *restrict z, double *restrict x, i8 *restrict found) {
    i64 count = some * width;
    double scales[AT_ONCE], rest[AT_ONCE], most = (double)values - 1.0;
    i8 old[AT_ONCE];
    scales_of(rule, count, width, scales);
    copied(some, width, spins + slot * g->chains, g->chains, old, width, NULL);
    for (i64 i = 0; i < count; ++i) {
        double scaled = uniform_double((u32)z[i]) * most;
        i32 which = (i32)scaled, value = old[i] + 1 + which;
        rest[i] = scaled - (double)which;
        found[i] = (i8)(value < values ? value : value - values);
    }
    for (i64 i = 0; i < some; ++i) {
        const double *fields = g->fields + (slot + i) * values;
        const i8 *restrict to = found + i * width, *restrict from = old + i * width;
        double *restrict own = x + i * width;
        for (i64 c = 0; c < width; ++c)
            own[c] = fields[to[c]] - fields[from[c]];
        for (i64 e = g->begins[slot + i]; e < g->begins[slot + i + 1]; ++e) {
            const i8 *restrict there = spins + g->neighbours[e] * g->chains;
            double coupling = g->tables ? 0.0 : g->couplings[e];
            for (i64 c = 0; c < width && g->tables; ++c) {
                const double *row = row_of(g, e, spins + c);
                own[c] += row[to[c]] - row[from[c]];
            }
            for (i64 c = 0; c < width; ++c)
                own[c] += coupling * ((there[c] == to[c]) - (there[c] == from[c]));
        }
    }
    for (i64 i = 0; i < count; ++i)
        found[i] = rest[i] < exp_of(scales[i] * x[i]) ? found[i] : old[i];
}

static void draw_potts(const Graph *g, const Rule *rule, i64 begin, i64 end, i64 width, const i8 *free, const i32 *z,
                       i8 *spins) {
    double x[POTTS_VALUES * CHAINS > POTTS_WORK ? POTTS_VALUES * CHAINS : POTTS_WORK];
    i8 found[AT_ONCE];
    i64 values = rule->values, together = POTTS_WORK / (values * width);
    together = together < AT_ONCE / width ? together : AT_ONCE / width;
    together = together ? together : 1;
    for (i64 slot = begin; slot < end; slot += together, z += together * width) {
        i64 some = end - slot < together ? end - slot : together;
        if (rule->metropolis)
            potts_metropolis(g, rule, values, slot, some, width, spins, z, x, found);
        else {
            if (g->tables)
                fields_of_tables(g, slot, some, width, spins, x);
            else
                fields_of_values(g, values, slot, some, width, spins, x);
            potts_heat_bath(rule, values, some * width, width, z, x, found);
        }
        copied(some, width, found, width, spins + slot * g->chains, g->chains, free ? free + slot : NULL);
    }
}

/* potts_energies(begins, neighbours, couplings, fields, spins, energies, values): of each chain; no sum is rounded */
static i64 potts_energies(const Argument *a) {
    const i64 *begins = a[0].data;
    const i32 *neighbours = a[1].data;
    const double *couplings = a[2].data, *fields = a[3].data;
    const i8 *spins = a[4].data;
    double *energies = a[5].data;
    i64 units = a[0].size - 1, chains = a[5].size, values = a[6].integer;
    Graph g = {begins, neighbours, couplings, fields, NULL, NULL, chains, a[2].size > a[1].size ? values : 0};
    for (i64 first = 0; first < chains; first += CHAINS) {
        i64 width = chains - first < CHAINS ? chains - first : CHAINS;
        double twice[CHAINS] = {0};
        for (i64 slot = 0; slot < units; ++slot) {
            const i8 *restrict own = spins + slot * chains + first;
            const double *field = fields + slot * values;
            for (i64 k = 0; k < width; ++k)
                twice[k] += 2.0 * field[own[k]];
            for (i64 e = begins[slot]; e < begins[slot + 1]; ++e) {
                const i8 *restrict there = spins + neighbours[e] * chains + first;
                double coupling = g.tables ? 0.0 : couplings[e];
                for (i64 k = 0; k < width; ++k)
                    twice[k] += g.tables ? row_of(&g, e, spins + first + k)[own[k]] : there[k] == own[k] ? coupling : 0.0;
            }
        }
        for (i64 k = 0; k < width; ++k)
            energies[first + k] = -0.5 * twice[k];
    }
    return 0;
}
