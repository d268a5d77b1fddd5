"""Parallel tempering: each chain has replicas at several inverse temperatures, and neighbours exchange their states.

A replica at inverse temperature β samples the model between the base-rate model, β = 0, which mixes at once, and the
model itself, β = 1. After each sweep neighbouring replicas exchange their states, every other pair in turn, with the
probability of Metropolis, min(1, exp((β - β') (D - D'))), where D is how much more energy a state has in the model than
in the base-rate model. So the replica at β = 1 gets states from places that its own sweeps would hardly reach.

References
----------
G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of restricted
Boltzmann machines", AISTATS 2010.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.exchanges import due, exchanged, odd_pairs

from .annealing import Path
from .energy import told
from .partition import constant
from .sampling import column, compile_chains, counted, placeholder, repeated, rows_told

__all__ = ["compile_tempering"]


def compile_tempering(
    path: Path, betas: Sequence[float], rows: int, n_steps: int, rng: Any, *, settling: int = 0
) -> Any:
    """Compile chains of parallel tempering, all replicas of all chains at once.

    Parameters
    ----------
    path : Path
        From a model without weights to another one.
    betas : sequence of float
        Inverse temperatures, rising to 1, at least two.
    rows : int
        The number of chains.
    n_steps : int
        Sweeps, each followed by exchanges; at least one.
    rng : RandomStreams
        Every layer of ``topology.retained`` draws its start, in rising order; then each step draws its sweep, as
        `energy.sweep` does, of shape (rows, replicas, units), and a uniform for each pair, of shape
        (rows, replicas - 1).
    settling : int, optional
        Steps before those, an even number, whose exchanges do not count.

    Returns
    -------
    Function
        Called with an array of any values, of shape (rows, visible units), whose library and chunks the chains are of.
        It returns the last states of all layers at β = 1, then the share of its turns in which each pair exchanged
        its states, of shape (rows, replicas - 1); 0 for a pair that had none.
    """
    parameters, count = path.last, len(betas)
    topology, dtype, layers = parameters.topology, parameters.dtype, parameters.topology.layers
    like = placeholder(parameters, rows_told(parameters, rows), "like")
    (chains,), rng = counted(like, rows, rng)
    ladder = constant([[beta] for beta in betas], dtype)
    distance = constant([low - high for low, high in itertools.pairwise(betas)], dtype)
    nothing = B.reshape(column(like), (chains, 1, 1)) + B.zeros_like(ladder)
    state = path.start(nothing, (chains, count), rng)
    for layer in topology.marginalised:
        state[layer] = nothing + B.zeros_like(parameters.biases[layer])
    odd, turn = constant(odd_pairs(count - 1), dtype), B.reshape(nothing[:, :1, :], (chains, 1))

    def step(now: list[Any]) -> list[Any]:
        *states, turn, made = now
        states = path.sweep(ladder, states, (chains, count), rng)
        excess = path.excess_energy(states)
        chance = B.exp(B.minimum(distance * (excess[:, :-1] - excess[:, 1:]), 0.0))
        drawn = B.random_uniform((chains, count - 1), dtype=dtype, rng=rng)
        swap = B.cast(B.less(drawn, chance), dtype) * due(odd, turn)
        return [*(exchanged(values, swap[:, :, None], axis=1) for values in states), 1 - turn, made + swap]

    updates: list[tuple[Any, Any]] = []
    first = [*state, turn, turn + odd * 0]
    if settling:
        (*settled, _), updates = repeated(step, first, range(len(first)), settling)
        first = [*settled, first[-1]]
    last, further = repeated(step, first, range(len(first)), n_steps)
    turns = [max((n_steps + 1 - pair % 2) // 2, 1) for pair in range(count - 1)]
    shares = last[-1] / constant([float(number) for number in turns], dtype)
    states = [told(parameters, layer, last[layer][:, -1, :]) for layer in layers]
    return compile_chains([like], [*states, shares], updates + further, "tempering")
