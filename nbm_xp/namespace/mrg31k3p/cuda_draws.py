"""MRG31k3p for CuPy arrays: states, uniforms, normal numbers, ones and zeros, and samplers, as CUDA kernels.

Contract: the bits of `nbm_xp.rng`. One text for processors and devices: what happens to one element stands in the
core's ``elements/*.h``, the kernels around it in ``devices/*.cuh``; products are rounded before anything is added. A
kernel runs on the device where its arrays lie, on that device's current stream, and nothing comes back to the host
implicitly, but for how many elements no attempt of a sampler served. CuPy is taken from the namespace of the arrays,
never imported.

In a whole draw a thread carries one stream over some steps: it jumps to the first by matrices, then takes one after
the other; the thread that takes a stream's last step leaves its state behind. Runs of elements from anywhere in a draw,
such as make up a block of Dask's, are made by random access: a thread multiplies the row of an output, which the host
works out, with the state in which a stream starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from nbm_xp.namespace import core
from nbm_xp.namespace.conversion import asarray, concrete_int, convert
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_name, dtype_of
from nbm_xp.namespace.libraries import host_namespace

from .integers import OUTPUT_STEPS, transition
from .numpy_draws import cut_at_steps

# The compiler's options: a product is rounded before anything is added.
OPTIONS: Final = ("--fmad=false",)

# How many threads a block has.
THREADS: Final = 256

_FLOAT: Final = {"REAL": "float", "UNIFORM": "uniform_float", "ROOT": "rootf_of"}
_DOUBLE: Final = {"REAL": "double", "UNIFORM": "uniform_double", "ROOT": "root_of"}
# What stands for each dtype of uniforms in the texts.
REALS: Final = {"float16": {"REAL": "u16", "UNIFORM": "uniform_half"}, "float32": _FLOAT, "float64": _DOUBLE}

# The dtypes of ones and zeros, and their types in the texts.
SAMPLES: Final = {"bool": "bool", "int8": "i8", "int32": "i32", "int64": "i64", "float32": "float", "float64": "double"}

# The dtypes of probabilities, and their types in the texts.
P_TYPES: Final = {"float32": "float", "float64": "double"}


@lru_cache(maxsize=64)
def source(name: str, **types: str) -> str:
    """The text of a file of kernels, without includes, with the types that it is written for.

    Examples
    --------
    >>> source("runs", **REALS["float32"]).splitlines()[0]
    '#define REAL float'
    """
    lines = [f"#define {key} {value}\n" for key, value in types.items()]
    return "".join([*lines, core.whole_text(f"devices/{name}.cuh")])


def every_text() -> dict[str, str]:
    """All texts that may be compiled, by what they are for.

    Examples
    --------
    >>> "runs float16" in every_text()
    True
    """
    texts = {name: source(name) for name in ("advance", "elementary", "samplers", "searches", "wide")}
    for dtype, types in REALS.items():
        for name in ("draw", "runs") if dtype == "float16" else ("draw", "runs", "box_muller"):
            texts[f"{name} {dtype}"] = source(name, **types)
    for dtype, outputs in (("float32", "1"), ("float64", "2")):
        texts[f"normals {dtype}"] = source("normals", **REALS[dtype], OUTPUTS=outputs)
    for dtype in P_TYPES:
        for probability, p_type in P_TYPES.items():
            for sample, out in SAMPLES.items():
                text = source("bernoulli", **REALS[dtype], P=p_type, OUT=out)
                texts[f"bernoulli {dtype} {probability} {sample}"] = text
    return texts


def on_device_of(x: Any) -> Any:
    """A context in which the device of a CuPy array is the current one, so that memory and kernels are there."""
    return x.device


@lru_cache(maxsize=64)
def _kernel(xp: Any, text: str, name: str) -> Any:
    return xp.RawKernel(text, name, options=OPTIONS)


def launch(xp: Any, text: str, name: str, threads: int, *arguments: Any) -> None:
    """Launch a kernel with at least so many threads; a number among the arguments is a 64-bit integer."""
    wide = host_namespace().int64
    sized = tuple(wide(value) if isinstance(value, int) else value for value in arguments)
    _kernel(xp, text, name)((-(-threads // THREADS),), (THREADS,), sized)


def consecutive(x: Any, dtype: str) -> Any:
    """A CuPy array as a kernel takes it: of some dtype, its elements one after the other."""
    xp = array_namespace(x)
    return xp.ascontiguousarray(x, dtype=dtype_of(xp, dtype))


def number_by_number(states: Any) -> Any:
    """States of shape (count, 6) as kernels take them: all first numbers, then all second ones, and so on."""
    return consecutive(states.T, "int32")


def matrices(xp: Any, steps: Sequence[int]) -> Any:
    """The matrices that advance a state by each number of steps, on the current device."""
    return asarray([transition(count) for count in steps], xp, "uint32")


def divided(streams: int, n: int) -> tuple[int, int, list[int]]:
    """Determine how a draw is divided among threads.

    Parameters
    ----------
    streams : int
        Number of streams.
    n : int
        Number of elements to draw.

    Returns
    -------
    threads : int
        Number of threads in use.
    length : int
        Maximum number of steps of a thread.
    jumps : list of ints
        `length`, 2 `length`, 4 `length`, …: of so many steps are the jumps that are needed; at least one.

    Examples
    --------
    >>> divided(15360, 10**7)
    (276480, 38, [38, 76, 152, 304, 608])
    """
    steps = -(-n // streams)
    length = min(max(n >> 18, 8), 256)
    panels = max(1, -(-steps // length))
    return streams * panels, length, [length << bit for bit in range(max(1, (panels - 1).bit_length()))]


def _carried(text: str, name: str, states: Any, n: int, beside: Any, flag: bool, out: Any) -> Any:
    """Launch a kernel whose threads carry streams along; gives the states after the draw."""
    xp, streams = array_namespace(states), states.shape[0]
    numbers = number_by_number(states)
    after = xp.empty_like(numbers)
    threads, length, jumps = divided(streams, n)
    launch(xp, text, name, threads, numbers, matrices(xp, jumps), streams, n, length, beside, flag, out, after)
    return after.T


def _memory(states: Any, n: int, dtype: str, out: Any) -> Any:
    """Memory for so many numbers one after the other: `out`, where it lies so and on the device of the states."""
    if out is not None and out.flags.c_contiguous and out.device == states.device:
        return out
    xp = array_namespace(states)
    return xp.empty((n,), dtype=dtype_of(xp, dtype))


def _line(states: Any, dtype: str, scale_and_shift: Any) -> Any:
    """Factor of the numbers, and number added to the product."""
    return asarray(list(scale_and_shift) or [1.0, 0.0], array_namespace(states), dtype)


def draw(
    states: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams: see `numpy_draws.draw`; `threads` says nothing here."""
    if dtype == "wide":
        return _whole("draw_wide", source("wide"), states, n, "float64", scale_and_shift, out), None
    with on_device_of(states):
        out = _memory(states, n, dtype, out)
        line = _line(states, dtype, scale_and_shift)
        return out, _carried(source("draw", **REALS[dtype]), "draw", states, n, line, bool(scale_and_shift), out)


