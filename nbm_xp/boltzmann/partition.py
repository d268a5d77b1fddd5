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
from nbm_xp.machines.enumeration import state_digits
from nbm_xp.namespace import array_namespace, asarray, host_namespace, to_numpy, use_backend, wide_dtypes

from .bridging import LadderEstimate
from .energy import Parameters, draw_layer, free_energy, local_field, marginalised_layer, mean_of
from .topology import Topology

__all__ = [
    "LARGEST", "AISEstimate", "Enumerated", "base_log_partition", "constant", "enumerable_group", "estimate",
    "exact_log_partition", "is_enumerable", "log_partition", "log_weights", "log_z_of", "log_partition_of_biases",
]  # fmt: skip

LARGEST = 20
_AT_ONCE = 2**12  # states in one matrix product


def enumerable_group(topology: Topology) -> tuple[int, ...]:
    """The group to sum out in closed form, so that the states of all other layers can be enumerated.

    Raises
    ------
    ValueError
        If too many units are left, or such as have no list of states.
    """
    for group in sorted(topology.groups, key=lambda group: -sum(topology.sizes[layer] for layer in group)):
        if enumerable(topology, [layer for layer in topology.layers if layer not in group]):
            return group
    kinds = sorted({units.name for units in topology.units})
    of = "" if kinds == ["binary"] else f" ({', '.join(kinds)})"
    raise ValueError(
        f"the exact partition function is for machines with at most {LARGEST} binary units outside of one group of "
        f"unconnected layers, or as many states of others, this one has layers of {list(topology.sizes)} units{of}: "
        "estimate it with ais()"
    )


def enumerable(topology: Topology, layers: Sequence[int]) -> bool:
    """Whether some layers have a list of states, of no more than so many."""
    radices = [topology.radices(layer) for layer in layers]
    if None in radices:
        return False
    return sum(math.log2(radix) for each in radices for radix in each or ()) <= LARGEST


def is_enumerable(topology: Topology) -> bool:
    """Whether `enumerable_group` finds a group."""
    try:
        return bool(enumerable_group(topology))
    except ValueError:
        return False


def log_weights(parameters: Parameters) -> tuple[Any, list[int], tuple[int, ...]]:
    """The logarithms of the weights of all states of some layers, the others summed out, in double precision.

    Returns
    -------
    log_weights : array of shape (states,)
        In host memory; their log-sum-exp is log Z.
    layers : list of int
        The layers whose states are enumerated, rising; those of the last site run fastest.
    marginalised : tuple of int
        The layers that are summed out.

    Raises
    ------
    ValueError
        If there are more than 20 units to enumerate.
    """
    topology = parameters.topology
    group = enumerable_group(topology)
    exact = parameters.like(B.cast(parameter, "float64") for parameter in parameters)
    layers = [layer for layer in topology.layers if layer not in group]
    radices = _radices(topology, layers)
    high, at_once = len(radices), 1
    while high and at_once * radices[high - 1] <= _AT_ONCE:
        high -= 1
        at_once *= radices[high]
    fast, slow = (
        constant(state_digits(host_namespace().arange(math.prod(part)), part), "float64")
        for part in (radices[high:], radices[:high])
    )

    def part(numbers: Any) -> Any:
        sites = B.concatenate([B.zeros((at_once, high), dtype="float64") + numbers, fast], axis=1)
        return -free_energy(exact, _split(exact, layers, sites), group)

    if not high:
        return to_numpy(B.eval(-free_energy(exact, _split(exact, layers, fast), group))), layers, group
    parts, updates = B.scan(part, sequences=[slow])
    found = B.function([], B.reshape(parts, (math.prod(radices),)), updates=updates, name="log_weights")()
    return to_numpy(found), layers, group


def exact_log_partition(parameters: Parameters) -> float:
    """Log Z by enumerating the states of all layers but one group of unconnected ones, in double precision.

    Raises
    ------
    ValueError
        If these layers have more than 20 units.
    """
    return float(B.logsumexp(log_weights(parameters)[0]))


