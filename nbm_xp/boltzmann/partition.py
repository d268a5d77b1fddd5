"""The partition function Z of a Boltzmann machine: exact where it is small, else estimated.

Exact: the states of all layers but one group of unconnected ones are enumerated, 2^20 at most, and the group is summed
out in closed form.

Estimated, by annealed importance sampling: chains start in a model without weights, whose Z is known and whose visible
biases match the data, and sweep through models in between, at inverse temperatures from 0 to 1, to the model itself.
Each chain gives a weight; their mean is an unbiased estimate of the ratio of the two partition functions.

References
----------
R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).
R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray, host_namespace, to_numpy

from .energy import Parameters, draw_layer, energy_within, free_energy, received, softplus, summed_layer
from .sampling import placeholder
from .topology import Topology

__all__ = [
    "LARGEST",
    "AISEstimate",
    "Path",
    "base_log_partition",
    "compile_ais",
    "enumerable_group",
    "estimate",
    "exact_log_partition",
    "log_z_of",
]

LARGEST = 20
_AT_ONCE = 12  # of the enumerated units: 4,096 states in one matrix product


def enumerable_group(topology: Topology) -> tuple[int, ...]:
    """The group to sum out in closed form, so that the states of all other layers can be enumerated.

    Raises
    ------
    ValueError
        If too many units are left, or Gaussian ones.
    """
    total = sum(topology.sizes)
    for group in sorted(topology.groups, key=lambda group: -sum(topology.sizes[layer] for layer in group)):
        rest = total - sum(topology.sizes[layer] for layer in group)
        if rest <= LARGEST and (0 in group or not topology.is_gaussian(0)):
            return group
    raise ValueError(
        f"the exact partition function is for machines with at most {LARGEST} binary units outside of one group of "
        f"unconnected layers, this one has layers of {list(topology.sizes)} units: estimate it with ais()"
    )


def exact_log_partition(parameters: Parameters) -> float:
    """Log Z by enumerating the states of all layers but one group of unconnected ones, in double precision.

    Raises
    ------
    ValueError
        If these layers have more than 20 units.
    """
    topology = parameters.topology
    group = enumerable_group(topology)
    exact = parameters.like(B.cast(parameter, "float64") for parameter in parameters)
    layers = [layer for layer in topology.layers if layer not in group]
    count = sum(topology.sizes[layer] for layer in layers)
    low = min(count, _AT_ONCE)
    states = _constant(_binary(low), "float64")

    def log_sum(units: Any) -> Any:
        state: list[Any] = [None] * len(topology.sizes)
        start = 0
        for layer in layers:
            state[layer] = units[:, start : start + topology.sizes[layer]]
            start += topology.sizes[layer]
        return B.logsumexp(-free_energy(exact, state, group))

    if low == count:
        return float(B.eval(log_sum(states)))
    rest = _constant(_binary(count - low), "float64")

    def add(bits: Any, total: Any) -> Any:
        others = B.zeros((2**low, 1), dtype="float64") + bits
        return B.logsumexp(B.stack([total, log_sum(B.concatenate([states, others], axis=1))]))

    start = _constant(-math.inf, "float64")
    totals, updates = B.scan(add, sequences=[rest], outputs_info=[start])
    return float(B.function([], totals[-1], updates=updates, name="log_partition")())


def _binary(count: int) -> list[tuple[float, ...]]:
    """All states of so many units, a row each."""
    return list(itertools.product((0.0, 1.0), repeat=count))


def _constant(value: Any, dtype: str) -> Any:
    """Numbers for a graph; host memory goes along to whatever library the parameters are of."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def base_log_partition(topology: Topology, base: Any) -> float:
    """Log Z of the model without weights, whose visible biases are `base` and whose other biases are 0."""
    visible = float(B.eval(summed_layer(topology, 0, _constant(to_numpy(base), "float64"))))
    return visible + sum(topology.sizes[1:]) * math.log(2)


