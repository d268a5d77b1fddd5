"""Cases of the functions that reshape, join and repeat, and of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import values, whole

from .case import FunctionCase, case

__all__ = ["cases"]

MATRIX = values(2, 3)
OTHER = values(2, 3, low=-1.0)


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_joined(), *_reshaped(), *_moved(), *_repeated(), *_products(), *_diagonals(), *_solved()]


def _joined() -> list[FunctionCase]:
    def last(B: Any, x: Any, y: Any) -> Any:
        return B.concatenate([x, y])

    def first(B: Any, x: Any, y: Any) -> Any:
        return B.concatenate((x, y), axis=0)

    def stacked(B: Any, x: Any, y: Any) -> Any:
        return B.stack([x, y])

    def stacked_last(B: Any, x: Any, y: Any) -> Any:
        return B.stack((x, y), axis=-1)

    small = values(2, 1, dtype="float32")
    return [
        case("concatenate", lambda x, y: np.concatenate([x, y], -1), MATRIX, values(2, 1), call=last),
        case("concatenate", lambda x, y: np.concatenate([x, y]), MATRIX, values(0, 3), call=first),
        case("concatenate", lambda x, y: np.concatenate([x, y], -1), whole(2, 3), small, call=last),
        case("stack", lambda x, y: np.stack([x, y]), MATRIX, OTHER, call=stacked),
        case("stack", lambda x, y: np.stack([x, y], -1), MATRIX, OTHER, call=stacked_last, label="last"),
    ]


def _reshaped() -> list[FunctionCase]:
    def to_shape_of(B: Any, x: Any, y: Any) -> Any:
        return B.reshape(x, B.shape(y))

    return [
        case("reshape", lambda x: x.reshape(3, 2), MATRIX, args=((3, 2),), unknown=False),
        case("reshape", lambda x: x.reshape(-1), MATRIX, args=([-1],)),
        case("reshape", lambda x: x.reshape(6), MATRIX, args=(6,), unknown=False),
        case("reshape", lambda x, y: x.reshape(y.shape), values(6), MATRIX, call=to_shape_of, label="shape of"),
        case("flatten", lambda x: x.reshape(-1), MATRIX),
        case("flatten", lambda x: x.reshape(-1), values()),
        case("squeeze", lambda x: x.squeeze(1), values(3, 1, 2), args=(1,), unknown=False),
        case("squeeze", lambda x: x.squeeze(-1), values(3, 1), args=(-1,), unknown=False),
    ]


def _moved() -> list[FunctionCase]:
    return [
        *(case("transpose", np.transpose, values(*shape)) for shape in ((2, 3), (3,), (2, 3, 4), ())),
        case("permute_dimensions", lambda x: x.transpose(2, 0, 1), values(2, 3, 4), args=((2, 0, 1),)),
        case("permute_dimensions", np.transpose, whole(2, 3), args=([1, 0],)),
        case("reverse", lambda x: x[:, ::-1], MATRIX, args=(1,)),
        case("reverse", lambda x: x[::-1, ::-1], MATRIX, args=((0, 1),)),
        case("reverse", lambda x: x[::-1], MATRIX, args=([0, 7],)),
        case("reverse", lambda x: x, MATRIX, args=((),)),
    ]


def _repeated() -> list[FunctionCase]:
    made = [
        case("repeat_elements", lambda x: x.repeat(2, 1), MATRIX, args=(2, 1)),
        case("repeat_elements", lambda x: x.repeat(3), MATRIX, args=(3, None)),
        case("repeat_elements", lambda x: x.repeat(0, 0), MATRIX, args=(0, 0), flat=True),
        case("repeat", lambda x: x[:, None].repeat(3, 1), MATRIX, args=(3,)),
        case("tile", lambda x: np.tile(x, (2, 2)), values(3), args=((2, 2),)),
    ]
    made += [case("tile", lambda x, n=n: np.tile(x, n), MATRIX, args=(n,)) for n in (2, (2, 1), [1, 2], (2, 1, 2))]
    rows = np.eye(4, dtype="float32")
    for dtype in ("int32", "int64", "uint8"):
        made.append(case("one_hot", lambda x: rows[x], whole(2, 3, low=0, high=4, dtype=dtype), args=(4,)))
    return [*made, case("one_hot", lambda x: rows[x], np.asarray([-1, 0]), args=(4,))]


def _products() -> list[FunctionCase]:
    shapes = [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3, 4), (4, 2)), ((2, 3, 4), (4,)),
              ((2, 3, 4), (3, 4, 2)), ((4, 2), (5, 2, 3)), ((), (2, 3)), ((), ()), ((2, 0), (0, 3))]  # fmt: skip
    return [
        *(case("dot", np.dot, values(*a), values(*b, low=-1.0)) for a, b in shapes),
        case("dot", np.dot, whole(2, 3), whole(3, 2)),
        case("dot", np.dot, whole(2, 3), values(3, 2, dtype="float32")),
        case("dot", lambda x: 2.0 * x, MATRIX, args=(2.0,)),
    ]


def _filled(x: np.ndarray, val: Any) -> np.ndarray:
    out = x.astype(np.result_type(x, val))
    np.fill_diagonal(out, val)
    return out


def _diagonals() -> list[FunctionCase]:
    square = values(3, 3)
    return [
        *(case("diag", np.diag, values(*shape)) for shape in ((3, 3), (2, 4), (4, 2), (3,))),
        *(case("fill_diagonal", _filled, square, values(*shape)) for shape in ((3,), (1,), ())),
        case("fill_diagonal", lambda x: _filled(x, 2.0), square, args=(2.0,)),
        case("fill_diagonal", _filled, whole(3, 3), values(3, dtype="float32"), rtol=1e-7),
    ]


def _solved() -> list[FunctionCase]:
    def rebuilt(B: Any, x: Any) -> Any:
        u, s, vt = B.svd(x)
        return B.dot(u * s, vt)

    def singular_values(B: Any, x: Any) -> Any:
        return B.svd(x)[1]

    square = values(3, 3) + 4 * np.eye(3)
    integers = np.asarray([[1, 2], [3, 4]]), np.asarray([-2, 0])
    return [
        case("solve", np.linalg.solve, square, values(3), rtol=1e-10),
        case("solve", np.linalg.solve, square, values(3, 2), rtol=1e-10),
        case("solve", np.linalg.solve, *integers, rtol=1e-10),
        case("svd", lambda x: x, values(3, 3), call=rebuilt, label="rebuilt", rtol=1e-10, order=0),
        case("svd", lambda x: np.linalg.svd(x)[1], values(2, 4), call=singular_values, rtol=1e-10, order=0),
    ]