def log_partition(model: Any) -> float:
    """Log Z of a model by enumeration: see `RBM.log_partition`."""
    with use_backend(model.state_.library) as xp, wide_dtypes(xp):
        return exact_log_partition(model.state_.parameters)


@dataclass(frozen=True)
class Enumerated:
    """The states of some layers of a model, all of them, to draw from.

    Attributes
    ----------
    parameters : Parameters
    layers : tuple of int
        Those layers.
    group : tuple of int
        The others, which are independent given them.
    bounds : array
        In host memory: the probability of a state or one before it.
    """

    parameters: Parameters
    layers: tuple[int, ...]
    group: tuple[int, ...]
    bounds: Any

    @classmethod
    def of(cls, parameters: Parameters) -> Enumerated:
        """Enumerate the states of a model.

        Raises
        ------
        ValueError
            If there are more than 20 units to enumerate.
        """
        found, layers, group = log_weights(parameters)
        xp = array_namespace(found)
        sums = xp.cumulative_sum(xp.exp(found - xp.max(found)))
        return cls(parameters, tuple(layers), group, sums[:-1] / sums[-1])

    @property
    def n_sites(self) -> int:
        """How many sites there are in the layers that are enumerated."""
        return sum(self.parameters.topology.sites(layer) for layer in self.layers)

    def chosen(self, uniforms: Any) -> Any:
        """The numbers of states of these layers' sites, of shape (rows, n_sites), a uniform having chosen each."""
        xp = array_namespace(uniforms)
        chosen = xp.searchsorted(self.bounds, uniforms, side="right")
        return state_digits(chosen, _radices(self.parameters.topology, self.layers))

    def drawn(self, numbers: Any, rows: int, rng: Any) -> list[Any]:
        """Whole states, as formulas: the other layers are drawn given these, of which `chosen` tells the numbers."""
        state = _split(self.parameters, self.layers, numbers)
        for layer in self.group:
            inputs = local_field(self.parameters, layer, state)
            mean = mean_of(self.parameters, layer, inputs)
            state[layer] = draw_layer(self.parameters, layer, mean, rows, rng, inputs)
        return state


def _radices(topology: Topology, layers: Sequence[int]) -> list[int]:
    """How many states each site of some layers has, which have a list of them."""
    return [radix for layer in layers for radix in topology.radices(layer) or ()]


def _split(parameters: Parameters, layers: Sequence[int], numbers: Any) -> list[Any]:
    """A state of some layers from the columns of a matrix, with a row for each state and a number for each site."""
    topology = parameters.topology
    state: list[Any] = [None] * len(topology.sizes)
    start = 0
    for layer in layers:
        end = start + topology.sites(layer)
        part = topology.units[layer].of_indices(numbers[:, start:end])
        state[layer] = B.transpose(part) if parameters.in_columns else part
        start = end
    return state


def constant(value: Any, dtype: str) -> Any:
    """Numbers for a graph; host memory goes along to whatever library the parameters are of."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def base_log_partition(topology: Topology, base: Any) -> float:
    """Log Z of the model without weights, whose visible biases are `base` and whose other biases are 0."""
    visible = float(B.eval(marginalised_layer(topology, 0, constant(to_numpy(base), "float64"))))
    hidden = list(zip(topology.sizes[1:], topology.units[1:], strict=True))
    for kind in dict.fromkeys(topology.units[1:]):
        visible += sum(kind.sites(size) for size, units in hidden if units == kind) * kind.log_volume
    return visible


def log_partition_of_biases(topology: Topology, biases: Sequence[Any]) -> float:
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
    log_weights: Any
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


def estimate(log_weights: Any, base_log_z: float, n_temperatures: int, *, reverse: bool = False) -> AISEstimate:
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
