"""Errors of failed calls name the invalid argument."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from nbm_xp import keras2, natural_bm
from nbm_xp.namespace.errors import naming
from nbm_xp.tape import Variable, evaluate

Array = Any
B: Any = natural_bm  # Any, because the calls are wrong for a type checker too
K: Any = keras2
ONES = np.ones((2, 3))


def stretched(x: Array, axis: int = 0, *, mode: Literal["in", "out"] = "in", keep: bool = False) -> Any:
    return x.shape[axis]


NAMED: Any = naming(stretched)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: B.sum(ONES, axis="abc"), TypeError, "sum: axis must be an integer, a sequence of .*got 'abc'"),
    (lambda: B.sum(ONES, keepdims="abc"), TypeError, "sum: keepdims must be True or False, got 'abc'"),
    (lambda: B.exp(None), TypeError, "exp: x must be an array, a Tensor, .*got None"),
    (lambda: B.dot(ONES, ONES), ValueError, "matmul: .*dot was given x = float64[2, 3], y = float64[2, 3]"),
    (lambda: B.maximum(ONES, np.ones(4)), ValueError, "operands .*maximum was given x = float64[2, 3], y = float64[4]"),
    (lambda: B.maximum(ONES, ONES, ties="some"), ValueError, "ties must be 'share' or 'first' or 'whole', got 'some'"),
    (
        lambda: K.binary_crossentropy(ONES, ONES, from_logits="yes"), TypeError,
        "binary_crossentropy: from_logits must be True or False",
    ),
    (
        lambda: evaluate(K.maximum(Variable(ONES), Variable(np.ones((2, 4))))), ValueError,
        "operands .*recorded at",
    ),
    (lambda: NAMED(None), TypeError, "stretched: x must be an array"),
    (lambda: NAMED(ONES, 5), IndexError, ".*stretched was given x = float64[2, 3], axis = 5"),
    (lambda: NAMED(ONES, 1.5), TypeError, "stretched: axis must be an integer, got 1.5"),
    (lambda: NAMED(ONES, mode="up"), ValueError, "mode must be 'in' or 'out', got 'up'"),
    (lambda: NAMED(ONES, keep=[]), TypeError, "stretched: keep must be True or False, got []"),
    (lambda: NAMED(), TypeError, "stretched() missing 1 required positional argument: 'x'"),
])  # fmt: skip
def test_names_what_is_at_fault(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    first, _, second = message.partition(".*")
    message = "\n".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert message.startswith(first)
    assert second in message


def test_what_a_callable_raises_stays_as_it_is() -> None:
    def step(x: Any) -> Any:
        raise KeyError("of the user's own")

    with pytest.raises(KeyError, match="of the user's own"):
        K.map_fn(step, ONES)


def test_is_found_where_it_is_public() -> None:
    assert pickle.loads(pickle.dumps(K.dot)) is K.dot
    assert K.dot.__name__ == "dot"
    assert "Examples" in (K.dot.__doc__ or "")
