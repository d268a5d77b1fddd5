"""MRG31k3p in CUDA, for CuPy's arrays.

What this chapter must satisfy: the bits of `nbm_xp.rng.uniforms`; one launch for a draw and the states after it;
neighbouring threads write neighbouring elements. It is imported only when CuPy's arrays are drawn, and takes what it
needs of CuPy from the namespace of the states.

A thread carries one stream over some steps, `length` of them: it jumps to the first by the matrices of ``length``,
``2 length``, ``4 length``, … steps, then steps in 32-bit arithmetic: ``2**31`` is 1 modulo M1 and 21069 modulo M2. The
thread that takes a stream's last step leaves its state behind.

Runs of elements from anywhere in a draw, such as make up a block of Dask's, are made by random access: a thread
multiplies the row of an output, which the host works out, with the state in which a stream starts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from nbm_xp.namespace.conversion import asarray
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_name, dtype_of
from nbm_xp.namespace.running import host_namespace

from .approximations import HALF_PI_HIGH, HALF_PI_LOW, TWO_PI, cosine_near_zero, log_from_parts, sine_near_zero
from .c_text import c_function
from .integers import transition

__all__ = ["bernoulli", "draw", "launch", "normals", "normals_source", "runs", "runs_source", "source"]

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
    u32 v = y1 + y3; /* below 2 M2, with which the next sum still is */
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
"""

DRAW: Final = r"""
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

NORMALS: Final = r"""
static __device__ inline double log_of(double u) {
    union { double value; long long bits; } x;
    x.value = u;
    long long digits = x.bits & 0xfffffffffffffll;
    long long carry = (digits + 0x95f619980c433ll) >> 52; /* whether they are those of the root of 2, or more */
    double k = (double)((x.bits >> 52) - 1023 + carry);
    x.bits = digits | ((1023 - carry) << 52);
    return log_from_parts(x.value - 1.0, k);
}

static __device__ inline void waves(double angle, double *cosine, double *sine) {
    double quarters = rint(angle * 0.6366197723675814);
    double r = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW;
    double s = sine_near_zero(r), c = cosine_near_zero(r);
    int phase = (int)quarters & 3;
    *sine = phase & 1 ? c : s;
    *cosine = phase & 1 ? s : c;
    if (phase >= 2)
        *sine = -*sine;
    if (phase == 1 || phase == 2)
        *cosine = -*cosine;
}

static __device__ inline u32 next_integer(u32 *s) {
    u32 x = next_first(s[1], s[2]), y = next_second(s[3], s[5]);
    s[2] = s[1], s[1] = s[0], s[0] = x;
    s[5] = s[4], s[4] = s[3], s[3] = y;
    return x > y ? x - y : x - y + M1;
}

