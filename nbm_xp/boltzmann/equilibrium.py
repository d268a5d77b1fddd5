"""A trained machine at equilibrium: its states and its log Z, by the ladder that it learnt on.

Chains begin with the states that those of the training ended with, over and over where more are wanted, and go on for
themselves: what they are handed from the foot of the ladder is drawn anew in every step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.exchanges import in_turn
from nbm_xp.namespace import array_namespace, asarray, from_blocks, host_namespace, to_numpy, use_backend

from .bridging import LadderEstimate, bennett, cut_off, mixing, parting
from .energy import told
from .ladder import LADDER, Ladder
from .partition import exact_states, is_enumerable, log_partition_of_biases
from .sampling import column, compile_chain, placed_like, repeated

__all__ = [
    "STEPS",
    "compile_states",
    "compile_weighing",
    "estimate",
    "first_columns",
    "first_states",
    "of_turns",
    "own_states",
    "watched",
]

STEPS = 400
"""On the ladder, by default, until chains are at equilibrium and log Z is known."""

_SWEEPS = 1000  # until other chains are taken to be at equilibrium, where nobody says how many


def own_states(model: Any, like: Any, n_steps: int | None, rng: Any) -> list[Any]:
    """States of a model: exact ones where it is small, else those at equilibrium, else the ends of chains.

    Parameters
    ----------
    model : model of this package
    like : array of shape (rows, visible units)
        The base rate for each chain, in the library, and on Dask the blocks, that the states are to have.
    n_steps : int or None
        Steps on the ladder that the model learnt on, or sweeps of chains of a model without one.
    rng : RandomStreams

    Returns
    -------
    list of arrays
        Of each layer, as data tell them.
    """
    parameters, rows, layers = model.state_.parameters, like.shape[0], tuple(model.state_.topology.layers)
    with use_backend(model.state_.library):
        if is_enumerable(model.state_.topology):
            exact = exact_states(parameters, rows, rng)
            return [placed_like(states, layer, like) for layer, states in enumerate(exact)]
        ladder = model.state_.ladder
        if ladder is not None and n_steps != 0:
            climb = compile_states(ladder, rows, STEPS if n_steps is None else n_steps, layers, rng)
            return list(climb(*first_states(ladder, model.state_.variables, rows, like))[: len(layers)])
        sweeps = _SWEEPS if n_steps is None else n_steps
        chain = compile_chain(parameters, rows, sweeps, rng, means=(0,), wanted=layers)
        return list(chain(like)[: len(layers)])


def first_states(ladder: Ladder, arrays: Mapping[str, Any], rows: int, like: Any) -> list[Any]:
    """States for so many chains on a ladder to begin with, in the layers of ``topology.retained``.

    Parameters
    ----------
    ladder : Ladder
    arrays : mapping of str to Variable
        What a training has kept.
    rows : int
    like : array of shape (rows, visible units)
        Whose library the chains are of, and on Dask whose blocks of rows.
    """
    xp, found = array_namespace(like), []
    for layer in ladder.top.topology.retained:
        states = to_numpy(arrays[f"{LADDER}state.{layer}"].value)
        shape = (states.shape[0], rows, states.shape[2])
        split = (-1, like.chunks[0], -1) if hasattr(like, "chunks") else "auto"
        found.append(from_blocks(xp, _again, shape, like.dtype, split, args=(states,), name="rungs"))
    return found


def first_columns(model: Any, offset: int, count: int) -> list[Any]:
    """The same of so many chains of a model from one on, in host memory."""
    found = []
    for layer in model.state_.topology.retained:
        states = to_numpy(model.state_.variables[f"{LADDER}state.{layer}"].value)
        found.append(_again((0, offset, 0), (states.shape[0], count, states.shape[2]), states))
    return found


def _again(offset: tuple[int, ...], shape: tuple[int, ...], states: Any) -> Any:
    """A block of columns, which come again and again."""
    xp = array_namespace(states)
    return xp.take(states, (xp.arange(shape[1]) + offset[1]) % states.shape[1], axis=1)


def compile_states(ladder: Ladder, rows: int, n_steps: int, wanted: Sequence[int], rng: Any) -> Any:
    """Compile chains on a ladder.

    Parameters
    ----------
    ladder : Ladder
    rows : int
        The number of chains.
    n_steps : int
        Steps, at least one.
    wanted : sequence of int
        Layers whose states are wanted.
    rng : RandomStreams

    Returns
    -------
    Function
        Called with the first states of the layers of ``topology.retained``, it returns the last ones of the layers
        wanted, of the top of the ladder, and the means that they were drawn with.
    """
    topology = ladder.top.topology
    count, inputs = len(topology.sizes), _inputs(ladder, rows)
    start: list[Any] = [*(inputs.get(layer) for layer in topology.layers), _no_turn(inputs), *([None] * 2 * count)]
    shown = [count + 1 + place for layer in wanted for place in (layer, count + layer)]
    nothing = column(inputs[topology.retained[0]][0, :, :])
    for place in shown:
        start[place] = nothing + B.zeros_like(ladder.top.biases[(place - count - 1) % count])

    def step(now: list[Any]) -> list[Any]:
        move = ladder.move(now[:count], now[count], rows, rng)
        return [*move.state, move.turn, *(part[-1, :, :] for part in (*move.state, *move.means))]

    last, updates = repeated(step, start, [*topology.retained, count, *shown], n_steps)
    outputs = [told(ladder.top, layer, last[count + 1 + layer]) for layer in wanted]
    outputs += [last[2 * count + 1 + layer] for layer in wanted]
    return B.function(list(inputs.values()), outputs, updates=updates, name="equilibrium")


def compile_weighing(ladder: Ladder, rows: int, n_steps: int, rng: Any) -> Any:
    """Compile chains on a ladder that are looked at: a function from their first states to what `estimate` takes."""
    inputs = _inputs(ladder, rows)
    _, looks, updates = watched(ladder, list(inputs.values()), _no_turn(inputs), rows, n_steps, rng)
    return B.function(list(inputs.values()), looks, updates=updates, name="weighing")


def _inputs(ladder: Ladder, rows: int) -> dict[int, Any]:
    topology = ladder.top.topology
    shapes = {layer: (ladder.pairs + 1, rows, topology.sizes[layer]) for layer in topology.retained}
    return {layer: B.placeholder(shape=shape, dtype=ladder.top.dtype) for layer, shape in shapes.items()}


def _no_turn(inputs: Mapping[int, Any]) -> Any:
    first = next(iter(inputs.values()))
    return B.reshape(first[:1, :1, :1], (1,)) * 0


def watched(
    ladder: Ladder, states: Sequence[Any], turn: Any, chains: int, n_steps: int, rng: Any
) -> tuple[list[Any], list[Any], list[tuple[Any, Any]]]:
    """Steps on a ladder, and what `estimate` needs to know of them.

    Parameters
    ----------
    ladder : Ladder
    states : sequence of Tensors
        Those of the layers of ``topology.retained``.
    turn : Tensor of shape (1,)
    chains, n_steps : int
    rng : RandomStreams

    Returns
    -------
    state : list
        The last ones of these layers, and the turn after them.
    looks : list
        The turns, of shape (steps, pairs), and of `Move` `chance`, `up` and `down`, of shape (steps, pairs, chains).
    updates : list
        Of the streams that the loop drew from.
    """
    topology, kept = ladder.top.topology, ladder.top.topology.retained

    def step(*carried: Any) -> list[Any]:
        *values, turn = carried[: len(kept) + 1]
        move = ladder.move(topology.with_retained(values), turn, chains, rng)
        return [*(move.state[layer] for layer in kept), move.turn, move.due, move.chance, move.up, move.down]

    results, updates = B.scan(step, outputs_info=[*states, turn, None, None, None, None], n_steps=n_steps)
    return [part[-1] for part in results[: len(kept) + 1]], list(results[len(kept) + 1 :]), list(updates.items())


def estimate(ladder: Ladder, looks: Sequence[Any]) -> LadderEstimate:
    """Log Z of the top of a ladder, from the second half of looks at its chains: so many that four divides them."""
    half = looks[0].shape[0] // 2
    due, _, up, down = (asarray(to_numpy(part), host_namespace(), "float64")[half:, ...] for part in looks)
    first = due[0, :] > 0
    return of_turns(ladder, in_turn(up, first), in_turn(down, first))


def of_turns(ladder: Ladder, up: Any, down: Any) -> LadderEstimate:
    """Log Z of the top of a ladder, from looks at each pair of neighbours when it has its turn.

    Parameters
    ----------
    ladder : Ladder
    up, down : array of shape (looks, pairs, chains)
        In host memory, float64: see `Move`.
    """
    xp = array_namespace(up)
    base = log_partition_of_biases(ladder.top.topology, [to_numpy(bias.value[0, :]) for bias in ladder.rungs.biases])
    (rise, error), apart = bennett(up, down), parting(up, down)
    acceptance = xp.mean(xp.exp(xp.minimum(-(up + down), xp.zeros((), dtype=up.dtype))), axis=(0, 2))
    effective, r_hat = mixing(down[:, -1, :])
    shares = tuple(float(share) for share in acceptance)
    return LadderEstimate(base + rise, math.hypot(error, apart), shares, effective, r_hat, apart, cut_off(up, down))