def bernoulli(
    states: Any, p: Any, shape: Any, sample: str, dtype: str, threads: int = 1
) -> tuple[Any, Any, None] | None:
    """Compare the next uniforms of the streams with probabilities: see `numpy_trials.bernoulli`.

    It does not check the probabilities, and leaves those on another device than the states to CuPy.
    """
    probability = dtype_name(p)
    if dtype == "float16" or probability not in P_TYPES or sample not in SAMPLES or p.device != states.device:
        return None
    xp = array_namespace(states)
    text = source("bernoulli", **REALS[dtype], P=P_TYPES[probability], OUT=SAMPLES[sample])
    with on_device_of(states):
        out = xp.empty(shape, dtype=dtype_of(xp, sample))
        bounds = consecutive(p, probability)
        return out, _carried(text, "bernoulli", states, out.size, bounds, p.size > 1, out), None


def _whole(name: str, text: str, states: Any, n: int, dtype: str, scale_and_shift: Any, out: Any) -> Any:
    """Launch a kernel whose threads carry streams along through a draw, and leave no states."""
    xp, streams = array_namespace(states), states.shape[0]
    threads, length, _ = divided(streams, n)
    length += length % 2  # pairs of steps stay together
    threads = streams * max(1, -(-n // (streams * length)))
    jumps = [length << bit for bit in range(max(1, (threads // streams - 1).bit_length()))]
    with on_device_of(states):
        out, line = _memory(states, n, dtype, out), _line(states, dtype, scale_and_shift)
        tables = number_by_number(states), matrices(xp, jumps)
        launch(xp, text, name, threads, *tables, streams, n, length, line, bool(scale_and_shift), out)
    return out


def normals(
    states: Any, rows: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> Any:
    """Make normal numbers of pairs of steps of the streams: see `numpy_draws.normals`."""
    outputs = "2" if dtype == "float64" else "1"
    return _whole("normals", source("normals", **REALS[dtype], OUTPUTS=outputs), states, n, dtype, scale_and_shift, out)


def box_muller(u1: Any, u2: Any) -> None:
    """Turn pairs of uniforms into normal numbers in place: see `numpy_draws.box_muller`."""
    text = source("box_muller", **REALS[dtype_name(u1)])
    with on_device_of(u1):
        if u1.size:
            launch(array_namespace(u1), text, "box_muller", u1.size, u1, u2, u1.size)


def runs(begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    """Draw runs of consecutive elements of a draw: see `numpy_draws.runs`."""
    xp, wide = array_namespace(states), dtype == "wide"
    text, name = (source("wide"), "runs_wide") if wide else (source("runs", **REALS[dtype]), "runs")
    with on_device_of(states):
        n, *tables = pieces(xp, begins, lengths, rows, states.shape[0])
        out = xp.empty((n,), dtype=dtype_of(xp, "float64" if wide else dtype))
        launch(xp, text, name, n, number_by_number(states), *tables, out)
    return out


def advance(states: Any, n: int) -> Any:
    """Return the states after a draw of `n` elements, without drawing them: see `numpy_draws.advance`."""
    xp, streams = array_namespace(states), states.shape[0]
    steps, ahead = divmod(n, streams)
    with on_device_of(states):
        numbers = number_by_number(states)
        after = xp.empty_like(numbers)
        moves = matrices(xp, [steps + 1, steps])
        launch(xp, source("advance"), "advance", streams, moves, numbers, streams, ahead, after)
    return after.T


def pieces(xp: Any, begins: Any, lengths: Any, rows: Callable[[Any], Any], streams: int) -> tuple[int, Any, Any]:
    """The tables that say which element of a draw is its own: see ``devices/pieces.cuh``.

    Parameters
    ----------
    xp : namespace
        CuPy's.
    begins, lengths : numpy.ndarray
        int64: where runs of elements begin, and how long they are.
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places.
    streams : int
        Number of streams.

    Returns
    -------
    n : int
        Number of elements.
    rows, places : array
        On the current device.
    """
    host = host_namespace()
    begins, lengths = cut_at_steps(begins, lengths, streams)
    ends = host.cumulative_sum(lengths)
    n = int(ends[-1])
    head = host.asarray([n, streams, ends.shape[0]])
    places = host.concat([head, begins % streams, ends])
    return n, asarray(host.stack(rows(begins)), xp, "uint32"), asarray(places, xp, "int64")


def _each(columns: Sequence[Any]) -> int:
    """Bit k says whether column k has a parameter for each element."""
    return sum((column.size > 1) << k for k, column in enumerate(columns))


def elementwise(name: str, x: Any, *constants: Any) -> Any:
    """What a kernel makes of each element, as float64, and of constants for all elements or for each."""
    xp, text = array_namespace(x), source("searches" if constants else "elementary")
    with on_device_of(x):
        x, *own = (consecutive(column, "float64").reshape(column.shape) for column in (x, *constants))
        out, said = xp.empty_like(x), [_each(own)] if own else []
        if x.size:
            launch(xp, text, f"{name}_of_each", x.size, x, x.size, *own, *said, out)
    return out


def sampled(name: str, draws: Any, *columns: Any) -> Any:
    """A number for each element of a block, by a kernel: see `numpy_draws.sampled`."""
    if not columns:
        return elementwise(name, draws.fine(0))
    xp, dtype = draws.xp, dtype_name(columns[0])
    with on_device_of(columns[0]):
        states = number_by_number(convert(draws.states(), xp))
        n, *tables = pieces(xp, draws.begins, draws.lengths, draws.rows, draws.streams)
        jumps = matrices(xp, [draws.first * OUTPUT_STEPS, draws.step * OUTPUT_STEPS])
        own = [consecutive(column, dtype) for column in columns]
        out, lost = xp.empty((n,), dtype=dtype_of(xp, dtype)), xp.zeros((1,), dtype=dtype_of(xp, "int32"))
        launch(xp, source("samplers"), name, n, states, *tables, jumps, *own, _each(own), out, lost)
        failed = concrete_int(lost[0])
    if failed:
        raise RuntimeError(f"a thousand attempts were not enough for {failed} elements")
    return out
