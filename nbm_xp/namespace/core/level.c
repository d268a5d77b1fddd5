/* All kernels, for one level of vector instructions: LEVEL names the table, the compiler's options say the level. Sums
   and products are never contracted (-ffp-contract=off), so that each level gives the same bits. */

#include <math.h>
#include <string.h>

#include "kernels.h"

#include "elements/elementary.h"
#include "elements/functions.h"
#include "elements/recurrence.h"
#include "elements/samplers.h"
#include "elements/trials.h"

#include "loops/tile.h"

#include "loops/lanes.h"

#include "loops/states.h"

#include "loops/places.h"

enum {
    TRIES = 1000,      /* more attempts than any element needs */
    MOST_UNIFORMS = 4, /* an attempt takes */
    MOST_COLUMNS = 11, /* of parameters */
    SURE = 512,        /* answers that are looked through together, whether one is open */
    WORTH_STEPPING = 3, /* steps: fewer are made from afar */
    WORTH_A_TILE = 128, /* streams, likewise */
    BLOCK = 64,         /* bytes of filters whose sums stay in registers */
    NEARBY = 96,        /* positions that share weights while these are in the first cache */
};

/* four flags in the bytes of a number, times this, are four bits from the 24th on */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BITS_OF_FLAGS 0x08040201u
#else
#define BITS_OF_FLAGS 0x01020408u
#endif