/* a pair is element i and element half + i: a thread carries a stream along for either */
extern "C" __global__ void normals(const int *states, const u32 *jumps, const u32 *bases, long long streams,
                                   long long half, long long n, long long length, const OUT *line, int stretched,
                                   OUT *out) {
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long stream = thread % streams, panel = thread / streams;
    long long steps = half / streams + (stream < half % streams ? 1 : 0);
    long long step = panel * length, end = step + length < steps ? step + length : steps;
    if (step >= steps)
        return;
    long long other = stream + half % streams;
    int wraps = other >= streams;
    if (wraps)
        other -= streams;
    u32 s[6], t[6];
    for (int k = 0; k < 6; ++k)
        s[k] = (u32)states[6 * stream + k], t[k] = (u32)states[6 * other + k];
    jump(bases + 18 * wraps, t);
    for (int bit = 0; panel >> bit; ++bit)
        if (panel >> bit & 1)
            jump(jumps + 18 * bit, s), jump(jumps + 18 * bit, t);
    for (; step < end; ++step) {
        u32 z = next_integer(s);
        OUT u1 = VALUE;
        z = next_integer(t);
        OUT u2 = VALUE;
        OUT radius = ROOT((OUT)-2 * (OUT)log_of((double)u1));
        double cosine, sine;
        waves((double)(OUT)(u2 * (OUT)TWO_PI), &cosine, &sine);
        OUT first = radius * (OUT)cosine, second = radius * (OUT)sine;
        if (stretched)
            first = first * line[0] + line[1], second = second * line[0] + line[1];
        long long i = step * streams + stream;
        out[i] = first;
        if (half + i < n)
            out[half + i] = second;
    }
}
"""

RUNS: Final = r"""
/* a piece lies within one output of all streams, so that its elements share a row */
extern "C" __global__ void runs(const int *states, const u32 *rows, const long long *streams, const long long *ends,
                                long long pieces, long long n, OUT *out) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    long long piece = 0, above = pieces - 1; /* the first piece that ends behind i */
    while (piece < above) {
        long long middle = (piece + above) / 2;
        if (ends[middle] > i)
            above = middle;
        else
            piece = middle + 1;
    }
    const int *state = states + 6 * (streams[piece] + i - (piece ? ends[piece - 1] : 0));
    u32 s[6];
    for (int k = 0; k < 6; ++k)
        s[k] = (u32)state[k];
    u32 x = row_times(rows + 6 * piece, s, M1), y = row_times(rows + 6 * piece + 3, s + 3, M2);
    u32 z = x > y ? x - y : x - y + M1;
    out[i] = VALUE;
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
    return f"#define OUT {out}\n#define PROBABILITY {probability}\n#define VALUE {value}\n{SOURCE}{DRAW}"


def normals_source(dtype: str) -> str:
    """Write the kernel for normal numbers of a dtype, float32 or float64.

    Returns
    -------
    str
    """
    constants = {"HALF_PI_HIGH": HALF_PI_HIGH, "HALF_PI_LOW": HALF_PI_LOW, "TWO_PI": TWO_PI}
    lines = [f"#define OUT {_C_TYPES[dtype]}", f"#define VALUE {_UNIFORMS[dtype]}"]
    lines += [f"#define ROOT {'sqrtf' if dtype == 'float32' else 'sqrt'}"]
    lines += [f"#define {name} {value!r}" for name, value in constants.items()]
    functions = [c_function(function) for function in (log_from_parts, sine_near_zero, cosine_near_zero)]
    return "\n".join([*lines, SOURCE, *functions, NORMALS])


def runs_source(dtype: str) -> str:
    """Write the kernel for runs of uniforms of a dtype.

    Returns
    -------
    str
    """
    out = _C_TYPES.get(dtype, "unsigned short")
    return f"#define OUT {out}\n#define VALUE {_UNIFORMS[dtype]}\n{SOURCE}{RUNS}"


def _uniform(dtype: str, stretch: Any) -> str:
    """A uniform of some dtype, multiplied by ``p[0]`` and increased by ``p[1]`` where there is a stretch."""
    return f"{_UNIFORMS[dtype]} * p[0] + p[1]" if stretch else _UNIFORMS[dtype]


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
def _kernel(xp: Any, text: str, name: str) -> Any:
    return xp.RawKernel(text, name, options=("--fmad=false",))  # a product is rounded before anything is added


def _matrices(xp: Any, jumps: list[Any]) -> Any:
    return asarray(jumps or [transition(0)], xp, "uint32")


