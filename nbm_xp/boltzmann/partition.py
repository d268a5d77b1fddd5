"""The partition function Z of a Boltzmann machine: exact where it is small, else estimated.

Exact: the states of all layers but one group of unconnected ones are enumerated, 2^20 at most, and the group is summed
out in closed form.

Estimated: from the weights of chains that `annealing` makes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, asarray, host_namespace, to_numpy

from .bridging import LadderEstimate
from .energy import Parameters, draw_layer, expectation, free_energy, summed_layer
from .topology import Topology

__all__ = [
    "LARGEST",
    "AISEstimate",
    "Enumerated",
    "base_log_partition",
    "constant",
    "enumerable_group",
    "estimate",
    "exact_log_partition",
    "exact_states",
    "is_enumerable",
    "log_weights",
    "log_z_of",
    "summed_biases",
]

LARGEST = 20
_AT_ONCE = 12  # of the enumerated units: 4,096 states in one matrix product


def enumerable_group(topology: Topology) -> tuple[int, ...]:
    """The group to sum out in closed form, so that the states of all other layers can be enumerated.

    Raises
    ------
    ValueError
        If too many units are left, or such as have no list of states.
    """
    total = sum(topology.sizes)
    for group in sorted(topology.groups, key=lambda group: -sum(topology.sizes[layer] for layer in group)):
        rest = total - sum(topology.sizes[layer] for layer in group)
        listed = all(topology.units[layer].states for layer in topology.layers if layer not in group)
        if rest <= LARGEST and listed:
            return group
    raise ValueError(
        f"the exact partition function is for machines with at most {LARGEST} binary units outside of one group of "
        f"unconnected layers, this one has layers of {list(topology.sizes)} units: estimate it with ais()"
    )


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
    log_weights : array of shape (2^units,)
        In host memory; their log-sum-exp is log Z.
    layers : list of int
        The layers whose states are enumerated, rising: `binary_states` tells them.
    summed : tuple of int
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
    count = sum(topology.sizes[layer] for layer in layers)
    low = min(count, _AT_ONCE)
    high = count - low
    fast = constant(list(itertools.product((0.0, 1.0), repeat=low)), "float64")
    slow = constant(list(itertools.product((0.0, 1.0), repeat=high)), "float64")

    def part(bits: Any) -> Any:
        units = B.concatenate([B.zeros((2**low, high), dtype="float64") + bits, fast], axis=1)
        return -free_energy(exact, _split(exact, layers, units), group)

    if not high:
        return to_numpy(B.eval(-free_energy(exact, _split(exact, layers, fast), group))), layers, group
    parts, updates = B.scan(part, sequences=[slow])
    found = B.function([], B.reshape(parts, (2**count,)), updates=updates, name="log_weights")()
    return to_numpy(found), layers, group


def exact_log_partition(parameters: Parameters) -> float:
    """Log Z by enumerating the states of all layers but one group of unconnected ones, in double precision.

    Raises
    ------
    ValueError
        If these layers have more than 20 units.
    """
    return float(B.logsumexp(log_weights(parameters)[0]))


def exact_states(parameters: Parameters, rows: int, rng: Any) -> list[Any]:
    """States drawn from the model itself, exactly, in host memory, an array for each layer.

    Parameters
    ----------
    parameters : Parameters
    rows : int
    rng : RandomStreams
        One uniform for each row chooses the states that are enumerated, then the other layers draw.

    Raises
    ------
    ValueError
        If there are more than 20 units to enumerate.
    """
    states = Enumerated.of(parameters)
    uniforms = to_numpy(B.function([], B.random_uniform((rows,), dtype="float64", rng=rng), name="choices")())
    state = states.drawn(constant(states.chosen(uniforms), parameters.dtype), rows, rng)
    return [to_numpy(values) for values in B.function([], state, name="exact_states")()]


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
    def n_units(self) -> int:
        """How many units there are in the layers that are enumerated."""
        return sum(self.parameters.topology.sizes[layer] for layer in self.layers)

    def chosen(self, uniforms: Any) -> Any:
        """The units of states of these layers, of shape (rows, n_units), a uniform having chosen each."""
        xp = array_namespace(uniforms)
        chosen = xp.searchsorted(self.bounds, uniforms, side="right")
        places = xp.arange(self.n_units - 1, -1, -1, dtype=chosen.dtype)
        return (chosen[:, None] >> places) & 1

    def drawn(self, units: Any, rows: int, rng: Any) -> list[Any]:
        """Whole states, as formulas: the other layers are drawn given the units of these."""
        state = _split(self.parameters, self.layers, units)
        for layer in self.group:
            mean = expectation(self.parameters, layer, state)
            state[layer] = draw_layer(self.parameters, layer, mean, rows, rng)
        return state


def _split(parameters: Parameters, layers: Sequence[int], units: Any) -> list[Any]:
    """A state of some layers from the columns of a matrix, which has a row for each state, of places in `states`."""
    sizes = parameters.topology.sizes
    state: list[Any] = [None] * len(sizes)
    start = 0
    for layer in layers:
        part = parameters.topology.units[layer].listed(units[:, start : start + sizes[layer]])
        state[layer] = B.transpose(part) if parameters.in_columns else part
        start += sizes[layer]
    return state


def constant(value: Any, dtype: str) -> Any:
    """Numbers for a graph; host memory goes along to whatever library the parameters are of."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def base_log_partition(topology: Topology, base: Any) -> float:
    """Log Z of the model without weights, whose visible biases are `base` and whose other biases are 0."""
    visible = float(B.eval(summed_layer(topology, 0, constant(to_numpy(base), "float64"))))
    hidden = list(zip(topology.sizes[1:], topology.units[1:], strict=True))
    for kind in dict.fromkeys(topology.units[1:]):
        visible += sum(size for size, units in hidden if units is kind) * kind.log_volume
    return visible


def summed_biases(topology: Topology, biases: Sequence[Any]) -> float:
    """Log Z of a model without weights, from the biases of its layers."""
    parts = (summed_layer(topology, layer, constant(bias, "float64")) for layer, bias in enumerate(biases))
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


def log_z_of(known: float | AISEstimate | LadderEstimate) -> float:
    """Log Z, from an estimate or as a number.

    Raises
    ------
    ValueError
        If it is no finite number, nor an estimate.
    """
    if isinstance(known, (AISEstimate, LadderEstimate)):
        return known.log_z
    if isinstance(known, (str, bool)) or not hasattr(known, "__float__") or not math.isfinite(known):
        raise ValueError(f"log_z must be a finite number or an AISEstimate, got {known!r}")
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
