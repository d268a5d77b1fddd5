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

/* of each slot and chain, whether an integer's first bits lie below those of a bound, or are the same */
static void compared(const u64 planes[PLANES][LANES_OF_CHAIN], u64 bound, u64 *restrict below, u64 *restrict same) {
    u64 masks[PLANES];
    for (int j = 0; j < PLANES; ++j)
        masks[j] = 0 - (bound >> (PLANES - 1 - j) & 1);
    for (i64 i = 0; i < LANES_OF_CHAIN; ++i) {
        u64 less = 0, equal = ~0ull;
        for (int j = PLANES; j--;) {
            u64 other = ~planes[j][i];
            less = (masks[j] & (other | less)) | (other & less);
            equal &= planes[j][i] ^ ~masks[j];
        }
        below[i] = less, same[i] = equal;
    }
}

typedef struct {
    u64 ones[LANES_OF_CHAIN], twos[LANES_OF_CHAIN], fours[LANES_OF_CHAIN]; /* neighbours that hold a spin up, in bits */
    u64 major[LANES_OF_CHAIN], against[LANES_OF_CHAIN], open[LANES_OF_CHAIN];
} Votes;

static void counted(const i64 *begins, const i32 *neighbours, const i8 *negative, const u64 *words, i64 slot, i64 count,
                    Votes *votes) {
    for (i64 i = 0; i < count; ++i) {
        u64 ones = 0, twos = 0, fours = 0;
        for (i64 e = begins[slot + i]; e < begins[slot + i + 1]; ++e) {
            u64 up = words[neighbours[e]] ^ (0 - (u64)negative[e]), carry = ones & up;
            ones ^= up;
            fours ^= twos & carry;
            twos ^= carry;
        }
        votes->ones[i] = ones, votes->twos[i] = twos, votes->fours[i] = fours;
    }
}

/* which way most neighbours go, which spins turn against it, and of which that is open */
static void decided(i64 degree, const u64 below[BOUNDS][LANES_OF_CHAIN], const u64 same[BOUNDS][LANES_OF_CHAIN], i64 begin,
                    i64 count, Votes *votes) {
    for (i64 i = 0; i < count; ++i)
        votes->major[i] = votes->against[i] = votes->open[i] = 0;
    for (i64 m = 0; m <= degree; ++m) {
        i64 t = 2 * m > degree ? degree - m : m;
        u64 not0 = m & 1 ? 0 : ~0ull, not1 = m & 2 ? 0 : ~0ull, not2 = m & 4 ? 0 : ~0ull;
        u64 most = 2 * m > degree ? ~0ull : 0;
        const u64 *less = below[t] + begin, *equal = same[t] + begin;
        for (i64 i = 0; i < count; ++i) {
            u64 so = (votes->ones[i] ^ not0) & (votes->twos[i] ^ not1) & (votes->fours[i] ^ not2);
            votes->major[i] |= so & most;
            votes->against[i] |= so & less[i];
            votes->open[i] |= so & equal[i];
        }
    }
}

/* graph_words(ends, begins, neighbours, negative, bounds, words, shared, own, sweeps): `ends` of colours; `negative`
   couplings of one size; `shared` the states of the group's streams, which move on; `own` those of its chains' lanes,
   chains side by side */
static i64 graph_words(const Argument *a) {
    const i64 *ends = a[0].data, *begins = a[1].data, *bounds = a[4].data;
    const i32 *neighbours = a[2].data;
    const u32 *own = a[7].data;
    u64 *words = a[5].data;
    i64 units = a[1].size - 1, degree = begins[1], streams = LANES_OF_CHAIN * 64;
    struct {
        Tile tile;
        i32 z[WORD_STEPS * LANES_OF_CHAIN];
        u64 planes[PLANES][LANES_OF_CHAIN], below[BOUNDS][LANES_OF_CHAIN], same[BOUNDS][LANES_OF_CHAIN];
        Votes votes;
    } *room = a[9].data;
    _Static_assert(sizeof *room <= ROOM, "a room holds what is worked with");
    State row = {0, 1u << 22, 129, 1u << 15, 0, 32769}; /* of the first output */
    Votes *votes = &room->votes;
    load(&room->tile, a[6].data, LANES_OF_CHAIN, 0, LANES_OF_CHAIN);
    for (i64 sweep = 0; sweep < a[8].integer; ++sweep) {
        const i64 *colour = ends;
        for (i64 first = 0; first < units; first += LANES_OF_CHAIN, row = next_row(row)) {
            i64 last = first + LANES_OF_CHAIN < units ? first + LANES_OF_CHAIN : units;
            for (i64 k = 0; k < WORD_STEPS; k += 3) {
                i32 *z = room->z + k * LANES_OF_CHAIN;
                three_steps_integer(&room->tile, LANES_OF_CHAIN, z, z + LANES_OF_CHAIN, z + 2 * LANES_OF_CHAIN);
            }
            bit_planes(room->z, room->planes);
            for (i64 t = 0; t <= degree / 2; ++t)
                compared(room->planes, (u64)bounds[t] >> 31, room->below[t], room->same[t]);
            for (i64 slot = first, end; slot < last; slot = end) {
                while (*colour <= slot)
                    ++colour;
                end = *colour < last ? *colour : last;
                counted(begins, neighbours, a[3].data, words, slot, end - slot, votes);
                decided(degree, room->below, room->same, slot - first, end - slot, votes);
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
