"""Annealed importance sampling: chains from a model whose Z is known to this one, or in reverse.

A chain starts in a model without weights, whose visible biases match the data, and sweeps through models in between, at
inverse temperatures from 0 to 1, to the model itself. Each chain gives a weight; their mean is an unbiased estimate of
the ratio of the two partition functions, so the logarithm of it is, on average, no more than the ratio's: too few
chains or temperatures make log Z too small. In reverse, from states of the model itself to the model without weights,
the mean of the weights estimates the inverse of the ratio, and log Z comes out too large, if anything. Together they
tell how far to trust either.

References
----------
R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).
R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using reverse
annealing", AISTATS 2015.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters, draw_layer, energy_within, local_field, mean_of
from .partition import constant
from .rows import positive_int, shortened
from .sampling import compile_chains, counted, placeholder, rows_told, told_placeholders

__all__ = ["Path", "compile_ais", "inverse_temperatures"]


def inverse_temperatures(n_temperatures: int, betas: Sequence[float] | None) -> list[float]:
    """The inverse temperatures of annealing, rising from 0 to 1: so many evenly, or those given, checked."""
    if betas is None:
        steps = positive_int(n_temperatures, "n_temperatures", 2) - 1
        return [step / steps for step in range(steps + 1)]
    try:
        ladder = [float(beta) for beta in betas]
    except (TypeError, ValueError):
        raise ValueError(f"betas must be numbers that rise from 0 to 1, got {shortened(repr(betas))}") from None
    rising = all(low <= high for low, high in itertools.pairwise(ladder))
    if len(ladder) < 2 or not rising or ladder[0] != 0.0 or ladder[-1] != 1.0:
        raise ValueError(f"betas must rise from 0 to 1, at least two of them, got {shortened(repr(ladder))}")
    return ladder


def compile_ais(
    parameters: Parameters, base: Any, betas: Sequence[float], rows: int, rng: Any, *, given: bool = False
) -> Any:
    """Compile annealed importance sampling of so many chains.

    Parameters
    ----------
    parameters : Parameters of Variables
    base : Variable of shape (visible units,)
        The visible biases of the base-rate model, which has no weights and no other biases.
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1, or falling from 1 to 0.
    rows : int
    rng : RandomStreams
        First, unless they are given, every layer of ``topology.retained`` draws its start, in rising order; then the
        sweeps draw.
    given : bool, optional
        Whether the chains' first states are given.

    Returns
    -------
    Function
        Called with the first states of the layers of ``topology.retained``; else with an array of any values, of shape
        (rows, visible units): the chains are of its library, and on Dask of its chunks. It returns the logarithms of
        the chains' weights.
    """
    topology, dtype = parameters.topology, parameters.dtype
    path, known = Path(parameters, base), rows_told(parameters, rows)
    if given:
        inputs, state = told_placeholders(parameters, topology.retained, known)
    else:
        inputs = [placeholder(parameters, known, "like")]
    chains, rng = counted(inputs[0], rows, rng)
    if not given:
        state = path.start(B.sum(B.zeros_like(inputs[0]), axis=1, keepdims=True), chains, rng)

    def anneal(cold: Any, warm: Any, *carried: Any) -> list[Any]:
        now: list[Any] = [None] * len(topology.sizes)
        *states, log_weight = carried
        for layer, value in zip(topology.retained, states, strict=True):
            now[layer] = value
        gain, now = path.step(cold, warm, now, chains, rng)
        return [*(now[layer] for layer in topology.retained), log_weight + B.cast(gain, "float64")]

    ladder = [constant(list(part), dtype) for part in (betas[1:], betas[:-1])]
    first = [*(state[layer] for layer in topology.retained), B.cast(B.sum(B.zeros_like(inputs[0]), axis=1), "float64")]
    (*_, log_weights), updates = B.scan(anneal, sequences=ladder, outputs_info=first)
    return compile_chains(inputs, log_weights[-1], updates, "ais")


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
        return self.parameters.like((*self.parameters.weights, visible - self.base, *hidden))

    def at(self, beta: Any, layer: int, inputs: Any) -> Any:
        """What a layer receives at an inverse temperature, from what it receives of the excess."""
        return beta * inputs if layer else self.parameters.for_each_state(self.base) + beta * inputs

    def start(self, nothing: Any, rows: int | tuple[int, ...], rng: Any) -> list[Any]:
        """States of the base-rate model, of ``topology.retained``, for a column of zeros, a row for each chain."""
        topology = self.parameters.topology
        state: list[Any] = [None] * len(topology.sizes)
        for layer in topology.retained:
            inputs = nothing + (B.zeros_like(self.parameters.biases[layer]) if layer else self.base)
            mean = mean_of(self.parameters, layer, inputs)
            state[layer] = draw_layer(self.parameters, layer, mean, rows, rng, inputs)
        return state

    def log_ratio(self, cold: Any, warm: Any, state: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
        """The logarithm of the ratio of a state's weights at two temperatures.

        The state is told by ``topology.retained``, and its weight the sum over the states of the other layers. What
        these receive of the excess comes along.
        """
        inputs = {layer: local_field(self.excess, layer, state) for layer in self.parameters.topology.marginalised}
        gain = (warm - cold) * energy_within(self.excess, state, self.parameters.topology.retained)
        for layer, whole in inputs.items():
            units, axis = self.parameters.topology.units[layer], self.parameters.units_axis
            apart = units.log_normaliser(cold * whole, axis) - units.log_normaliser(warm * whole, axis)
            gain = gain + B.sum(apart, axis=axis)
        return gain, inputs

    def step(
        self, cold: Any, warm: Any, state: list[Any], rows: int | tuple[Any, ...], rng: Any
    ) -> tuple[Any, list[Any]]:
        """`log_ratio`; then a sweep at the first of the two temperatures."""
        gain, inputs = self.log_ratio(cold, warm, state)
        return gain, self.sweep(cold, state, rows, rng, inputs)

    def sweep(
        self,
        beta: Any,
        state: Sequence[Any],
        rows: int | tuple[int, ...],
        rng: Any,
        known: Mapping[int, Any] | None = None,
    ) -> list[Any]:
        """One sweep of Gibbs sampling at an inverse temperature, in the order of `energy.sweep`.

        `known` may tell what layers of the group that is drawn first receive of the excess.
        """
        topology, states = self.parameters.topology, list(state)
        for group in topology.sweep:
            group_inputs = {}
            for layer in group:
                whole = (known or {}).get(layer)
                group_inputs[layer] = self.at(
                    beta, layer, local_field(self.excess, layer, states) if whole is None else whole
                )
            for layer, inputs in group_inputs.items():
                mean = mean_of(self.parameters, layer, inputs)
                states[layer] = draw_layer(self.parameters, layer, mean, rows, rng, inputs)
        return states

    def excess_energy(self, state: Sequence[Any]) -> Any:
        """How much more energy a state of all layers has in the model than in the base-rate model."""
        return energy_within(self.excess, state, self.parameters.topology.layers)
