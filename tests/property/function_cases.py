"""Cases of the documented functions: a call on the surface, and what NumPy says to it.

Each case is held to NumPy on every library, given arrays, Variables and placeholders, and its gradient to finite
differences; see test_functions_values.py and test_functions_gradients.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.tables.case import values, whole

__all__ = ["CASES", "FunctionCase"]


@dataclass(frozen=True)
class FunctionCase:
    """One call.

    Parameters
    ----------
    name
        The documented name.
    call
        ``call(B, *arrays)``.
    reference
        ``reference(*arrays)`` in NumPy.
    arrays
        NumPy arrays, the arguments.
    label
        What tells the case from others of the same function.
    rtol
        How close the values must be.
    order
        To which order the gradient is checked, where all floating arguments are in double precision.
    unknown
        Whether the lengths of the arguments may be unknown while recording.
    flat
        Whether the function is constant almost everywhere.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    label: str = ""
    rtol: float = 1e-12
    order: int = 2
    unknown: bool = True
    flat: bool = False

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, a.shape)) or "0d" for a in self.arrays)
        dtypes = "-".join(dict.fromkeys(str(a.dtype) for a in self.arrays))
        return "-".join(filter(None, (self.name, self.label, shapes, dtypes)))

    @property
    def differentiable(self) -> bool:
        """Whether finite differences can be taken."""
        floating = {str(a.dtype) for a in self.arrays if a.dtype.kind == "f"}
        return floating == {"float64"} and self.order > 0


def _method(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda B, *arrays: getattr(B, name)(*arrays, *args, **kwargs)


def _floating(x: np.ndarray) -> np.ndarray:
    """What integers become where floating point is needed."""
    return x if x.dtype.kind == "f" else x.astype(np.result_type(x.dtype, np.float32))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    x = _floating(x)
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)


def _logsumexp(x: np.ndarray, **kwargs: Any) -> np.ndarray:
    return np.log(np.sum(np.exp(_floating(x)), **kwargs))


FLOATING: dict[str, tuple[Callable[..., Any], float, float]] = {
    "exp": (np.exp, -2.0, 2.0), "log": (np.log, 0.2, 3.0), "sin": (np.sin, -2.0, 2.0), "cos": (np.cos, -2.0, 2.0),
    "sqrt": (lambda x: np.sqrt(np.maximum(x, 0)), 0.2, 3.0), "sigmoid": (_sigmoid, -3.0, 3.0),
}  # fmt: skip
KEEPING: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "square": lambda x: np.square(x).astype(x.dtype), "round": lambda x: np.round(x).astype(x.dtype),
    "sign": lambda x: x if x.dtype == bool else np.sign(x),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
AVERAGES: dict[str, Callable[..., Any]] = {"mean": np.mean, "var": np.var, "std": np.std}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "less": np.less, "less_equal": np.less_equal,
}  # fmt: skip
AXES: list[Any] = [None, 0, -1, (0, 2), [1, -1]]
INTEGERS = ("int8", "int32", "int64", "uint8", "bool")


