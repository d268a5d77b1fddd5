"""The host's arrays beside those of a lazy library that takes none itself.

Dask takes part in NumPy's protocols: it is asked first, and takes NumPy's arrays. An array of a lazy library that does
not (cubed) would be computed unasked by NumPy's operators, and refuses NumPy's arrays in its own: these are brought to
the lazy library first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from . import conversion, dispatch
from .dispatch import settled
from .lazy import is_lazy

__all__ = ["in_one_library"]


def in_one_library(values: Sequence[Any]) -> list[Any]:
    """The values; with a lazy array that takes none of the host's among them, the host's arrays in its library.

    Lists and tuples are looked through.

    Raises
    ------
    TypeError
        If the lazy array does not lie where the host's arrays would.

    Examples
    --------
    >>> in_one_library([1.0, None])
    [1.0, None]
    """
    lazy = next(_apart(values), None)
    if lazy is None:
        return list(values)
    xp = dispatch.array_namespace(lazy)
    return [_there(value, lazy, xp) for value in values]


def _apart(values: Sequence[Any]) -> Iterator[Any]:
    """The lazy arrays that take none of the host's."""
    for value in values:
        kind = type(value)
        if kind in settled:
            continue
        if kind in (list, tuple):
            yield from _apart(value)
        elif (
            dispatch.library_of(value) is not None
            and not hasattr(kind, "__array_ufunc__")
            and is_lazy(dispatch.array_namespace(value))
        ):
            yield value
        else:
            settled[kind] = None


def _there(value: Any, lazy: Any, xp: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_there(item, lazy, xp) for item in value)
    if dispatch.library_of(value) != "numpy":
        return value
    place = conversion.device_of(lazy)
    if place != xp.__array_namespace_info__().default_device():
        title = dispatch.library_name(xp)
        raise TypeError(
            f"an array of numpy stands beside one of {title} that lies on {place}: convert one of them with "
            "nbm_xp.namespace.convert or to_numpy"
        )
    return conversion.asarray(value, xp)
