"""Cases of compound products, of steps of recurrent layers and of the gradient of look-ups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.functions import compound, joining
from nbm_xp.namespace import array_namespace
from tests.helpers.tables.case import values, whole

from .case import FunctionCase, case, of

__all__ = ["cases"]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_products(), *_steps()]


def made(function: Callable[..., Any], *others: Any, **fields: Any) -> FunctionCase:
    """A case of a function by its own name."""
    return of(function.__name__, function, *others, **fields)


def _products() -> list[FunctionCase]:
    a, b, held = values(2, 3), values(3, 4, low=-1.0), values(2, 4)
    several, pair = values(2, 3, 4, low=-1.0), values(2, 2, 3, low=-1.0)
    scaled: dict[str, Any] = {"alpha": 0.5, "beta": -2.0, "relu": True}

    def raised(product: np.ndarray, held: np.ndarray) -> np.ndarray:
        return np.maximum(0.5 * product, 0) - 2.0 * held

    return [
        made(compound.scaled, lambda x, h: 3.0 * x + h, b, values(3, 4), options={"alpha": 3.0, "beta": 1.0}),
        made(compound.scaled, lambda x: -2 * x, whole(2, 3), options={"alpha": -2.0}),
        made(compound.compound_product, lambda a, b: a @ b, a, b),
        made(compound.compound_product, lambda a, b, h: raised(a @ b, h), a, b, held, options=scaled),
        made(compound.compound_product, lambda a, b: a @ b, a.astype("float32"), b, label="mixed"),
        made(compound.batched_product, lambda a, b: a @ b, values(5, 3), several),
        made(compound.batched_product, lambda a, b, h: raised(a @ b, h), a, several, values(2, 2, 4), options=scaled),
        made(compound.batched_product, lambda a, b: (a @ b).sum(axis=0), pair, several),
        made(compound.batched_product, lambda a, b, h: raised((a @ b).sum(axis=0), h), pair, several, held,
            options=scaled),
    ]  # fmt: skip


def _steps() -> list[FunctionCase]:
    indices = np.asarray([[3, 0, 3, 1]])
    held, errors = values(5, 2), values(2, 4, low=-1.0)

    def table(held: np.ndarray, errors: np.ndarray) -> np.ndarray:
        found = held.copy()
        for row in (3, 0):  # 1 is the padding, and the others were not looked up
            found[row] = 2.0 * errors[:, indices[0] == row].sum(axis=1) - held[row]
        return found

    def looked_up(held: Any, errors: Any) -> Any:
        return compound.lookup_gradient(held, _like(errors, indices), errors, 2.0, -1.0, padding=1)

    return [
        made(compound.recurrent_input, lambda w, h, b, x: w @ h + x + b, values(3, 3), values(3, 2, low=-1.0),
            values(3, 1), values(3, 2)),
        made(compound.sums_by_map, lambda x: x.reshape(2, -1).sum(axis=1, keepdims=True).astype("float32"),
            values(4, 3).astype("float32"), options={"maps": 2}, rtol=1e-6),
        made(joining.sums_at, lambda v, p: np.stack([v[p == row].sum(axis=0) for row in range(4)]), values(5, 2),
            np.asarray([3, 0, 3, 1, 3]), options={"length": 4}),
        case("lookup_gradient", table, held, errors, call=lambda B, *given: looked_up(*given), rtol=1e-11),
    ]  # fmt: skip


def _like(x: Any, indices: np.ndarray) -> Any:
    """Indices of the same library as an array, or recorded as it is."""
    return array_namespace(x).asarray(indices)
