"""CuPy's ufuncs: which operands they take, between which types they are defined, and how they choose among those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import cast, host_of, ndarray, quietly, refuse_dtype, unwrapped, wrapped

__all__ = ["ufunc"]

_WEAK = {bool: False, int: int, float: float, complex: complex}
_SCORE = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class ufunc:  # noqa: N801 - its name in CuPy
    """One of them, by NumPy's name of what it computes."""

    def __init__(self, name: str, loops: list[tuple[str, str]], function: Callable[..., Any]) -> None:
        self.name, self.nin, self.nout = f"cupy_{name}", len(loops[0][0]), len(loops[0][1])
        self.nargs = self.nin + self.nout
        self.types = ["->".join(loop) for loop in loops]
        self.__name__, self._loops, self._function = name, loops, function

    def __repr__(self) -> str:
        return f"<ufunc {self.name!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out, dtype = kwargs.pop("out", None), kwargs.pop("dtype", None)
        casting, where = kwargs.pop("casting", "same_kind"), kwargs.pop("_where", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if where is not None:
            raise NotImplementedError("not modelled: _where")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or {self.nargs}"
            )
        given = args[self.nin :] or (out if isinstance(out, tuple) else (out,) * (out is not None))
        operands = [_operand(x) for x in args[: self.nin]]
        takes, gives = self._loop(operands, None if dtype is None else refuse_dtype(dtype))
        made = [
            quietly(np.asarray, x, t) if type(x) in _WEAK else x.astype(t) for x, t in zip(operands, takes, strict=True)
        ]
        results = quietly(self._function, *made)
        results = results if isinstance(results, tuple) else (results,)
        kept = [
            np.ascontiguousarray(cast(np.asarray(x), np.dtype(t))).reshape(np.shape(x))
            for x, t in zip(results, gives, strict=True)
        ]
        if not any(x is not None for x in given):
            return wrapped(tuple(kept)) if self.nout > 1 else wrapped(kept[0])
        written = tuple(_write(x, into, casting) for x, into in zip(kept, given, strict=True))
        return written if self.nout > 1 else written[0]

    def _loop(self, operands: list[Any], dtype: Any) -> tuple[list[Any], list[Any]]:
        """The first loop that the operands can be cast to, scalars of Python's as weak as they are in CuPy."""
        kinds = [np.asarray(x).dtype if type(x) in _WEAK else x.dtype for x in operands]
        weak = [_WEAK.get(type(x), False) for x in operands]
        strong_scores = [_SCORE[kind.kind] for kind, w in zip(kinds, weak, strict=True) if not w]
        weak_scores = [_SCORE[kind.kind] for kind, w in zip(kinds, weak, strict=True) if w]
        if not strong_scores or not weak_scores or max(strong_scores) < max(weak_scores):
            weak = [False] * len(weak)
        for takes, gives in self._loops:
            if dtype is not None:
                found = all(np.dtype(t) == dtype for t in gives)
            else:
                found = all(_fits(k, np.dtype(t), w) for k, t, w in zip(kinds, takes, weak, strict=True))
            if found:
                return list(map(np.dtype, takes)), list(map(np.dtype, gives))
        raise TypeError(f"Wrong type ({dtype or tuple(kinds)}) of arguments for {self.name}")

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        """Apply to all pairs."""
        import cupy

        A, B = cupy.array(A), cupy.array(B)
        return self(A.reshape(A.shape + (1,) * B.ndim), B, **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Apply in place at places that may be named twice."""
        if self.__name__ not in ("add", "subtract", "maximum", "minimum"):
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        a._scatter(self.__name__, indices, b)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Reduce by addition or multiplication."""
        method = {"add": "sum", "multiply": "prod"}.get(self.__name__)
        if method is None:
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        return getattr(array, method)(axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Accumulate by addition or multiplication."""
        method = {"add": "cumsum", "multiply": "cumprod"}.get(self.__name__)
        if method is None:
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        return getattr(array, method)(axis, dtype, out)


def _operand(x: Any) -> Any:
    if isinstance(x, ndarray):
        return host_of(x)
    if isinstance(x, np.generic) or type(x) in _WEAK:
        refuse_dtype(np.asarray(x).dtype)
        return x
    raise TypeError(f"Unsupported type {type(x)}")


def _fits(kind: Any, wanted: Any, weak: Any) -> bool:
    if np.can_cast(kind, wanted):
        return True
    return bool(weak) and np.result_type(weak(0), wanted) == wanted


def _write(result: Any, into: Any, casting: str) -> Any:
    if into is None:
        return wrapped(result)
    target = unwrapped(into)
    if not np.can_cast(result.dtype, target.dtype, casting):
        raise TypeError(f"output (typecode '{result.dtype.char}') could not be coerced to '{target.dtype.char}'")
    if np.broadcast_shapes(result.shape, target.shape) != target.shape:
        raise ValueError(f"non-broadcastable output operand with shape {target.shape}: {result.shape}")
    target[...] = cast(result, target.dtype)
    return into
