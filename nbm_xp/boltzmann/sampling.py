"""Markov chains of a Boltzmann machine, compiled: one sweep, or many in one loop.

A chain starts from probabilities: a state of 0 and 1 is kept as it is by drawing from it, anything between is drawn;
Gaussian units start where they are told to. The sizes are numbers, because the streams that a draw uses follow from
them: the same seed and sizes give the same uniforms on every library and, on Dask, for every chunking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.randomness import RowStreams
from nbm_xp.machines.units import softplus
from nbm_xp.namespace import array_namespace, asarray, from_blocks, is_lazy
from nbm_xp.tape import Length, function

from .energy import Parameters, free_energy, opened, start_layer, sweep, told
from .partition import constant

__all__ = [
    "column",
    "compile_chain",
    "compile_chains",
    "compile_sweep",
    "counted",
    "placeholder",
    "placed_like",
    "pseudo_likelihood",
    "repeated",
    "rows_told",
    "rows_placeholder",
    "told_placeholders",
]


_NEVER = 1e30  # in place of the logarithm of a probability of 0


def compile_sweep(parameters: Parameters, rows: int, rng: Any) -> Any:
    """Compile one sweep: the states of ``topology.retained`` in, the new ones of all layers out, as data tell."""
    inputs, state = told_placeholders(parameters, parameters.topology.retained, rows)
    moved, _ = sweep(parameters, state, rows, rng)
    return B.function(inputs, [told(parameters, layer, part) for layer, part in enumerate(moved)], name="gibbs")


def compile_chain(
    parameters: Parameters,
    rows: int,
    n_steps: int,
    rng: Any,
    *,
    given: Collection[int] = (0,),
    means: Collection[int] = (),
    clamped: Collection[int] = (),
    wanted: Collection[int] = (0,),
) -> Any:
    """Compile a chain of sweeps.

    Parameters
    ----------
    parameters : Parameters
    rows : int
        The number of chains.
    n_steps : int
        The number of sweeps.
    rng : RandomStreams
        First every binary layer of ``topology.retained`` that is not clamped draws its start, in rising order; then the
        sweeps draw.
    given : collection of int, optional
        Layers whose start is given, the clamped ones with them; at least one. In others every state is as likely.
    means : collection of int, optional
        Which of these are given as the means of their units, and not as data tell states.
    clamped : collection of int, optional
        Layers that stay as they are given.
    wanted : collection of int, optional
        Layers whose states are wanted.

    Returns
    -------
    Function
        Called with the given layers, rising, it returns the last states of the layers wanted, as data tell them, then
        the means that they were drawn with.
    """
    topology = parameters.topology
    count, inputs = len(topology.sizes), sorted(given)
    arguments, start = told_placeholders(parameters, inputs, rows_told(parameters, rows), "start", means)
    chains, rng = counted(arguments[0], rows, rng)
    nothing = column(arguments[0])
    for layer in topology.layers:
        if start[layer] is None and layer in {*topology.retained, *wanted}:
            start[layer] = topology.units[layer].unknown(nothing + B.zeros_like(parameters.biases[layer]))
    state = list(start)
    for layer in topology.retained if n_steps else wanted:
        if layer not in clamped:
            state[layer] = start_layer(parameters, layer, start[layer], chains, rng)

    # Means are carried from step to step, though no step needs them, so that only the last are kept.
    moving = [layer for layer in sorted({*topology.retained, *wanted}) if layer not in clamped]
    shown = [count + layer for layer in wanted if layer not in clamped]

    def step(now: list[Any]) -> list[Any]:
        after, means = sweep(parameters, now[:count], chains, rng, clamped)
        return [*after, *means]

    last: list[Any] = [*state, *start]
    updates: list[tuple[Any, Any]] = []
    if n_steps:
        last, updates = repeated(step, last, [*moving, *shown], n_steps)
    outputs = [*(told(parameters, layer, last[layer]) for layer in wanted), *(last[count + layer] for layer in wanted)]
    return compile_chains(arguments, outputs, updates, "chain")


def rows_told(parameters: Parameters, rows: int) -> int | None:
    """How many chains placeholders are told of: any number, so that each block of them can be a task of its own.

    Weights that are computed later, tile by tile, are for one number: there the units are in blocks, too.
    """
    return rows if is_lazy(array_namespace(parameters.weights[0].value)) else None


def counted(given: Any, rows: int, rng: Any) -> tuple[tuple[Any], Any]:
    """How many chains there are, as draws are told, and what to draw them from: the same numbers whoever counts.

    Parameters
    ----------
    given : Tensor
        An input with a row for each chain, of which it was told what `rows_told` says.
    rows : int
        How many there will be.
    rng : RandomStreams
    """
    length = given.shape[0]
    return (length,), RowStreams(rng, rows) if isinstance(length, Length) else rng


def compile_chains(inputs: Sequence[Any], outputs: Any, updates: Any, name: str) -> Any:
    """Compile what chains do, of which inputs have a row each."""
    return function(inputs, outputs, updates=updates, name=name)


def repeated(
    step: Callable[[list[Any]], list[Any]], state: Sequence[Any], moving: Sequence[int], n_steps: int
) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """A step applied again and again to a state, of which some entries move and the rest stay as they are.

    Parameters
    ----------
    step : callable
        From a whole state to a whole state.
    state : sequence of Tensors
    moving : sequence of int
        Which entries are carried from step to step. The step is not shown what else it returned.
    n_steps : int

    Returns
    -------
    state : list
        With the last values of what moved.
    updates : list
        Of the streams that the loop drew from.
    """

    def carry(*values: Any) -> list[Any]:
        now = list(state)
        for place, value in zip(moving, values, strict=True):
            now[place] = value
        after = step(now)
        return [after[place] for place in moving]

    results, updates = B.scan(carry, outputs_info=[state[place] for place in moving], n_steps=n_steps)
    last = list(state)
    for place, values in zip(moving, results if isinstance(results, (list, tuple)) else [results], strict=True):
        last[place] = values[-1]
    return last, list(updates.items())


def pseudo_likelihood(parameters: Parameters, visible: Any, rows: int, rng: Any) -> Any:
    """The number of sites times the log-probability of one, drawn, being as it is, given all others.

    It is for two layers, visible sites having a list of states.
    """
    topology = parameters.topology
    count, units, states = topology.sites(0), topology.units[0], topology.radices(0)
    site = B.cast(B.random_uniform((rows,), dtype="float32", rng=rng) * count, "int32")
    where = B.cast(B.one_hot(site, count), B.dtype(visible))
    now = free_energy(parameters, (visible, None))
    losses = [
        now - free_energy(parameters, (units.turned(visible, where, places), None))
        for places in range(1, max(states or (2,)))
    ]
    if len(losses) == 1:
        return -count * softplus(losses[0])
    if len(set(states or ())) > 1:  # a site has no more states than it has
        radix = B.dot(where, constant([float(number) for number in states or ()], B.dtype(visible)))
        lacking = [B.cast(B.less_equal(radix, float(places)), B.dtype(visible)) for places in range(1, len(losses) + 1)]
        losses = [(1 - lack) * loss - _NEVER * lack for lack, loss in zip(lacking, losses, strict=True)]
    return -count * B.logsumexp(B.stack([B.zeros_like(now), *losses], axis=0), axis=0)


def placeholder(parameters: Parameters, rows: int | None, name: str) -> Any:
    """An input of rows of visible units: so many, or any number."""
    return B.placeholder(shape=(rows, parameters.topology.sizes[0]), dtype=parameters.dtype, name=name)


def column(rows: Any) -> Any:
    """A zero for each row, below one another."""
    return B.sum(B.zeros_like(rows), axis=1, keepdims=True)


def rows_placeholder(parameters: Parameters, rows: int | None, name: str = "visible") -> tuple[Any, Any]:
    """An input of rows of data, and the visible units that they tell."""
    (given,), state = told_placeholders(parameters, (0,), rows, name)
    return given, state[0]


def told_placeholders(
    parameters: Parameters, layers: Iterable[int], rows: int | None, name: str = "layer", means: Collection[int] = ()
) -> tuple[list[Any], list[Any]]:
    """Inputs that tell the states of some layers as data do, rising, and a whole state, with None for other layers.

    Layers in `means` are given as the means of their units.
    """
    topology = parameters.topology
    inputs: list[Any] = []
    state: list[Any] = [None] * len(topology.sizes)
    for layer in sorted(set(layers)):
        count = topology.sizes[layer] if layer in means else topology.sites(layer)
        shape = (count, rows) if parameters.in_columns else (rows, count)
        given = B.placeholder(shape=shape, dtype=parameters.dtype, name=f"{name}{layer}")
        inputs.append(given)
        state[layer] = given if layer in means else opened(parameters, layer, given)
    return inputs, state


def placed_like(states: Any, layer: int, like: Any) -> Any:
    """States of a layer in the library of rows of visible units, and in their blocks where they are computed later."""
    xp = array_namespace(like)
    if not is_lazy(xp) or is_lazy(array_namespace(states)):
        return asarray(states, xp)
    as_like = layer == 0 and states.shape == like.shape  # data tell a site by one number, however many units it has
    split = (like.chunks[0], like.chunks[1] if as_like else -1)
    return from_blocks(xp, _part, states.shape, states.dtype, split, args=(states,), name="start")


def _part(offset: tuple[int, ...], shape: tuple[int, ...], states: Any) -> Any:
    """A block of rows."""
    return states[offset[0] : offset[0] + shape[0], offset[1] : offset[1] + shape[1]]