def _elementwise() -> list[FunctionCase]:
    cases = []
    for name, (reference, low, high) in FLOATING.items():
        for shape in ((2, 3), (), (0,)):
            cases.append(FunctionCase(name, _method(name), reference, (values(*shape, low=low, high=high),)))
        single = values(3, low=low, high=high, dtype="float32")
        cases.append(FunctionCase(name, _method(name), reference, (single,), rtol=3e-6))
        for dtype in INTEGERS:
            x = whole(4, low=1, high=4, dtype=dtype)
            cases.append(FunctionCase(name, _method(name), lambda x, f=reference: f(_floating(x)), (x,), rtol=3e-6))
    for name, reference in KEEPING.items():
        flat = name in ("round", "sign")
        cases.append(FunctionCase(name, _method(name), reference, (values(2, 3),), flat=flat))
        for dtype in (*INTEGERS, "float32"):
            cases.append(FunctionCase(name, _method(name), reference, (whole(4, low=0, dtype=dtype),)))
    cases += [
        FunctionCase("pow", _method("pow", 3), lambda x: x**3, (values(2, 3),), label="3"),
        FunctionCase("pow", _method("pow", 0.5), lambda x: x**0.5, (values(3, low=0.2),), label="half"),
        FunctionCase("pow", _method("pow", 0.5), lambda x: x**0.5, (whole(3, low=0),), label="half"),
        FunctionCase("pow", _method("pow", 2), lambda x: x**2, (whole(3),), label="2"),
        FunctionCase("pow", lambda B, x: B.pow(0.5, x), lambda x: 0.5**x, (values(3),), label="of-a-number"),
        FunctionCase("pow", _method("pow"), np.power, (values(2, 3, low=0.3), values(3))),
        FunctionCase("clip", _method("clip", -1, 1), lambda x: np.clip(x, -1, 1), (values(3, 4),), label="both"),
        FunctionCase("clip", _method("clip", None, 0.5), lambda x: np.minimum(x, 0.5), (values(5),), label="upper"),
        FunctionCase("clip", _method("clip", 0.0, None), lambda x: np.maximum(x, 0.0), (values(5),), label="lower"),
        FunctionCase("clip", _method("clip", -1, 2), lambda x: np.clip(x, -1, 2), (whole(6),), label="both"),
        FunctionCase("clip", _method("clip", 0, None), lambda x: np.maximum(x, 0.0), (whole(6),), label="lower"),
        FunctionCase("clip", _method("clip", 1.0, -1.0), lambda x: np.full_like(x, 1.0), (values(4),), label="crossed"),
        FunctionCase(
            "clip", _method("clip"), lambda x, a, b: np.minimum(np.maximum(x, a), b),
            (values(2, 3), values(3, low=-1.5, high=-0.4), values(3, low=0.4, high=1.5)), label="arrays",
        ),
    ]  # fmt: skip
    return cases


def _pairs() -> list[FunctionCase]:
    cases = []
    for name, reference in {"maximum": np.maximum, "minimum": np.minimum}.items():
        for left, right in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3))):
            x, y = values(*left), values(*right, low=-1.9, high=1.7)
            cases.append(FunctionCase(name, _method(name), reference, (x, y)))
        cases.append(FunctionCase(name, _method(name, 0.5), lambda x, f=reference: f(x, 0.5), (values(2, 3),), label="0.5"))
        cases.append(FunctionCase(name, _method(name), reference, (whole(2, 3), values(3, dtype="float32"))))
    for name, reference in COMPARISONS.items():
        x, y = whole(2, 3, low=0, high=2), whole(3, low=0, high=2)
        cases.append(FunctionCase(name, _method(name), reference, (x, y)))
        cases.append(FunctionCase(name, _method(name), reference, (x.astype("float32"), y.astype("float64"))))
        cases.append(FunctionCase(name, _method(name), reference, (x.astype("int8"), y.astype("float32"))))
        cases.append(FunctionCase(name, _method(name, 1), lambda x, f=reference: f(x, 1), (x,), label="1"))
        cases.append(FunctionCase(name, _method(name, 0.5), lambda x, f=reference: f(x, 0.5), (x,), label="0.5"))
    a = np.asarray([1.0, np.inf, -np.inf, 1.0])
    close, far = np.asarray([1.0 + 1e-9, np.inf, -np.inf, 1.0]), np.asarray([1.0, np.inf, np.inf, 1.0])
    for label, other in (("close", close), ("far", far), ("nan", np.asarray([np.nan, 1.0, 1.0, 1.0]))):
        cases.append(FunctionCase("allclose", _method("allclose"), lambda x, y: np.asarray(np.allclose(x, y)), (a, other), label))
    cases.append(FunctionCase("allclose", _method("allclose"), lambda x, y: np.asarray(True), (whole(3), whole(3)), order=0))
    return cases


