"""Special functions by library: SciPy for NumPy; `cupyx`, PyTorch's and JAX's own; for Dask those of its blocks.

`special_of` returns them as attributes of one object for each library. All accept real arrays and numbers, which are
promoted to one floating dtype as in NumPy and broadcast; the result has that dtype. Functions that PyTorch, JAX or CuPy
lack, and derivatives of incomplete functions with respect to their parameters, which all libraries lack, are computed
by `forms` in double precision. For arrays of other libraries SciPy is used on the host.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nbm_xp.namespace import config, dispatch, dtypes
from nbm_xp.namespace.blocks import from_blocks
from nbm_xp.namespace.conversion import convert, promote, to_numpy
from nbm_xp.namespace.kernels import kernel
from nbm_xp.namespace.libraries import is_lazy, maps_blocks, name_of_namespace

__all__ = ["ARITY", "Special", "register_special", "special_of", "whole_number"]

Function: TypeAlias = Callable[..., Any]

_NAMES = (
    (
        "gammaln gamma digamma polygamma_of riemann_zeta erf erfc erfinv erfcx ndtr log_ndtr ndtri i0 i0e i1 i1e j0 j1 "
        "expit log_expit logit entr"
    ),
    (
        "beta betaln hurwitz_zeta zeta_moment xlogy xlog1py rel_entr kl_div chdtr chdtrc stdtr stdtrit gammainc "
        "gammaincc gamma_moment"
    ),
    "betainc beta_moment",
)
# How many arrays each function takes; what is no array (`n`, `k`) follows by keyword.
ARITY: dict[str, int] = {name: count for count, names in enumerate(_NAMES, start=1) for name in names.split()}

_MODULES = {"numpy": "scipy.special", "cupy": "cupyx.scipy.special", "torch": "torch.special",
            "jax": "jax.scipy.special"}  # fmt: skip
_THEIR_NAMES = {"polygamma_of": "polygamma", "hurwitz_zeta": "zeta", "riemann_zeta": "zeta"}
# Not used although they are there: CuPy's, PyTorch's and JAX's zeta have no default for q; JAX's beta and betaln are
# wrong from the sixth digit on, and its distributions are modules.
_NOT_THEIRS = {"cupy": {"riemann_zeta"}, "torch": {"riemann_zeta"}, "jax": {"riemann_zeta", "beta", "betaln"}}


class Special:
    """The special functions of one library, looked up at first use.

    Examples
    --------
    >>> import numpy as np
    >>> special_of(np.ones(1)).gammaln(np.asarray([1.0, 3.0])).round(6).tolist()
    [0.0, 0.693147]
    """

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Function:
        if name not in ARITY:
            raise AttributeError(f"there is no special function {name!r} here")
        function = _function(name, self._xp, self)
        setattr(self, name, function)
        return function

    def polygamma(self, n: Any, x: Any) -> Any:
        """The n-th derivative of `digamma`; `n` is an int, or an array of integers."""
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
    """Return the special functions of the library of arrays; recorded functions for recording tensors."""
    xp = dispatch.array_namespace(*values)
    found = _FOUND.get(xp)
    return _FOUND.setdefault(xp, Special(xp)) if found is None else found


def register_special(xp: Any, functions: Any) -> None:
    """Register the special functions of a namespace: the attributes of a module or an object."""
    _FOUND[xp] = functions


def whole_number(n: Any) -> int | None:
    """Return the order given by an int of Python or a library; None for an array.

    Raises
    ------
    ValueError
        If the order is negative.
    """
    if not hasattr(n, "__index__") or hasattr(n, "shape"):
        return None
    order = operator.index(n)
    if order < 0:
        raise ValueError(f"n must be 0 or more, got {order}")
    return order


def _function(name: str, xp: Any, special: Special) -> Function:
    """The function over arrays and numbers."""
    computed = _computed(name, xp, special)
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

    def function(*values: Any, **options: Any) -> Any:
        found = [getattr(value, "dtype", None) for value in values]
        own = found[0] if len(found) == count else None
        taken = own in ready and not any(dtype is None or dtype != own for dtype in found)  # NumPy's equal None
        return computed(*values, **options) if taken else prepared(*values, **options)

    return function


def _computed(name: str, xp: Any, special: Special) -> Function:
    """The function over arrays of one floating dtype; the result may be of a wider one."""
    blocks = kernel("special_blocks", xp)
    if blocks is not None:
        return functools.partial(blocks, name)
    if maps_blocks(xp):
        return functools.partial(_in_blocks, name, xp)
    library = name_of_namespace(xp)
    if library not in _MODULES:
        return functools.partial(_on_host, name, xp)
    own = _own(name, library, xp)
    if own is not None:
        return own
    from . import forms

    form = getattr(forms, name, None)
    if form is None:
        raise TypeError(f"{library} has no special function {name}")
    return functools.partial(_in_double, form, xp, special)


def _own(name: str, library: str, xp: Any) -> Function | None:
    """The library's own function of a name; None if it has none or an incorrect one."""
    if "moment" in name or name in _NOT_THEIRS.get(library, ()):
        return None
    module: Any = importlib.import_module(_MODULES[library])
    their = _THEIR_NAMES.get(name, name)
    if library == "torch" and their in ("j0", "j1"):
        their = f"bessel_{their}"
    found: Function | None = getattr(module, their, None)
    if name != "polygamma_of" or found is None:
        return found
    if library == "torch":  # whose first has nine digits, and all are wrong at infinity
        return lambda x, *, n: xp.where(x == math.inf, 0.0, module.zeta(2.0, x) if n == 1 else found(n, x))
    if library == "jax":  # incorrect below -10
        from .forms import reflected_polygamma

        return lambda x, *, n: reflected_polygamma(xp, x, n, lambda positive: found(n, positive))
    return lambda x, *, n: found(n, x)


