"""Arrays that draws write to: those given as ``out``, and those that are shuffled.

Contract: what cannot be written to is refused before anything is drawn.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name, is_array, is_lazy, library_name

from ..parameters import Size, shape_of
from ..uniforms import DTYPES

__all__ = ["fill", "form_of", "require_writable"]


def require_writable(name: str, x: Any, instead: str = "") -> None:
    """Refuse what is no array, or one whose elements cannot be changed.

    Parameters
    ----------
    name : str
        What the array is called.
    x : object
    instead : str, optional
        What to do instead.
    """
    if not is_array(x):
        raise TypeError(f"{name} must be an array, got {type(x).__name__}")
    if is_lazy(array_namespace(x)):
        return  # it gets another graph
    nothing = (slice(0, 0),) * x.ndim if x.ndim else ...
    try:
        x[nothing] = x[nothing]
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array that can be written to{instead}: {error}") from error


def form_of(xp: Any, out: Any, size: Size, dtype: Any) -> tuple[Size, Any]:
    """The size and the dtype of a draw: those of `out`, if there is one, which those asked for may not contradict."""
    if out is None:
        return size, dtype
    require_writable("out", out)
    shape = tuple(out.shape)
    try:
        own = dtype_name(out)
    except TypeError as error:
        raise TypeError(f"out must hold numbers: {error}") from error
    if library_name(array_namespace(out)) != library_name(xp):
        raise TypeError(f"out must be an array of {library_name(xp)}, got one of {library_name(array_namespace(out))}")
    if own not in DTYPES or (dtype is not None and dtype_name(dtype) != own):
        raise TypeError(f"out must be of {'floating-point' if dtype is None else dtype_name(dtype)} dtype, got {own}")
    if size is not None and shape_of(size) != shape:
        raise ValueError(f"out must have the shape that size says, {shape_of(size)}; got {shape}")
    return shape, own


def fill(out: Any, drawn: Any) -> Any:
    """What was drawn; in `out`, if there is one."""
    if out is None or drawn is out:
        return drawn
    if 0 not in out.shape:  # which Dask refuses to write to
        out[...] = drawn
    return out