def compile_ais(parameters: Parameters, base: Any, betas: Sequence[float], rows: int, rng: Any) -> Any:
    """Compile annealed importance sampling of so many chains.

    Parameters
    ----------
    parameters : Parameters of Variables
    base : Variable of shape (visible units,)
        The visible biases of the base-rate model, which has no weights and no other biases.
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1.
    rows : int
    rng : RandomStreams

    Returns
    -------
    Function
        Called with an array of any values, of shape (rows, visible units): the chains are of its library, and on Dask
        of its chunks. It returns the logarithms of the chains' weights.
    """
    topology, dtype = parameters.topology, parameters.dtype
    like = placeholder(parameters, rows, "like")
    state: list[Any] = [None] * len(topology.sizes)
    nothing = B.sum(B.zeros_like(like), axis=1, keepdims=True)
    for layer in topology.kept:
        inputs = B.zeros_like(like) + base if not layer else nothing + B.zeros_like(parameters.biases[layer])
        mean = inputs if topology.is_gaussian(layer) else B.sigmoid(inputs)
        state[layer] = draw_layer(parameters, layer, mean, rows, rng)
    path = Path(parameters, base)

    def anneal(cold: Any, warm: Any, *carried: Any) -> list[Any]:
        now: list[Any] = [None] * len(topology.sizes)
        *states, log_weight = carried
        for layer, value in zip(topology.kept, states, strict=True):
            now[layer] = value
        gain, now = path.step(cold, warm, now, rows, rng)
        return [*(now[layer] for layer in topology.kept), log_weight + B.cast(gain, "float64")]

    ladder = [_constant(list(part), dtype) for part in (betas[1:], betas[:-1])]
    start = [*(state[layer] for layer in topology.kept), B.cast(B.sum(B.zeros_like(like), axis=1), "float64")]
    (*_, log_weights), updates = B.scan(anneal, sequences=ladder, outputs_info=start)
    return B.function([like], log_weights[-1], updates=updates, name="ais")


@dataclass(frozen=True)
class Path:
    """The models between the base-rate model and this one, whose energies are mixed in proportion.

    Attributes
    ----------
    parameters : Parameters
    base : Variable of shape (visible units,)
    """

    parameters: Parameters
    base: Any

    @property
    def excess(self) -> Parameters:
        """What the model has over the base-rate model."""
        visible, *hidden = self.parameters.biases
        return Parameters(self.parameters.topology, self.parameters.weights, (visible - self.base, *hidden))

    def received(self, beta: Any, layer: int, state: Sequence[Any]) -> Any:
        """What a layer receives at an inverse temperature."""
        return self.at(beta, layer, received(self.excess, layer, state))

    def at(self, beta: Any, layer: int, inputs: Any) -> Any:
        """What a layer receives at an inverse temperature, from what it receives of the excess."""
        return self.base + beta * inputs if not layer else beta * inputs

    def step(self, cold: Any, warm: Any, state: list[Any], rows: int, rng: Any) -> tuple[Any, list[Any]]:
        """The logarithm of the ratio of a state's weights at two temperatures; then a sweep at the first of them.

        The state is told by ``topology.kept``, and its weight the sum over the states of the other layers.
        """
        topology = self.parameters.topology
        inputs = {layer: received(self.excess, layer, state) for layer in topology.summed}
        gain = (warm - cold) * energy_within(self.excess, state, topology.kept)
        for whole in inputs.values():
            gain = gain + B.sum(softplus(cold * whole) - softplus(warm * whole), axis=1)
        for group in topology.sweep:
            means = {}
            for layer in group:
                now = self.at(cold, layer, inputs[layer]) if layer in inputs else self.received(cold, layer, state)
                means[layer] = now if topology.is_gaussian(layer) else B.sigmoid(now)
            for layer, mean in means.items():
                state[layer] = draw_layer(self.parameters, layer, mean, rows, rng)
        return gain, state


@dataclass(frozen=True)
class AISEstimate:
    """What annealed importance sampling found.

    Attributes
    ----------
    log_z : float
        The logarithm of the estimate of Z.
    log_z_low, log_z_high : float
        The logarithms of that estimate less and plus three of its standard errors. The lower is -inf where three
        standard errors exceed the estimate: then there are too few chains or temperatures.
    standard_error : float
        The standard error of the estimate of Z, relative to it; where it is small, that of `log_z`.
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


def log_z_of(known: float | AISEstimate) -> float:
    """Log Z, from an estimate or as a number."""
    return float(known.log_z if isinstance(known, AISEstimate) else known)


def estimate(log_weights: Any, base_log_z: float, n_temperatures: int) -> AISEstimate:
    """Log Z and its error bars from the logarithms of the chains' weights, in host memory."""
    count = log_weights.shape[0]
    top = float(B.max(log_weights))
    weights = B.exp(log_weights - top)
    mean = float(B.mean(weights))
    spread = float(B.sum(B.square(weights - mean))) / max(count - 1, 1)
    relative = math.sqrt(spread / count) / mean if count > 1 else math.inf
    log_z = base_log_z + top + math.log(mean)
    return AISEstimate(
        log_z=log_z,
        log_z_low=log_z + math.log1p(-3 * relative) if 3 * relative < 1 else -math.inf,
        log_z_high=log_z + math.log1p(3 * relative),
        standard_error=relative,
        effective_runs=(count * mean) ** 2 / float(B.sum(B.square(weights))),
        log_weights=log_weights,
        n_temperatures=n_temperatures,
    )
