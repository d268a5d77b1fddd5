"""The partition function Z of a Boltzmann machine: exact where it is small, else estimated.

Exact: the states of all layers but one group of unconnected ones are enumerated, 2^20 at most, and the group is summed
out in closed form.

Estimated: from the weights of chains that `annealing` makes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.enumeration import state_digits
from nbm_xp.namespace import asarray, host_namespace, to_numpy, use_backend, wide_dtypes

from .bridging import LadderEstimate
from .energy import Parameters, free_energy, marginalised_layer
from .topology import Topology

__all__ = [
    "AISEstimate", "base_log_partition", "constant", "estimate", "is_enumerable", "log_partition",
    "log_partition_of_biases", "log_z_of",
]  # fmt: skip

_LARGEST = 20
_AT_ONCE = 2**12  # states in one matrix product


def _enumerable_group(topology: Topology) -> tuple[int, ...]:
    """The group to sum out in closed form, so that the states of all other layers can be enumerated; none, if not."""
    for group in sorted(topology.groups, key=lambda group: -sum(topology.sizes[layer] for layer in group)):
        radices = [topology.radices(layer) for layer in topology.layers if layer not in group]
        if None not in radices and sum(math.log2(radix) for each in radices for radix in each or ()) <= _LARGEST:
            return group
    return ()


def is_enumerable(topology: Topology) -> bool:
    """Whether `log_partition` can tell log Z."""
    return bool(_enumerable_group(topology))


def log_partition(model: Any) -> float:
    """Log Z of a model by enumeration, in double precision: see `RBM.log_partition`."""
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
    radices = [radix for layer in layers for radix in topology.radices(layer) or ()]
    first = len(radices)
    while first and math.prod(radices[first - 1 :]) <= _AT_ONCE:
        first -= 1
    at_once, host = math.prod(radices[first:]), host_namespace()
    low = state_digits(host.arange(at_once, dtype=host.int32), radices)  # of all sites: 0 before `first`
    high = state_digits(host.arange(math.prod(radices[:first])) * at_once, radices)
    with use_backend(model.state_.library) as xp, wide_dtypes(xp):
        exact = parameters.like(B.cast(parameter, "float64") for parameter in parameters)
        sites = B.placeholder(shape=(at_once, len(radices)), dtype="float64")
        found = B.function([sites], free_energy(exact, _split(exact, layers, sites), group), name="log_partition")
        blocks = [-to_numpy(found(asarray(low + digits, host, "float64"))) for digits in high]
    return float(B.logsumexp(host.concat(blocks)))


def _split(parameters: Parameters, layers: Sequence[int], numbers: Array) -> list[Array]:
    """A state of some layers from the columns of a matrix, with a row for each state and a number for each site."""
    topology = parameters.topology
    state: list[Array] = [None] * len(topology.sizes)
    start = 0
    for layer in layers:
        end = start + topology.sites(layer)
        state[layer] = topology.units[layer].of_indices(numbers[:, start:end])
        start = end
    return state


def constant(value: Array, dtype: str) -> Array:
    """Numbers for a graph; host memory goes along to whatever library the parameters are of."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def base_log_partition(topology: Topology, base: Array) -> float:
    """Log Z of the model without weights, whose visible biases are `base` and whose other biases are 0."""
    return log_partition_of_biases(topology, [to_numpy(base), *([0.0] * size for size in topology.sizes[1:])])


def log_partition_of_biases(topology: Topology, biases: Sequence[Array]) -> float:
    """Log Z of a model without weights, from the biases of its layers."""
    parts = (marginalised_layer(topology, layer, constant(bias, "float64")) for layer, bias in enumerate(biases))
    return sum(float(B.eval(part)) for part in parts)


@dataclass(frozen=True)
class AISEstimate:
    """What annealed importance sampling found.

    Attributes
    ----------
    log_z : float
        The logarithm of the estimate of Z.
    log_z_low, log_z_high : float
        The logarithms of that estimate less and plus three of its standard errors; of chains in reverse, whose weights
        estimate the inverse of Z, the logarithms of the inverses. The lower is -inf, or the upper inf, where three
        standard errors exceed the estimate: then there are too few chains or temperatures.
    standard_error : float
        The standard error of the mean weight, relative to it; where it is small, that of `log_z`.
    effective_runs : float
        How many equal weights would estimate as well as these: close to the number of chains, the weights are even.
    log_weights : array
        The logarithm of each chain's weight.
    n_temperatures : int
        How many models the chains went through, both ends included.
    """

    log_z: float
    log_z_low: float
    log_z_high: float
    standard_error: float
    effective_runs: float
    log_weights: Array
    n_temperatures: int

    def __str__(self) -> str:
        """The estimate with its bounds, as one would quote it."""
        return f"log Z = {self.log_z:.2f} (3 s.e.: {self.log_z_low:.2f} to {self.log_z_high:.2f})"


def log_z_of(known: float | AISEstimate | LadderEstimate, name: str = "log_z") -> float:
    """Log Z, from an estimate or as a number.

    Raises
    ------
    ValueError
        If it is no finite number, nor an estimate.
    """
    if isinstance(known, (AISEstimate, LadderEstimate)):
        return known.log_z
    scalar = hasattr(known, "__float__") and not isinstance(known, (str, bool)) and not getattr(known, "shape", ())
    if not scalar or not math.isfinite(known):
        raise ValueError(f"{name} must be a finite number, an AISEstimate or a LadderEstimate, got {known!r}")
    return float(known)


def estimate(log_weights: Array, base_log_z: float, n_temperatures: int, *, reverse: bool = False) -> AISEstimate:
    """Log Z and its error bars from the logarithms of the chains' weights, in host memory.

    Weights of chains from the base-rate model estimate the ratio of the model's Z to the base-rate model's; those of
    chains in reverse estimate its inverse.
    """
    count = log_weights.shape[0]
    top = float(B.max(log_weights))
    weights = B.exp(log_weights - top)
    mean = float(B.mean(weights))
    spread = float(B.sum(B.square(weights - mean))) / max(count - 1, 1)
    relative = math.sqrt(spread / count) / mean if count > 1 else math.inf
    log_ratio = top + math.log(mean)
    less = math.log1p(-3 * relative) if 3 * relative < 1 else -math.inf
    more = math.log1p(3 * relative)
    log_z = base_log_z + (-log_ratio if reverse else log_ratio)
    return AISEstimate(
        log_z=log_z,
        log_z_low=log_z + (-more if reverse else less),
        log_z_high=log_z + (-less if reverse else more),
        standard_error=relative,
        effective_runs=(count * mean) ** 2 / float(B.sum(B.square(weights))),
        log_weights=log_weights,
        n_temperatures=n_temperatures,
    )
