/* Parts of a graph: units of one colour in several chains side by side, whose slots have others between them; see
   nbm_xp.graphs.shards. Numbers are made from afar, so that a part needs none but its own. */

/* graph_part(slots, which, jumps, row, lanes, begins, neighbours, couplings, multiples, fields, scales, levels, table,
   spins, begin, metropolis, least, step, values): units from `begin` on, which have these slots in the whole graph;
   `row` makes the numbers of the first of them, and the jump `which` leads to a unit's from those before it, where it is
   not 0; the rest as for graph_sweeps */
static i64 graph_part(const Argument *a) {
    const i64 *slots = a[0].data;
    const i32 *which = a[1].data;
    const u32 *jumps = a[2].data, *lanes = a[4].data;
    i64 chains = a[10].size, begin = a[14].integer, count = a[0].size, tables = a[15].integer ? 2 : 1;
    Graph g = {a[5].data, a[6].data, a[7].data, a[9].data, a[8].size ? a[8].data : NULL, NULL, chains,
               a[7].size > a[6].size ? a[18].integer : 0};
    u32 z[AT_ONCE];
    for (i64 first = 0; first < chains; first += CHAINS) {
        i64 width = chains - first < CHAINS ? chains - first : CHAINS, together = AT_ONCE / width;
        i8 *spins = (i8 *)a[13].data + first;
        Rule rule = {(int)a[15].integer, (i8)a[16].integer, (i8)a[17].integer, chains, (const double *)a[10].data + first,
                     a[11].data, (const i32 *)a[12].data + first, a[11].size, a[12].size / chains / tables,
                     a[18].integer};
        State row = row_at(a[3].data, 0);
        for (i64 done = 0, some; done < count; done += some) {
            some = count - done < together ? count - done : together;
            for (i64 i = 0; i < some; ++i) {
                if (which[done + i])
                    row = later_row(row, jumps + 18 * which[done + i]);
                i64 stream = slots[done + i] % LANES_OF_CHAIN * chains + first;
                outputs(lanes, LANES_OF_CHAIN * chains, stream, width, row, z + i * width);
            }
            i64 slot = begin + done;
            if (rule.values)
                draw_potts(&g, &rule, slot, slot + some, width, NULL, (const i32 *)z, spins);
            else
                draw_slots(&g, &rule, slot, slot + some, width, NULL, (const i32 *)z, spins, NULL);
        }
    }
    return 0;
}
