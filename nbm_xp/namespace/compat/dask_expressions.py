"""Dask's arrays on expressions: what their module does not have, brought from its functions on graphs or written here.

`da` and `original` stand for `dask.array` and array-api-compat's namespace of it in the chapters beside this one. What
Dask has for expressions is Dask's; what it has on graphs alone is lifted (`dask_classic`); what goes wrong there, for
it reduces on the way, is written here with `blockwise` and the reductions that Dask has for both.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import array_api_compat.dask.array
import dask.array
import numpy as np

from .dask_classic import lifted, new_collection, on_graph, own_handle
from .dask_operators import elemwise, mend_operators

__all__ = ["da", "original"]

_there: Any = dask.array
_compat: Any = array_api_compat.dask.array
_MODULES = ("core", "routines", "creation", "reductions", "reshape", "ufunc", "numpy_compat", "ma")


def _is_missing(function: Any) -> bool:
    """Whether it is what stands in Dask's module for a function that expressions have not."""
    return getattr(function, "__qualname__", "").startswith("raise_not_implemented_error.")


def _on_graphs(name: str) -> Any:
    modules = (importlib.import_module(f"dask.array.{module}") for module in _MODULES)
    return next((lifted(vars(module)[name]) for module in modules if name in vars(module)), None)


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1} for an array of {ndim} dimensions, got {axis}")
    return axis % ndim


def _multiplied(first: Any, second: Any, axes: Any, at: tuple[int, ...]) -> Any:
    """The product of two blocks, with an axis of length 1 for each that is summed over."""
    from nbm_xp.namespace import array_namespace

    xp = array_namespace(first, second)
    product = xp.tensordot(first, second, axes=axes)
    for place in at:
        product = xp.expand_dims(product, axis=place)
    return product


def _tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    """As Dask's: a task for each pair of blocks, then sums as trees."""
    x1, x2 = _there.asarray(x1), _there.asarray(x2)
    if isinstance(axes, int):
        left, right = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        left, right = (
            [_axis(axis, x.ndim) for axis in ((named,) if isinstance(named, int) else named)]
            for x, named in zip((x1, x2), axes, strict=True)
        )
    if [x1.shape[axis] for axis in left] != [x2.shape[axis] for axis in right]:
        raise ValueError(f"shapes {x1.shape} and {x2.shape} do not match along axes {left} and {right}")
    first, second = list(range(x1.ndim)), list(range(x1.ndim, x1.ndim + x2.ndim))
    for one, other in zip(left, right, strict=True):
        second[other] = first[one]
    free = [label for label in first if label not in [first[axis] for axis in left]]
    free += [label for axis, label in enumerate(second) if axis not in right]
    summed = [first[axis] for axis in left]
    out = (*free, *summed)
    dtype = np.result_type(x1.dtype, x2.dtype)
    parts = _there.blockwise(
        _multiplied, out, x1, first, x2, second, axes=(left, right), at=tuple(range(len(free), len(out))), dtype=dtype,
        adjust_chunks=dict.fromkeys(summed, lambda _: 1), meta=_there.utils.meta_from_array(x1._meta, len(out), dtype),
    )  # fmt: skip
    return parts.sum(axis=tuple(range(len(free), len(out))), dtype=dtype) if summed else parts


def _matrices_multiplied(first: Any, second: Any) -> Any:
    """The product of stacks of blocks, with an axis of length 1 for the one that is summed over."""
    from nbm_xp.namespace import array_namespace

    xp = array_namespace(first, second)
    return xp.expand_dims(xp.matmul(first, second), axis=-1)


