/* MRG31k3p: one step of a stream, an output of it from afar, and what becomes of the integer.

   x[n] = 2**22 x[n-2] + 129 x[n-3] mod M1, y[n] = 2**15 y[n-1] + 32769 y[n-3] mod M2, and the output is x[n] - y[n]
   modulo M1, M1 in place of 0. Stepping is done in 32 bits: 2**31 is 1 modulo M1 and 21069 modulo M2. */
#ifndef NBM_RECURRENCE_H
#define NBM_RECURRENCE_H

#include "language.h"

#define M1 2147483647u
#define M2 2147462579u
#define FOLD 42138u /* 2**32 modulo M2 */

typedef struct {
    u32 x1, x2, x3, y1, y2, y3;
} State; /* of a stream, the latest first; also a row that gives an output of one */

ELEMENT u32 lesser(u32 a, u32 b) { return a < b ? a : b; }

/* v modulo m, for v below 2 m: where v is below m, the difference wraps around and is the larger */
ELEMENT u32 reduced(u32 v, u32 m) { return lesser(v, v - m); }

ELEMENT u32 next_first(u32 x2, u32 x3) {
    u32 a = ((x2 & 0x1ffu) << 22) | (x2 >> 9); /* a product with a power of two turns 31 bits around */
    u32 b = ((x3 & 0xffffffu) << 7) | (x3 >> 24);
    return reduced(reduced(a + b, M1) + x3, M1);
}

ELEMENT u32 next_second(u32 y1, u32 y3) {
    u32 v = y1 + y3; /* below 2 M2, with which the next sum, of 31 bits and 16 by 15, still is */
    v = ((v & 0xffffu) << 15) + (v >> 16) * 21069u;
    return reduced(reduced(v, M2) + y3, M2);
}

/* x - y where that is above 0, else M1 more: where it is above 0, the sum with M1 wraps around and is negative */
ELEMENT u32 combined(u32 x, u32 y) {
    i32 d = (i32)(x - y), e = (i32)(x - y + M1);
    return (u32)(d > e ? d : e);
}

/* p a + q b + r c modulo M1 and M2, of six numbers below 2**31 */
ELEMENT u32 dot_first(u32 p, u32 q, u32 r, u32 a, u32 b, u32 c) {
    u64 v = (u64)p * a + (u64)q * b + (u64)r * c;
    v = (v & M1) + (v >> 31);
    return reduced((u32)((v & M1) + (v >> 31)), M1);
}

ELEMENT u32 dot_second(u32 p, u32 q, u32 r, u32 a, u32 b, u32 c) {
    u64 v = (u64)p * a + (u64)q * b + (u64)r * c;
    v = (u32)v + (v >> 32) * FOLD; /* below 2**47 */
    return reduced((u32)((v & M1) + (u32)(v >> 31) * (u64)21069), M2);
}

/* the output that a row gives of a state: `combined` of both products, the first of which stays unreduced */
ELEMENT u32 output(State row, u32 x1, u32 x2, u32 x3, u32 y1, u32 y2, u32 y3) {
    u64 v = (u64)row.x1 * x1 + (u64)row.x2 * x2 + (u64)row.x3 * x3;
    v = (v & M1) + (v >> 31);
    v += M1 - dot_second(row.y1, row.y2, row.y3, y1, y2, y3);
    return reduced((u32)((v & M1) + (v >> 31)) - 1u, M1) + 1u;
}

ELEMENT u32 stepped(State *s) {
    u32 x = next_first(s->x2, s->x3), y = next_second(s->y1, s->y3);
    s->x3 = s->x2, s->x2 = s->x1, s->x1 = x;
    s->y3 = s->y2, s->y2 = s->y1, s->y1 = y;
    return combined(x, y);
}

/* a state times the matrices of a transition, 18 numbers row by row */
ELEMENT State jumped(const u32 *m, State s) {
    State t;
    t.x1 = dot_first(m[0], m[1], m[2], s.x1, s.x2, s.x3);
    t.x2 = dot_first(m[3], m[4], m[5], s.x1, s.x2, s.x3);
    t.x3 = dot_first(m[6], m[7], m[8], s.x1, s.x2, s.x3);
    t.y1 = dot_second(m[9], m[10], m[11], s.y1, s.y2, s.y3);
    t.y2 = dot_second(m[12], m[13], m[14], s.y1, s.y2, s.y3);
    t.y3 = dot_second(m[15], m[16], m[17], s.y1, s.y2, s.y3);
    return t;
}

/* the row of the output that follows by as many steps as the matrices take */
ELEMENT State later_row(State row, const u32 *m) {
    State t;
    t.x1 = dot_first(row.x1, row.x2, row.x3, m[0], m[3], m[6]);
    t.x2 = dot_first(row.x1, row.x2, row.x3, m[1], m[4], m[7]);
    t.x3 = dot_first(row.x1, row.x2, row.x3, m[2], m[5], m[8]);
    t.y1 = dot_second(row.y1, row.y2, row.y3, m[9], m[12], m[15]);
    t.y2 = dot_second(row.y1, row.y2, row.y3, m[10], m[13], m[16]);
    t.y3 = dot_second(row.y1, row.y2, row.y3, m[11], m[14], m[17]);
    return t;
}

/* the row of the next output */
ELEMENT State next_row(State row) {
    State t;
    t.x1 = row.x2;
    t.x2 = dot_first(1u << 22, 1u, 0u, row.x1, row.x3, 0u);
    t.x3 = dot_first(129u, 0u, 0u, row.x1, 0u, 0u);
    t.y1 = dot_second(1u << 15, 1u, 0u, row.y1, row.y2, 0u);
    t.y2 = row.y3;
    t.y3 = dot_second(32769u, 0u, 0u, row.y1, 0u, 0u);
    return t;
}

/* An integer as a uniform number. A float32 is made of the rounded integer, as Theano makes it. */
ELEMENT float uniform_float(u32 z) { return (float)(i32)z * 4.6566126e-10f; }

ELEMENT double uniform_double(u32 z) { return (double)(i32)z * 4.656612873077393e-10; }

/* 53 bits of two outputs, the first for the leading ones: ((high - 1) + low 2**-31) 2**-31, rounded once */
ELEMENT double uniform_wide(u32 high, u32 low) {
    return (double)(i32)(high - 1u) * 4.656612873077393e-10 + (double)(i32)low * 2.168404344971009e-19;
}

/* the matrices of 2**56 steps, from one output of an element to its next */
TABLE u32 next_output[18] = {
    2046293185u, 133016457u,  1987176594u, 714585192u,  2046293185u, 1842896814u, 1912062268u, 714585192u,  717158625u,
    1372254995u, 836608500u,  1989549396u, 1928707414u, 1311413013u, 836608500u,  1112388734u, 57025069u,   1311413013u,
};

/* the bits of the float16 number nearest to (z mod 2**15 + 1) * 511 * 2**-24; ties to even */
ELEMENT u16 uniform_half(u32 z) {
    u32 v = ((z & 0x7fffu) + 1u) * 511u, shift = 0;
    if (v < 2048u)
        return (u16)v;
    while (v >> (shift + 11))
        ++shift;
    return (u16)((shift << 10) + ((v + (1u << (shift - 1)) - 1u + ((v >> shift) & 1u)) >> shift));
}

#endif
