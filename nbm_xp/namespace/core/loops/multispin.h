/* Spins of 64 chains in the bits of a word: see nbm_xp/graphs/multispin.py. */

enum { PLANES = 10, WORD_STEPS = 2 * PLANES + 1, MOST_NEIGHBOURS = 7, BOUNDS = MOST_NEIGHBOURS / 2 + 1 };

/* the bits of ten integers of 64 slots each, most significant first */
static void bit_planes(const i32 *restrict z, u64 planes[PLANES][LANES_OF_CHAIN]) {
    const i32 *rest = z + 2 * PLANES * LANES_OF_CHAIN;
    for (int j = 0; j < PLANES; ++j) {
        const i32 *one = z + 2 * j * LANES_OF_CHAIN, *other = one + LANES_OF_CHAIN;
        for (i64 i = 0; i < LANES_OF_CHAIN; ++i)
            planes[j][i] = (u64)(u32)one[i] | (u64)(u32)other[i] << 31 | (u64)((u32)rest[i] >> 2 * j & 3u) << 62;
    }
}

/* of each slot and chain, whether an integer's first bits lie below those of a bound, or are the same while the bound
   has others */
static void compared(const u64 planes[PLANES][LANES_OF_CHAIN], u64 bound, u64 *restrict below, u64 *restrict same) {
    enum { SOME = 16 }; /* which stay in registers */
    u64 high = bound >> 31, low = bound & 0x7fffffff;
    int planes_that_matter = !low && high ? PLANES - __builtin_ctzll(high) : PLANES; /* what follows is not below 0 */
    for (i64 first = 0; first < LANES_OF_CHAIN; first += SOME) {
        u64 not_below[SOME], equal[SOME];
        for (i64 i = 0; i < SOME; ++i)
            not_below[i] = ~0ull, equal[i] = low ? ~0ull : 0;
        for (int j = planes_that_matter; j--;) {
            const u64 *plane = planes[j] + first;
            if (high >> (PLANES - 1 - j) & 1)
                for (i64 i = 0; i < SOME; ++i)
                    not_below[i] &= plane[i], equal[i] &= plane[i];
            else
                for (i64 i = 0; i < SOME; ++i)
                    not_below[i] |= plane[i], equal[i] &= ~plane[i];
        }
        for (i64 i = 0; i < SOME; ++i)
            below[first + i] = ~not_below[i], same[first + i] = equal[i];
    }
}

typedef struct {
    u64 up[MOST_NEIGHBOURS][LANES_OF_CHAIN]; /* of each neighbour, where it holds a spin up */
    u64 ones[LANES_OF_CHAIN], twos[LANES_OF_CHAIN], fours[LANES_OF_CHAIN]; /* how many do, in bits */
    u64 major[LANES_OF_CHAIN], against[LANES_OF_CHAIN], open[LANES_OF_CHAIN];
} Votes;

/* what neighbours hold up, one after the other, or along runs: then `neighbours` are those of the first slot of each */
static void gathered(const i32 *neighbours, const i8 *negative, const i64 *runs, i64 *run,
                     const u64 *words, i64 slot, i64 count, i64 degree, Votes *votes) {
    if (!runs) {
        for (i64 i = 0; i < count; ++i)
            for (i64 d = 0, e = (slot + i) * degree; d < degree; ++d, ++e)
                votes->up[d][i] = words[neighbours[e]] ^ (0 - (u64)negative[e]);
        return;
    }
    for (i64 done = 0, some; done < count; done += some) {
        while (runs[*run + 1] <= slot + done)
            ++*run;
        i64 first = runs[*run], last = runs[*run + 1], length = last - first, from = slot + done - first;
        some = last - slot < count ? last - slot - done : count - done;
        for (i64 d = 0; d < degree; ++d) {
            const u64 *there = words + neighbours[*run * degree + d] + from;
            const i8 *sign = negative + first * degree + d * length + from;
            u64 *restrict out = votes->up[d] + done;
            for (i64 i = 0; i < some; ++i)
                out[i] = there[i] ^ (u64)(i64)-sign[i];
        }
    }
}

ELEMENT u64 picked(u64 which, u64 yes, u64 no) { return no ^ (which & (yes ^ no)); }

/* of so many neighbours: which way most go, by the bits of their number; a tie counts as down */
ELEMENT u64 most_of(i64 degree, u64 ones, u64 twos, u64 fours) {
    return degree == 1 ? ones : degree < 4 ? twos : degree < 6 ? fours | (ones & twos) : fours;
}

/* one of four, by how many are in the minority */
ELEMENT u64 by_minority(i64 degree, u64 ones, u64 twos, u64 fours, u64 none, u64 one, u64 two, u64 three) {
    switch (degree) {
    case 1: return none;
    case 2: return picked(ones, one, none);
    case 3: return picked(ones ^ twos, one, none);
    case 4: return picked(ones, one, picked(twos, two, none));
    case 5: return picked(twos, two, picked(ones ^ fours, one, none));
    case 6: return picked(ones, picked(twos, three, one), picked(twos ^ fours, two, none));
    default: return picked(twos ^ fours, picked(ones ^ fours, three, two), picked(ones ^ fours, one, none));
    }
}

typedef u64 Bounded[BOUNDS][LANES_OF_CHAIN];

