"""The posterior of hidden layers given visible units: its mean-field approximation, or states drawn from it.

In the mean-field approximation q all hidden units are independent. A mean-field sweep computes the means of each group
of layers from their neighbours' means, in the order in which a Gibbs sweep draws them; no sweep lowers the bound

    log p(v) ≥ Σ q(h) (-E(v, h) - log q(h)) - log Z

The negative of its first term is called the free energy here. With two layers, q is the exact posterior, and the bound
is exact.

References
----------
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.tape import Function, function

from .energy import Parameters, completed, decoded, expectation, free_energy, sweep
from .recording import State, repeated, rows_placeholder, scanned


def mean_sweep(parameters: Parameters, state: State) -> State:
    """Do a mean-field sweep: compute the means of each group of hidden layers from those of all the others."""
    states = list(state)
    for group in parameters.topology.sweep:
        for layer in group:
            if layer:
                states[layer] = expectation(parameters, layer, states)
    return states


def posterior(
    parameters: Parameters, data: Array, n_steps: int, *, rows: int | None = None, rng: Streams = None
) -> tuple[State, Updates]:
    """Return hidden layers given rows of visible units after some sweeps: means, or drawn states if `rng` is given.

    Parameters
    ----------
    parameters : Parameters
    data : Tensor of shape (rows, visible units)
    n_steps : int
        Number of sweeps, starting from uninformed means.
    rows : int, optional
        Number of rows, required with `rng`.
    rng : RandomStreams, optional

    Returns
    -------
    state : list
        States of the layers of ``topology.retained``; None for the others.
    updates : list
        Updates of the random streams of the loop.
    """
    state, kept = _start(parameters, data)

    def step(now: State) -> State:
        return mean_sweep(parameters, now) if rng is None else sweep(parameters, now, rows or 0, rng, (0,))[0]

    return repeated(step, state, kept, n_steps)


def compile_completion(parameters: Parameters, rows: int, n_steps: int, rng: Streams) -> Function:
    """Compile Gibbs sweeps that draw the missing values, NaN, of rows given the other values.

    All units that are drawn start from uninformed means.

    Parameters
    ----------
    parameters : Parameters
    rows : int
        Number of rows.
    n_steps : int
        Number of sweeps.
    rng : RandomStreams
    """
    topology, (observed, _) = parameters.topology, rows_placeholder(parameters, rows)
    zeros = (B.zeros((rows, size), dtype=parameters.dtype) for size in topology.sizes)
    state: State = [units.uninformed(values) for units, values in zip(topology.units, zeros, strict=True)]
    state[0] = completed(topology.units[0], observed, expectation(parameters, 0, state), -1)

    def step(now: State) -> State:
        return sweep(parameters, now, rows, rng, observed=observed)[0]

    (visible, *_), updates = repeated(step, state, topology.retained, n_steps)
    return function([observed], decoded(parameters, 0, visible), updates=updates, name="completion")


def compile_mean_field(parameters: Parameters, tolerance: float, max_iterations: int, *, in_blocks: bool) -> Function:
    """Compile the mean-field approximation to convergence.

    A row has converged when no mean of its units changes by more than `tolerance` in a sweep, and is constant from then
    on: results do not depend on the other rows.

    Parameters
    ----------
    parameters : Parameters
    tolerance : float
    max_iterations : int
        Largest number of sweeps.
    in_blocks : bool
        Whether each block of rows is one task, as on Dask, which always does all sweeps. Otherwise the loop ends when
        all rows have converged.

    Returns
    -------
    Function
        From rows of visible units to the means of the hidden layers, in rising order, and the free energy.
    """
    topology = parameters.topology
    rows, data = rows_placeholder(parameters, None)
    state, kept = _start(parameters, data)
    if kept:

        def step(now: State) -> Array:
            after = mean_sweep(parameters, now)
            moves = [B.max(B.abs(after[layer] - now[layer]), axis=1, keepdims=True) for layer in kept]
            most = B.max(B.concatenate(moves, axis=1), axis=1, keepdims=True)
            moving = B.cast(B.greater(most, tolerance), parameters.dtype)
            values = [now[layer] + moving * (after[layer] - now[layer]) for layer in kept]
            return values if in_blocks else (values, B.until(B.equal(B.sum(moving), 0.0)))

        state, _ = scanned(step, state, kept, max_iterations)
    free = free_energy(parameters, state)
    for layer in kept:
        free = free - B.sum(topology.units[layer].entropy(state[layer]), axis=1)
    for layer in topology.marginalised:
        state[layer] = expectation(parameters, layer, state)
    return function([rows], [*state[1:], free], name="mean_field", batch_axis=0 if in_blocks else None)


def _start(parameters: Parameters, data: Array) -> tuple[State, list[int]]:
    """Return a state of the data and of uninformed hidden layers, and the indices of these hidden layers."""
    topology = parameters.topology
    kept = [layer for layer in topology.retained if layer]
    nothing = B.sum(B.zeros_like(data), axis=1, keepdims=True)
    state: State = [data, *([None] * (len(topology.sizes) - 1))]
    for layer in kept:
        state[layer] = topology.units[layer].uninformed(nothing + B.zeros_like(parameters.biases[layer]))
    return state, kept
