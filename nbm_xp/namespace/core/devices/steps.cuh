/* Steps of streams dealt out to threads: neighbouring threads have neighbouring streams, and so write neighbouring
   elements. A thread jumps to the first of its steps and takes them one after the other. */
#ifndef NBM_STEPS_CUH
#define NBM_STEPS_CUH

#include "../elements/recurrence.h"
#include "threads.cuh"

struct Steps {
    i64 stream, panel, begin, end;
    bool none, last; /* whether another thread takes all steps; whether the stream's last step is among these */
};

/* the steps of this thread, at most `length` of a draw of n elements */
ELEMENT Steps own_steps(i64 streams, i64 n, i64 length) {
    i64 thread = thread_number();
    Steps own;
    own.stream = thread % streams, own.panel = thread / streams;
    i64 all = n / streams + (own.stream < n % streams ? 1 : 0);
    own.begin = own.panel * length;
    own.end = own.begin + length < all ? own.begin + length : all;
    own.none = own.panel > 0 && own.begin >= all; /* a stream that takes no step has a state after the draw, too */
    own.last = own.end == all;
    return own;
}

/* the state before a panel: `jumps` holds the matrices of length, 2 length, 4 length, … steps */
ELEMENT State carried(const u32 *jumps, i64 panel, State s) {
    for (int bit = 0; panel >> bit; ++bit)
        if (panel >> bit & 1)
            s = jumped(jumps + 18 * bit, s);
    return s;
}

#endif
