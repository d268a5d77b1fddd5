"""Chains that are laid out as tasks: what is asked of them, how they begin, and how what is found is told.

Contract: however a graph is divided, the same arguments are taken, and the same things found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace import array_namespace, host_namespace, is_array, is_lazy
from nbm_xp.namespace.mrg31k3p.integers import State
from nbm_xp.rng import hashed_seed

from .chains import checked_states
from .clamping import Held, checked_clamp
from .clusters import CLUSTER_RULES
from .energy_model import EnergyModel
from .graph import finite
from .labels import INVERSE_TEMPERATURE, SWEEPS, about
from .observers import check_means, check_overlap, checked_correlations
from .sweeps import RULES
from .values import Values

__all__ = [
    "CORRELATIONS", "MEANS", "OVERLAP", "SUMS", "Asked", "Begun", "Found", "begun_lazily", "checked_names",
    "checked_rule", "coordinates_of", "finished",
]  # fmt: skip

SUMS: Final = ("energy", "magnetisation")
OVERLAP, CORRELATIONS, MEANS = "overlap", "correlations", "means"

Found = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""Variables, coordinates and attributes of a dataset."""


@dataclass(frozen=True)
class Asked:
    """The arguments of `GraphMachine.sample`."""

    chains: int
    sweeps: int
    burn_in: int
    beta: Any
    rule: str
    every: int
    observe: Any
    clamp: Any
    initial: Any
    after: Any
    first_chain: int
    random_state: Any
    library: Any


@dataclass(frozen=True)
class Begun:
    """How chains begin.

    Parameters
    ----------
    betas : list of floats
        Of each chain.
    seed : six ints
    first_chain, sweep : int
        The number of the first chain, and how many sweeps there were before.
    initial : array or None
        int8, with the chains first.
    names : tuple of str
        What is observed.
    held : Held or None
        Units that are held.
    """

    betas: list[float]
    seed: State
    first_chain: int
    sweep: int
    initial: Any
    names: tuple[str, ...]
    held: Held | None

    @property
    def looks(self) -> bool:
        """Whether something is observed that takes the states, and not only sums over all of a block."""
        return not set(self.names) <= {*SUMS, OVERLAP}

    def found(
        self, machine: EnergyModel, asked: Asked, axes: tuple[str, ...], states: Any, seen: list[int], totals: Any
    ) -> Found:
        """What was found, of states and sums over all units that may be lazy.

        Parameters
        ----------
        axes : tuple of str
            What those of the states are called, but for the chains'.
        states : array
        seen : list of ints
            After which sweeps was measured.
        totals : array or None
            Of shape (chains, sweeps, sums).
        """
        variables: dict[str, Any] = {"state": (("chain", *axes), states, about("last states"))}
        for name in self.names if seen else ():
            if name not in SUMS:
                continue
            values, what = finished(machine.values, machine.units_count, name, totals)
            variables[name] = (("chain", "sweep"), values, about(what))
        coordinates = coordinates_of(self.first_chain, self.betas, seen)
        sweeps = self.sweep + asked.burn_in + asked.sweeps
        attributes = {"machine": repr(machine), "rule": asked.rule, "seed": list(self.seed), "sweeps": sweeps}
        return variables, coordinates, attributes


def coordinates_of(first_chain: int, betas: Any, seen: list[int]) -> dict[str, Any]:
    """The numbers of chains and their inverse temperatures, and after which sweeps was measured."""
    host = host_namespace()
    return {
        "chain": ("chain", host.arange(first_chain, first_chain + len(betas)), about("number of the chain")),
        "sweep": ("sweep", host.asarray(seen, dtype=host.int64), about(SWEEPS)),
        "beta": ("chain", host.asarray(betas), about(INVERSE_TEMPERATURE)),
    }


