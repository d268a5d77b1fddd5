"""Annealed importance sampling: chains along the models between two, from one to the other or in reverse.

A chain starts in the first model, by default one without weights, whose visible biases match the data and whose Z is
known. It sweeps through models in between, at inverse temperatures from 0 to 1, to the last one. Each chain gives a
weight; their mean is an unbiased estimate of the ratio of the two partition functions, so the logarithm of it is, on
average, no more than the ratio's: too few chains or temperatures make log Z too small. In reverse, from states of the
last model to the first one, the mean of the weights estimates the inverse of the ratio, and log Z comes out too large,
if anything. Together they tell how far to trust either.

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
from dataclasses import dataclass, field, replace
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.rows import positive_int, shortened
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_lazy

from .energy import Parameters, draw_layer, energy_within, local_field, mean_of, sweep, variable
from .partition import constant
from .sampling import column, compile_chains, counted, placeholder, rows_told, told_placeholders

__all__ = ["Path", "annealed", "compile_ais", "inverse_temperatures", "path_to"]

Fields = tuple[Any, Any]


def inverse_temperatures(n_temperatures: Any, betas: Sequence[float] | None) -> list[float]:
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


def compile_ais(path: Path, betas: Sequence[float], rows: int, rng: Any, *, given: bool = False) -> Any:
    """Compile annealed importance sampling of so many chains.

    Parameters
    ----------
    path : Path
        Between Parameters of Variables.
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1, or falling from 1 to 0.
    rows : int
    rng : RandomStreams
        First, unless they are given, every layer of ``topology.retained`` draws its start, in rising order; then the
        sweeps draw.
    given : bool, optional
        Whether the chains' first states are given; else the first model has no weights.

    Returns
    -------
    Function
        Called with the first states of the layers of ``topology.retained``; else with an array of any values, of shape
        (rows, visible units): the chains are of its library, and on Dask of its chunks. It returns the logarithms of
        the chains' weights.
    """
    parameters = path.last
    topology, known = parameters.topology, rows_told(parameters, rows)
    if given:
        inputs, state = told_placeholders(parameters, topology.retained, known)
    else:
        inputs = [placeholder(parameters, known, "like")]
    chains, rng = counted(inputs[0], rows, rng)
    if not given:
        state = path.start(column(inputs[0]), chains, rng)
    cold, warm = (constant(list(part), parameters.dtype) for part in (betas[1:], betas[:-1]))
    (*_, log_weights), updates = annealed(path, cold, warm, state, chains, rng)
    return compile_chains(inputs, log_weights, updates, "ais")


def annealed(
    path: Path, cold: Any, warm: Any, state: Sequence[Any], rows: int | tuple[Any, ...], rng: Any
) -> tuple[list[Any], Any]:
    """Chains along a path, recorded.

    Parameters
    ----------
    path : Path
    cold, warm : Tensor of shape (steps,)
        The inverse temperatures after and before each step.
    state : sequence of Tensors
        The first states, of ``topology.retained``.
    rows
        As for `draw_layer`.
    rng : RandomStreams

    Returns
    -------
    last : list
        The last states of ``topology.retained``, then the logarithms of the weights.
    updates : dict
        Of the streams that the loop drew from.
    """

    def anneal(after: Any, before: Any, *carried: Any) -> list[Any]:
        return path.step(after, before, carried, rows, rng)

    weights = B.cast(B.sum(B.zeros_like(state[0]), axis=1), "float64")
    first = [*(state[layer] for layer in path.last.topology.retained), weights]
    found, updates = B.scan(anneal, sequences=[cold, warm], outputs_info=first)
    return [values[-1] for values in found], updates


@dataclass(frozen=True)
class Path:
    """The models between two of the same layers, whose energies are mixed in proportion.

    Attributes
    ----------
    first, last : Parameters
        At the inverse temperatures 0 and 1. Of the first model's zeros, where they are None, nothing is computed.
    excess : Parameters
        What the last model has over the first.
    """

    first: Parameters
    last: Parameters
    excess: Parameters = field(init=False)

    def __post_init__(self) -> None:
        pairs = zip(self.first, self.last, strict=True)
        excess = self.last.like(there if here is None else there - here for here, there in pairs)
        object.__setattr__(self, "excess", excess)

    def local_fields(self, layer: int, state: Sequence[Any]) -> Fields:
        """What a layer receives in the first model, None for nothing, and how much more in the last."""
        return local_field(self.first, layer, state), local_field(self.excess, layer, state)

    def start(self, nothing: Any, rows: int | tuple[int, ...], rng: Any) -> list[Any]:
        """States of the first model, which has no weights: of ``topology.retained``, drawn exactly.

        `nothing` is a zero for each chain, as for one unit.
        """
        topology = self.last.topology
        state: list[Any] = [None] * len(topology.sizes)
        for layer in topology.retained:
            bias = self.first.biases[layer]
            inputs = nothing + self.last.for_each_state(B.zeros_like(self.last.biases[layer]) if bias is None else bias)
            mean = mean_of(self.last, layer, inputs)
            state[layer] = draw_layer(self.last, layer, mean, rows, rng, inputs)
        return state

    def log_ratio(self, cold: Any, warm: Any, state: Sequence[Any]) -> tuple[Any, dict[int, Fields]]:
        """The logarithm of the ratio of a state's weights at two temperatures.

        The state is told by ``topology.retained``, and its weight the sum over the states of the other layers. What
        these receive comes along.
        """
        topology, axis = self.last.topology, self.last.units_axis
        known = {layer: self.local_fields(layer, state) for layer in topology.marginalised}
        gain = (warm - cold) * energy_within(self.excess, state, topology.retained)
        for layer, parts in known.items():
            units = topology.units[layer]
            apart = units.log_normaliser(_mixed(cold, parts), axis) - units.log_normaliser(_mixed(warm, parts), axis)
            gain = gain + B.sum(apart, axis=axis)
        return gain, known

    def step(self, cold: Any, warm: Any, carried: Sequence[Any], rows: int | tuple[Any, ...], rng: Any) -> list[Any]:
        """A step of annealing: chains are weighed by `log_ratio`, then sweep at the first of the two temperatures.

        What is carried from step to step are the states of ``topology.retained`` and the logarithms of the weights.
        """
        topology = self.last.topology
        *states, log_weights = carried
        state = topology.with_retained(states)
        gain, known = self.log_ratio(cold, warm, state)
        moved = self.sweep(cold, state, rows, rng, known)
        return [*(moved[layer] for layer in topology.retained), log_weights + B.cast(gain, "float64")]

    def sweep(
        self,
        beta: Any,
        state: Sequence[Any],
        rows: int | tuple[int, ...],
        rng: Any,
        known: Mapping[int, Fields] | None = None,
    ) -> list[Any]:
        """One sweep of Gibbs sampling at an inverse temperature: see `energy.sweep`.

        `known` may tell what layers of the group that is drawn first receive.
        """
        given = known or {}

        def mixed_field(layer: int, states: Sequence[Any]) -> Any:
            return _mixed(beta, given[layer] if layer in given else self.local_fields(layer, states))

        return sweep(self.last, state, rows, rng, field=mixed_field)[0]

    def excess_energy(self, state: Sequence[Any]) -> Any:
        """How much more energy a state of all layers has in the last model than in the first."""
        return energy_within(self.excess, state, self.last.topology.layers)


def path_to(model: Any, *, in_columns: bool = False) -> Path:
    """The path to a model from the one without weights that is most like its data.

    Parameters
    ----------
    model : model of this package
    in_columns : bool, optional
        Whether states are columns.
    """
    last: Parameters = replace(model.state_.parameters, in_columns=in_columns)
    like = last.biases[0].value
    xp = array_namespace(like)
    bias = variable(asarray(model.state_.base_bias(), host_namespace() if is_lazy(xp) else xp, last.dtype))
    return Path(last.like([*(None for _ in last.weights), bias, *(None for _ in last.biases[1:])]), last)


def _mixed(beta: Any, parts: Fields) -> Any:
    """What a layer receives at an inverse temperature."""
    own, more = parts
    return beta * more if own is None else own + beta * more
