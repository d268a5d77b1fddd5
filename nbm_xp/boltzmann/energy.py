"""Energies, conditional distributions and Gibbs sweeps of machines of layers, as formulas on Tensors.

A state has an array of rows `x_l` for each layer l, with values of its kind of units (see `machines.units`). With
weights W_ij for each pair of connected layers and biases b_l, a state has the energy

    E(x) = - Σ_l x_l·b_l - Σ_ij x_i·W_ij x_j    (and + ½ x_l·x_l for each layer of real numbers)

and the probability (or density) exp(-E) / Z. Layers that are not connected are independent given the others, and so
are their units: a binary unit with local field r is 1 with probability sigmoid(r), a Gaussian unit is normally
distributed with mean r and variance 1. So any group of such layers is summed out in closed form; the free energy of the
other layers is F = - log Σ exp(-E), summed over the states of the group. A restricted Boltzmann machine has two layers.

All functions take a state as a sequence with an entry for each layer; entries that are not needed may be None. An entry
has a row for each state, or a column if ``parameters.in_columns``.

References
----------
G. E. Hinton, "A practical guide to training restricted Boltzmann machines", UTML TR 2010-003.
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Streams
from nbm_xp.machines.minibatches import is_missing
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, dtype_name, library_name, use_backend

from .topology import Topology

State = Sequence[Array]


@dataclass(frozen=True)
class Parameters:
    """Weights and biases: Variables, or Tensors computed from them.

    Attributes
    ----------
    topology : Topology
    weights : tuple
        One array for each connection, of shape (units of the lower layer, units of the higher layer).
    biases : tuple
        One array for each layer. None, for weights or biases, means zeros that `local_field` leaves out.
    in_columns : bool
        Whether states are columns, of shape (units, states), instead of rows. Parameters of several machines are
        stacked along a first axis, and so are their states, which are columns.
    """

    topology: Topology
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    in_columns: bool = False

    @classmethod
    def of(cls, topology: Topology, values: Iterable[Array], *, in_columns: bool = False) -> Parameters:
        """Return parameters of a topology from a sequence of weights, then biases."""
        listed, count = tuple(values), len(topology.connections)
        return cls(topology, listed[:count], listed[count:], in_columns)

    def __iter__(self) -> Iterator[Array]:
        """Iterate over the weights, then the biases."""
        return iter((*self.weights, *self.biases))

    def like(self, values: Iterable[Array]) -> Parameters:
        """Return parameters with other values in the same order, for the same topology."""
        return Parameters.of(self.topology, values, in_columns=self.in_columns)

    @property
    def dtype(self) -> Array:
        """The dtype of the weights and biases."""
        return B.dtype(self.biases[0])

    @property
    def units_axis(self) -> int:
        """The axis of the units in a state."""
        return -2 if self.in_columns else -1

    def for_each_state(self, vector: Array) -> Array:
        """Return a vector over a layer's units in a shape that broadcasts with states."""
        return vector[..., None] if self.in_columns else vector


def variable(value: Array, name: str | None = None) -> Array:
    """Return a Variable with the dtype and library of its array, whatever the configuration of natural_bm is."""
    with use_backend(library_name(value)):
        return B.variable(value, dtype=dtype_name(value), name=name)


def local_field(parameters: Parameters, layer: int, state: State) -> Array:
    """Return the local field of a layer: the weighted sum over its neighbours plus the bias of each unit.

    It is the log-odds of binary units and the mean of Gaussian units; None if all weights and the bias are None.
    """
    total = None
    for (low, high), weights in zip(parameters.topology.connections, parameters.weights, strict=True):
        if layer not in (low, high) or weights is None:
            continue
        if layer == high:
            part = _upwards(parameters, weights, state[low])
        else:
            part = weights @ state[high] if parameters.in_columns else B.dot(state[high], B.transpose(weights))
        total = part if total is None else total + part
    if parameters.biases[layer] is None:
        return total
    bias = parameters.for_each_state(parameters.biases[layer])
    return bias if total is None else total + bias


