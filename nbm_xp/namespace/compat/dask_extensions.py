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

from nbm_xp.namespace.overlay import EigResult

from .dask_names import da, original, size_in_bytes
from .dask_shaping import block_limit
from .dask_tiles import stored_product

__all__ = ["FFT", "LINALG", "matmul", "tensordot", "tril", "triu"]


def _run(name: str, *blocks: Any, **options: Any) -> Any:
    """The function of the blocks' own library, on one block of each argument."""
    from nbm_xp.namespace import array_namespace

    xp = array_namespace(*blocks)
    result = getattr(xp.linalg, name)(*blocks, **options)
    return tuple(result) if isinstance(result, tuple) else result


def _per_matrix(
    name: str,
    signature: str,
    *arrays: Any,
    dtypes: Sequence[Any],
    sizes: dict[str, int] | None = None,
    **options: Any,
) -> Any:
    """Map a function of `linalg` over whole matrices, as the signature of a generalised function says."""
    cores, results = (re.findall(r"\(([^)]*)\)", side) for side in signature.split("->"))
    arrays = tuple(_whole(da.asarray(array), _count(core)) for array, core in zip(arrays, cores, strict=True))
    batch = max(array.ndim - _count(core) for array, core in zip(arrays, cores, strict=True))
    if len(arrays) > 1:
        arrays = _same_blocks(arrays, [_count(core) for core in cores])
    metas = tuple(_meta(arrays[0], batch + _count(core), dtype) for core, dtype in zip(results, dtypes, strict=True))
    return da.apply_gufunc(
        partial(_run, name, **options), signature, *arrays, meta=metas if len(metas) > 1 else metas[0],
        output_sizes=sizes,
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


def _real(dtype: Any) -> Any:
    return np.empty(0, dtype).real.dtype


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


def solve(a: Any, b: Any, /) -> Any:
    """The standard's `solve`."""
    _matrices(a, square=True)
    if b.ndim == 1:
        return _per_matrix("solve", "(i,i),(i)->(i)", a, b, dtypes=[_inexact(a, b)])
    return _per_matrix("solve", "(i,i),(i,j)->(i,j)", a, b, dtypes=[_inexact(a, b)])


def inv(x: Any, /) -> Any:
    """The standard's `inv`."""
    _matrices(x, square=True)
    return _per_matrix("inv", "(i,i)->(i,i)", x, dtypes=[_inexact(x)])


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The standard's `pinv`."""
    _matrices(x)
    return _per_matrix("pinv", "(i,j)->(j,i)", x, dtypes=[_inexact(x)], rtol=rtol)


def det(x: Any, /) -> Any:
    """The standard's `det`."""
    _matrices(x, square=True)
    return _per_matrix("det", "(i,i)->()", x, dtypes=[_inexact(x)])


def slogdet(x: Any, /) -> Any:
    """The standard's `slogdet`."""
    _matrices(x, square=True)
    dtype = _inexact(x)
    return SlogdetResult(*_per_matrix("slogdet", "(i,i)->(),()", x, dtypes=[dtype, _real(dtype)]))


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The standard's `cholesky`."""
    _matrices(x, square=True)
    side = _equal_blocks(x) if _large(x) else 0
    if side:
        return da.linalg.cholesky(x.rechunk(side), lower=not upper)
    return _per_matrix("cholesky", "(i,i)->(i,i)", x, dtypes=[_inexact(x)], upper=upper)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """The standard's `svd`."""
    _matrices(x)
    if not full_matrices and _large(x):
        return SVDResult(*da.linalg.svd(_thin(x), coerce_signs=False))
    rows, columns = x.shape[-2:]
    k = min(rows, columns)
    dtype = _inexact(x)
    dtypes = [dtype, _real(dtype), dtype]
    options = {"full_matrices": full_matrices}
    signature = "(i,j)->(i,u),(k),(v,j)"
    sizes = {"u": rows if full_matrices else k, "k": k, "v": columns if full_matrices else k}
    return SVDResult(*_per_matrix("svd", signature, x, dtypes=dtypes, sizes=sizes, **options))


def svdvals(x: Any, /) -> Any:
    """The standard's `svdvals`."""
    _matrices(x)
    if _large(x):
        return svd(x, full_matrices=False).S
    sizes = {"k": min(x.shape[-2:])}
    return _per_matrix("svdvals", "(i,j)->(k)", x, dtypes=[_real(_inexact(x))], sizes=sizes)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The standard's `matrix_rank`."""
    _matrices(x)
    if 0 in x.shape[-2:]:
        return da.zeros(x.shape[:-2], dtype=np.int64, chunks=x.chunks[:-2])
    s = svdvals(x)
    tolerance = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    if getattr(tolerance, "ndim", 0):
        tolerance = tolerance[..., None]
    return (s > s.max(axis=-1, keepdims=True) * tolerance).sum(axis=-1)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """The standard's `qr`."""
    _matrices(x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    rows, columns = x.shape[-2:]
    if mode == "reduced" and _large(x) and rows >= columns:
        return QRResult(*da.linalg.qr(_thin(x)))
    dtype = _inexact(x)
    sizes = {"k": rows if mode == "complete" else min(rows, columns)}
    return QRResult(*_per_matrix("qr", "(i,j)->(i,k),(k,j)", x, dtypes=[dtype, dtype], sizes=sizes, mode=mode))


def eigh(x: Any, /) -> Any:
    """The standard's `eigh`."""
    _matrices(x, square=True)
    dtype = _inexact(x)
    return EighResult(*_per_matrix("eigh", "(i,i)->(i),(i,i)", x, dtypes=[_real(dtype), dtype]))


def eigvalsh(x: Any, /) -> Any:
    """The standard's `eigvalsh`."""
    _matrices(x, square=True)
    return _per_matrix("eigvalsh", "(i,i)->(i)", x, dtypes=[_real(_inexact(x))])


def _complex(name: str, *blocks: Any, dtype: Any) -> Any:
    """An eigenvalue function, complex also where NumPy finds all values real: a block must not decide the dtype."""
    result = _run(name, *blocks)
    cast = tuple(part.astype(dtype) for part in (result if isinstance(result, tuple) else (result,)))
    return cast if len(cast) > 1 else cast[0]


def eig(x: Any, /) -> Any:
    """The standard's `eig`."""
    _matrices(x, square=True)
    dtype = np.result_type(_inexact(x), np.complex64)
    metas = (_meta(x, x.ndim - 1, dtype), _meta(x, x.ndim, dtype))
    function = partial(_complex, "eig", dtype=dtype)
    return EigResult(*da.apply_gufunc(function, "(i,i)->(i),(i,i)", _whole(x, 2), meta=metas))


def eigvals(x: Any, /) -> Any:
    """The standard's `eigvals`."""
    _matrices(x, square=True)
    dtype = np.result_type(_inexact(x), np.complex64)
    meta = _meta(x, x.ndim - 1, dtype)
    function = partial(_complex, "eigvals", dtype=dtype)
    return da.apply_gufunc(function, "(i,i)->(i)", _whole(x, 2), meta=meta)


def matrix_power(x: Any, n: int, /) -> Any:
    """The standard's `matrix_power`, one product at a time."""
    _matrices(x, square=True)
    if n < 0:
        return matrix_power(inv(x), -n)
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


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The standard's `tril`; Dask's own loses the imaginary parts on its way."""
    _matrices(x)
    return da.map_blocks(partial(_triangle_of_block, triangle="tril", k=k), x, dtype=x.dtype, meta=x._meta)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The standard's `triu`; Dask's own loses the imaginary parts on its way."""
    _matrices(x)
    return da.map_blocks(partial(_triangle_of_block, triangle="triu", k=k), x, dtype=x.dtype, meta=x._meta)


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


LINALG: dict[str, Any] = {
    function.__name__: function
    for function in (
        cholesky, cross, det, eig, eigh, eigvals, eigvalsh, inv, matmul, matrix_norm, matrix_power, matrix_rank, pinv,
        qr, slogdet, solve, svd, svdvals, tensordot, vecdot,
    )
}  # fmt: skip
"""What stands over Dask's linear algebra, by name."""


_FROM_REAL = ("ihfft", "rfft", "rfftn")
_TO_REAL = ("hfft", "irfft", "irfftn")


def _transformed(block: Any, name: str, **options: Any) -> Any:
    """The function of the block's own library."""
    from nbm_xp.namespace import array_namespace

    return getattr(array_namespace(block).fft, name)(block, **options)


def _dtype(name: str, dtype: Any) -> Any:
    wide = np.result_type(dtype, np.complex64)
    return np.empty(0, wide).real.dtype if name in _TO_REAL else wide


def _mapped(name: str, x: Any, whole: Sequence[int], lengths: Sequence[int], /, **options: Any) -> Any:
    """Map a transform that makes the axes `whole` as long as `lengths` over blocks that are whole along them."""
    x = x.rechunk(dict.fromkeys(whole, -1))
    chunks = list(x.chunks)
    for axis, length in zip(whole, lengths, strict=True):
        chunks[axis] = (length,)
    dtype = _dtype(name, x.dtype)
    meta = np.empty_like(x._meta, shape=(0,) * x.ndim, dtype=dtype)
    return da.map_blocks(partial(_transformed, name=name, **options), x, chunks=tuple(chunks), dtype=dtype, meta=meta)


def _one_axis(name: str) -> Callable[..., Any]:
    def transform(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        place = _axis(axis, x.ndim)
        if n is None:
            n = 2 * (x.shape[place] - 1) if name in _TO_REAL else x.shape[place]
        length = n // 2 + 1 if name in _FROM_REAL else n
        return _mapped(name, x, [place], [length], n=n, axis=place, norm=norm)

    transform.__name__ = transform.__qualname__ = name
    return transform


def _several_axes(name: str) -> Callable[..., Any]:
    def transform(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        if axes is None:
            axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
        places = [_axis(axis, x.ndim) for axis in axes]
        if s is None:
            s = [x.shape[place] for place in places]
            if name in _TO_REAL:
                s[-1] = 2 * (s[-1] - 1)
        lengths = [x.shape[place] if n == -1 else n for n, place in zip(s, places, strict=True)]
        results = [*lengths[:-1], lengths[-1] // 2 + 1] if name in _FROM_REAL else lengths
        return _mapped(name, x, places, results, s=tuple(lengths), axes=tuple(places), norm=norm)

    transform.__name__ = transform.__qualname__ = name
    return transform


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1} for an array of {ndim} dimensions, got {axis}")
    return axis % ndim


FFT: dict[str, Callable[..., Any]] = {
    **{name: _one_axis(name) for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")},
    **{name: _several_axes(name) for name in ("fftn", "ifftn", "irfftn", "rfftn")},
}
"""What stands over Dask's transforms, by name."""