def _reductions() -> list[FunctionCase]:
    cases = []
    x = values(2, 3, 2, low=0.3, high=1.9)
    for name, reference in {**REDUCTIONS, **AVERAGES}.items():
        for axis in AXES:
            for keepdims in (False, True):
                plain = tuple(axis) if isinstance(axis, list) else axis
                cases.append(
                    FunctionCase(
                        name, _method(name, axis, keepdims), lambda x, f=reference, a=plain, k=keepdims: f(x, axis=a, keepdims=k),
                        (x,), label=f"{axis}-{keepdims}",
                    )
                )  # fmt: skip
        cases.append(FunctionCase(name, _method(name), reference, (values(4, dtype="float32"),), rtol=3e-6))
        cases.append(FunctionCase(name, _method(name), reference, (values(),), label="0d"))
    for name, reference in REDUCTIONS.items():
        for dtype in INTEGERS:
            cases.append(FunctionCase(name, _method(name), reference, (whole(4, low=0, dtype=dtype),)))
    for name in ("sum", "prod"):
        cases.append(FunctionCase(name, _method(name, axis=0), lambda x, f=REDUCTIONS[name]: f(x, axis=0), (np.zeros((0, 2)),)))
    for dtype in INTEGERS:
        ints = whole(4, low=0, dtype=dtype)
        cases.append(FunctionCase("mean", _method("mean"), lambda x: np.mean(x.astype(float)).astype("float32"), (ints,), rtol=3e-7))
        cases += [FunctionCase(n, _method(n), lambda x, f=f: f(x.astype(float)), (ints,)) for n, f in (("var", np.var), ("std", np.std))]
    for name in AVERAGES:
        cases.append(FunctionCase(name, _method(name, axis=0), lambda x: np.full(2, np.nan), (np.zeros((0, 2)),), order=0))
        cases.append(FunctionCase(name, _method(name, axis=1), lambda x: np.zeros(0), (np.zeros((0, 2)),), order=0))
    for name, reference in {"any": np.any, "all": np.all}.items():
        for axis in AXES:
            plain = tuple(axis) if isinstance(axis, list) else axis
            y = whole(2, 3, 2, low=0, high=2)
            cases.append(FunctionCase(name, _method(name, axis), lambda x, f=reference, a=plain: f(x, axis=a), (y,), label=f"{axis}"))
        cases.append(FunctionCase(name, _method(name), reference, (np.asarray([np.nan, 0.0]),), label="nan", order=0))
        cases.append(FunctionCase(name, _method(name), reference, (np.zeros(0, dtype=bool),), label="nothing"))
        cases.append(FunctionCase(name, lambda B, x, y, n=name: getattr(B, n)([x, y]), lambda x, y, f=reference: f([x, y]),
                                  (np.asarray(True), np.asarray(False)), label="list"))  # fmt: skip
    for name, reference in {"argmax": np.argmax, "argmin": np.argmin}.items():
        for axis in (None, 0, -1):
            cases.append(FunctionCase(name, _method(name, axis), lambda x, f=reference, a=axis: f(x, axis=a), (values(3, 4),), label=f"{axis}"))
        cases.append(FunctionCase(name, _method(name, [0, 2]), lambda x, f=reference: f(x.transpose(1, 0, 2).reshape(3, 4), axis=1),
                                  (values(2, 3, 2),), label="several"))  # fmt: skip
        cases.append(FunctionCase(name, _method(name), lambda x, f=reference: f(x, axis=-1), (whole(2, 4),)))
    for name, reference in {"cumsum": np.cumsum, "cumprod": np.cumprod}.items():
        for axis in (0, 1, -1, None):
            cases.append(FunctionCase(name, _method(name, axis), lambda x, f=reference, a=axis: f(x, axis=a), (values(3, 4),), label=f"{axis}"))
        for dtype in ("int8", "int32"):
            cases.append(FunctionCase(name, _method(name), lambda x, f=reference: f(x, axis=0, dtype=x.dtype), (whole(4, dtype=dtype),)))
    for axis in AXES:
        plain = tuple(axis) if isinstance(axis, list) else axis
        cases.append(FunctionCase("logsumexp", _method("logsumexp", axis, True), lambda x, a=plain: _logsumexp(x, axis=a, keepdims=True), (x,), label=f"{axis}"))
        cases.append(FunctionCase("logsumexp", _method("logsumexp", axis), lambda x, a=plain: _logsumexp(x, axis=a), (x,), label=f"{axis}-dropped"))
    cases.append(FunctionCase("logsumexp", _method("logsumexp"), _logsumexp, (whole(4),)))
    cases.append(FunctionCase("logsumexp", _method("logsumexp"), _logsumexp, (values(),), label="0d"))
    rising = np.cumsum(values(2, 4, low=0.2, high=1.0), axis=1)
    cases.append(FunctionCase("logdiffexp", _method("logdiffexp"), lambda x: np.log(np.diff(np.exp(x))), (rising,)))
    cases.append(FunctionCase("logdiffexp", _method("logdiffexp"), lambda x: np.log(np.diff(np.exp(x))), (np.asarray([1, 3, 4]),)))
    return cases


