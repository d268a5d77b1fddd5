"""Dask: linear algebra on whole matrices and Fourier transforms of whole axes, lazily.

Dask's own functions are for single large matrices in certain chunkings. Here every matrix becomes one block (stacks
keep theirs along the other axes) and NumPy's function, or that of the blocks' library, is mapped over the blocks.
Where a matrix is larger than a block should be and Dask has a stable parallel algorithm, that is used: a thin
decomposition of a tall or a wide matrix, and Cholesky's. Axes to transform become one block each, the others keep
theirs: Dask's transforms raise for an axis in several blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from array_api_compat.dask.array.linalg import EighResult, QRResult, SlogdetResult, SVDResult

from nbm_xp.namespace.memory import size_in_bytes
from nbm_xp.namespace.overlay import EigResult

from . import ranked
from .dask_names import da, original
from .dask_shaping import block_limit
from .dask_tiles import stored_product


def _run(name: str, dtypes: Sequence[Any], *blocks: Any, **options: Any) -> Any:
    """The function of the blocks' own library, on one block of each argument; what a block holds decides no dtype."""
    from nbm_xp.namespace import array_namespace

    found = getattr(array_namespace(*blocks).linalg, name)(*blocks, **options)
    results = tuple(found) if isinstance(found, tuple) else (found,)
    cast = tuple(part.astype(dtype, copy=False) for part, dtype in zip(results, dtypes, strict=True))
    return cast if len(cast) > 1 else cast[0]


def _per_matrix(
    name: str, signature: str, kinds: str, *arrays: Any, sizes: dict[str, int] | None = None, **options: Any
) -> Any:
    """Map a function of `linalg` over whole matrices, as the signature of a generalised function says.

    `kinds` has a letter for each result: ``x`` of the matrices' own numbers, ``r`` of real ones, ``c`` of complex ones.
    """
    cores, results = (re.findall(r"\(([^)]*)\)", side) for side in signature.split("->"))
    arrays = tuple(_whole(da.asarray(array), _count(core)) for array, core in zip(arrays, cores, strict=True))
    batch = max(array.ndim - _count(core) for array, core in zip(arrays, cores, strict=True))
    if len(arrays) > 1:
        arrays = _same_blocks(arrays, [_count(core) for core in cores])
    own = _inexact(*arrays)
    of_kind = {"x": own, "r": np.empty(0, own).real.dtype, "c": np.result_type(own, np.complex64)}
    dtypes = [of_kind[kind] for kind in kinds]
    metas = tuple(_meta(arrays[0], batch + _count(core), dtype) for core, dtype in zip(results, dtypes, strict=True))
    function = partial(_run, name, dtypes, **options)
    return da.apply_gufunc(
        function, signature, *arrays, meta=metas if len(metas) > 1 else metas[0], output_sizes=sizes
    )  # fmt: skip


def _same_blocks(arrays: tuple[Any, ...], counts: list[int]) -> tuple[Any, ...]:
    """The arrays with the same blocks along the axes of a stack, which a generalised function needs."""
    pairs: list[Any] = []
    for position, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        stack = array.ndim - count
        core = [f"core {position} {axis}" for axis in range(count)]
        pairs += [array, (*(axis - stack for axis in range(stack)), *core)]
    return tuple(da.unify_chunks(*pairs)[1])


def _whole(x: Any, count: int) -> Any:
    """The array with its last axes in one block each."""
    return x.rechunk(dict.fromkeys(range(x.ndim - count, x.ndim), -1))


def _meta(x: Any, ndim: int, dtype: Any) -> Any:
    """An empty array of the library of the blocks of x."""
    return np.empty_like(x._meta, shape=(0,) * ndim, dtype=dtype)


def _count(core: str) -> int:
    """How many dimensions a part of a signature has: ``'i,j'`` two, ``''`` none."""
    return len(core.split(",")) if core else 0


def _inexact(*arrays: Any) -> Any:
    """The dtype of a result: NumPy's linear algebra takes integers to float64 and has no float16."""
    dtype = np.result_type(*(a.dtype for a in arrays))
    if dtype == np.float16:
        raise TypeError("linear algebra needs float32, float64 or a complex dtype; got float16")
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _matrices(x: Any, *, square: bool = False) -> None:
    if x.ndim < 2:
        raise ValueError(f"expected a matrix or a stack of them, got an array of {x.ndim} dimensions")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected square matrices, got shape {x.shape}")


def _large(x: Any) -> bool:
    """Whether it is one real matrix larger than a block should be, and Dask has its parallel algorithms."""
    large = x.ndim == 2 and x.dtype.kind == "f" and size_in_bytes(x) > block_limit() and max(x.numblocks) > 1
    return bool(large and hasattr(da.linalg, "svd"))


