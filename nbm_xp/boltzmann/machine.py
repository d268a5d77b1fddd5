"""The arrays of a model, apart from it: what chains are computed with, in any library and any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from nbm_xp.machines import Array, RandomState
from nbm_xp.machines.randomness import entropy_of, next_seed
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    get_namespace,
    host_namespace,
    is_lazy,
    library_name,
    to_numpy,
)

from . import storage
from .state import MachineState
from .topology import Topology

__all__ = ["Fitted", "Machine", "machine_and_seed"]


class Fitted(Protocol):
    """A model that has parameters."""

    @property
    def state_(self) -> MachineState:
        """What has been learnt."""


@dataclass(frozen=True, eq=False)
class Machine:
    """The arrays of a model, as they are when this is made; it can be sent to other processes.

    Attributes
    ----------
    topology : Topology
    arrays : tuple of arrays
        The weights, then the biases.
    base_rate : array of shape (visible units,)
    ladder : tuple of arrays
        The same as `arrays` of the machines that it exchanged states with in training, stacked; empty if none.
    ended : tuple of arrays of shape (machines, units, chains)
        The last states of the chains of that training, of ``topology.retained``.
    """

    topology: Topology
    arrays: tuple[Array, ...]
    base_rate: Array
    ladder: tuple[Array, ...] = ()
    ended: tuple[Array, ...] = ()

    @classmethod
    def of(cls, model: Fitted) -> Self:
        """That of a model that has parameters."""
        return cls.of_state(model.state_)

    @classmethod
    def of_state(cls, state: MachineState) -> Self:
        """That of a model's state."""
        kept, ladder = state.variables, {}
        if f"{storage.LADDER}turn" in kept:
            ladder["ladder"] = tuple(kept[storage.LADDER + name].value for name in storage.names(state.topology))
            ended = (kept[f"{storage.LADDER}state.{layer}"].value for layer in state.topology.retained)
            ladder["ended"] = tuple(ended)
        return cls(state.topology, tuple(part.value for part in state.parameters), state.base_rate, **ladder)

    def to(self, library: str) -> Machine:
        """The same in another library, by way of host memory."""
        if library == self.library:
            return self
        xp, groups = get_namespace(library), (self.arrays, (self.base_rate,), self.ladder, self.ended)
        arrays, (rate,), ladder, ended = (tuple(asarray(to_numpy(part), xp) for part in group) for group in groups)
        return Machine(self.topology, arrays, rate, ladder, ended)

    @property
    def library(self) -> str:
        """The name of the library of the arrays."""
        return library_name(self.arrays[0])

    @property
    def dtype(self) -> str:
        """Their dtype."""
        return dtype_name(self.arrays[0])

    @property
    def is_lazy(self) -> bool:
        """Whether the weights are computed later, tile by tile."""
        return is_lazy(array_namespace(self.arrays[0]))

    @property
    def n_pairs(self) -> int:
        """How many pairs of neighbours the ladder has: one for each machine below this one."""
        return int(self.ladder[-1].shape[0]) if self.ladder else 0

    @property
    def base_bias(self) -> Array:
        """The visible biases of the model without weights that is most like the data, in host memory."""
        return self.topology.base_bias(self.base_rate)


def machine_and_seed(
    model: Fitted, library: str | None, random_state: RandomState, *given: Array
) -> tuple[Machine, int, str | None]:
    """The machine of a model for chains in a library, their seed, and the name of a lazy library for results.

    Parameters
    ----------
    model : model of this package
    library : str, optional
        By default that of the first array of `given` that is not in host memory, else the model's.
    random_state : int, None, or generator
        None takes the next seed of the model's streams.
    *given : arrays
    """
    machine, host = Machine.of(model), library_name(host_namespace())
    if library is None:
        library = next((name for name in map(library_name, given) if name != host), machine.library)
    lazy = is_lazy(get_namespace(library))
    seed = next_seed(model.state_.rng) if random_state is None else entropy_of(random_state)
    if not lazy:
        return machine.to(library), seed, None
    return (machine, seed, None) if machine.is_lazy else (machine.to(host), seed, library)
