"""Boltzmann machines of any layers as formulas, recorded on Tensors.

A state has an array of rows `x_l` for each layer l, of what its kind of units can be (see `units`). With weights W_ij
for each pair of connected layers and biases b_l, a state has the energy

    E(x) = - Σ_l x_l·b_l - Σ_ij x_i·W_ij x_j    (and + ½ x_l·x_l for each layer of real numbers)

and the probability (or density) exp(-E) / Z. Layers that are not connected are independent given the rest, and their
units too: a binary unit that receives r is 1 with probability sigmoid(r), a Gaussian one is normally distributed
around r with variance 1. So any group of such layers is summed out in closed form; the free energy of the other layers
is F = - log Σ exp(-E) over the states of the group. A restricted Boltzmann machine is the case of two layers.

Every function takes a state as a sequence with an entry for each layer; entries that it does not need may be None. An
entry has a row for each state, or a column where the parameters say so.

References
----------
G. E. Hinton, "A practical guide to training restricted Boltzmann machines", UTML TR 2010-003.
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Streams
from nbm_xp.namespace import dtype_name, library_name, use_backend

from .topology import Topology

__all__ = [
    "Parameters", "draw_layer", "energy", "energy_within", "expectation", "free_energy", "gauged", "gauged_weights",
    "mean_of", "encoded", "local_field", "log_partition_without_weights", "sample_layer", "shape_of", "start_layer",
    "marginalised_layer", "sweep", "decoded", "variable",
]  # fmt: skip

State = Sequence[Array]


@dataclass(frozen=True)
class Parameters:
    """Weights and biases: Variables, or Tensors made of them.

    Attributes
    ----------
    topology : Topology
    weights : tuple
        One for each connection, of shape (units of the lower layer, units of the higher layer).
    biases : tuple
        One for each layer. None, here and among the weights, is for zeros that nothing is to be computed of: see
        `local_field`.
    in_columns : bool
        Whether states are columns, of shape (units, states), in place of rows. Parameters of several machines are
        stacked along a first axis, and so are their states, which are columns.
    """

    topology: Topology
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    in_columns: bool = False

    @classmethod
    def of(cls, topology: Topology, values: Iterable[Array], *, in_columns: bool = False) -> Parameters:
        """Those of a topology, the weights first."""
        listed, count = tuple(values), len(topology.connections)
        return cls(topology, listed[:count], listed[count:], in_columns)

    def __iter__(self) -> Iterator[Array]:
        """The weights, then the biases."""
        return iter((*self.weights, *self.biases))

    def like(self, values: Iterable[Array]) -> Parameters:
        """Others in the same order, for the same topology."""
        return Parameters.of(self.topology, values, in_columns=self.in_columns)

    @property
    def dtype(self) -> Array:
        """The dtype of all of them."""
        return B.dtype(self.biases[0])

    @property
    def units_axis(self) -> int:
        """The axis of a state along which units lie."""
        return -2 if self.in_columns else -1

    def for_each_state(self, vector: Array) -> Array:
        """A vector over a layer's units, such that it combines with states element by element."""
        return vector[..., None] if self.in_columns else vector


def variable(value: Array, name: str | None = None) -> Array:
    """A Variable with the dtype and of the library of its array, where natural_bm would follow the configuration."""
    with use_backend(library_name(value)):
        return B.variable(value, dtype=dtype_name(value), name=name)


def shape_of(variable: Array) -> tuple[int, ...]:
    """The lengths of a Variable, which has no unknown ones."""
    return cast("tuple[int, ...]", B.get_variable_shape(variable))


def local_field(parameters: Parameters, layer: int, state: State) -> Array:
    """What a layer receives from its neighbours and its bias: the log-odds, or the mean, of each of its units.

    None is for nothing at all, where weights and bias are.
    """
    total = None
    for (low, high), weights in zip(parameters.topology.connections, parameters.weights, strict=True):
        if layer not in (low, high) or weights is None:
            continue
        part = (
            _upwards(parameters, weights, state[low]) if layer == high else _downwards(parameters, weights, state[high])
        )
        total = part if total is None else total + part
    if parameters.biases[layer] is None:
        return total
    bias = parameters.for_each_state(parameters.biases[layer])
    return bias if total is None else total + bias