def begun_lazily(
    machine: EnergyModel, asked: Asked, shape: tuple[int, ...], where: str, also: tuple[str, ...]
) -> Begun:
    """How chains of states of one shape begin; `where` says how they are divided, `also` what else can be observed.

    Raises
    ------
    ValueError
        If it is not what such chains can.
    """
    names = checked_names(machine, asked.observe, asked.chains, f"where there are {where}", also)
    if asked.library is not None:
        raise ValueError(f"library must be left out where there are {where}")
    held = checked_clamp(machine, asked.clamp) if asked.clamp is not None else None
    betas = finite(asked.beta, "beta", (asked.chains,)).tolist()
    sweep, entropy, initial, first_chain = 0, None, asked.initial, asked.first_chain
    if asked.after is not None:
        if asked.random_state is not None or initial is not None:
            raise ValueError("after: its chains have a seed and states, so random_state and initial must be None")
        try:
            entropy, sweep = tuple(map(int, asked.after.attrs["seed"])), int(asked.after.attrs["sweeps"])
            initial, first_chain = asked.after["state"].data, int(asked.after["chain"].values[0])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("after must be what sample gave") from error
    seed = hashed_seed(entropy_of(asked.random_state)) if entropy is None else hashed_seed(entropy)
    if initial is not None:
        initial = _initial(machine, initial, asked.chains, shape)
    return Begun(betas, seed, first_chain, sweep, initial, names, held)


def checked_names(
    machine: EnergyModel, observe: Any, chains: int, where: str, also: tuple[str, ...]
) -> tuple[str, ...]:
    """The names of what is observed; `where` says of what chains, `also` what can be besides energy and magnetisation.

    Raises
    ------
    ValueError
        If it cannot be.
    """
    if not isinstance(observe, Iterable):
        raise ValueError(f"observe must be names, got {observe!r}: an empty list observes nothing")
    names = (observe,) if isinstance(observe, str) else tuple(observe)
    for name in names:
        if name not in (known := (*SUMS, *also)):
            raise ValueError(f"observe must be of {', '.join(known)} {where}, got {name!r}")
    if OVERLAP in names:
        check_overlap(machine, chains)
    if CORRELATIONS in names:
        checked_correlations(machine)
    if MEANS in names:
        check_means(machine)
    return names


def checked_rule(rule: str, where: str) -> None:
    """Refuse a rule that is for whole graphs alone.

    Raises
    ------
    ValueError
        If it is one.
    """
    if rule not in RULES:
        why = f": clusters reach through the whole graph, which must be undivided ({where}=None)"
        raise ValueError(
            f"rule must be one of {', '.join(RULES)} where there are {where}, got {rule!r}"
            f"{why if rule in CLUSTER_RULES else ''}"
        )


def finished(values: Values, units: int, name: str, totals: Any) -> tuple[Any, str]:
    """What sums over all units, of shape (…, sums), say of a unit; and what to call it."""
    if name == "energy":
        return totals[..., 0] / units, "energy a unit"
    if values.kind != "potts":
        return totals[..., 1] / units, "mean value of a unit"
    share = totals[..., 1:].max(axis=-1) / units
    what = "order parameter: 0 where all values are as frequent, 1 where there is one alone"
    return (share * values.count - 1.0) / (values.count - 1.0), what


def _initial(machine: EnergyModel, states: Any, chains: int, shape: tuple[int, ...]) -> Any:
    """States to begin with, of shape (chains, …): an array of the units' shape, or of the lattice's."""
    array = states if is_array(states) else host_namespace().asarray(getattr(states, "data", states))
    xp = array_namespace(array)
    if math.prod(array.shape) != chains * machine.units_count:
        raise ValueError(f"initial must be of shape {(chains, *shape)}, got {tuple(array.shape)}")
    if not is_lazy(xp):
        array, xp = checked_states(machine, xp.reshape(array, (chains, -1)), chains), host_namespace()
    return xp.reshape(xp.astype(array, xp.int8), (chains, *shape))