def _thin(x: Any) -> Any:
    """The matrix in blocks along its longer axis only."""
    return x.rechunk({1: -1} if x.shape[0] >= x.shape[1] else {0: -1})


def _equal_blocks(x: Any) -> int:
    """The side of square blocks, all of one size as Dask's Cholesky needs them; 0 if no fair size divides the side."""
    length = x.shape[0]
    most = math.isqrt(block_limit() // x.dtype.itemsize)
    divisors = (length // parts for parts in range(2, min(length, 64) + 1) if length % parts == 0)
    return next((side for side in divisors if side <= most), 0)


_OF_MATRICES = {
    "det": ("(i,i)->()", "x"),
    "eig": ("(i,i)->(i),(i,i)", "cc"),
    "eigh": ("(i,i)->(i),(i,i)", "rx"),
    "eigvals": ("(i,i)->(i)", "c"),
    "eigvalsh": ("(i,i)->(i)", "r"),
    "inv": ("(i,i)->(i,i)", "x"),
    "pinv": ("(i,j)->(j,i)", "x"),
    "slogdet": ("(i,i)->(),()", "xr"),
}
_NAMED = {"eig": EigResult, "eigh": EighResult, "slogdet": SlogdetResult}


def _of_matrices(name: str) -> Callable[..., Any]:
    signature, kinds = _OF_MATRICES[name]

    def function(x: Any, /, **options: Any) -> Any:
        _matrices(x, square="i,i" in signature)
        found = _per_matrix(name, signature, kinds, x, **options)
        return _NAMED[name](*found) if name in _NAMED else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `{name}`."
    return function


def solve(a: Any, b: Any, /) -> Any:
    """The standard's `solve`."""
    _matrices(a, square=True)
    return _per_matrix("solve", "(i,i),(i)->(i)" if b.ndim == 1 else "(i,i),(i,j)->(i,j)", "x", a, b)


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The standard's `cholesky`."""
    _matrices(x, square=True)
    side = _equal_blocks(x) if _large(x) else 0
    if side:
        return da.linalg.cholesky(x.rechunk(side), lower=not upper)
    return _per_matrix("cholesky", "(i,i)->(i,i)", "x", x, upper=upper)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """The standard's `svd`."""
    _matrices(x)
    if not full_matrices and _large(x):
        return SVDResult(*da.linalg.svd(_thin(x), coerce_signs=False))
    rows, columns = x.shape[-2:]
    k = min(rows, columns)
    sizes = {"u": rows if full_matrices else k, "k": k, "v": columns if full_matrices else k}
    return SVDResult(*_per_matrix("svd", "(i,j)->(i,u),(k),(v,j)", "xrx", x, sizes=sizes, full_matrices=full_matrices))


def svdvals(x: Any, /) -> Any:
    """The standard's `svdvals`."""
    _matrices(x)
    if _large(x):
        return svd(x, full_matrices=False).S
    return _per_matrix("svdvals", "(i,j)->(k)", "r", x, sizes={"k": min(x.shape[-2:])})


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """The standard's `qr`."""
    _matrices(x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    rows, columns = x.shape[-2:]
    if mode == "reduced" and _large(x) and rows >= columns:
        return QRResult(*da.linalg.qr(_thin(x)))
    sizes = {"k": rows if mode == "complete" else min(rows, columns)}
    return QRResult(*_per_matrix("qr", "(i,j)->(i,k),(k,j)", "xx", x, sizes=sizes, mode=mode))


def matrix_power(x: Any, n: int, /) -> Any:
    """The standard's `matrix_power`, one product at a time."""
    _matrices(x, square=True)
    if n < 0:
        return matrix_power(LINALG["inv"](x), -n)
    if n == 0:
        return tril(triu(da.ones_like(x)))
    result = None
    while n:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return result


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The standard's `cross`."""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross needs vectors of three, got shapes {x1.shape} and {x2.shape} along axis {axis}")
    a0, a1, a2 = (da.take(x1, i, axis=axis) for i in range(3))
    b0, b1, b2 = (da.take(x2, i, axis=axis) for i in range(3))
    return da.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=axis)


def _keep_dtype(result: Any, x1: Any, x2: Any) -> Any:
    """Sums over blocks widen integers; products of matrices do not."""
    dtype = np.result_type(x1.dtype, x2.dtype)
    return result if result.dtype == dtype else result.astype(dtype)


def matmul(x1: Any, x2: Any, /) -> Any:
    """The standard's `matmul`; Dask's own widens integers in sums over blocks, and holds stored matrices whole."""
    product = stored_product(x1, x2) if isinstance(x1, da.Array) and isinstance(x2, da.Array) else None
    return _keep_dtype(original.matmul(x1, x2), x1, x2) if product is None else product


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The standard's `tensordot`; Dask's own widens integers where it sums over blocks, and takes -1 for no axis."""
    if not isinstance(axes, int):
        axes = tuple([axis % x.ndim for axis in named] for x, named in zip((x1, x2), axes, strict=True))
    return _keep_dtype(original.tensordot(x1, x2, axes=axes), x1, x2)


def _triangle_of_block(block: Any, triangle: str, k: int, block_info: Any = None) -> Any:
    """The function of the block's own library, on the diagonal as it lies from the block's corner."""
    from nbm_xp.namespace import array_namespace

    (top, _), (left, _) = block_info[0]["array-location"][-2:]
    return getattr(array_namespace(block), triangle)(block, k=k + top - left)


def _triangle(name: str, x: Any, k: int) -> Any:
    _matrices(x)
    return da.map_blocks(partial(_triangle_of_block, triangle=name, k=k), x, dtype=x.dtype, meta=x._meta)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The standard's `tril`; Dask's own loses the imaginary parts on its way."""
    return _triangle("tril", x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The standard's `triu`; Dask's own loses the imaginary parts on its way."""
    return _triangle("triu", x, k)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The standard's `vecdot`; Dask's own widens integers where it sums over blocks."""
    return _keep_dtype(original.vecdot(x1, x2, axis=axis), x1, x2)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The standard's `matrix_norm`; Dask's own has those of singular values for one matrix in certain blocks alone."""
    _matrices(x)
    if ord not in ("nuc", 2, -2):
        return original.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    values = svdvals(x)
    result = values.sum(axis=-1) if ord == "nuc" else values.max(axis=-1) if ord == 2 else values.min(axis=-1)
    return result[..., None, None] if keepdims else result


# What stands over Dask's linear algebra, by name.
LINALG: dict[str, Any] = {
    **{name: _of_matrices(name) for name in _OF_MATRICES},
    "matrix_rank": ranked(original, svdvals),
    **{
        function.__name__: function
        for function in (
            cholesky, cross, matmul, matrix_norm, matrix_power, qr, solve, svd, svdvals, tensordot, vecdot,
        )
    },
}  # fmt: skip


_FROM_REAL = ("ihfft", "rfft", "rfftn")
_TO_REAL = ("hfft", "irfft", "irfftn")


def _transformed(block: Any, name: str, **options: Any) -> Any:
    """The function of the block's own library."""
    from nbm_xp.namespace import array_namespace

    return getattr(array_namespace(block).fft, name)(block, **options)


def _transform(name: str) -> Callable[..., Any]:
    """Make each transformed axis one block, and map the function of the blocks' library over the blocks."""
    several = name.endswith("n")

    def along(x: Any, lengths: Sequence[int] | None, axes: Sequence[int], norm: str) -> Any:
        places = [_axis(axis, x.ndim) for axis in axes]
        if lengths is None:
            lengths = [x.shape[place] for place in places]
            if name in _TO_REAL:
                lengths[-1] = 2 * (lengths[-1] - 1)
        lengths = [x.shape[place] if n == -1 and several else n for n, place in zip(lengths, places, strict=True)]
        options = {"s": tuple(lengths), "axes": tuple(places)} if several else {"n": lengths[0], "axis": places[0]}
        x = x.rechunk(dict.fromkeys(places, -1))
        chunks = list(x.chunks)
        for place, length in zip(places, lengths, strict=True):
            chunks[place] = (length,)
        if name in _FROM_REAL:
            chunks[places[-1]] = (lengths[-1] // 2 + 1,)
        wide = np.result_type(x.dtype, np.complex64)
        dtype = np.empty(0, wide).real.dtype if name in _TO_REAL else wide
        meta, function = _meta(x, x.ndim, dtype), partial(_transformed, name=name, norm=norm, **options)
        return da.map_blocks(function, x, chunks=tuple(chunks), dtype=dtype, meta=meta)

    def of_one(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return along(x, None if n is None else [n], [axis], norm)

    def of_several(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        return along(x, s, axes, norm)

    function = of_several if several else of_one
    function.__name__ = function.__qualname__ = name
    return function


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1} for an array of {ndim} dimensions, got {axis}")
    return axis % ndim


# What stands over Dask's transforms, by name.
FFT: dict[str, Callable[..., Any]] = {
    name: _transform(name)
    for name in ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn", "rfft", "rfftn")
}
