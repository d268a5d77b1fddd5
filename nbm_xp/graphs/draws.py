"""Which random number belongs to which unit of which chain in which sweep.

Contract: a number follows from the seed, the sweep, the slot of the unit and the number of the
chain, and from nothing else: chains can be divided, sweeps broken off and resumed, and slots made one by one, and the
numbers stay the same. Making all of them costs a step of the generator each; any of them alone six products.

Chain c has `LANES` streams of MRG31k3p, numbers ``c * LANES`` and on from the seed's state, 2**72 steps apart. A sweep
of n units takes ``ceil(n / LANES)`` steps of each of them: in sweep t, slot s has output
``t * ceil(n / LANES) + s // LANES`` of stream ``s % LANES``. Sweep 0 is the one that chains begin with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.namespace import convert, host_namespace, wide_dtypes
from nbm_xp.namespace.mrg31k3p.integers import STREAM_STEPS, State
from nbm_xp.rng import jump, substreams
from nbm_xp.rng.uniforms import advance, elements, numbers

__all__ = ["LANES", "Numbers"]

LANES: Final = 64
"""The streams of a chain: enough to fill vector instructions, few enough to stay in the first cache."""


@dataclass(frozen=True)
class Numbers:
    """The random numbers of some units, chain by chain and sweep by sweep.

    Parameters
    ----------
    seed : six ints
        The state that the streams are counted from.
    units : int
        How many slots a sweep visits.

    Examples
    --------
    >>> numbers = Numbers((234,) * 6, 100)
    >>> xp = host_namespace()
    >>> both = numbers.sweep(xp, numbers.states(0, 2, 5), 2)
    >>> alone = numbers.sweep(xp, numbers.states(1, 1, 5), 1)
    >>> both.shape, bool((both[:, 1:] == alone).all())
    ((100, 2), True)
    >>> bool((numbers.some(1, 5, 70, 80) == alone[70:80, 0]).all())
    True
    """

    seed: State
    units: int

    @property
    def steps(self) -> int:
        """How many steps of each stream a sweep takes."""
        return -(-self.units // LANES)

    def states(self, first_chain: int, chains: int, sweep: int) -> Any:
        """The states of all streams of some chains before a sweep, int32 in the host's memory.

        Of shape (LANES * chains, 6): all chains' first stream, then all chains' second one.
        """
        host = host_namespace()
        made = substreams(jump(self.seed, first_chain * LANES * STREAM_STEPS), chains * LANES)
        lanes_first = host.permute_dims(host.reshape(made, (chains, LANES, 6)), (1, 0, 2))
        return self.after(host.reshape(lanes_first, (chains * LANES, 6)), sweep)

    def after(self, states: Any, sweeps: int = 1) -> Any:
        """The states after so many sweeps more."""
        return advance(states, sweeps * self.steps * int(states.shape[0]))

    def sweep(self, xp: Any, states: Any, chains: int) -> Any:
        """The numbers of the next sweep, float64 of shape (units, chains), of a library."""
        with wide_dtypes(xp):
            drawn = numbers(xp, convert(states, xp), self.units * chains, "float64")
            return xp.reshape(drawn, (self.units, chains))

    def some(self, chain: int, sweep: int, begin: int, end: int) -> Any:
        """The numbers of some slots of one chain alone, in the host's memory."""
        host = host_namespace()
        first = jump(self.seed, chain * LANES * STREAM_STEPS)
        start = sweep * self.steps * LANES + begin
        return elements(first, LANES, host.asarray([start]), host.asarray([end - begin]), "float64")
