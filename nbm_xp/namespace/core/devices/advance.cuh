/* States after a draw that nobody looks at: a thread moves a stream on, the first `ahead` by the first pair of matrices
   and the others by the second. */
#include "threads.cuh"

extern "C" __global__ void advance(const u32 *matrices, const u32 *states, i64 streams, i64 ahead, u32 *after) {
    i64 stream = thread_number();
    if (stream >= streams)
        return;
    State s = state_at(states, streams, stream);
    put_state(after, streams, stream, jumped(matrices + (stream < ahead ? 0 : 18), s));
}