def _matmul(x1: Any, x2: Any) -> Any:
    """As Dask's: a task for each pair of blocks, then a sum as a tree."""
    x1, x2 = _there.asarray(x1), _there.asarray(x2)
    if 0 in (x1.ndim, x2.ndim):
        raise ValueError("matmul needs arrays of one dimension at least")
    if x1.ndim == 1:
        return _matmul(x1[None, :], x2)[..., 0, :] if x2.ndim > 1 else _tensordot(x1, x2, 1)
    if x2.ndim == 1:
        return _tensordot(x1, x2, 1)
    if x1.shape[-1] != x2.shape[-2]:
        raise ValueError(f"shapes {x1.shape} and {x2.shape} do not match: {x1.shape[-1]} columns, {x2.shape[-2]} rows")
    stack = max(x1.ndim, x2.ndim) - 2
    row, column, inner = stack, stack + 1, stack + 2
    labels = tuple(range(stack))
    dtype = np.result_type(x1.dtype, x2.dtype)
    parts = _there.blockwise(
        _matrices_multiplied, (*labels, row, column, inner),
        x1, (*labels[stack + 2 - x1.ndim :], row, inner), x2, (*labels[stack + 2 - x2.ndim :], inner, column),
        adjust_chunks={inner: lambda _: 1}, dtype=dtype,
        meta=_there.utils.meta_from_array(x1._meta, stack + 3, dtype),
    )  # fmt: skip
    return parts.sum(axis=-1, dtype=dtype)


def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = _broadcast_arrays(x1, x2)
    if x1.dtype.kind == "c":
        x1 = _there.conj(x1)
    return (x1 * x2).sum(axis=axis)


def _of_block(name: str, block: Any, *others: Any, **options: Any) -> Any:
    from nbm_xp.namespace import array_namespace

    return getattr(array_namespace(block), name)(block, *others, **options)