def _shapes() -> list[FunctionCase]:
    x, y = values(2, 3), values(2, 3, low=-1.0)
    eye = np.eye(4, dtype="float32")
    return [
        FunctionCase("concatenate", lambda B, x, y: B.concatenate([x, y]), lambda x, y: np.concatenate([x, y], -1), (x, values(2, 1))),
        FunctionCase("concatenate", lambda B, x, y: B.concatenate([x, y], axis=0), lambda x, y: np.concatenate([x, y]), (x, values(0, 3)), label="0"),
        FunctionCase("concatenate", lambda B, x, y: B.concatenate((x, y)), lambda x, y: np.concatenate([x, y], -1), (whole(2, 3), values(2, 1, dtype="float32"))),
        FunctionCase("stack", lambda B, x, y: B.stack([x, y]), lambda x, y: np.stack([x, y]), (x, y)),
        FunctionCase("stack", lambda B, x, y: B.stack((x, y), axis=-1), lambda x, y: np.stack([x, y], -1), (x, y), label="-1"),
        FunctionCase("reshape", _method("reshape", (3, 2)), lambda x: x.reshape(3, 2), (x,), unknown=False),
        FunctionCase("reshape", _method("reshape", [-1]), lambda x: x.reshape(-1), (x,), label="list"),
        FunctionCase("reshape", _method("reshape", 6), lambda x: x.reshape(6), (x,), label="number", unknown=False),
        FunctionCase("reshape", lambda B, x, y: B.reshape(x, B.shape(y)), lambda x, y: x.reshape(y.shape), (values(6), y), label="shape-of"),
        FunctionCase("flatten", _method("flatten"), lambda x: x.reshape(-1), (x,)),
        FunctionCase("flatten", _method("flatten"), lambda x: x.reshape(-1), (values(),), label="0d"),
        FunctionCase("squeeze", _method("squeeze", 1), lambda x: x.squeeze(1), (values(3, 1, 2),), unknown=False),
        FunctionCase("squeeze", _method("squeeze", -1), lambda x: x.squeeze(-1), (values(3, 1),), unknown=False),
        *(FunctionCase("transpose", _method("transpose"), np.transpose, (values(*s),)) for s in ((2, 3), (3,), (2, 3, 4), ())),
        FunctionCase("permute_dimensions", _method("permute_dimensions", (2, 0, 1)), lambda x: x.transpose(2, 0, 1), (values(2, 3, 4),)),
        FunctionCase("permute_dimensions", _method("permute_dimensions", [1, 0]), np.transpose, (whole(2, 3),)),
        FunctionCase("repeat_elements", _method("repeat_elements", 2, 1), lambda x: x.repeat(2, 1), (x,), label="1"),
        FunctionCase("repeat_elements", _method("repeat_elements", 3, None), lambda x: x.repeat(3), (x,), label="None"),
        FunctionCase("repeat_elements", _method("repeat_elements", 0, 0), lambda x: x.repeat(0, 0), (x,), label="none", order=0),
        FunctionCase("repeat", _method("repeat", 3), lambda x: x[:, None].repeat(3, 1), (x,)),
        *(FunctionCase("tile", _method("tile", n), lambda x, n=n: np.tile(x, n), (x,), label=str(n)) for n in (2, (2, 1), [1, 2], (2, 1, 2))),
        FunctionCase("tile", _method("tile", (2, 2)), lambda x: np.tile(x, (2, 2)), (values(3),)),
        FunctionCase("reverse", _method("reverse", 1), lambda x: x[:, ::-1], (x,), label="1"),
        FunctionCase("reverse", _method("reverse", (0, 1)), lambda x: x[::-1, ::-1], (x,), label="both"),
        FunctionCase("reverse", _method("reverse", [0, 7]), lambda x: x[::-1], (x,), label="unknown"),
        FunctionCase("reverse", _method("reverse", ()), lambda x: x, (x,), label="none"),
        *(FunctionCase("one_hot", _method("one_hot", 4), lambda x: eye[x], (whole(2, 3, low=0, high=4, dtype=d),)) for d in ("int32", "int64", "uint8")),
        FunctionCase("one_hot", _method("one_hot", 4), lambda x: eye[x], (np.asarray([-1, 0]),), label="from-the-end"),
        FunctionCase("zeros_like", _method("zeros_like"), np.zeros_like, (x,), flat=True),
        FunctionCase("ones_like", _method("ones_like", "int32"), lambda x: np.ones_like(x, dtype="int32"), (x,), order=0),
        *(FunctionCase("cast", _method("cast", d), lambda x, d=d: x.astype(d), (x,), label=d, order=2 * (d == "float64")) for d in ("float64", "float32", "int32", "bool")),
        FunctionCase("cast_to_floatx", _method("cast_to_floatx"), lambda x: x.astype("float32"), (whole(3),)),
        FunctionCase("stop_gradient", _method("stop_gradient"), lambda x: x, (x,), order=0),
    ]  # fmt: skip


