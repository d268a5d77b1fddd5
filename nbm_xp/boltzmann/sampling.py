"""Sampling a model in memory or on Dask, and what formulas are recorded with: inputs, one sweep, a repeated step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.rows import positive_int
from nbm_xp.machines.units import softplus

from .chains import Chains, checked_layer, checked_states, machine_and_seed
from .energy import Parameters, free_energy, opened, sweep, told
from .ladder import LadderChains
from .partition import constant

__all__ = [
    "checked_clamp",
    "column",
    "compile_sweep",
    "placeholder",
    "pseudo_likelihood",
    "repeated",
    "rows_placeholder",
    "sample",
    "told_placeholders",
]

_NEVER = 1e30  # in place of the logarithm of a probability of 0


def checked_clamp(clamp: Any, count: int, checked: Callable[[int, Any], Array]) -> dict[int, Array]:
    """The states of clamped layers of so many, by the number of the layer, each as `checked` gives it."""
    if clamp is not None and not isinstance(clamp, Mapping):
        raise ValueError(f"clamp must map layers to their states, got {type(clamp).__name__}")
    numbered = ((checked_layer(number, count, "clamp"), states) for number, states in (clamp or {}).items())
    found = {layer: checked(layer, states) for layer, states in numbered}
    if len(found) == count:
        raise ValueError("clamp must leave a layer to draw, but it holds all of them")
    return found


def sample(
    model: Any,
    n_chains: Any,
    n_sweeps: Any,
    *,
    initial: Any,
    clamp: Any,
    layer: Any,
    probabilities: bool,
    library: str | None,
    chunks: Any,
    random_state: Any,
) -> Any:
    """The last states of chains, or the means that they were drawn with: see `RBM.sample`."""
    rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 0)
    topology = model.state_.topology
    count = len(topology.sizes)
    wanted = tuple(topology.layers) if layer is None else (checked_layer(layer, count, "layer"),)
    held = checked_clamp(clamp, count, lambda k, states: checked_states(model, states, rows, k, f"clamp[{k}]"))
    if initial is not None and 0 in held:
        raise ValueError("initial must be left out where clamp holds the visible layer")
    first = {} if initial is None else {0: checked_states(model, initial, rows, 0, "initial")}
    machine, seed, lazy = machine_and_seed(model, library, random_state, *first.values(), *held.values())
    options: dict[str, Any] = {"layers": wanted, "means": probabilities}
    if machine.ladder and sweeps and not first and not held:
        chains: Chains = LadderChains(machine, seed, **options)
    else:
        chains = Chains(machine, seed, clamp=held, initial=first, **options)
    found = chains.last(rows, sweeps, lazy, chunks)
    return found if layer is None else found[0]


def compile_sweep(parameters: Parameters, rows: int, rng: Any) -> Any:
    """Compile one sweep: the states of ``topology.retained`` in, the new ones of all layers out, as data tell."""
    inputs, state = told_placeholders(parameters, parameters.topology.retained, rows)
    moved, _ = sweep(parameters, state, rows, rng)
    return B.function(inputs, [told(parameters, layer, part) for layer, part in enumerate(moved)], name="gibbs")


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
    parameters: Parameters, layers: Iterable[int], rows: int | None, name: str = "layer"
) -> tuple[list[Any], list[Any]]:
    """Inputs for states of some layers as data give them, rising, and a whole state, with None for other layers."""
    topology = parameters.topology
    inputs: list[Any] = []
    state: list[Any] = [None] * len(topology.sizes)
    for layer in sorted(set(layers)):
        shape = (rows, topology.sites(layer))
        inputs.append(B.placeholder(shape=shape, dtype=parameters.dtype, name=f"{name}{layer}"))
        state[layer] = opened(parameters, layer, inputs[-1])
    return inputs, state
