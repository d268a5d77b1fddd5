"""Spins of 64 chains in the bits of a word: heat bath for couplings of one size, with the bits that answers need.

Contract: the same bits whether words or arrays are worked with. A spin turns against its local
field, of size f, with the probability q = 1 / (1 + exp(2 β f)), where ``u < ceil(q 2**41)``. The first ten bits of the
integer u come from numbers that many chains share out bit by bit; the last 31 are a number of the chain's own, the one
that it would have in another rule's sweep, and are made where the first ten leave the answer open: once in a thousand.

A block of 64 slots takes 21 steps of the 64 streams of a group of 64 chains. Bit j, from the most significant on, has
in steps 2 j and 2 j + 1 the chains 0 to 30 and 31 to 61 of the group, by the bits of the number from the least
significant on; chains 62 and 63 have bits 2 j and 2 j + 1 of step 20.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import asarray, dtype_of, host_namespace, wide_dtypes
from nbm_xp.rng.elementary import exp

from .draws import LANES
from .energy_model import EnergyModel
from .layout import Layout

__all__ = ["GROUP", "MULTI_SPIN", "check_multi_spin", "numbers_of", "thresholds", "turned"]

MULTI_SPIN: Final = "multi_spin"
GROUP: Final = 64
"""Chains in a word."""
PLANES: Final = 10
STEPS: Final = 2 * PLANES + 1
MOST_NEIGHBOURS: Final = 7


def numbers_of(units: int) -> int:
    """How many numbers a group of chains takes in a sweep."""
    return -(-units // LANES) * LANES * STEPS


def check_multi_spin(machine: EnergyModel, betas: Any, first_chain: int, clamp: Any) -> None:
    """Refuse what words are not for.

    Raises
    ------
    ValueError
        If units are no spins, couplings differ in size, there are fields, units with more neighbours than others or
        than 7, other chains than a multiple of 64, or these differ in their temperatures.
    """
    host, layout = host_namespace(), machine.layout
    degrees = layout.begins[1:] - layout.begins[:-1]
    why = None
    if machine.values.kind != "spin" or host.any(layout.fields != 0):
        why = "is for spins without fields"
    elif not 1 <= int(degrees[0]) <= MOST_NEIGHBOURS or host.any(degrees != degrees[0]):
        why = f"is for units with as many neighbours each, from 1 to {MOST_NEIGHBOURS}"
    elif host.any(host.abs(layout.weights) != abs(layout.weights[0])):
        why = "is for couplings of one size"
    elif betas.shape[0] % GROUP or first_chain % GROUP:
        why = f"takes {GROUP} chains together: chains and first_chain must be multiples of that"
    elif host.any(betas != betas[0]) or betas[0] < 0:
        why = "is for chains of one inverse temperature, not negative"
    elif clamp:
        why = "cannot hold units: clamp must be None"
    if why:
        raise ValueError(f"rule {MULTI_SPIN!r} {why}")


def thresholds(layout: Layout, beta: float) -> list[int]:
    """Below which integer u a spin turns against its field, of the largest size, of two neighbours less, and so on."""
    host, degree = host_namespace(), int(layout.begins[1])
    sizes = host.asarray(range(degree, -1, -2), dtype=host.float64) * abs(float(layout.weights[0]))
    return [math.ceil(q * 2.0**41) for q in (1.0 / (1.0 + exp((beta * 2.0) * sizes))).tolist()]


def turned(xp: Any, layout: Layout, states: Any, shared: Any, own: Any, bounds: list[int]) -> Any:
    """The states after a sweep.

    Parameters
    ----------
    xp : namespace
    layout : Layout
    states : array
        int8, of shape (units, chains).
    shared : array
        float64, of shape (`numbers_of` the units, groups): uniforms.
    own : array
        float64, of shape (units, chains): uniforms.
    bounds : list of int
        What `thresholds` gives.
    """
    units, chains = states.shape
    with wide_dtypes(xp):
        float64 = dtype_of(xp, "float64")
        z = xp.reshape(shared * 2.0**31, (-1, STEPS, LANES, chains // GROUP, 1))
        places = [asarray([2.0**k for k in range(first, last)], xp, "float64") for first, last in ((0, 31), (0, 2))]
        high = None
        for plane in range(PLANES):
            last = xp.floor(z[:, -1, ...] / 4.0**plane)
            words = (z[:, 2 * plane, ...], places[0]), (z[:, 2 * plane + 1, ...], places[0]), (last, places[1])
            bits = xp.concat([xp.floor(word / place) % 2.0 for word, place in words], axis=-1)
            high = bits if high is None else 2.0 * high + bits
        u = xp.reshape(high, (-1, chains))[:units, :] * 2.0**31 + own * 2.0**31
        size, degree = abs(float(layout.weights[0])), int(layout.begins[1])
        for colour in layout.on(xp).colours:
            around = xp.astype(xp.take(states, colour.neighbours, axis=0), float64)
            field = colour.sums(xp, around)
            bound = xp.zeros(field.shape, dtype=float64)
            for number, value in zip(range(degree, -1, -2), bounds, strict=True):
                bound = xp.where(xp.abs(field) == number * size, float(value), bound)
            upper = (field > 0) != (u[colour.begin : colour.end, :] < bound)
            new = 2 * xp.astype(upper, states.dtype) - 1
            states = xp.concat([states[: colour.begin, :], new, states[colour.end :, :]], axis=0)
    return states