def _matrices() -> list[FunctionCase]:
    square = values(3, 3) + 4 * np.eye(3)
    shapes = [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3, 4), (4, 2)), ((2, 3, 4), (4,)),
              ((2, 3, 4), (3, 4, 2)), ((4, 2), (5, 2, 3)), ((), (2, 3)), ((), ()), ((2, 0), (0, 3))]  # fmt: skip
    return [
        *(FunctionCase("dot", _method("dot"), np.dot, (values(*a), values(*b, low=-1.0))) for a, b in shapes),
        FunctionCase("dot", _method("dot"), np.dot, (whole(2, 3), whole(3, 2))),
        FunctionCase("dot", _method("dot"), np.dot, (whole(2, 3), values(3, 2, dtype="float32"))),
        FunctionCase("dot", _method("dot", 2.0), lambda x: 2.0 * x, (values(2, 3),), label="number"),
        *(FunctionCase("diag", _method("diag"), np.diag, (values(*s),)) for s in ((3, 3), (2, 4), (4, 2), (3,))),
        FunctionCase("fill_diagonal", _method("fill_diagonal"), _filled, (square, values(3))),
        FunctionCase("fill_diagonal", _method("fill_diagonal"), _filled, (square, values(1)), label="one"),
        FunctionCase("fill_diagonal", _method("fill_diagonal"), _filled, (square, values()), label="0d"),
        FunctionCase("fill_diagonal", _method("fill_diagonal", 2.0), lambda x: _filled(x, 2.0), (square,), label="number"),
        FunctionCase("fill_diagonal", _method("fill_diagonal"), _filled, (whole(3, 3), values(3, dtype="float32")), rtol=1e-7),
        FunctionCase("solve", _method("solve"), np.linalg.solve, (square, values(3)), rtol=1e-10),
        FunctionCase("solve", _method("solve"), np.linalg.solve, (square, values(3, 2)), rtol=1e-10),
        FunctionCase("solve", _method("solve"), np.linalg.solve, (np.asarray([[1, 2], [3, 4]]), np.asarray([-2, 0])), rtol=1e-10),
        FunctionCase("svd", lambda B, x: _rebuilt(B, x), lambda x: x, (values(3, 3),), rtol=1e-10, order=0),
        FunctionCase("svd", lambda B, x: B.svd(x)[1], lambda x: np.linalg.svd(x)[1], (values(2, 4),), label="values", rtol=1e-10, order=0),
    ]  # fmt: skip


def _filled(x: np.ndarray, val: Any) -> np.ndarray:
    out = x.astype(np.result_type(x, val))
    np.fill_diagonal(out, val)
    return out


def _rebuilt(B: Any, x: Any) -> Any:
    u, s, vt = B.svd(x)
    return B.dot(u * s, vt)


CASES = [*_elementwise(), *_pairs(), *_reductions(), *_shapes(), *_matrices()]
