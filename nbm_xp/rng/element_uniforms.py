"""The uniforms of the elements of a draw of a `Generator`, of all of them or of a block.

Contract: output ``j`` of element ``i`` is that of stream ``i mod 15360`` at step ``i div 15360 + j * 2**56`` after the
state of the draw. So it depends on the state, the element's place in the array and ``j`` alone: neither on how many
elements there are, nor on what others need, nor on how the array is divided; and any of them can be had on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbm_xp.namespace import asarray, convert, get_namespace, host_namespace, wide_dtypes
from nbm_xp.namespace.compiling import is_traced
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, OUTPUT_STEPS, Followed
from nbm_xp.namespace.mrg31k3p.numpy_draws import cut_at_steps

from . import recurrence
from .uniforms import (
    HOST,
    Shape,
    at_places,
    block_runs,
    elements,
    normal_of_pairs,
    numbers,
    places_of,
    span_of,
    stepwise_normals,
    touched_streams,
    two_draws,
)

__all__ = ["ElementUniforms", "of_block"]


@dataclass(frozen=True)
class ElementUniforms:
    """The uniforms of the elements of a block.

    Parameters
    ----------
    state : six ints, or six arrays without axes
        The state of the first stream.
    n : int
        How many elements the whole array has.
    begins, lengths : numpy.ndarray
        Which of them the block has, in runs.
    count : int
        How many these are.
    library : str
        The library of the uniforms.
    first, step : int
        Uniform ``j`` is made of output ``first + j * step`` of the element.
    """

    state: Followed
    n: int
    begins: Any
    lengths: Any
    count: int
    library: str
    first: int = 0
    step: int = 1
    _kept: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def xp(self) -> Any:
        """The library's namespace."""
        return get_namespace(self.library)

    @property
    def streams(self) -> int:
        """How many streams the whole array takes."""
        return max(1, min(self.n, MAX_STREAMS))

    @property
    def is_whole(self) -> bool:
        """Whether the block is the array."""
        return self.count == self.n

    def every(self, first: int, step: int) -> ElementUniforms:
        """The same, of which only every so manieth output is counted."""
        return replace(self, first=self.first + first * self.step, step=self.step * step)

    def stretches(self, length: int) -> Iterator[tuple[int, ElementUniforms]]:
        """Divide the elements into stretches of so many, each with the number of those before it."""
        self.states()  # which all of them share
        for start in range(0, self.count, length):
            yield start, self.between(start, min(start + length, self.count))

    def between(self, start: int, stop: int) -> ElementUniforms:
        """The same for the elements from one on to before another."""
        host = host_namespace()
        ends = host.cumulative_sum(self.lengths)
        starts = ends - self.lengths
        here = (ends > start) & (starts < stop)
        since = host.maximum(starts[here], start)
        begins, lengths = self.begins[here] + (since - starts[here]), host.minimum(ends[here], stop) - since
        return replace(self, begins=begins, lengths=lengths, count=stop - start)

    def states(self) -> Any:
        """The states in which the streams of the whole array start."""
        if not self._kept:
            self._kept.append(touched_streams(self.xp, self.state, self.n))
        return self._kept[0]

    def states_at(self, output: int) -> Any:
        """The states of the streams from which an output of each element follows."""
        states = self.states()
        if not output:
            return states
        if is_traced([states]):
            with wide_dtypes(self.xp):
                return recurrence.moved(self.xp, states, output * OUTPUT_STEPS)
        return touched_streams(self.xp, recurrence.jumped(self.state, output * OUTPUT_STEPS), self.n)

    def rows(self, places: Any = None) -> Any:
        """The rows of the elements at some places, those where runs begin unless told: see `recurrence.rows_at`."""
        return recurrence.rows_of(self.streams)(self.begins if places is None else places)

    def own(self, name: str) -> Callable[..., Any] | None:
        """What makes numbers of these uniforms by a kernel, called with parameters, or None."""
        compiled = kernel("rng.sampled", self.library)
        return None if compiled is None or not self.count else partial(compiled, name, self)

    def drawn(self, dtype: str, output: int = 0, line: Any = (), threads: int = 1, out: Any = None) -> Any:
        """Give a uniform of each element.

        Parameters
        ----------
        dtype : {"float16", "float32", "float64", "wide"}
            Its dtype: see `nbm_xp.rng.uniforms.elements`.
        output : int
            Which output of the element, the first of two where `dtype` is "wide".
        line : two floats, optional
            What each is multiplied by, and what is added then.
        threads, out
            See `nbm_xp.rng.uniforms.numbers`.

        Returns
        -------
        array
            Of shape (count,).
        """
        if self.is_whole:
            return numbers(self.xp, self.states_at(output), self.n, dtype, line, threads, out)
        u = elements(self.states(), self.streams, self.begins, self.lengths, dtype, self.library, output)
        return u * line[0] + line[1] if line else u

    def uniform(self, j: int, among: Any = None) -> Any:
        """Give uniform `j` of each element, of one output, or of those at some places in the block.

        Parameters
        ----------
        j : int
            Which uniform.
        among : array, optional
            int64: which elements.

        Returns
        -------
        array
            float64, of shape (count,).
        """
        return self._one("float64", j, among)

    def fine(self, j: int, among: Any = None) -> Any:
        """Give the float64 uniform of 53 bits that outputs `j` and ``j + 1`` make; see `uniform`."""
        if self.step == 1:
            return self._one("wide", j, among)
        return two_draws(self.uniform(j, among), self.uniform(j + 1, among))

    def _one(self, dtype: str, j: int, among: Any) -> Any:
        output = self.first + j * self.step
        if among is None:
            return self.drawn(dtype, output)
        xp, runs = self.xp, (self.begins, self.lengths)
        places = xp.take(asarray(places_of(*runs), xp), among, axis=0)
        if self.library == HOST and kernel("rng.runs", HOST) is not None:
            return elements(self.states(), self.streams, places, xp.ones_like(places), dtype, self.library, output)
        return at_places(xp, convert(self.states(), xp), self.streams, places, span_of(*runs), dtype, output)

    def normals(self, dtype: str, line: Any = (), threads: int = 1, out: Any = None) -> Any:
        """Give a standard normal number of each element, by the method of Box and Muller.

        Steps ``2 k`` and ``2 k + 1`` of a stream give the uniforms of a pair, whose cosine is the number of the first
        and whose sine that of the second. See `drawn` for the parameters.
        """
        xp, wide = self.xp, "wide" if dtype == "float64" else dtype
        if not self.is_whole:
            return self._normals_of_runs(wide, line)
        n, streams = self.n, self.streams
        own = kernel("rng.normals", xp)
        if own is not None and n and dtype != "float16":
            return own(convert(self.states(), xp), recurrence.rows_of(streams), n, dtype, line, threads, out)
        u = numbers(xp, self.states(), -(-n // (2 * streams)) * 2 * streams, wide, threads=threads)
        z = stepwise_normals(xp, u, streams, n) if n else u
        return z * line[0] + line[1] if line else z

    def _normals_of_runs(self, dtype: str, line: Any) -> Any:
        """Normal numbers of a block: of each element the pair that it belongs to."""
        host, xp, streams = host_namespace(), self.xp, self.streams
        begins, lengths = cut_at_steps(self.begins, self.lengths, streams)
        second = begins // streams % 2
        u1, u2 = (
            elements(self.states(), streams, begins + streams * (k - second), lengths, dtype, self.library)
            for k in (0, 1)
        )
        z = normal_of_pairs(xp, u1, u2, asarray(host.repeat(second == 1, lengths), xp))
        return z * line[0] + line[1] if line else z


def of_block(state: Followed, whole: Shape, offset: Shape, shape: Shape, library: str) -> ElementUniforms:
    """Give the uniforms of the elements of the block of some shape that begins at some place.

    Examples
    --------
    >>> of_block((234,) * 6, (2, 3), (0, 1), (2, 1), "numpy").uniform(0).round(3).tolist()
    [0.306, 0.574]
    """
    return ElementUniforms(state, math.prod(whole), *block_runs(whole, offset, shape), math.prod(shape), library)
