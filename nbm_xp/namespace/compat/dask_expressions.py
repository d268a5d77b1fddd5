"""Dask's arrays on expressions: what `dask.array` has for them, and what its other functions give.

`da` and `original` stand for `dask.array` and array-api-compat's namespace of it. What Dask has for arrays on graphs
alone is called on graphs, by the protocol of Dask's collections; what reduces on the way fails there, and is written
here. Operators and elementwise functions are Dask's own.
"""

from __future__ import annotations

from collections import UserDict
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import array_api_compat.dask.array
import dask.array
import numpy as np

_compat: Any = array_api_compat.dask.array
_flatten: Any = dask.core.flatten
_MODULES = ("fft", "gufunc", "numpy_compat", "reshape", "reductions", "creation", "routines", "core")
_ON_GRAPHS = {name: f for module in _MODULES for name, f in vars(import_module(f"dask.array.{module}")).items()}
_GraphArray: Any = _ON_GRAPHS["Array"]
_OWN = ("finfo", "iinfo", "isdtype", "sign", "vecdot")  # functions of array-api-compat that are not to call `da`
_LACKING = {name for name, f in vars(dask.array).items() if "not_implemented" in getattr(f, "__qualname__", "")}


class _Tasks(UserDict[Any, Any]):
    """The tasks of an array, known by the key of its first block, to which the first of them leads."""

    def __dask_tokenize__(self) -> Any:
        return next(iter(self.values()))


def layers_of(x: Any) -> dict[Any, Any]:
    """One task of an array's graph for each beginning of a key."""
    return {key[0] if isinstance(key, tuple) else key: task for key, task in x.__dask_graph__().items()}


def _on_graph(x: Any) -> Any:
    name = next(_flatten(x.__dask_keys__()))[0]
    return _GraphArray(dict(x.__dask_graph__()), name, x.chunks, x.dtype, x._meta)


def _on_expressions(x: Any) -> Any:
    """The array as one that was persisted is rebuilt, with tasks in the place of data."""
    like = da.map_blocks(np.empty, 0, chunks=x.chunks, dtype=x.dtype, meta=x._meta, name=x.name.partition("-")[0])
    rebuild, args = like.__dask_postpersist__()
    tasks = _Tasks(zip(_flatten(like.__dask_keys__()), _flatten(x.__dask_keys__()), strict=True))
    return rebuild(tasks | dict(x.dask), *args)


