"""A function that a library of the standard lacks is named in one line, with the caller that needs it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, function, placeholder, value_and_grad
from nbm_xp.tape import namespace as recorded
from tests.helpers.unregistered import left_out

strict: Any = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

X = np.asarray([[0.5, 0.25, 1.0], [0.0, 0.75, 0.125]])


def lacking(name: str) -> Any:
    """The namespace of array_api_strict under another name and without one function."""
    made: Any = types.ModuleType("sparing")
    for each in dir(strict):
        if each != name and (each[:2] != "__" or each.startswith("__array")):
            setattr(made, each, getattr(strict, each))
    return made


def planned(record: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a wrapper that compiles and calls a function of one matrix."""

    def call(x: Any) -> Any:
        leaf = placeholder((2, 3), dtype="float64")
        return function([leaf], record(leaf))(x)

    return call


CALLS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("any", "any", lambda x: B.any(x > 1.0)), ("cumulative_sum", "cumsum", K.cumsum),
    ("flip", "reverse", lambda x: K.reverse(x, 0)), ("linalg", "svd", B.svd),
    ("matmul", "dot", lambda x: B.dot(x, x.T)), ("repeat", "repeat_elements", lambda x: K.repeat_elements(x, 2, 0)),
    ("reshape", "flatten", K.flatten), ("take", "gather", lambda x: K.gather(x, strict.asarray([0, 1]))),
    (
        "take_along_axis", "sparse_categorical_crossentropy",
        lambda x: K.sparse_categorical_crossentropy(x, strict.asarray([0, 1])),
    ),
    ("tile", "tile", lambda x: K.tile(x, (2, 1))), ("zeros_like", "zeros_like", B.zeros_like),
    ("argsort", "permutation", lambda x: Generator(1, library=x.__array_namespace__()).permutation(5)),
    ("searchsorted", "categorical", lambda x: Generator(1).categorical(x[0, :] / strict.sum(x[0, :]), 4)),
    ("sqrt", "gamma", lambda x: Generator(1, library=x.__array_namespace__()).gamma(2.0, 1.0, (2, 2))),
    ("matmul", "transform", lambda x: RBM(2, n_iter=1, random_state=0).fit(X).transform(x)),
    ("fft", "evaluate", lambda x: evaluate(recorded.fft.fft(Variable(x)))),
    ("isin", "evaluate", lambda x: evaluate(recorded.isin(Variable(x), x))),
    ("isin", "isin", planned(lambda x: recorded.isin(x, x))), ("fft", "fft.rfft", planned(recorded.fft.rfft)),
    ("sort", "sort", planned(recorded.sort)),
    ("cumulative_prod", "cumulative_prod", planned(lambda x: recorded.cumulative_prod(x, axis=0))),
    ("sort", "sort", lambda x: value_and_grad(lambda a: recorded.sum(recorded.sort(a) ** 2))(x)),
    ("cumulative_sum", "cumulative_sum",
     lambda x: value_and_grad(lambda a: recorded.sum(recorded.cumulative_sum(a, axis=0)))(x)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "needed_by", "call"), CALLS, ids=[f"{name}-{by}" for name, by, _ in CALLS])
def test_is_named_with_what_needs_it(
    name: str, needed_by: str, call: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    xp = lacking(name)
    monkeypatch.setattr(strict._array_object.Array, "__array_namespace__", lambda self, api_version=None: xp)
    with left_out("array_api_strict"), pytest.raises((TypeError, AttributeError)) as caught:
        call(strict.asarray(X.copy()))
    assert str(caught.value) == f"sparing has no {name}, which {needed_by} needs"
