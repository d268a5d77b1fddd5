"""Sweeps over all units of all chains: heat bath and Metropolis, colour after colour, on any array library.

Contract: the same bits on every library. Sums are exact (see `layout`), exponentials are those of
`nbm_xp.rng.elementary`, and everything else is one operation that IEEE 754 fixes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.namespace import dtype_of, wide_dtypes
from nbm_xp.rng.elementary import exp

from .layout import Colour, Layout
from .values import Values

__all__ = ["RULES", "energies", "swept"]


def swept(
    xp: Any, layout: Layout, values: Values, rule: str, states: Any, uniforms: Any, beta: Any, free: Any = None
) -> Any:
    """The states after a sweep.

    Parameters
    ----------
    xp : namespace
        The library.
    layout : Layout
    values : Values
        What a unit can be.
    rule : str
        One of `RULES`.
    states : array
        int8, of shape (units, chains), in the order of slots.
    uniforms : array
        float64, of the same shape.
    beta : array
        float64, of shape (1, chains).
    free : array of bool, optional
        Of shape (units, 1): which units may change.
    """
    change = RULES[rule][values.kind == "potts"]
    with wide_dtypes(xp):
        for colour in layout.on(xp).colours:
            begin, end = colour.begin, colour.end
            old = states[begin:end, :]
            new = change(xp, colour, values, states, old, uniforms[begin:end, :], beta)
            if free is not None:
                new = xp.where(free[begin:end, :], new, old)
            states = xp.concat([states[:begin, :], new, states[end:, :]], axis=0)
    return states


def _local(xp: Any, colour: Colour, states: Any) -> Any:
    """The local fields of a colour's units, of shape (slots, chains)."""
    wide = xp.astype(xp.take(states, colour.neighbours, axis=0), dtype_of(xp, "float64"))
    return colour.sums(xp, wide) + colour.fields


def _local_of_each(xp: Any, colour: Colour, states: Any, count: int) -> list[Any]:
    """What the neighbours, and the fields, give for each value of Potts units."""
    around = xp.take(states, colour.neighbours, axis=0)
    float64 = dtype_of(xp, "float64")
    return [colour.sums(xp, xp.astype(around == k, float64)) + colour.fields[:, k : k + 1] for k in range(count)]


def _heat_bath(xp: Any, colour: Colour, values: Values, states: Any, old: Any, u: Any, beta: Any) -> Any:
    x = (beta * values.step) * _local(xp, colour, states)
    return values.of_bool(xp, u < 1.0 / (1.0 + exp(-x)))


def _metropolis(xp: Any, colour: Colour, values: Values, states: Any, old: Any, u: Any, beta: Any) -> Any:
    x = (beta * values.step) * _local(xp, colour, states)
    upper = old == 1
    taken = u < exp(xp.where(upper, -x, x))
    return values.of_bool(xp, upper != taken)


def _heat_bath_potts(xp: Any, colour: Colour, values: Values, states: Any, old: Any, u: Any, beta: Any) -> Any:
    x = [beta * f for f in _local_of_each(xp, colour, states, values.count)]
    largest = x[0]
    for other in x[1:]:
        largest = xp.maximum(largest, other)
    sums = [exp(x[0] - largest)]
    for other in x[1:]:
        sums.append(sums[-1] + exp(other - largest))
    point = u * sums[-1]
    new = xp.zeros(old.shape, dtype=old.dtype)
    for total in sums[:-1]:
        new = new + xp.astype(point >= total, old.dtype)
    return new


def _metropolis_potts(xp: Any, colour: Colour, values: Values, states: Any, old: Any, u: Any, beta: Any) -> Any:
    f = _local_of_each(xp, colour, states, values.count)
    scaled = u * (values.count - 1.0)
    which = xp.floor(scaled)
    new = xp.astype((xp.astype(old, which.dtype) + 1.0 + which) % float(values.count), old.dtype)
    before, behind = f[0], f[0]
    for k in range(1, values.count):
        before, behind = xp.where(old == k, f[k], before), xp.where(new == k, f[k], behind)
    return xp.where(scaled - which < exp(beta * (behind - before)), new, old)


RULES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "heat_bath": (_heat_bath, _heat_bath_potts),
    "metropolis": (_metropolis, _metropolis_potts),
}
"""What a unit's new value is drawn by: for two values, and for more."""


def energies(xp: Any, layout: Layout, values: Values, states: Any) -> Any:
    """The energy of each chain, float64 of shape (chains,); no sum is rounded."""
    placed = layout.on(xp)
    with wide_dtypes(xp):
        float64 = dtype_of(xp, "float64")
        a, b = (xp.take(states, ends, axis=0) for ends in (placed.first, placed.second))
        if values.kind == "potts":
            pairs = xp.astype(a == b, float64)
            own = [xp.astype(states == k, float64) * placed.fields[:, k : k + 1] for k in range(values.count)]
            alone = sum((xp.sum(x, axis=0) for x in own[1:]), xp.sum(own[0], axis=0))
        else:
            pairs = xp.astype(a * b, float64)
            alone = xp.sum(xp.astype(states, float64) * placed.fields, axis=0)
        return -(xp.sum(pairs * placed.weights, axis=0) + alone)
