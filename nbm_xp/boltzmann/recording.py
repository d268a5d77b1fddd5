"""Recording of a machine's formulas: placeholders for parameters and states, repeated steps, pseudo-likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.machines.randomness import ChainStreams
from nbm_xp.machines.units import softplus
from nbm_xp.tape import Function

from .energy import Parameters, completed, decoded, draw_layer, encoded, free_energy, start_layer, sweep
from .partition import constant
from .storage import parameter_shapes
from .topology import Topology

State: TypeAlias = list[Array]  # an array for each layer, or None

Recorded: TypeAlias = tuple[Sequence[Array], Sequence[Array]]  # the inputs and the outputs of a function of chains

_NEVER = 1e30  # subtracted from the log-probability of impossible states


class Form(NamedTuple):
    """Topology, dtype and number of chains that formulas are recorded for."""

    topology: Topology
    dtype: str
    n_chains: int

    def parameters(self, stacked: int = 0) -> tuple[list[Array], Parameters]:
        """Return placeholders for weights and biases, and `Parameters` of them, of `stacked` machines if not 0."""
        shapes, machines = parameter_shapes(self.topology).values(), (stacked,) if stacked else ()
        inputs = [B.placeholder(shape=(*machines, *shape), dtype=self.dtype) for shape in shapes]
        return inputs, Parameters.of(self.topology, inputs, in_columns=True)

    def states(self, parameters: Parameters, layers: Iterable[int], machines: int = 0) -> tuple[list[Array], State]:
        """Return placeholders for states of layers: see `state_placeholders`."""
        return state_placeholders(parameters, layers, self.n_chains, machines)


def state_placeholders(
    parameters: Parameters, layers: Iterable[int], rows: int | None, machines: int = 0
) -> tuple[list[Array], State]:
    """Return placeholders for states of layers in the format of data, and a whole state with None for other layers.

    Parameters
    ----------
    parameters : Parameters
        ``in_columns`` determines whether states are rows or columns.
    layers : iterable of int
    rows : int or None
        Number of states; None for any number.
    machines : int, optional
        Number of machines; 0 for states of one machine without an axis for machines.
    """
    topology = parameters.topology
    inputs: list[Array] = []
    state: State = [None] * len(topology.sizes)
    for layer in layers:
        shape = (topology.sites[layer], rows) if parameters.in_columns else (rows, topology.sites[layer])
        shape = (machines, *shape) if machines else shape
        inputs.append(B.placeholder(shape=shape, dtype=parameters.dtype, name=f"layer{layer}"))
        state[layer] = encoded(parameters, layer, inputs[-1])
    return inputs, state


def rows_placeholder(parameters: Parameters, rows: int | None) -> tuple[Array, Array]:
    """Return a placeholder for rows of data, and their visible units."""
    (given,), (visible, *_) = state_placeholders(parameters, (0,), rows)
    return given, visible


def compile_sweep(parameters: Parameters, rows: int, rng: Streams, more: Sequence[Array] = ()) -> Function:
    """Compile one sweep, from states of ``topology.retained`` to new states of all layers, in the format of data.

    The function has further arguments for the placeholders `more`, such as those of the parameters.
    """
    inputs, state = state_placeholders(parameters, parameters.topology.retained, rows)
    moved, _ = sweep(parameters, state, rows, rng)
    outputs = [decoded(parameters, layer, part) for layer, part in enumerate(moved)]
    return B.function([*inputs, *more], outputs, name="gibbs")


def repeated(
    step: Callable[[State], State], state: Sequence[Array], moving: Sequence[int], n_steps: int
) -> tuple[State, Updates]:
    """Apply a step `n_steps` times to a state, of which some entries change and the others are constant.

    Parameters
    ----------
    step : callable
        Function from a whole state to a whole state.
    state : sequence of Tensors
    moving : sequence of int
        Indices of the entries that are carried from step to step. The other results of the step are dropped.
    n_steps : int

    Returns
    -------
    state : list
        State with the last values of the moving entries.
    updates : list
        Updates of the random streams of the loop.
    """
    if n_steps == 1:
        return step(list(state)), []

    def moved(now: State) -> State:
        after = step(now)
        return [after[place] for place in moving]

    return scanned(moved, state, moving, n_steps)


def scanned(
    step: Callable[[State], Any], state: Sequence[Array], moving: Sequence[int], n_steps: int
) -> tuple[State, Updates]:
    """Scan a step that returns the moving entries alone, with ``B.until`` or without; see `repeated`."""

    def whole(values: Sequence[Array]) -> State:
        found = dict(zip(moving, values, strict=True))
        return [found.get(place, fixed) for place, fixed in enumerate(state)]

    start = [state[place] for place in moving]
    results, updates = B.scan(lambda *values: step(whole(values)), outputs_info=start, n_steps=n_steps)
    results = results if isinstance(results, (list, tuple)) else [results]
    return whole([values[-1] for values in results]), list(updates.items())


def pseudo_likelihood(parameters: Parameters, visible: Array, rows: int, rng: Streams) -> Array:
    """Return the number of sites times the log-probability of a site, chosen at random, given all others.

    The machine must have two layers, and visible units with a list of states.
    """
    topology = parameters.topology
    count, units, states = topology.sites[0], topology.units[0], topology.radices(0)
    site = B.cast(B.random_uniform((rows,), dtype="float32", rng=rng) * count, "int32")
    where = B.cast(B.one_hot(site, count), B.dtype(visible))
    now = free_energy(parameters, (visible, None))
    losses = [
        now - free_energy(parameters, (units.shifted(visible, where, places), None))
        for places in range(1, max(states or (2,)))
    ]
    if len(losses) == 1:
        return -count * softplus(losses[0])
    if len(set(states or ())) > 1:  # exclude the states that a site does not have
        radix = B.dot(where, constant([float(number) for number in states or ()], B.dtype(visible)))
        lacking = [B.cast(B.less_equal(radix, float(places)), B.dtype(visible)) for places in range(1, len(losses) + 1)]
        losses = [(1 - lack) * loss - _NEVER * lack for lack, loss in zip(lacking, losses, strict=True)]
    return -count * B.logsumexp(B.stack([B.zeros_like(now), *losses], axis=0), axis=0)


def record_start(
    form: Form, streams: ChainStreams, layers: tuple[int, ...], given: tuple[int, ...], machines: int, missing: bool
) -> Recorded:
    """Record the initial states of some layers of chains, from base rates and given states, and their means.

    With `missing`, missing values of the given visible states are drawn from base rates.
    """
    topology, rates = form.topology, B.placeholder(shape=(form.topology.sizes[0], form.n_chains), dtype=form.dtype)
    parameters = Parameters(topology, (), (rates,), in_columns=True)
    inputs, means = form.states(parameters, given)
    shape, states = ((machines, form.n_chains) if machines else form.n_chains), []
    for layer in layers:
        if layer in given and not (missing and layer == 0):
            states.append(start_layer(parameters, layer, means[layer], shape, streams))
            continue
        nothing = B.zeros((*([machines] if machines else []), topology.sizes[layer], 1), dtype=form.dtype)
        nothing = nothing + rates[:1, :] * 0
        if layer:
            means[layer] = topology.units[layer].uninformed(nothing, -2)
        else:
            means[layer] = nothing + rates if machines else rates
        state = draw_layer(parameters, layer, means[layer], shape, streams)
        if missing and layer == 0:
            state, means[0] = (completed(topology.units[0], inputs[0], part, -2) for part in (state, means[0]))
        states.append(state)
    shown = [decoded(parameters, layer, part) for layer, part in zip(layers, states, strict=True)]
    return [rates, *inputs], [*shown, *(means[layer] for layer in layers)]


def record_sweep(
    form: Form,
    streams: ChainStreams,
    carried: tuple[int, ...],
    clamped: tuple[int, ...],
    layers: tuple[int, ...],
    means: bool,
    missing: bool,
) -> Recorded:
    """Record a sweep: the states that the next sweep needs, and the states or means to show.

    With `missing`, the last input is visible states whose missing values alone are drawn.
    """
    weights, parameters = form.parameters()
    inputs, state = form.states(parameters, carried)
    fixed, given = form.states(parameters, clamped)
    whole = [mine if other is None else other for mine, other in zip(state, given, strict=True)]
    observed, _ = form.states(parameters, (0,) if missing else ())
    moved, drawn_with = sweep(parameters, whole, form.n_chains, streams, clamped, observed=next(iter(observed), None))
    shown = {layer: drawn_with[layer] if means else decoded(parameters, layer, moved[layer]) for layer in layers}
    after = [decoded(parameters, layer, moved[layer]) for layer in carried]
    return [*inputs, *weights, *fixed, *observed], [*after, *(shown[layer] for layer in layers)]
