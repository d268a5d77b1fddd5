"""Inverse temperatures that follow the model: close where its states change fast, far apart elsewhere.

A pilot run of a few chains goes from the base-rate model to the model. Each of its stages goes as far
as leaves the chains so much of their effective sample size, found by bisection; each stage is then divided into equal
steps. What is weighed afterwards goes through these temperatures with chains of its own, drawn from other streams: it
knows nothing of the pilot's, and stays unbiased. The pilot runs in host memory, so that a seed places the same
temperatures wherever the model is.

Replicas of parallel tempering need fewer. A pilot of them begins with the ends of those stages, and counts how often
neighbours exchange states; from that follows a ladder on which all do so equally often: see `exchanges`.

References
----------
Y. Zhou, A. M. Johansen and J. A. D. Aston, "Toward automatic model comparison: an adaptive sequential Monte Carlo
approach", Journal of Computational and Graphical Statistics 25 (2016).
R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.exchanges import distances, laid_out
from nbm_xp.machines.randomness import stream
from nbm_xp.namespace import array_namespace, asarray, host_namespace, library_name, to_numpy, use_backend

from .annealing import Path, inverse_temperatures, path_to
from .energy import Parameters, told, variable
from .sampling import column, placeholder, told_placeholders
from .tempering import compile_tempering

__all__ = ["ADAPTIVE", "placed_ladder", "placed_temperatures", "temperatures_of", "told_temperatures"]

ADAPTIVE = "adaptive"
"""What `n_temperatures` can be besides a number."""

_CHAINS = 100
_LEFT = 0.9  # of the effective sample size, after a stage
_STEPS = 10  # of a stage
_SWEEPS = 3  # of the pilot's chains after each stage
_REPLICAS = 20  # at each temperature of a ladder's pilot
_SETTLING, _COUNTED, _ROUNDS = 40, 60, 3  # steps of it before its exchanges count, and after; how often it is run
_ACCEPTANCE = 0.3
_HALVINGS, _LEAST = 20, 1e-4  # of an interval of inverse temperatures; what a stage goes at least


def told_temperatures(n_temperatures: int | str, betas: Any) -> list[float] | None:
    """Inverse temperatures, rising from 0 to 1: so many evenly, or those given; None where they are to be placed.

    Raises
    ------
    ValueError
        If they are something else.
    """
    if betas is None and isinstance(n_temperatures, str):
        if n_temperatures == ADAPTIVE:
            return None
        raise ValueError(f"n_temperatures must be a whole number or {ADAPTIVE!r}, got {n_temperatures!r}")
    return inverse_temperatures(n_temperatures, betas)


def temperatures_of(
    model: Any, n_temperatures: int | str, betas: Any, entropy: int, *, exchanging: bool = False
) -> list[float]:
    """Inverse temperatures, rising from 0 to 1: so many evenly, those given, or placed for a model.

    Parameters
    ----------
    model : model of this package
    n_temperatures : int or "adaptive"
    betas : sequence of float, or None
        They take the place of `n_temperatures`.
    entropy : int
        What the pilot's streams follow from.
    exchanging : bool, optional
        Whether they are for replicas that exchange states, in place of annealing.

    Raises
    ------
    ValueError
        If they are something else.
    """
    told_already = told_temperatures(n_temperatures, betas)
    if told_already is not None:
        return told_already
    rng, path = stream(entropy, "temperatures"), path_to(model)
    with use_backend(library_name(host_namespace())):
        path = Path(_on_host(path.first), _on_host(path.last))
        found = placed_temperatures(path, rng)
        return placed_ladder(path, found[::_STEPS], rng) if exchanging else found


def _on_host(parameters: Parameters) -> Parameters:
    return parameters.like(None if each is None else variable(to_numpy(each.value)) for each in parameters)


def placed_temperatures(path: Path, rng: Any) -> list[float]:
    """Inverse temperatures from 0 to 1 between which weights change equally much.

    Parameters
    ----------
    path : Path
        Between Parameters of Variables in host memory.
    rng : RandomStreams

    Examples
    --------
    A model like its base-rate model needs few temperatures, strong weights many.

    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> def count(strength):
    ...     rbm = RBM.from_parameters(strength * np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
    ...     return rbm.ais(10, "adaptive").n_temperatures
    >>> count(0.01), count(1.0) < count(4.0)
    (11, True)
    """
    parameters, retained = path.last, path.last.topology.retained
    warm, cold = (B.placeholder(shape=(), dtype=parameters.dtype, name=name) for name in ("warm", "cold"))
    inputs, state = told_placeholders(parameters, retained, _CHAINS)
    weigh = B.function([*inputs, warm, cold], path.log_ratio(cold, warm, state)[0], name="weigh")
    states = _first(path, rng)
    moved = path.sweep(cold, state, _CHAINS, rng)
    sweep = B.function([*inputs, cold], [told(parameters, layer, moved[layer]) for layer in retained], name="sweep")
    stages = [0.0]
    while stages[-1] < 1.0:
        here, low, high = stages[-1], stages[-1], 1.0
        if _left(weigh(*states, here, high)) >= _LEFT:
            low = 1.0
        else:
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if _left(weigh(*states, here, middle)) >= _LEFT else (low, middle)
        stages.append(min(max(low, here + _LEAST), 1.0))
        for _ in range(_SWEEPS):
            states = sweep(*states, stages[-1])
    found = [0.0]
    for here, there in itertools.pairwise(stages):
        found += [here + (there - here) * step / _STEPS for step in range(1, _STEPS)] + [there]
    return found


def placed_ladder(path: Path, betas: Sequence[float], rng: Any) -> list[float]:
    """Inverse temperatures of replicas, of which all neighbours exchange states equally often.

    Parameters
    ----------
    path : Path
        From a model without weights, in host memory.
    betas : sequence of float
        Such as are known to be close enough for some exchanges.
    rng : RandomStreams
    """
    host = host_namespace()
    rows = host.zeros((_REPLICAS, path.last.topology.sizes[0]), dtype=path.last.biases[0].value.dtype)
    for _ in range(_ROUNDS):
        chains = compile_tempering(path, betas, _REPLICAS, _COUNTED, rng, settling=_SETTLING)
        shares = host.mean(asarray(chains(rows)[-1], host, "float64"), axis=0)
        betas = laid_out(host.asarray(betas), distances(shares), _ACCEPTANCE).tolist()
    return list(betas)


def _first(path: Path, rng: Any) -> Sequence[Any]:
    """States of a first model without weights."""
    parameters = path.last
    like = placeholder(parameters, _CHAINS, "like")
    first = path.start(column(like), _CHAINS, rng)
    start = B.function([like], [told(parameters, layer, first[layer]) for layer in parameters.topology.retained])
    shape, dtype = (_CHAINS, parameters.topology.sizes[0]), parameters.biases[0].value.dtype
    found: Sequence[Any] = start(host_namespace().zeros(shape, dtype=dtype))
    return found


def _left(log_weights: Any) -> float:
    """The effective sample size of equal chains that get such weights, as a share of them."""
    xp = array_namespace(log_weights)
    weights = B.exp(asarray(log_weights - xp.max(log_weights), xp, "float64"))
    return float(B.mean(weights)) ** 2 / float(B.mean(B.square(weights)))
