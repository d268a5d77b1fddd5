/* Elements from anywhere in a draw, one to a thread. They come in pieces, each within one output of all streams, so that
   its elements share a row, which gives that output of a state. */
#ifndef NBM_PIECES_CUH
#define NBM_PIECES_CUH

#include "threads.cuh"

/* What a table of places begins with; the first streams of all pieces follow, then where they end among all elements. */
enum { ELEMENTS, STREAMS, PIECES, HEAD };

struct Element {
    i64 stream;
    State state, row;
};

/* element i of all pieces */
ELEMENT Element element_at(const u32 *states, const u32 *rows, const i64 *places, i64 i) {
    i64 streams = places[STREAMS], pieces = places[PIECES], piece = 0, above = pieces - 1;
    const i64 *firsts = places + HEAD, *ends = firsts + pieces;
    while (piece < above) { /* to the first piece that ends behind i */
        i64 middle = (piece + above) / 2;
        if (ends[middle] > i)
            above = middle;
        else
            piece = middle + 1;
    }
    Element found;
    found.stream = firsts[piece] + i - (piece ? ends[piece - 1] : 0);
    found.state = state_at(states, streams, found.stream);
    found.row = state_at(rows, pieces, piece);
    return found;
}

ELEMENT u32 output_of(State row, State s) { return output(row, s.x1, s.x2, s.x3, s.y1, s.y2, s.y3); }

#endif