def _upwards(parameters: Parameters, weights: Array, state: Array) -> Array:
    """What the higher layer of a connection receives from the lower one."""
    return weights.mT @ state if parameters.in_columns else B.dot(state, weights)


def _downwards(parameters: Parameters, weights: Array, state: Array) -> Array:
    """What the lower layer of a connection receives from the higher one."""
    return weights @ state if parameters.in_columns else B.dot(state, B.transpose(weights))


def expectation(parameters: Parameters, layer: int, state: State) -> Array:
    """The mean of a layer's units given its neighbours: of binary ones, the probability that they are 1."""
    return mean_of(parameters, layer, local_field(parameters, layer, state))


def mean_of(parameters: Parameters, layer: int, inputs: Array) -> Array:
    """The mean of a layer's units that receive these inputs."""
    return parameters.topology.units[layer].mean(inputs, parameters.units_axis)


def draw_layer(
    parameters: Parameters, layer: int, mean: Array, rows: int | tuple[int, ...], rng: Streams, inputs: Array = None
) -> Array:
    """The units of a layer, drawn with these means, which follow from `inputs`, where those are known.

    How many rows there are must be a number: how many streams a draw uses depends on it.
    """
    shape = _shape(parameters, layer, rows)
    return parameters.topology.units[layer].draw(mean, shape, rng, parameters.units_axis, inputs)


def sample_layer(
    parameters: Parameters, layer: int, inputs: Array, rows: int | tuple[int, ...], rng: Streams
) -> tuple[Array, Array]:
    """The units of a layer that receive these inputs, drawn, and the means that they were drawn with."""
    mean = mean_of(parameters, layer, inputs)
    return draw_layer(parameters, layer, mean, rows, rng, inputs), mean


def start_layer(parameters: Parameters, layer: int, mean: Array, rows: int | tuple[int, ...], rng: Streams) -> Array:
    """The units of a layer where chains start: drawn with these means, or, of real numbers, these themselves."""
    return parameters.topology.units[layer].start(mean, _shape(parameters, layer, rows), rng, parameters.units_axis)


def encoded(parameters: Parameters, layer: int, states: Array) -> Array:
    """The units of a layer of states as data give them, a number for each site."""
    return parameters.topology.units[layer].encoded(states, parameters.units_axis)


def decoded(parameters: Parameters, layer: int, state: Array) -> Array:
    """The states of a layer as data give them."""
    return parameters.topology.units[layer].decoded(state, parameters.units_axis)


def gauged_weights(topology: Topology, low: int, high: int, weights: Array) -> Array:
    """The weights between two layers, without what changes no distribution but for biases, and what must not be."""
    for axis, layer in enumerate((low, high)):
        weights = topology.units[layer].unweighted(topology.units[layer].gauged(weights, axis), axis)
    return weights


def gauged(topology: Topology, values: Iterable[Array]) -> list[Array]:
    """Parameters, or steps of them, without what changes no distribution: see `units.Categorical`."""
    listed = list(values)
    for place, (low, high) in enumerate(topology.connections):
        listed[place] = gauged_weights(topology, low, high, listed[place])
    first = len(topology.connections)
    for layer in topology.layers:
        listed[first + layer] = topology.units[layer].gauged(listed[first + layer], 0)
    return listed


def _shape(parameters: Parameters, layer: int, rows: int | tuple[int, ...]) -> tuple[int, ...]:
    units, (*machines, count) = parameters.topology.sizes[layer], (rows,) if isinstance(rows, int) else rows
    return (*machines, units, count) if parameters.in_columns else (*machines, count, units)