def _extreme_place(name: str) -> Callable[..., Any]:
    """Where an extremum is: each block is whole along the axis, for Dask's own way has no expressions yet."""

    def place(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is None:
            flat = place(_reshape(x, (-1,)), axis=0)
            return _reshape(flat, (1,) * x.ndim) if keepdims else flat
        axis = _axis(axis, x.ndim)
        if x.shape[axis] == 0:
            raise ValueError(f"{name} of no elements is not defined: x has shape {x.shape}, axis is {axis}")
        whole = x.rechunk({axis: -1})
        chunks = tuple((1,) if i == axis else sizes for i, sizes in enumerate(whole.chunks))
        meta = _there.utils.meta_from_array(x._meta, x.ndim, np.dtype(np.int64))
        found = _there.map_blocks(
            partial(_of_block, name, axis=axis, keepdims=True), whole, chunks=chunks, dtype=np.int64, meta=meta
        )
        return found if keepdims else _squeeze(found, axis)

    return place


def _count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return (x != 0).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _diagonal(x, offset=offset, axis1=-2, axis2=-1).sum(axis=-1, dtype=dtype)


def _searchsorted(x1: Any, x2: Any, side: str = "left") -> Any:
    """The sorted array is handed whole to each block of the others."""
    values = _there.asarray(x2)
    labels = tuple(range(values.ndim))
    meta = _there.utils.meta_from_array(values._meta, values.ndim, np.dtype(np.int64))
    return _there.blockwise(
        _places_in, labels, values, labels, x1.rechunk(-1), (values.ndim,), side=side, concatenate=True, dtype=np.int64,
        meta=meta,
    )  # fmt: skip


def _places_in(values: Any, x1: Any, side: str) -> Any:
    from nbm_xp.namespace import array_namespace

    return array_namespace(x1).searchsorted(x1, values, side=side)


def _isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """What may be in it is handed whole to each block."""
    x1 = _there.asarray(x1)
    others = _reshape(_there.asarray(x2), (-1,)).rechunk(-1)
    labels = tuple(range(x1.ndim))
    meta = _there.utils.meta_from_array(x1._meta, x1.ndim, np.dtype(bool))
    return _there.blockwise(
        partial(_of_block, "isin"), labels, x1, labels, others, (x1.ndim,), invert=invert, concatenate=True, dtype=bool,
        meta=meta,
    )  # fmt: skip


def _cumulative(name: str, one: int) -> Callable[..., Any]:
    classic = _on_graphs({"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}[name])

    def cumulative(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"axis must be given to {name} for an array of {x.ndim} axes")
            axis = 0
        axis = _axis(axis, x.ndim)
        result = classic(x, axis=axis, dtype=dtype)
        if include_initial:
            shape = tuple(1 if i == axis else length for i, length in enumerate(x.shape))
            result = _there.concatenate([_there.full(shape, one, dtype=result.dtype), result], axis=axis)
        return result

    return cumulative


def _var(x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False) -> Any:
    """Dask's own asks NumPy whether the numbers are complex, which NumPy asks Dask, unless it is given a dtype."""
    if x.dtype.kind == "c":
        parts = (_var(part, axis=axis, correction=correction, keepdims=keepdims) for part in (x.real, x.imag))
        return sum(parts)
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    return _there.var(x, axis=axis, ddof=correction, keepdims=keepdims, dtype=dtype)


def _std(x: Any, /, **options: Any) -> Any:
    return _there.sqrt(_var(x, **options))


def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    sizes = _there.abs(x)
    options = {"axis": axis, "keepdims": keepdims}
    if ord in (math.inf, -math.inf):
        return sizes.max(**options) if ord > 0 else sizes.min(**options)
    if ord == 0:
        return (x != 0).sum(**options).astype(sizes.dtype)
    if ord in (1, 2):
        return sizes.sum(**options) if ord == 1 else _there.sqrt((sizes * sizes).sum(**options))
    return (sizes ** float(ord)).sum(**options) ** (1.0 / ord)


def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro":
        return _vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    sums = _there.abs(x).sum(axis=-2 if ord in (1, -1) else -1, keepdims=True)
    return (
        _there.max(sums, axis=(-2, -1), keepdims=keepdims)
        if ord > 0
        else _there.min(sums, axis=(-2, -1), keepdims=keepdims)
    )


def _sign(x: Any, /) -> Any:
    return _there.map_blocks(partial(_of_block, "sign"), x, dtype=x.dtype, meta=x._meta)


def _concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    arrays = tuple(arrays)
    if axis is None:
        arrays, axis = tuple(_reshape(array, (-1,)) for array in arrays), 0
    return _there.concatenate(arrays, axis=axis)


def _stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Dask's, whose meta is as long as there are arrays, which fails beside another's of no length."""
    stacked = _stack_of_dask(list(arrays), axis=axis)
    array, place, meta, *others = stacked.expr.operands
    return new_collection(type(stacked.expr)(array, place, _there.utils.meta_from_array(meta), *others))


def _store(source: Any, target: Any, **options: Any) -> Any:
    return importlib.import_module("dask.array.core").store(on_graph(source), target, **options)


def _nonzero(x: Any, /) -> Any:
    return _there.nonzero(x)


def _frequencies(name: str) -> Callable[..., Any]:
    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        return _there.from_array(getattr(np.fft, name)(n, d).astype(np.float64 if dtype is None else dtype))

    return frequencies


def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    place = _axis(axis, x.ndim)
    return tuple(x[(*(slice(None),) * place, number)] for number in range(x.shape[place]))


def _where(condition: Any, x1: Any, x2: Any, /) -> Any:
    return elemwise(np.where, condition, x1, x2)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return own_handle(x.astype(dtype)) if copy else x.astype(dtype)


def _asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None, **kwargs: Any) -> Any:
    if not isinstance(obj, _there.Array):
        return _compat.asarray(obj, dtype=dtype, device=device, copy=copy, **kwargs)
    if copy is False and dtype not in (None, obj.dtype):
        raise ValueError("an array of another dtype cannot be had without a copy")
    made = obj if dtype is None else obj.astype(dtype)
    return own_handle(made) if copy else made


def _filled(name: str) -> Callable[..., Any]:
    """Dask's `ones` and `zeros` are of integers unless they are told otherwise."""

    def filled(shape: Any, *, dtype: Any = None, device: Any = None, **kwargs: Any) -> Any:
        return getattr(_there, name)(shape, dtype=np.float64 if dtype is None else dtype, **kwargs)

    return filled


def _permute_dims(x: Any, /, axes: Any) -> Any:
    return x.transpose(tuple(_axis(axis, x.ndim) for axis in axes)) if x.ndim else x


def _matrix_transpose(x: Any, /) -> Any:
    return x.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    low = x if min is None else _there.maximum(x, min)
    return (low if max is None else _there.minimum(low, max)).astype(x.dtype)


_stack_of_dask: Any = _there.stack
_broadcast_arrays = _on_graphs("broadcast_arrays")
_diagonal = _on_graphs("diagonal")
_reshape = _on_graphs("reshape")
_squeeze = _on_graphs("squeeze")


def _of_graphs_module() -> dict[str, Any]:
    """Dask's module, with what stands in it for functions that are missing replaced."""
    names = {name: getattr(_there, name) for name in dir(_there) if not name.startswith("__")}
    for name, function in list(names.items()):
        if _is_missing(function):
            brought = _on_graphs(name)
            if brought is not None:
                names[name] = brought
    linalg = importlib.import_module("dask.array.linalg")
    core = importlib.import_module("dask.array.core")
    names["linalg"] = SimpleNamespace(cholesky=lifted(linalg.cholesky))
    names["core"] = SimpleNamespace(normalize_chunks=core.normalize_chunks, unify_chunks=lifted(core.unify_chunks))
    names["ma"] = importlib.import_module("dask.array.ma")
    names["elemwise"] = elemwise
    return names


_WRITTEN: dict[str, Any] = {
    "where": _where, "apply_gufunc": lifted(importlib.import_module("dask.array.gufunc").apply_gufunc),
    "argmax": _extreme_place("argmax"), "argmin": _extreme_place("argmin"), "count_nonzero": _count_nonzero,
    "isin": _isin, "matmul": _matmul, "searchsorted": _searchsorted, "stack": _stack, "store": _store,
    "tensordot": _tensordot, "vecdot": _vecdot,
}  # fmt: skip
da: Any = SimpleNamespace(**(_of_graphs_module() | _WRITTEN))
"""As `dask.array`."""
_there = da
mend_operators(_matmul)


def _names_of(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in {*vars(module), *dir(module)} if name[:2] != "__"}


def _standard() -> dict[str, Any]:
    """array-api-compat's namespace, without what fails for want of a function."""
    names = _names_of(_compat)
    names |= {
        name: getattr(_compat, name) for name in ("__name__", "__array_api_version__", "__array_namespace_info__")
    }
    names |= {name: getattr(da, name) for name, function in names.items() if _is_missing(function)}
    names |= _WRITTEN | {
        "asarray": _asarray, "astype": _astype, "clip": _clip, "concat": _concat,
        "empty": _filled("empty"), "ones": _filled("ones"), "zeros": _filled("zeros"),
        "cumulative_prod": _cumulative("cumulative_prod", 1), "cumulative_sum": _cumulative("cumulative_sum", 0),
        "matrix_transpose": _matrix_transpose, "permute_dims": _permute_dims,
        "nonzero": _nonzero, "reshape": lambda x, shape, copy=None: _reshape(x, shape), "sign": _sign, "std": _std,
        "unstack": _unstack, "var": _var,
    }  # fmt: skip
    linalg = _names_of(_compat.linalg)
    written = {name: names[name] for name in ("matmul", "matrix_transpose", "outer", "tensordot", "vecdot")}
    linalg |= written | {"trace": _trace, "diagonal": partial(_diagonal, axis1=-2, axis2=-1)}
    linalg |= {"matrix_norm": _matrix_norm, "vector_norm": _vector_norm}
    graphs = importlib.import_module("dask.array.fft")
    fft = _names_of(_compat.fft)
    fft |= {name: lifted(getattr(graphs, name)) for name in ("fftshift", "ifftshift")}
    fft |= {name: _frequencies(name) for name in ("fftfreq", "rfftfreq")}
    return names | {"fft": SimpleNamespace(**fft), "linalg": SimpleNamespace(**linalg)}


original: Any = SimpleNamespace(**_standard())
"""As `array_api_compat.dask.array`."""