/* which way most neighbours go, which spins turn against it, and of which that is open */
ELEMENT void decided(i64 degree, const Bounded below, const Bounded same, i64 begin, i64 count, Votes *votes) {
    u64 *restrict o = votes->ones, *restrict t = votes->twos, *restrict f = votes->fours;
    u64 *restrict major = votes->major, *restrict against = votes->against, *restrict open = votes->open;
    i64 last = degree / 2, second = last < 1 ? last : 1, third = last < 2 ? last : 2; /* rows that are there */
    const u64 *l0 = below[0] + begin, *l1 = below[second] + begin, *l2 = below[third] + begin, *l3 = below[last] + begin;
    const u64 *e0 = same[0] + begin, *e1 = same[second] + begin, *e2 = same[third] + begin, *e3 = same[last] + begin;
#pragma GCC ivdep
    for (i64 i = 0; i < count; ++i) {
        u64 ones = 0, twos = 0, fours = 0;
        for (i64 d = 0; d < degree; ++d) {
            u64 up = votes->up[d][i], carry = ones & up;
            ones ^= up;
            fours ^= twos & carry;
            twos ^= carry;
        }
        o[i] = ones, t[i] = twos, f[i] = fours;
        major[i] = most_of(degree, ones, twos, fours);
        against[i] = by_minority(degree, ones, twos, fours, l0[i], l1[i], l2[i], l3[i]);
        open[i] = by_minority(degree, ones, twos, fours, e0[i], e1[i], e2[i], e3[i]);
    }
}

static void decided_by(i64 degree, const Bounded below, const Bounded same, i64 begin, i64 count, Votes *votes) {
    switch (degree) { /* each with loops of its own */
    case 1: decided(1, below, same, begin, count, votes); break;
    case 2: decided(2, below, same, begin, count, votes); break;
    case 3: decided(3, below, same, begin, count, votes); break;
    case 4: decided(4, below, same, begin, count, votes); break;
    case 5: decided(5, below, same, begin, count, votes); break;
    case 6: decided(6, below, same, begin, count, votes); break;
    default: decided(7, below, same, begin, count, votes);
    }
}

/* graph_words(ends, degree, neighbours, negative, bounds, words, shared, own, runs, sweeps): `ends` of colours; `negative`
   couplings of one size, run by run if there are `runs`, of which `neighbours` has a row each; `shared` the states of the
   group's streams, which move on; `own` those of its chains' lanes, chains side by side */
static i64 graph_words(const Argument *a) {
    const i64 *ends = a[0].data, *bounds = a[4].data;
    const i32 *neighbours = a[2].data;
    const u32 *own = a[7].data;
    const i64 *runs = a[8].size ? a[8].data : NULL;
    u64 *words = a[5].data;
    i64 units = a[5].size, degree = a[1].integer, streams = LANES_OF_CHAIN * 64;
    struct {
        Tile tile;
        i32 z[WORD_STEPS * LANES_OF_CHAIN];
        u64 planes[PLANES][LANES_OF_CHAIN], below[BOUNDS][LANES_OF_CHAIN], same[BOUNDS][LANES_OF_CHAIN];
        Votes votes;
    } *room = a[10].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    State row = {0, 1u << 22, 129, 1u << 15, 0, 32769}; /* of the first output */
    Votes *votes = &room->votes;
    load(&room->tile, a[6].data, LANES_OF_CHAIN, 0, LANES_OF_CHAIN);
    for (i64 sweep = 0; sweep < a[9].integer; ++sweep) {
        const i64 *colour = ends;
        i64 run = 0;
        for (i64 first = 0; first < units; first += LANES_OF_CHAIN, row = next_row(row)) {
            i64 last = first + LANES_OF_CHAIN < units ? first + LANES_OF_CHAIN : units;
            for (i64 k = 0; k < WORD_STEPS; k += 3) {
                i32 *z = room->z + k * LANES_OF_CHAIN;
                three_steps_integer(&room->tile, LANES_OF_CHAIN, z, z + LANES_OF_CHAIN, z + 2 * LANES_OF_CHAIN);
            }
            bit_planes(room->z, room->planes);
            for (i64 t = 0; t <= degree / 2; ++t)
                compared(room->planes, (u64)bounds[t], room->below[t], room->same[t]);
            for (i64 slot = first, end; slot < last; slot = end) {
                while (*colour <= slot)
                    ++colour;
                end = *colour < last ? *colour : last;
                gathered(neighbours, a[3].data, runs, &run, words, slot, end - slot, degree, votes);
                decided_by(degree, room->below, room->same, slot - first, end - slot, votes);
                for (i64 i = 0; i < end - slot; ++i) {
                    for (u64 open = votes->open[i]; open; open &= open - 1) {
                        int chain = __builtin_ctzll(open);
                        i64 m = (i64)((votes->ones[i] >> chain & 1) | (votes->twos[i] >> chain & 1) << 1 |
                                      (votes->fours[i] >> chain & 1) << 2);
                        const u32 *s = own + (slot - first + i) * 64 + chain;
                        u32 z = output(row, s[0], s[streams], s[2 * streams], s[3 * streams], s[4 * streams],
                                       s[5 * streams]);
                        u32 bound = (u32)(bounds[2 * m > degree ? degree - m : m] & 0x7fffffff);
                        votes->against[i] |= (u64)(z < bound) << chain;
                    }
                    words[slot + i] = votes->major[i] ^ votes->against[i];
                }
            }
        }
    }
    store(&room->tile, a[6].data, LANES_OF_CHAIN, 0, LANES_OF_CHAIN);
    return 0;
}
