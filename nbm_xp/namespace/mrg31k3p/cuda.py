"""MRG31k3p in CUDA, for CuPy's arrays.

What this chapter must satisfy: the bits of `nbm_xp.rng.uniforms`; one launch for a draw and the states after it;
neighbouring threads write neighbouring elements. It is imported only when CuPy's arrays are drawn, and takes what it
needs of CuPy from the namespace of the states.

A thread carries one stream over some steps, `length` of them: it jumps to the first by the matrices of ``length``,
``2 length``, ``4 length``, … steps, then steps in 32-bit arithmetic: ``2**31`` is 1 modulo M1 and 21069 modulo M2. The
thread that takes a stream's last step leaves its state behind.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from nbm_xp.namespace.conversion import asarray
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_name, dtype_of
from nbm_xp.namespace.running import host_namespace

from .integers import transition

__all__ = ["SOURCE", "bernoulli", "draw", "launch", "source"]

THREADS: Final = 256
_C_TYPES: Final = {
    "bool": "bool",
    "int8": "signed char",
    "int32": "int",
    "int64": "long long",
    "float32": "float",
    "float64": "double",
}
_UNIFORMS: Final = {
    "float16": "half_bits(((z & 0x7fffu) + 1u) * 511u)",
    "float32": "((float)(int)z * 4.6566126e-10f)",
    "float64": "((double)(int)z * 4.656612873077393e-10)",
}

SOURCE: Final = r"""
#define M1 2147483647u
#define M2 2147462579u

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ inline u32 below(u32 v, u32 m) { return v < m ? v : v - m; }

static __device__ inline u32 next_first(u32 x2, u32 x3) {
    u32 a = ((x2 & 0x1ffu) << 22) | (x2 >> 9);
    u32 b = ((x3 & 0xffffffu) << 7) | (x3 >> 24);
    return below(below(a + b, M1) + x3, M1);
}

static __device__ inline u32 next_second(u32 y1, u32 y3) {
    u32 v = below(y1 + y3, M2);
    v = below(((v & 0xffffu) << 15) + (v >> 16) * 21069u, M2);
    return below(v + y3, M2);
}

static __device__ inline u32 row_times(const u32 *row, const u32 *x, u32 m) {
    u64 v = (u64)row[0] * x[0] % m + (u64)row[1] * x[1] % m + (u64)row[2] * x[2] % m;
    return (u32)(v % m);
}

static __device__ inline void jump(const u32 *matrices, u32 *s) {
    u32 t[6];
    for (int k = 0; k < 6; ++k)
        t[k] = row_times(matrices + 3 * k, s + (k < 3 ? 0 : 3), k < 3 ? M1 : M2);
    for (int k = 0; k < 6; ++k)
        s[k] = t[k];
}

/* the bits of the float16 number nearest to v * 2**-24, for v below 2**24; ties to even */
static __device__ inline unsigned short half_bits(u32 v) {
    if (v < 2048u)
        return (unsigned short)v;
    int shift = 0;
    while (v >> (shift + 11))
        ++shift;
    u32 rounded = (v + (1u << (shift - 1)) - 1u + ((v >> shift) & 1u)) >> shift;
    return (unsigned short)(((u32)shift << 10) + rounded);
}

extern "C" __global__ void draw(const int *states, const u32 *jumps, long long streams, long long n, long long length,
                                const PROBABILITY *p, OUT *out, int *after) {
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long stream = thread % streams, panel = thread / streams;
    long long steps = n / streams + (stream < n % streams ? 1 : 0);
    long long step = panel * length;
    if (panel > 0 && step >= steps)
        return;
    long long end = step + length < steps ? step + length : steps;
    u32 s[6];
    for (int k = 0; k < 6; ++k)
        s[k] = (u32)states[6 * stream + k];
    for (int bit = 0; panel >> bit; ++bit)
        if (panel >> bit & 1)
            jump(jumps + 18 * bit, s);
    for (; step < end; ++step) {
        u32 x = next_first(s[1], s[2]), y = next_second(s[3], s[5]);
        s[2] = s[1], s[1] = s[0], s[0] = x;
        s[5] = s[4], s[4] = s[3], s[3] = y;
        u32 z = x > y ? x - y : x - y + M1;
        long long i = step * streams + stream;
        out[i] = (OUT)(VALUE);
    }
    if (end == steps)
        for (int k = 0; k < 6; ++k)
            after[6 * stream + k] = (int)s[k];
}
"""


def source(value: str, out: str, probability: str = "float") -> str:
    """Write the kernel for one kind of numbers.

    Parameters
    ----------
    value : str
        What becomes of an integer ``z``, element ``i`` of the draw, as an expression in C.
    out, probability : str
        The types in C of the numbers, and of the probabilities ``p``.

    Returns
    -------
    str
    """
    return f"#define OUT {out}\n#define PROBABILITY {probability}\n#define VALUE {value}\n{SOURCE}"


def launch(streams: int, n: int) -> tuple[int, int, list[Any]]:
    """Say how a draw is divided among threads.

    Parameters
    ----------
    streams : int
        How many streams there are.
    n : int
        How many numbers to draw.

    Returns
    -------
    threads : int
        How many threads have something to do.
    length : int
        How many steps each takes at most.
    jumps : list of matrices
        What takes a state `length`, 2 `length`, 4 `length`, … steps on.

    Examples
    --------
    >>> threads, length, jumps = launch(15360, 10**7)
    >>> threads, length, len(jumps)
    (276480, 38, 5)
    """
    steps = -(-n // streams)
    length = min(max(n >> 18, 8), 256)
    panels = max(1, -(-steps // length))
    return streams * panels, length, [transition(length << bit) for bit in range((panels - 1).bit_length())]


@lru_cache(maxsize=64)
def _kernel(xp: Any, text: str) -> Any:
    return xp.RawKernel(text, "draw")


def _run(text: str, states: Any, n: int, p: Any, out: Any) -> Any:
    """Launch a kernel; gives the states after the draw."""
    xp = array_namespace(states)
    states = xp.ascontiguousarray(states)
    after = xp.empty_like(states)
    threads, length, jumps = launch(states.shape[0], n)
    matrices = asarray(jumps or [transition(0)], xp, "uint32")
    sizes = (host_namespace().int64(value) for value in (states.shape[0], n, length))
    arguments = (states, matrices, *sizes, p, out, after)
    _kernel(xp, text)((-(-threads // THREADS),), (THREADS,), arguments)
    return after


def draw(states: Any, n: int, dtype: str) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams: see `draw` of the compiled loops."""
    xp = array_namespace(states)
    out = xp.empty((n,), dtype=dtype_of(xp, dtype))
    text = source(_UNIFORMS[dtype], _C_TYPES.get(dtype, "unsigned short"))
    return out, _run(text, states, n, states, out)


def bernoulli(states: Any, p: Any, sample: str, dtype: str) -> tuple[Any, Any] | None:
    """Compare the next uniforms of the streams with probabilities: see `bernoulli` of the compiled loops."""
    probability = dtype_name(p)
    if dtype == "float16" or probability not in ("float32", "float64") or sample not in _C_TYPES:
        return None
    xp = array_namespace(states)
    out = xp.empty(p.shape, dtype=dtype_of(xp, sample))
    text = source(f"{_UNIFORMS[dtype]} < p[i]", _C_TYPES[sample], _C_TYPES[probability])
    return out, _run(text, states, p.size, xp.ascontiguousarray(p), out)