def _upwards(parameters: Parameters, weights: Array, state: Array) -> Array:
    """Return the contribution of the lower layer of a connection to the local field of the higher one."""
    return weights.mT @ state if parameters.in_columns else B.dot(state, weights)


def expectation(parameters: Parameters, layer: int, state: State) -> Array:
    """Return the means of a layer's units given its neighbours; of binary units, the probabilities of 1."""
    return mean_of(parameters, layer, local_field(parameters, layer, state))


def mean_of(parameters: Parameters, layer: int, inputs: Array) -> Array:
    """Return the means of a layer's units with these local fields."""
    return parameters.topology.units[layer].mean(inputs, parameters.units_axis)


def draw_layer(
    parameters: Parameters, layer: int, mean: Array, rows: int | tuple[int, ...], rng: Streams, inputs: Array = None
) -> Array:
    """Draw the units of a layer with these means; `inputs` are the local fields, if known.

    The number of rows must be known, because it determines the number of random streams.
    """
    shape = _shape(parameters, layer, rows)
    return parameters.topology.units[layer].draw(mean, shape, rng, parameters.units_axis, inputs)


def sample_layer(
    parameters: Parameters, layer: int, inputs: Array, rows: int | tuple[int, ...], rng: Streams
) -> tuple[Array, Array]:
    """Draw the units of a layer with these local fields; return the states and their means."""
    mean = mean_of(parameters, layer, inputs)
    return draw_layer(parameters, layer, mean, rows, rng, inputs), mean


def start_layer(parameters: Parameters, layer: int, mean: Array, rows: int | tuple[int, ...], rng: Streams) -> Array:
    """Return initial states of a layer: drawn with these means, or for real numbers the means themselves."""
    return parameters.topology.units[layer].start(mean, _shape(parameters, layer, rows), rng, parameters.units_axis)


def encoded(parameters: Parameters, layer: int, states: Array) -> Array:
    """Return the units of a layer from states in the format of data, one number for each site."""
    return parameters.topology.units[layer].encoded(states, parameters.units_axis)


def decoded(parameters: Parameters, layer: int, state: Array) -> Array:
    """Return the states of a layer in the format of data, one number for each site."""
    return parameters.topology.units[layer].decoded(state, parameters.units_axis)


def completed(units: Units, observed: Array, state: Array, axis: int) -> Array:
    """Return visible units of states in the format of data, with those of `state` where values are missing, NaN."""
    gaps = units.per_unit(is_missing(observed), axis)
    return array_namespace(gaps, state).where(gaps, state, units.encoded(observed, axis))


def gauged_weights(topology: Topology, low: int, high: int, weights: Array) -> Array:
    """Return the weights between two layers in the gauge of their units, with 0 where units have no weights."""
    for axis, layer in enumerate((low, high)):
        weights = topology.units[layer].unweighted(topology.units[layer].gauged(weights, axis), axis)
    return weights


def gauged(topology: Topology, values: Iterable[Array]) -> list[Array]:
    """Return parameters, or steps of them, in the zero-sum gauge of categorical units."""
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
    observed: Array = None,
) -> tuple[list[Array], list[Array]]:
    """Do one sweep of Gibbs sampling: draw each group of layers given all the others.

    Parameters
    ----------
    parameters : Parameters
    state : sequence with a Tensor of shape (rows, units) for each layer
        The layers in ``topology.marginalised`` may be None: they are drawn first.
    rows : int or tuple of int
        Number of chains, or numbers of machines and of chains.
    rng : RandomStreams
        Layers draw from it in the order of ``topology.sweep``, within a group in rising order: the second group, the
        third, …, last the group of the visible layer. Each layer makes one draw of shape (rows, units); clamped layers
        make none.
    clamped : collection of int, optional
        Layers whose states are fixed.
    field : callable, optional
        Function of a layer and a state that replaces `local_field`.
    observed : Tensor of shape (rows, sites), optional
        Visible states in the format of data; only those that are missing, NaN, are drawn.

    Returns
    -------
    state : list
        The new states of all layers.
    means : list
        The means that they were drawn with; for clamped layers, their states.
    """
    states, means = list(state), list(state)
    field = functools.partial(local_field, parameters) if field is None else field
    for group in parameters.topology.sweep:
        drawn = [layer for layer in group if layer not in clamped]
        inputs = {layer: field(layer, states) for layer in drawn}
        for layer in drawn:
            states[layer], means[layer] = sample_layer(parameters, layer, inputs[layer], rows, rng)
    if observed is not None:
        units, axis = parameters.topology.units[0], parameters.units_axis
        states[0], means[0] = (completed(units, observed, part, axis) for part in (states[0], means[0]))
    return states, means