def _launched(xp: Any, text: str, name: str, threads: int, *arguments: Any) -> None:
    wide = host_namespace().int64
    sized = tuple(wide(value) if type(value) is int else value for value in arguments)
    _kernel(xp, text, name)((-(-threads // THREADS),), (THREADS,), sized)


def _run(text: str, states: Any, n: int, p: Any, out: Any) -> Any:
    """Launch a kernel; gives the states after the draw."""
    xp = array_namespace(states)
    states = xp.ascontiguousarray(states)
    after = xp.empty_like(states)
    threads, length, jumps = launch(states.shape[0], n)
    _launched(xp, text, "draw", threads, states, _matrices(xp, jumps), states.shape[0], n, length, p, out, after)
    return after


def _memory(states: Any, n: int, dtype: str, out: Any) -> Any:
    """Memory for so many numbers one after the other: `out`, where it lies so and on the device of the states."""
    if out is not None and out.flags.c_contiguous and out.device == states.device:
        return out
    xp = array_namespace(states)
    return xp.empty((n,), dtype=dtype_of(xp, dtype))


def draw(states: Any, n: int, dtype: str, stretch: Any = (), threads: int = 1, out: Any = None) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams: see `draw` of the compiled loops; `threads` says nothing here."""
    xp = array_namespace(states)
    out = _memory(states, n, dtype, out)
    kind = _C_TYPES.get(dtype, "unsigned short")
    line = asarray(list(stretch), xp, dtype) if stretch else out
    return out, _run(source(_uniform(dtype, stretch), kind, kind if stretch else "int"), states, n, line, out)


def bernoulli(
    states: Any, p: Any, shape: Any, sample: str, dtype: str, threads: int = 1
) -> tuple[Any, Any, None] | None:
    """Compare the next uniforms of the streams with probabilities: see `bernoulli` of the compiled loops.

    It does not look at what the probabilities are, and leaves those on another device than the states to CuPy.
    """
    probability = dtype_name(p)
    if dtype == "float16" or probability not in ("float32", "float64") or sample not in _C_TYPES:
        return None
    if p.device != states.device:
        return None
    xp = array_namespace(states)
    out = xp.empty(shape, dtype=dtype_of(xp, sample))
    place = "0" if p.size == 1 else "i"
    text = source(f"{_UNIFORMS[dtype]} < p[{place}]", _C_TYPES[sample], _C_TYPES[probability])
    return out, _run(text, states, out.size, xp.ascontiguousarray(p), out), None


def normals(states: Any, rows: Any, n: int, dtype: str, stretch: Any = (), threads: int = 1, out: Any = None) -> Any:
    """Make normal numbers of the next uniforms of the streams: see `normals` of the compiled loops."""
    xp = array_namespace(states)
    states, out = xp.ascontiguousarray(states), _memory(states, n, dtype, out)
    count, half = states.shape[0], (n + 1) // 2
    threads, length, jumps = launch(count, half)
    steps = half // count
    bases = _matrices(xp, [transition(steps), transition(steps + 1)])
    line = asarray(list(stretch) or [1.0, 0.0], xp, dtype)
    stretched = host_namespace().int32(bool(stretch))
    arguments = (states, _matrices(xp, jumps), bases, count, half, n, length, line, stretched, out)
    _launched(xp, normals_source(dtype), "normals", threads, *arguments)
    return out


def runs(begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    """Draw runs of consecutive elements of a draw: see `runs` of the compiled loops."""
    xp, host = array_namespace(states), host_namespace()
    begins, lengths = _pieces(begins, lengths, states.shape[0])
    ends = host.cumulative_sum(lengths)
    n = int(ends[-1])
    out = xp.empty((n,), dtype=dtype_of(xp, dtype))
    tables = (
        asarray(host.stack(rows(begins), axis=-1), xp, "uint32"),
        asarray(begins % states.shape[0], xp, "int64"),
        asarray(ends, xp, "int64"),
    )
    states = xp.ascontiguousarray(states)
    _launched(xp, runs_source(dtype), "runs", n, states, *tables, ends.shape[0], n, out)
    return out


def _pieces(begins: Any, lengths: Any, streams: int) -> tuple[Any, Any]:
    """Runs, cut wherever the streams start anew."""
    host = host_namespace()
    first, last = begins // streams, (begins + lengths - 1) // streams
    counts = last - first + 1
    nth = host.arange(int(host.sum(counts))) - host.repeat(host.cumulative_sum(counts) - counts, counts)
    starts = host.maximum(host.repeat(begins, counts), (host.repeat(first, counts) + nth) * streams)
    ends = host.minimum(host.repeat(begins + lengths, counts), (host.repeat(first, counts) + nth + 1) * streams)
    return starts, ends - starts
