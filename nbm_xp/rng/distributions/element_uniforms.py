"""As many uniforms as an element needs, for the elements of a block or only some of them.

Contract: uniform ``j`` of an element is what the ``j``-th draw after the first, of the same size
and from the same streams, gives for that element. So it depends on the element's place in the whole array and on
``j``, neither on what other elements need nor on how the array is divided, and any of them can be had on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import asarray, concrete_int, dtype_of, get_namespace, host_namespace, put
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, State

from .. import recurrence
from ..runs import block_runs, later_draw
from ..uniforms import HOST, advance, elements, from_integers, numbers, substreams

__all__ = ["ElementUniforms", "of_block", "until_accepted"]

_FEW: Final = 4096
"""So few elements are all tried again together, where some of them failed."""

_TRIES: Final = 1000
"""No method here fails so often: less than one element in 10**100 would."""


@dataclass(frozen=True)
class ElementUniforms:
    """The uniforms of the elements of a block.

    Parameters
    ----------
    source : six ints, or array
        The state of the first stream, or the states of all streams.
    streams : int
        How many streams there are.
    n : int
        How many elements the whole array has.
    begins, lengths : numpy.ndarray
        Which of them the block has, in runs.
    library : str
        The library of the uniforms.
    first, step : int
        Uniform ``j`` is number ``first + j * step`` of the element.
    """

    source: State | Any
    streams: int
    n: int
    begins: Any
    lengths: Any
    library: str
    first: int = 0
    step: int = 1
    _states: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def xp(self) -> Any:
        """The library's namespace."""
        return get_namespace(self.library)

    @property
    def count(self) -> int:
        """How many elements the block has."""
        return concrete_int(host_namespace().sum(self.lengths))

    def every(self, first: int, step: int) -> ElementUniforms:
        """The same, of which only every so manieth uniform is counted."""
        return replace(self, first=self.first + first * self.step, step=self.step * step)

    def stretches(self, length: int) -> Iterator[tuple[int, ElementUniforms]]:
        """Divide the elements into stretches of so many, each with the number of those before it."""
        whole = replace(self, source=self.states(), _states=[])
        for start in range(0, self.count, length):
            yield start, whole.between(start, min(start + length, self.count))

    def between(self, start: int, stop: int) -> ElementUniforms:
        """The same for the elements from one on to before another."""
        host = host_namespace()
        ends = host.cumulative_sum(self.lengths)
        starts = ends - self.lengths
        here = (ends > start) & (starts < stop)
        since = host.maximum(starts[here], start)
        begins, lengths = self.begins[here] + (since - starts[here]), host.minimum(ends[here], stop) - since
        return replace(self, begins=begins, lengths=lengths, _states=[])

    def states(self) -> Any:
        """The states in which all streams start."""
        return substreams(self.source, self.streams) if isinstance(self.source, tuple) else self.source

    def rows(self, places: Any = None) -> Any:
        """The rows of the elements at some places, those where runs begin unless told: see `recurrence.rows_at`."""
        steps = (self.begins if places is None else places) // self.streams
        host = host_namespace()
        return recurrence.rows_at(host, steps, (concrete_int(host.min(steps)), concrete_int(host.max(steps))))

    def own(self, name: str) -> Callable[..., Any] | None:
        """The kernel that makes numbers of these uniforms, ``kernel(uniforms, *parameters)``, or None."""
        compiled = kernel(f"rng.{name}", self.library)
        if compiled is None or not self.count or self.streams > max(self.count, MAX_STREAMS):
            return None
        return partial(compiled, self)

    def uniform(self, j: int, among: Any = None) -> Any:
        """Give uniform `j` of each element, or of those at some places in the block.

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
        trial = self.first + j * self.step
        if among is not None:
            return self._some(trial, among)
        whole = self.begins.shape[0] == 1 and self.lengths[0] == self.n
        if whole and not self._has_random_access:
            return numbers(self.xp, self._states_before(trial), self.n, "float64")
        runs = later_draw(self.begins, self.lengths, self.n, self.streams, trial)
        return elements(self.source, self.streams, *runs, "float64", self.library)

    def integer(self, j: int, among: Any = None) -> Any:
        """Give the integer from 1 to M1 behind a uniform, as int64; see `uniform`."""
        return self.xp.astype(self.uniform(j, among) * 2.0**31, dtype_of(self.xp, "int64"))

    @property
    def _has_random_access(self) -> bool:
        """Whether a kernel makes elements at places in host memory, and no slower than in their order."""
        return self.library == HOST and kernel("rng.runs", HOST) is not None

    def _states_before(self, trial: int) -> Any:
        """The states of all streams after so many draws."""
        if not self._states:
            self._states.append(self.states())
        while len(self._states) <= trial:
            self._states.append(advance(self._states[-1], self.n))
        return self._states[trial]

    def _some(self, trial: int, among: Any) -> Any:
        """One uniform of some elements."""
        host, xp = host_namespace(), self.xp
        steps, ahead = divmod(self.n, self.streams)
        within = host.arange(self.count) - host.repeat(host.cumulative_sum(self.lengths) - self.lengths, self.lengths)
        places = xp.take(asarray(host.repeat(self.begins, self.lengths) + within, xp), among, axis=0)
        later = xp.astype(places % self.streams < ahead, dtype_of(xp, "int64"))
        places = places + trial * self.streams * (steps + later)
        if self._has_random_access:
            return elements(self.source, self.streams, places, host.ones_like(places), "float64", self.library)
        last = concrete_int(host.max(self.begins + self.lengths)) - 1
        span = concrete_int(host.min(self.begins)), last + trial * self.streams * (steps + 1)
        return from_integers(xp, recurrence.integers_at(xp, self.source, self.streams, places, span), "float64")


def of_block(
    source: State | Any,
    streams: int,
    whole: tuple[int, ...],
    offset: tuple[int, ...],
    shape: tuple[int, ...],
    library: str,
) -> ElementUniforms:
    """Give the uniforms of the elements of the block of some shape that begins at some place.

    Examples
    --------
    >>> of_block((234,) * 6, 1, (2, 3), (0, 1), (2, 1), "numpy").uniform(0).round(3).tolist()
    [0.448, 0.385]
    """
    return ElementUniforms(source, streams, math.prod(whole), *block_runs(whole, offset, shape), library)


def until_accepted(
    uniforms: ElementUniforms, each: int, attempt: Callable[..., tuple[Any, Any]], *parameters: Any
) -> Any:
    """Try again and again, each element with uniforms of its own, until it is accepted.

    Parameters
    ----------
    uniforms : ElementUniforms
        Of the elements.
    each : int
        How many uniforms an attempt takes: attempt ``t`` has numbers ``t * each`` and on.
    attempt : callable
        ``attempt(*uniforms, *parameters)`` gives values, and whether they are accepted.
    *parameters
        float64 arrays, of shape (count,) or (1,).

    Returns
    -------
    array
        Of shape (count,).
    """
    xp, n = uniforms.xp, uniforms.count
    value, done = attempt(*map(uniforms.uniform, range(each)), *parameters)
    for trial in range(1, _TRIES):
        left = n - concrete_int(xp.sum(xp.astype(done, dtype_of(xp, "int64"))))
        if not left:
            return value
        which = range(trial * each, (trial + 1) * each)
        if n <= _FEW or 4 * left > n:
            again, fits = attempt(*map(uniforms.uniform, which), *parameters)
            value, done = xp.where(done, value, again), done | fits
            continue
        places = xp.nonzero(~done)[0]
        spare = (1 << (left - 1).bit_length()) - left  # lengths that come again: some libraries compile for each
        places = xp.concat([places, xp.broadcast_to(places[:1], (spare,))]) if spare else places
        some = [parameter if parameter.shape[0] == 1 else xp.take(parameter, places) for parameter in parameters]
        again, fits = attempt(*(uniforms.uniform(j, places) for j in which), *some)
        value, done = put(value, places, again, 0), put(done, places, fits, 0)
    raise RuntimeError(f"{_TRIES} attempts were not enough for {left} elements")
