"""The partition function Z of a restricted Boltzmann machine: exact where one layer is small, else estimated.

Exact: the states of the smaller layer are enumerated, 2^20 at most, the other layer is summed out in closed form.

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
from nbm_xp.namespace import asarray, host_namespace

from .energy import Parameters, draw, hidden_input, shape_of, softplus

__all__ = ["LARGEST_LAYER", "AISEstimate", "base_log_partition", "compile_ais", "estimate", "exact_log_partition"]

LARGEST_LAYER = 20
_AT_ONCE = 12  # of the enumerated units: 4,096 states in one matrix product


def exact_log_partition(parameters: Parameters) -> float:
    """Log Z by enumerating the states of the smaller layer, in double precision.

    Raises
    ------
    ValueError
        If both layers have more than 20 units.
    """
    weights, hidden, visible = (B.cast(parameter, "float64") for parameter in parameters)
    n_visible, n_hidden = shape_of(parameters.weights)
    if min(n_hidden, n_visible) > LARGEST_LAYER:
        raise ValueError(
            f"the exact partition function is for models with at most {LARGEST_LAYER} hidden or visible units, this "
            f"one has {n_hidden} hidden and {n_visible} visible: estimate it with ais()"
        )
    if n_hidden <= n_visible:
        count, enumerated, other, weights = n_hidden, hidden, visible, B.transpose(weights)
    else:
        count, enumerated, other = n_visible, visible, hidden
    low = min(count, _AT_ONCE)
    states = _constant(_binary(low), "float64")
    energies = B.dot(states, enumerated[:low])
    inputs = B.dot(states, weights[:low]) + other
    if low == count:
        return float(B.eval(B.logsumexp(energies + B.sum(softplus(inputs), axis=1))))
    rest = _constant(_binary(count - low), "float64")

    def add(bits: Any, total: Any) -> Any:
        negative = energies + B.sum(softplus(inputs + B.dot(bits, weights[low:])), axis=1)
        part = B.logsumexp(negative) + B.dot(bits, enumerated[low:])
        return B.logsumexp(B.stack([total, part]))

    start = _constant(-math.inf, "float64")
    totals, updates = B.scan(add, sequences=[rest], outputs_info=[start])
    return float(B.function([], totals[-1], updates=updates, name="log_partition")())


def _binary(count: int) -> list[tuple[float, ...]]:
    """All states of so many units, a row each."""
    return list(itertools.product((0.0, 1.0), repeat=count))


def _constant(value: Any, dtype: str) -> Any:
    """Numbers for a graph; host memory goes along to whatever library the parameters are of."""
    return B.variable(asarray(value, host_namespace(), dtype), dtype=dtype)


def base_log_partition(base: Any, n_hidden: int) -> float:
    """Log Z of the model without weights and hidden biases, whose visible biases are `base`."""
    return float(B.eval(B.sum(B.maximum(base, 0.0) + B.log(1 + B.exp(-B.abs(base)))))) + n_hidden * math.log(2)


def compile_ais(parameters: Parameters, base: Any, betas: Sequence[float], rows: int, rng: Any) -> Any:
    """Compile annealed importance sampling of so many chains.

    Parameters
    ----------
    parameters : Parameters of Variables
    base : Variable of shape (visible units,)
        The visible biases of the base-rate model.
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
    n_visible, n_hidden = shape_of(parameters.weights)
    dtype = B.dtype(parameters.weights)
    like = B.placeholder(shape=(rows, n_visible), dtype=dtype, name="like")
    visible = draw(B.sigmoid(B.zeros_like(like) + base), (rows, n_visible), rng)
    excess = parameters.visible - base

    def anneal(cold: Any, warm: Any, state: Any, log_weight: Any) -> list[Any]:
        received = hidden_input(parameters, state)
        terms = softplus(cold * received) - softplus(warm * received)
        gain = (cold - warm) * B.dot(state, excess) + B.sum(terms, axis=1)
        hidden = draw(B.sigmoid(cold * received), (rows, n_hidden), rng)
        received = base + cold * (B.dot(hidden, B.transpose(parameters.weights)) + excess)
        return [draw(B.sigmoid(received), (rows, n_visible), rng), log_weight + B.cast(gain, "float64")]

    ladder = [_constant(list(part), dtype) for part in (betas[1:], betas[:-1])]
    start = [visible, B.cast(B.sum(B.zeros_like(like), axis=1), "float64")]
    (_, log_weights), updates = B.scan(anneal, sequences=ladder, outputs_info=start)
    return B.function([like], log_weights[-1], updates=updates, name="ais")


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
