"""MRG31k3p for CuPy arrays: uniforms, normal numbers, ones and zeros, runs of uniforms, and states after draws.

Contract: the bits of `nbm_xp.rng.uniforms`; one launch for a draw and the states after it;
neighbouring threads write neighbouring elements.

In a whole draw a thread carries one stream over some steps: it jumps to the first by matrices, then takes one after
the other; the thread that takes a stream's last step leaves its state behind. Runs of elements from anywhere in a draw,
such as make up a block of Dask's, are made by random access: a thread multiplies the row of an output, which the host
works out, with the state in which a stream starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.namespace.conversion import asarray
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_name, dtype_of
from nbm_xp.namespace.libraries import host_namespace

from .cuda_launching import (
    P_TYPES,
    REALS,
    SAMPLES,
    consecutive,
    launch,
    matrices,
    number_by_number,
    on_device_of,
    source,
)
from .numpy_draws import cut_at_steps

__all__ = [
    "advance", "bernoulli", "box_muller", "divided", "draw", "draw_wide", "normals", "pieces", "runs", "runs_wide",
]  # fmt: skip


def divided(streams: int, n: int) -> tuple[int, int, list[int]]:
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
    """What numbers are multiplied by, and what is added then."""
    return asarray(list(scale_and_shift) or [1.0, 0.0], array_namespace(states), dtype)


def draw(
    states: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams: see `numpy_draws.draw`; `threads` says nothing here."""
    with on_device_of(states):
        out = _memory(states, n, dtype, out)
        line = _line(states, dtype, scale_and_shift)
        return out, _carried(source("draw", **REALS[dtype]), "draw", states, n, line, bool(scale_and_shift), out)


def bernoulli(
    states: Any, p: Any, shape: Any, sample: str, dtype: str, threads: int = 1
) -> tuple[Any, Any, None] | None:
    """Compare the next uniforms of the streams with probabilities: see `numpy_trials.bernoulli`.

    It does not look at what the probabilities are, and leaves those on another device than the states to CuPy.
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


def draw_wide(states: Any, n: int, scale_and_shift: Any = (), threads: int = 1, out: Any = None) -> Any:
    """Draw the next `n` uniforms of the streams, of 53 bits: see `numpy_draws.draw_wide`."""
    return _whole("draw_wide", source("wide"), states, n, "float64", scale_and_shift, out)


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
    return _runs("runs", source("runs", **REALS[dtype]), begins, lengths, rows, states, dtype)


def runs_wide(begins: Any, lengths: Any, rows: Any, states: Any) -> Any:
    """Draw runs of consecutive elements of a draw, of 53 bits: see `numpy_draws.runs`."""
    return _runs("runs_wide", source("wide"), begins, lengths, rows, states, "float64")


def _runs(name: str, text: str, begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    xp = array_namespace(states)
    with on_device_of(states):
        n, *tables = pieces(xp, begins, lengths, rows, states.shape[0])
        out = xp.empty((n,), dtype=dtype_of(xp, dtype))
        launch(xp, text, name, n, number_by_number(states), *tables, out)
    return out


def advance(states: Any, n: int) -> Any:
    """Give the states after `n` elements were drawn, without drawing them: see `numpy_draws.advance`."""
    xp, streams = array_namespace(states), states.shape[0]
    steps, ahead = divmod(n, streams)
    with on_device_of(states):
        numbers = number_by_number(states)
        after = xp.empty_like(numbers)
        moves = matrices(xp, [steps + 1, steps])
        launch(xp, source("advance"), "advance", streams, moves, numbers, streams, ahead, after)
    return after.T


def pieces(xp: Any, begins: Any, lengths: Any, rows: Callable[[Any], Any], streams: int) -> tuple[int, Any, Any]:
    """The tables that tell a thread which element of a draw is its own: see ``devices/pieces.cuh``.

    Parameters
    ----------
    xp : namespace
        CuPy's.
    begins, lengths : numpy.ndarray
        int64: where runs of elements begin, and how long they are.
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places.
    streams : int
        How many streams there are.

    Returns
    -------
    n : int
        How many elements there are.
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