def sweep(
    parameters: Parameters,
    state: State,
    rows: int | tuple[int, ...],
    rng: Streams,
    clamped: Collection[int] = (),
    field: Callable[[int, State], Array] | None = None,
) -> tuple[list[Array], list[Array]]:
    """One sweep of Gibbs sampling: each group of layers given all the others.

    Parameters
    ----------
    parameters : Parameters
    state : sequence with a Tensor of shape (rows, units) for each layer
        Those of the layers in ``topology.marginalised`` may be None: they are drawn first.
    rows : int
        The number of chains.
    rng : RandomStreams
        Layers draw from it in the order of ``topology.sweep``, within a group in rising order: the second group, the
        third, …, at last the group of the visible layer. Each layer makes one draw of shape (rows, units); a layer that
        is clamped makes none.
    clamped : collection of int, optional
        Layers that stay as they are.
    field : callable, optional
        What a layer receives in a state, where that is not its `local_field`.

    Returns
    -------
    state : list
        The new states of all layers.
    means : list
        What they were drawn with; of clamped layers, their state.
    """
    states, means = list(state), list(state)
    field = functools.partial(local_field, parameters) if field is None else field
    for group in parameters.topology.sweep:
        drawn = [layer for layer in group if layer not in clamped]
        inputs = {layer: field(layer, states) for layer in drawn}
        for layer in drawn:
            states[layer], means[layer] = sample_layer(parameters, layer, inputs[layer], rows, rng)
    return states, means


def energy(parameters: Parameters, state: State) -> Array:
    """E of each row of a state of all layers."""
    layers = parameters.topology.layers
    return _with_own(parameters, state, layers, energy_within(parameters, state, layers))


def energy_within(parameters: Parameters, state: State, layers: Collection[int]) -> Array:
    """The part of E that weights and biases make among some layers alone."""
    total = None
    for layer in layers:
        part = -_with_bias(parameters, state[layer], parameters.biases[layer])
        total = part if total is None else total + part
    for (low, high), weights in zip(parameters.topology.connections, parameters.weights, strict=True):
        if low in layers and high in layers:
            product = _upwards(parameters, weights, state[low]) * state[high]
            total = total - B.sum(product, axis=parameters.units_axis)
    return total


def _with_bias(parameters: Parameters, state: Array, bias: Array) -> Array:
    """The product of each state of a layer with its biases."""
    return (bias[..., None, :] @ state)[..., 0, :] if parameters.in_columns else B.dot(state, bias)


def _with_own(parameters: Parameters, state: State, layers: Collection[int], total: Array) -> Array:
    """An energy, and what units of some layers have by themselves."""
    for layer in layers:
        units = parameters.topology.units[layer]
        if units.has_own_energy:
            total = total + B.sum(units.own_energy(state[layer], parameters.units_axis), axis=parameters.units_axis)
    return total


def marginalised_layer(topology: Topology, layer: int, inputs: Array, units_axis: int = -1) -> Array:
    """Of each state, the logarithm of the sum over a layer's states of their weights, given what its units receive."""
    units = topology.units[layer]
    total = B.sum(units.log_normaliser(inputs, units_axis), axis=units_axis)
    return total + units.constant * topology.sizes[layer] if units.constant else total


def log_partition_without_weights(topology: Topology, biases: Sequence[Array]) -> Array:
    """Log Z of a model without weights, from the biases of its layers."""
    return sum(marginalised_layer(topology, layer, bias) for layer, bias in enumerate(biases))


def free_energy(
    parameters: Parameters,
    state: State,
    marginalised: Sequence[int] | None = None,
    known: Mapping[int, Array] | None = None,
) -> Array:
    """F of each row of the layers that are not summed out: the less, the more probable, exp(-F) / Z being that.

    Parameters
    ----------
    parameters : Parameters
    state : sequence with a Tensor of shape (rows, units) for each layer that is not summed out
    marginalised : sequence of int, optional
        Layers, no two of them connected; by default ``topology.marginalised``.
    known : mapping of int to Tensor, optional
        What these layers receive, where it is known already.
    """
    topology = parameters.topology
    group = topology.marginalised if marginalised is None else marginalised
    rest = [layer for layer in topology.layers if layer not in group]
    total = _with_own(parameters, state, rest, energy_within(parameters, state, rest))
    for layer in group:
        inputs = local_field(parameters, layer, state) if known is None else known[layer]
        total = total - marginalised_layer(topology, layer, inputs, parameters.units_axis)
    return total