def observed_log_density(units: Units, observed: Array, inputs: Array) -> Array:
    """Return the log-density of the values of rows that are not missing, NaN, in independent visible units.

    Parameters
    ----------
    units : Units
        The kind of visible units.
    observed : Tensor of shape (rows, sites)
        Rows in the format of data.
    inputs : Tensor of shape (states, units)
        Local fields of the units, in several states of the other layers.

    Returns
    -------
    Tensor of shape (rows, states)
    """
    there = B.cast(B.equal(observed, observed), B.dtype(inputs))
    state = completed(units, observed, 0 * inputs[:1, :], -1)
    normaliser = units.log_normaliser(inputs) + units.constant
    own = B.sum(units.own_energy(state), axis=1, keepdims=True)
    return B.dot(state, B.transpose(inputs)) - own - B.dot(there, B.transpose(normaliser))


def energy(parameters: Parameters, state: State) -> Array:
    """Return the energy E of each row of a state of all layers."""
    layers = parameters.topology.layers
    return _with_own(parameters, state, layers, energy_within(parameters, state, layers))


def energy_within(parameters: Parameters, state: State, layers: Collection[int]) -> Array:
    """Return the part of E from the biases of some layers and the weights between them."""
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
    """Return the product of each state of a layer with the biases."""
    return (bias[..., None, :] @ state)[..., 0, :] if parameters.in_columns else B.dot(state, bias)


def _with_own(parameters: Parameters, state: State, layers: Collection[int], total: Array) -> Array:
    """Return an energy plus the own energies of the units of some layers."""
    for layer in layers:
        units = parameters.topology.units[layer]
        if units.has_own_energy:
            total = total + B.sum(units.own_energy(state[layer], parameters.units_axis), axis=parameters.units_axis)
    return total


def marginalised_layer(topology: Topology, layer: int, inputs: Array, units_axis: int = -1) -> Array:
    """Return the logarithm of the sum over a layer's states of their weights, given the local fields of its units."""
    units = topology.units[layer]
    total = B.sum(units.log_normaliser(inputs, units_axis), axis=units_axis)
    return total + units.constant * topology.sizes[layer] if units.constant else total


def log_partition_without_weights(topology: Topology, biases: Sequence[Array]) -> Array:
    """Return log Z of a model without weights, from the biases of its layers."""
    return sum(marginalised_layer(topology, layer, bias) for layer, bias in enumerate(biases))


def free_energy(
    parameters: Parameters,
    state: State,
    marginalised: Sequence[int] | None = None,
    known: Mapping[int, Array] | None = None,
) -> Array:
    """Return the free energy F of each row of the layers that are not summed out; its probability is exp(-F) / Z.

    Parameters
    ----------
    parameters : Parameters
    state : sequence with a Tensor of shape (rows, units) for each layer that is not summed out
    marginalised : sequence of int, optional
        Layers to sum out, no two of them connected; by default ``topology.marginalised``.
    known : mapping of int to Tensor, optional
        Local fields of these layers, if they are already known.
    """
    topology = parameters.topology
    group = topology.marginalised if marginalised is None else marginalised
    rest = [layer for layer in topology.layers if layer not in group]
    total = _with_own(parameters, state, rest, energy_within(parameters, state, rest))
    for layer in group:
        inputs = local_field(parameters, layer, state) if known is None else known[layer]
        total = total - marginalised_layer(topology, layer, inputs, parameters.units_axis)
    return total
