"""States of a block as tasks keep them and hand them on: of units with two values, eight in a byte.

Contract: what is packed comes back as it was; what is made on the way stays in the caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nbm_xp.namespace import host_namespace

from .values import Values

__all__ = ["packed", "unpack"]

AT_ONCE: Final = 2**16
"""About so many states are packed at once."""


def packed(values: Values, states: Any) -> Any:
    """States in less memory.

    Parameters
    ----------
    values : Values
        What a unit can be.
    states : array
        int8, of any strides.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.graphs.values import values_of
    >>> packed(values_of("spin"), np.asarray([[1, -1, 1, 1], [-1, 1, 1, 1]], dtype=np.int8)).tolist()
    [[176], [112]]
    """
    host = host_namespace()
    if values.count > 2:
        return host.asarray(states, copy=True, order="C")
    found = host.empty((*states.shape[:-1], -(-states.shape[-1] // 8)), dtype=host.uint8)
    for part in _parts(states):
        found[part] = host.packbits(states[part] > values.least, axis=-1)
    return found


def unpack(values: Values, kept: Any, states: Any) -> None:
    """Write states that were packed to where they belong.

    Parameters
    ----------
    values : Values
    kept : array
        What `packed` gave.
    states : array
        int8, of the shape that was packed, and of any strides.
    """
    host = host_namespace()
    if values.count > 2:
        states[...] = kept
        return
    for part in _parts(states):
        bits = host.unpackbits(kept[part], axis=-1, count=states.shape[-1])
        states[part] = bits.view(host.int8) * int(values.step) + values.least


def _parts(states: Any) -> Iterator[slice]:
    """Layers along the first axis, so many together that they are packed at once."""
    layers = states.shape[0] if states.ndim > 1 else 1
    some = max(1, AT_ONCE * layers // max(1, states.size))
    return (slice(k, k + some) for k in range(0, layers, some)) if states.ndim > 1 else iter([slice(None)])
