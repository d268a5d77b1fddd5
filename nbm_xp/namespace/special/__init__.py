"""Special functions of a library: its own where it has them, else portable forms written over its namespace.

`special_of` gives them as attributes of one object for each library. All take real arrays and numbers, cast to one
floating dtype as NumPy promotes them, broadcast, and give that dtype back. A library's own come from where
`nbm_xp.namespace.compat.special` says; a portable form is computed in double precision where the library has it.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any

from nbm_xp.namespace import config, dispatch, dtypes
from nbm_xp.namespace.blocks import from_blocks
from nbm_xp.namespace.kernels import kernel, register_kernel
from nbm_xp.namespace.lazy import maps_blocks
from nbm_xp.namespace.libraries import name_of_namespace
from nbm_xp.namespace.promotion import promote

__all__ = ["ARITY", "Special", "portable", "register_special", "special_of", "whole_number"]

_CHAPTERS = {
    "gamma_family": "gammaln gamma digamma polygamma_of riemann_zeta beta:2 betaln:2 hurwitz_zeta:2 zeta_moment:2",
    "error_functions": "erf erfc erfinv erfcx ndtr log_ndtr ndtri",
    "bessel": "i0 i0e i1 i1e j0 j1",
    "entropy": "expit log_expit logit entr xlogy:2 xlog1py:2 rel_entr:2 kl_div:2",
    "distributions": "chdtr:2 chdtrc:2 stdtr:2 stdtrit:2",
    "incomplete": "gammainc:2 gammaincc:2 gamma_moment:2 betainc:3 beta_moment:3",
}
_CHAPTER = {entry.partition(":")[0]: chapter for chapter, names in _CHAPTERS.items() for entry in names.split()}

ARITY: dict[str, int] = {
    name: int(count or 1)
    for names in _CHAPTERS.values()
    for name, _, count in (entry.partition(":") for entry in names.split())
}
"""How many arrays each function takes; what is no array (`n`, `k`) follows by keyword."""

for _library in ("numpy", "cupy", "torch", "jax"):
    register_kernel("special", _library, f"nbm_xp.namespace.compat.special:{_library}_own")
register_kernel("special_blocks", "dask", "nbm_xp.namespace.compat.dask_special:dask_blocks")


def portable(name: str) -> Callable[..., Any]:
    """The form of a function over any namespace: ``body(xp, *arrays)``, of arrays of one floating dtype."""
    body: Callable[..., Any] = getattr(importlib.import_module(f"{__name__}.{_CHAPTER[name]}"), name)
    return body


class Special:
    """The special functions of one library, found when they are first asked for.

    Examples
    --------
    >>> import numpy as np
    >>> special_of(np.ones(1)).gammaln(np.asarray([1.0, 3.0])).round(6).tolist()
    [0.0, 0.693147]
    """

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in ARITY:
            raise AttributeError(f"there is no special function {name!r} here")
        function = _function(name, self._xp)
        setattr(self, name, function)
        return function

    def polygamma(self, n: Any, x: Any) -> Any:
        """The n-th derivative of `digamma`; `n` is an int, or an array of whole numbers."""
        order = whole_number(n)
        if order is not None:
            return self.polygamma_of(x, n=order) if order else self.digamma(x)
        (n, x), _ = _prepared("polygamma", self._xp, (n, x), 2)
        xp = self._xp
        higher = xp.where(n > 0, n, 1.0)
        odd = higher % 2.0 == 1.0
        size = self.gamma(higher + 1.0) * self.zeta(higher + 1.0, x)
        return xp.where(n > 0, xp.where(odd, size, -size), xp.where(n == 0, self.digamma(x), math.nan))

    def zeta(self, x: Any, q: Any = None) -> Any:
        """Riemann's zeta function, or with `q` Hurwitz's."""
        return self.riemann_zeta(x) if q is None else self.hurwitz_zeta(x, q)


_FOUND: dict[Any, Any] = {}


def special_of(*values: Any) -> Any:
    """The special functions of the library that arrays belong to; recorded ones for recording tensors."""
    xp = dispatch.array_namespace(*values)
    found = _FOUND.get(xp)
    return _FOUND.setdefault(xp, Special(xp)) if found is None else found


def register_special(xp: Any, functions: Any) -> None:
    """Say where the special functions of a namespace are: attributes of a module or an object."""
    _FOUND[xp] = functions


def whole_number(n: Any) -> int | None:
    """The order that an int, of Python's or a library's, stands for; None for an array.

    Raises
    ------
    ValueError
        If it is negative.
    """
    if not hasattr(n, "__index__") or hasattr(n, "shape"):
        return None
    order = operator.index(n)
    if order < 0:
        raise ValueError(f"n must be 0 or more, got {order}")
    return order


def _function(name: str, xp: Any) -> Callable[..., Any]:
    """The function over arrays and numbers."""
    computed = _computed(name, xp)
    count = ARITY[name]
    ready: set[Any] = set()  # dtypes of which arrays are taken and given as they are

    def prepared(*values: Any, **options: Any) -> Any:
        arrays, dtype = _prepared(name, xp, values, count)
        result = computed(*arrays, **options)
        if dtypes.dtype_name(result) != dtype:
            return xp.astype(result, dtypes.dtype_of(xp, dtype))
        if all(array is value for array, value in zip(arrays, values, strict=True)):
            ready.add(arrays[0].dtype)
        return result

    if count == 1:

        def of_one(x: Any, /, **options: Any) -> Any:
            taken = getattr(x, "dtype", None) in ready
            return computed(x, **options) if taken else prepared(x, **options)

        return of_one

    def of_several(*values: Any, **options: Any) -> Any:
        found = [getattr(value, "dtype", None) for value in values]
        own = found[0] if len(found) == count else None
        taken = own in ready and not any(dtype is None or dtype != own for dtype in found)  # NumPy's equal None
        return computed(*values, **options) if taken else prepared(*values, **options)

    return of_several


def _computed(name: str, xp: Any) -> Callable[..., Any]:
    """The function over arrays of one floating dtype; the result may be of a wider one."""
    blocks = kernel("special_blocks", xp)
    if blocks is not None:
        return functools.partial(blocks, name)
    own = kernel("special", xp)
    if own is None and maps_blocks(xp):
        return functools.partial(_in_blocks, name, xp)
    found: Callable[..., Any] | None = None if own is None else own(name)
    return functools.partial(_in_double, portable(name), xp) if found is None else found


def _in_blocks(name: str, xp: Any, *arrays: Any, **options: Any) -> Any:
    """Each block by the function of its own library: of a portable form, every step would be a step of the plan."""
    like = functools.reduce(operator.add, arrays)
    task = functools.partial(_on_block, name, options)
    return from_blocks(xp, task, like.shape, like.dtype, like.chunks, blocks=arrays, name=name)


def _on_block(name: str, options: dict[str, Any], _: Any, __: Any, *blocks: Any) -> Any:
    return getattr(special_of(*blocks), name)(*blocks, **options)


def _in_double(body: Callable[..., Any], xp: Any, *arrays: Any, **options: Any) -> Any:
    """A portable form in double precision; infinities and NaN on the way are meant."""
    import numpy as np

    if name_of_namespace(xp) != "jax":  # which may have none, and computes its own in what it is given
        arrays = tuple(xp.astype(x, xp.float64, copy=False) for x in arrays)
    elif dtypes.dtype_name(arrays[0]) == "float16":
        arrays = tuple(xp.astype(x, xp.float32) for x in arrays)
    with np.errstate(all="ignore"):
        return body(xp, *arrays, **options)


def _prepared(name: str, xp: Any, values: tuple[Any, ...], count: int) -> tuple[list[Any], str]:
    """Arrays of one floating dtype from arrays and numbers, and that dtype's name."""
    if len(values) != count:
        raise TypeError(f"{name} takes {count} arrays, got {len(values)}")
    for place, value in enumerate(values, start=1):
        if dtypes.kind(value) == "c":
            what = "a complex number" if isinstance(value, complex) else dtypes.dtype_name(value)
            raise TypeError(f"{name} is a function of real numbers, argument {place} is {what}: take real or imag")
    found = [dtypes.to_floating(value) for value in promote(*values)]
    arrays = [value for value in found if not isinstance(value, (int, float)) or dispatch.is_array(value)]
    dtype = dtypes.dtype_name(arrays[0]) if arrays else config.floatx()
    if len(arrays) < len(found):
        device = dispatch.device_argument(arrays[0]) if arrays else None
        kind = dtypes.dtype_of(xp, dtype)
        found = [
            value if any(value is array for array in arrays) else xp.asarray(float(value), dtype=kind, device=device)
            for value in found
        ]
    return found, dtype
