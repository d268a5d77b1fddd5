"""Markov chains of a restricted Boltzmann machine, compiled: one sweep, or many in one loop.

A chain starts from probabilities: a state of 0 and 1 is kept as it is by drawing from it, anything between is drawn.
The sizes are numbers, because the streams that a draw uses follow from them: the same seed and sizes give the same
uniforms on every library and, on Dask, for every chunking.
"""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters, draw, free_energy, gibbs_step, shape_of, softplus

__all__ = ["compile_chain", "compile_gibbs", "placeholder", "pseudo_likelihood"]


def compile_gibbs(parameters: Parameters, rows: int, rng: Any) -> Any:
    """Compile one sweep: visible states in, new visible states out."""
    visible = placeholder(parameters, rows)
    return B.function([visible], gibbs_step(parameters, visible, rows, rng)[0], name="gibbs")


def compile_chain(parameters: Parameters, rows: int, n_steps: int, rng: Any) -> Any:
    """Compile a chain of sweeps.

    The compiled function takes the probabilities of the visible units to start from, and returns the last visible
    states and the probabilities that they were drawn with.
    """
    start = placeholder(parameters, rows, "start")
    visible = draw(start, (rows, shape_of(parameters.weights)[0]), rng)
    if not n_steps:
        return B.function([start], [visible, start], name="chain")

    # The probabilities are carried from step to step, though no step needs them, so that only the last are kept.
    (states, probabilities), updates = B.scan(
        lambda state, _: gibbs_step(parameters, state, rows, rng), outputs_info=[visible, start], n_steps=n_steps
    )
    return B.function([start], [states[-1], probabilities[-1]], updates=updates, name="chain")


def pseudo_likelihood(parameters: Parameters, visible: Any, rows: int, rng: Any) -> Any:
    """The number of units times the log-probability of each row against the row with one unit, drawn, flipped."""
    n_visible = shape_of(parameters.weights)[0]
    unit = B.cast(B.random_uniform((rows,), dtype="float32", rng=rng) * n_visible, "int32")
    flip = B.cast(B.one_hot(unit, n_visible), B.dtype(visible))
    gain = free_energy(parameters, visible + flip * (1 - 2 * visible)) - free_energy(parameters, visible)
    return -n_visible * softplus(-gain)


def placeholder(parameters: Parameters, rows: int | None, name: str = "visible") -> Any:
    """An input of visible states: so many rows, or any number."""
    n_visible = shape_of(parameters.weights)[0]
    return B.placeholder(shape=(rows, n_visible), dtype=B.dtype(parameters.weights), name=name)
