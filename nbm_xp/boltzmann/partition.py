"""The exact partition function Z of small Boltzmann machines.

One group of unconnected layers is summed out in closed form, and the states of all other layers, at most 2^20, are
enumerated. `annealing` and `ladder` estimate Z of larger machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.enumeration import state_digits
from nbm_xp.namespace import asarray, host_namespace, to_numpy, use_backend, wide_dtypes

from .energy import Parameters, free_energy
from .topology import Topology

_LARGEST = 20  # bits of the enumerated states
_AT_ONCE = 2**12  # states in one matrix product


def _enumerable_group(topology: Topology) -> tuple[int, ...]:
    """Return the group to sum out such that the states of all other layers can be enumerated; empty if impossible."""
    for group in sorted(topology.groups, key=lambda group: -sum(topology.sizes[layer] for layer in group)):
        radices = [topology.radices(layer) for layer in topology.layers if layer not in group]
        if None not in radices and sum(math.log2(radix) for each in radices for radix in each or ()) <= _LARGEST:
            return group
    return ()


def is_enumerable(topology: Topology) -> bool:
    """Return whether `log_partition` can compute log Z."""
    return bool(_enumerable_group(topology))


def log_partition(model: Any) -> float:
    """Compute log Z of a model by enumeration, in double precision: see `RBM.log_partition`."""
    parameters, topology = model.state_.parameters, model.state_.topology
    group = _enumerable_group(topology)
    if not group:
        kinds = sorted({units.name for units in topology.units})
        of = "" if kinds == ["binary"] else f" ({', '.join(kinds)})"
        raise ValueError(
            f"the exact partition function is for machines with at most {_LARGEST} binary units outside of one group "
            f"of unconnected layers, or as many states of others, this one has layers of {list(topology.sizes)} "
            f"units{of}: estimate it with ais()"
        )
    layers = [layer for layer in topology.layers if layer not in group]
    with use_backend(model.state_.library) as xp, wide_dtypes(xp):
        exact = parameters.like(B.cast(parameter, "float64") for parameter in parameters)
        sites = B.placeholder(ndim=2, dtype="float64")
        found = B.function([sites], free_energy(exact, split(exact, layers, sites), group), name="log_partition")
        blocks = [-to_numpy(found(block)) for block in blocks_of_states(topology, layers)]
    return float(B.logsumexp(host_namespace().concat(blocks)))


def blocks_of_states(topology: Topology, layers: Sequence[int], most: int = _AT_ONCE) -> Iterator[Array]:
    """Yield all states of some layers, in blocks of at most `most`, as matrices of state indices: see `split`."""
    radices = [radix for layer in layers for radix in topology.radices(layer) or ()]
    first = len(radices)
    while first and math.prod(radices[first - 1 :]) <= most:
        first -= 1
    at_once, host = math.prod(radices[first:]), host_namespace()
    low = state_digits(host.arange(at_once, dtype=host.int32), radices)  # digits of all sites; 0 before `first`
    for digits in state_digits(host.arange(math.prod(radices[:first])) * at_once, radices):
        yield asarray(low + digits, host, "float64")


def split(parameters: Parameters, layers: Sequence[int], numbers: Array) -> list[Array]:
    """Return states of some layers from a matrix of shape (states, sites of these layers) of state indices."""
    topology = parameters.topology
    state: list[Array] = [None] * len(topology.sizes)
    start = 0
    for layer in layers:
        end = start + topology.sites[layer]
        state[layer] = topology.units[layer].of_indices(numbers[:, start:end])
        start = end
    return state


def constant(value: Array, dtype: str) -> Array:
    """Return numbers as a constant of a graph: in host memory, which combines with parameters of any library."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def log_z_of(known: Any, name: str = "log_z") -> float:
    """Return log Z of an `AISEstimate` or a `LadderEstimate`, or a number itself.

    Raises
    ------
    ValueError
        If it is neither a finite number nor an estimate.
    """
    known = getattr(known, "log_z", known)
    scalar = hasattr(known, "__float__") and not isinstance(known, (str, bool)) and not getattr(known, "shape", ())
    if not scalar or not math.isfinite(known):
        raise ValueError(f"{name} must be a finite number, an AISEstimate or a LadderEstimate, got {known!r}")
    return float(known)