def _in_blocks(name: str, xp: Any, *arrays: Any, **options: Any) -> Any:
    """Compute each block by the function of its own library, as one step of the plan."""
    like = functools.reduce(operator.add, arrays)
    task = functools.partial(_on_block, name, options)
    return from_blocks(xp, task, like.shape, like.dtype, like.chunks, blocks=arrays, name=name)


def _on_block(name: str, options: dict[str, Any], _: Any, __: Any, *blocks: Any) -> Any:
    return getattr(special_of(*blocks), name)(*blocks, **options)


def _on_host(name: str, xp: Any, *arrays: Any, **options: Any) -> Any:
    """Compute by SciPy, for unlisted libraries."""
    library = name_of_namespace(xp)
    if is_lazy(xp):
        raise TypeError(f"{name} is computed by SciPy, and arrays of {library} have no values before they are computed")
    try:
        on_host = [to_numpy(x) for x in arrays]
    except (BufferError, TypeError) as error:
        raise TypeError(f"{name} is computed by SciPy, which cannot read arrays of {library}: {error}") from error
    result = convert(np.asarray(getattr(special_of(*on_host), name)(*on_host, **options)), xp)
    device = dispatch.device_argument(arrays[0])
    return result if device is None else xp.asarray(result, device=device)


def _in_double(form: Function, xp: Any, special: Special, *arrays: Any, **options: Any) -> Any:
    """A form in double precision; intermediate infinities and NaN are intended."""
    if name_of_namespace(xp) != "jax":  # which may have none, and computes its own in what it is given
        arrays = tuple(xp.astype(x, xp.float64, copy=False) for x in arrays)
    elif dtypes.dtype_name(arrays[0]) == "float16":
        arrays = tuple(xp.astype(x, xp.float32) for x in arrays)
    with np.errstate(all="ignore"):
        return form(xp, special, *arrays, **options)


def _prepared(name: str, xp: Any, values: tuple[Any, ...], count: int) -> tuple[list[Any], str]:
    """Convert arrays and numbers to arrays of one floating dtype; return them and the dtype's name."""
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