def _changed(value: Any, kind: Any, change: Any) -> Any:
    """Convert the arrays of a type in nested lists, tuples and dictionaries."""
    if type(value) is dict:
        return {key: _changed(item, kind, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_changed(item, kind, change) for item in value)
    return change(value) if isinstance(value, kind) else value


def on_expressions(function: Any) -> Any:
    """A function of arrays on graphs as one of arrays on expressions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _changed((args, kwargs), dask.array.Array, _on_graph)
        return _changed(function(*args, **kwargs), _GraphArray, _on_expressions)

    return call


def _run(name: str, *blocks: Any, summed: int = 0, **options: Any) -> Any:
    """A function of the blocks' own library; its result with an axis of length 1 for each that is summed over."""
    from nbm_xp.namespace import array_namespace

    made = getattr(array_namespace(*blocks), name)(*blocks, **options)
    return made[(..., *(None,) * summed)] if summed else made


def _whole(name: str, signature: str, *arrays: Any, dtype: Any, how: Any = None, **options: Any) -> Any:
    """A function whose core axes are one block each."""
    function, given = partial(_run, name, **(how or {})), list(map(da.asarray, arrays))
    meta = given[0]._meta.astype(dtype)
    return da.apply_gufunc(function, signature, *given, meta=meta, allow_rechunk=True, **options)


def _place(name: str, x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    if axis is None:
        return da.reshape(_place(name, da.reshape(x, (-1,)), axis=0), (1,) * x.ndim if keepdims else ())
    return _whole(name, "(i)->()", x, dtype=np.int64, how={"axis": -1}, axis=axis, keepdims=keepdims)


def _tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    """A task for each pair of blocks, then sums as trees."""
    x1, x2 = da.asarray(x1), da.asarray(x2)
    left, right = list(range(x1.ndim)), list(range(x1.ndim, x1.ndim + x2.ndim))
    for one, other in zip(*((left[x1.ndim - axes :], range(axes)) if isinstance(axes, int) else axes), strict=True):
        right[other] = left[one]
    summed = [label for label in left if label in right]
    out = [label for label in (*left, *right) if label not in summed]
    dtype = np.result_type(x1.dtype, x2.dtype)
    meta = np.empty_like(x1._meta, shape=(0,) * len(out + summed), dtype=dtype)
    work, sizes = partial(_run, "tensordot", axes=axes, summed=len(summed)), dict.fromkeys(summed, lambda _: 1)
    parts = da.blockwise(work, out + summed, x1, left, x2, right, dtype=dtype, adjust_chunks=sizes, meta=meta)
    return parts.sum(axis=tuple(range(len(out), parts.ndim)), dtype=dtype) if summed else parts


def _matmul(x1: Any, x2: Any) -> Any:
    if x2.ndim < 3:
        return _tensordot(x1, x2, ((x1.ndim - 1,), (max(x2.ndim - 2, 0),)))
    if x1.ndim == 1:
        return _matmul(x1[None, :], x2)[..., 0, :]
    return _whole("matmul", "(i,k),(k,j)->(i,j)", x1, x2, dtype=np.result_type(x1.dtype, x2.dtype))


def _bound(module: Any) -> SimpleNamespace:
    """A namespace of array-api-compat, its functions calling `da`."""
    names = {name: getattr(module, name) for name in {*vars(module), *dir(module)}}
    for name, function in names.items():
        if name not in _OWN and "xp" in getattr(getattr(function, "__wrapped__", 0), "__annotations__", ()):
            names[name] = partial(function.__wrapped__, xp=da)
        elif name in _WRITTEN:
            names[name] = getattr(da, name)
    return SimpleNamespace(**names)


_WRITTEN: dict[str, Any] = {
    **{
        name: on_expressions(_ON_GRAPHS[name])
        for name in ("apply_gufunc", "fftshift", "ifftshift", *_LACKING & {*_ON_GRAPHS})
    },
    "argmax": partial(_place, "argmax"), "argmin": partial(_place, "argmin"),
    "matmul": _matmul, "sign": dask.array.sign, "tensordot": _tensordot,
    "count_nonzero": lambda x, **options: (x != 0).sum(dtype=np.int64, **options),
    "isin": lambda x, y, **how: _whole("isin", "(),(i)->()", x, da.reshape(da.asarray(y), (-1,)), dtype=bool, how=how),
    "searchsorted": lambda x, y, **how: _whole("searchsorted", "(i),()->()", x, y, dtype=np.int64, how=how),
    "vecdot": lambda x1, x2, *, axis=-1: (da.conj(x1) * x2).sum(axis=axis),
}  # fmt: skip
_GIVEN = {
    "fft": SimpleNamespace(**{name: on_expressions(_ON_GRAPHS[name]) for name in ("fftfreq", "rfftfreq")}),
    "ones": partial(dask.array.full, fill_value=1.0), "zeros": partial(dask.array.full, fill_value=0.0),
    "trace": lambda x, dtype=None, **where: da.diagonal(x, **where).sum(axis=-1, dtype=dtype),
    "std": lambda x, **options: da.sqrt(da.var(x, **options)),
    "var": lambda x, **options: dask.array.var(x, dtype={"c": None, "f": x.dtype}.get(x.dtype.kind, float), **options),
}  # fmt: skip
# As `dask.array`.
da: Any = SimpleNamespace(**vars(dask.array) | _WRITTEN | _GIVEN)
# As `array_api_compat.dask.array`.
original: Any = _bound(_compat)
original.linalg, original.fft = _bound(_compat.linalg), _bound(_compat.fft)
original.astype = lambda x, dtype, *, copy=True, device=None: x.astype(dtype)