static const i32 set_of_four[16][4] = {
    {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0},
    {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
    {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
    {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3},
};

/* the places where flags are 1, else 0; gives how many they are. Without a branch, which would be guessed wrong. */
static i64 places_of(const i8 *restrict flags, i64 count, i32 *restrict where) {
    i64 found = 0, i = 0;
    for (u32 four; i + 4 <= count; i += 4) {
        memcpy(&four, flags + i, sizeof four);
        const i32 *set = set_of_four[(four * BITS_OF_FLAGS) >> 24 & 15];
        for (i64 k = 0; k < 4; ++k)
            where[found + k] = (i32)i + set[k];
        found += (four * 0x01010101u) >> 24;
    }
    for (; i < count; ++i) {
        where[found] = (i32)i;
        found += flags[i];
    }
    return found;
}

/* the places of what is not done, which is little; gives how many they are */
static i64 refused(const i8 *restrict done, i64 count, i32 *restrict where) {
    i64 found = 0, i = 0;
    for (i64 some[4]; i + 32 <= count; i += 32) {
        memcpy(some, done + i, sizeof some);
        if ((some[0] & some[1] & some[2] & some[3]) != 0x0101010101010101)
            for (i64 k = i; k < i + 32; ++k) {
                where[found] = (i32)k;
                found += !done[k];
            }
    }
    for (; i < count; ++i) {
        where[found] = (i32)i;
        found += !done[i];
    }
    return found;
}

#define REAL float
#define OWN float
#define NAMED(name) name##_float
#define UNIFORM uniform_float
#define ROOT rootf_of
#define EXP exp_float
#define WHOLE at_random_float
#include "loops/random_access.h"
#include "loops/steps.h"
#include "loops/draws.h"
#include "loops/windows.h"
#include "loops/pooling.h"
#include "loops/winograd.h"
#include "loops/correlate.h"
#include "loops/categories.h"
#include "undefine.h"

#define REAL i32
#define OWN i64
#define NAMED(name) name##_integer
#define UNIFORM (i32)
#include "loops/random_access.h"
#include "loops/steps.h"
#include "loops/accepted.h"
#include "undefine.h"

static void stretch_double(double *row, i64 width, const double *line);
#include "loops/wide.h"

#define REAL double
#define OWN double
#define NAMED(name) name##_double
#define UNIFORM uniform_double
#define ROOT root_of
#define EXP exp_double
#define WHOLE wide_at_random
#include "loops/random_access.h"
#include "loops/steps.h"
#include "loops/draws.h"
#include "loops/accepted.h"
#include "loops/windows.h"
#include "loops/pooling.h"
#include "loops/winograd.h"
#include "loops/correlate.h"
#include "loops/categories.h"
#include "undefine.h"

#include "loops/halves.h"

#include "loops/elementary.h"
#include "loops/exponentials.h"
#include "loops/functions.h"
#include "loops/samplers.h"
#include "loops/trials.h"
#include "loops/graphs.h"
#include "loops/bricks.h"
#include "loops/potts.h"
#include "loops/parts.h"
#include "loops/multispin.h"

#define JOINED(a, b) a##b
#define TABLE_OF(level) JOINED(kernels_, level)

const Kernel TABLE_OF(LEVEL)[] = {
    {"substreams", "iI", substreams},
    {"advance", "iinI", advance},
    {"rows", "iL", rows},
    {"half_table", "H", half_table},
    {"draw_float16", "ihHILw", draw_half},
    {"draw_float32", "ifFILw", draw_float},
    {"draw_float64", "idDILw", draw_double},
    {"runs_float32", "lliiF", runs_float},
    {"runs_float64", "lliiD", runs_double},
    {"runs_int32", "lliiI", runs_integer},
    {"draw_wide", "IdDLw", draw_wide},
    {"runs_wide", "lliiD", runs_wide},
    {"normals_float32", "iifF", normals_float},
    {"normals_float64", "iidD", normals_double},
    {"box_muller_float32", "FF", box_muller_float},
    {"box_muller_float64", "DD", box_muller_double},
    {"log", "D", log_in_place},
    {"exp", "D", exp_in_place},
    {"normal_quantile", "dD", normal_quantile},
    {"truncated_normals", "innlliDw", truncated_normals},
    {"log_gamma", "innlliDdddw", log_gamma},
    {"poisson", "innlliDddddddw", poisson},
    {"binomial", "innlliDdddddddddddw", binomial},
    {"digits", "innlliLllw", digits},
    {"digits_of_two", "innlliLllw", digits_of_two},
    {"wide_integers", "innlliLllw", wide_integers},
    {"whole_digits_1", "innBLw", whole_digits_1},
    {"whole_digits_4", "innILw", whole_digits_4},
    {"whole_digits_8", "innLLw", whole_digits_8},
    {"poisson_search", "dddD", poisson_searches},
    {"binomial_search", "ddddD", binomial_searches},
    {"exp_float32", "fF", exp_float_of_each},
    {"exp_float64", "dD", exp_double_of_each},
    {"expm1_float32", "fF", expm1_float_of_each},
    {"log1p_float32", "fF", log1p_float_of_each},
    {"log1p_float64", "dD", log1p_double_of_each},
    {"tanh_float32", "fF", tanh_float_of_each},
    {"tanh_float64", "dD", tanh_double_of_each},
    {"sigmoid_float32", "fF", sigmoid_float_of_each},
    {"sigmoid_float64", "dD", sigmoid_double_of_each},
    {"softmax", "fnF", softmax},
    {"log_softmax", "fnF", log_softmax},
    {"logsumexp", "fnF", logsumexp},
    {"softmax_states_float32", "ffnnFw", softmax_states_float},
    {"softmax_states_float64", "ddnnDw", softmax_states_double},
    {"softplus_float32", "fF", softplus_float_of_each},
    {"softplus_float64", "dD", softplus_double_of_each},
    {"where_float32", "bffF", where_float},
    {"where_float64", "bddD", where_double},
    {"gather_patches_float32", "flnnLF", gather_patches_float},
    {"gather_patches_float64", "dlnnLD", gather_patches_double},
    {"scatter_patches_float32", "flnnLF", scatter_patches_float},
    {"scatter_patches_float64", "dlnnLD", scatter_patches_double},
    {"correlate_float32", "flnnfLF", correlate_float},
    {"correlate_float64", "dlnndLD", correlate_double},
    {"maxima_float32", "flnnLF", maxima_float},
    {"maxima_float64", "dlnnLD", maxima_double},
    {"sum_windows_float32", "flnnLF", sum_windows_float},
    {"sum_windows_float64", "dlnnLD", sum_windows_double},
    {"spread_windows_float32", "flnnLF", spread_windows_float},
    {"spread_windows_float64", "dlnnLD", spread_windows_double},
    {"place_maxima_float32", "ffflnnnLFF", place_maxima_float},
    {"place_maxima_float64", "dddlnnnLDD", place_maxima_double},
    {"split_tiles_float32", "fFFnnnn", split_tiles_float},
    {"split_tiles_float64", "dDDnnnn", split_tiles_double},
    {"split_results_float32", "fFFn", split_results_float},
    {"split_results_float64", "dDDn", split_results_double},
    {"join_float32", "fFFnnnnn", join_float},
    {"join_float64", "dDDnnnnn", join_double},
#define SAMPLES(U, u, P, p)                                                                                           \
    {"bernoulli_" #U "_" #P "_bool", "i" #p "BILw", bernoulli_##u##p##b},                                               \
    {"bernoulli_" #U "_" #P "_int8", "i" #p "BILw", bernoulli_##u##p##b},                                               \
    {"bernoulli_" #U "_" #P "_int32", "i" #p "IILw", bernoulli_##u##p##i},                                              \
    {"bernoulli_" #U "_" #P "_int64", "i" #p "LILw", bernoulli_##u##p##l},                                              \
    {"bernoulli_" #U "_" #P "_float32", "i" #p "FILw", bernoulli_##u##p##f},                                            \
    {"bernoulli_" #U "_" #P "_float64", "i" #p "DILw", bernoulli_##u##p##d}
    SAMPLES(float32, f, float32, f),
    SAMPLES(float32, f, float64, d),
    SAMPLES(float64, d, float32, f),
    SAMPLES(float64, d, float64, d),
    {"graph_rows", "iiLII", graph_rows},
    {"graph_reordered", "liliiLII", graph_reordered},
    {"graph_colours", "liIII", graph_colours},
    {"graph_runs", "lliL", graph_runs},
    {"graph_by_run", "lldD", graph_by_run},
    {"graph_sweeps", "llidbdbdliiBInnnnnw", graph_sweeps},
    {"graph_roots", "iiI", graph_roots},
    {"graph_words", "lniblLIilnw", graph_words},
    {"graph_energies", "liddbD", graph_energies},
    {"graph_brick", "llllliiilbdddiiBnnn", graph_brick},
    {"graph_brick_sums", "llllbddbD", graph_brick_sums},
    {"potts_energies", "liddbDn", potts_energies},
    {"graph_part", "liiiilidbddiiBnnnnn", graph_part},
    {"bernoulli_of_sigmoid_int8", "ifnfnBILFFw", bernoulli_of_sigmoid_b},
    {"bernoulli_of_sigmoid_int32", "ifnfnIILFFw", bernoulli_of_sigmoid_i},
    {"bernoulli_of_sigmoid_int64", "ifnfnLILFFw", bernoulli_of_sigmoid_l},
    {"bernoulli_of_sigmoid_float32", "ifnfnFILFFw", bernoulli_of_sigmoid_f},
    {"bernoulli_of_sigmoid_float64", "ifnfnDILFFw", bernoulli_of_sigmoid_d},
    {NULL, NULL, NULL},
};
