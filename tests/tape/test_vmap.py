"""`vmap`: a function of one example applied to many, equal to a loop over the examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.functions import activations, neural
from nbm_xp.namespace import library_name
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, evaluate, function, grad, is_tensor, jacobian, jvp, placeholder, scan, vmap
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.derivatives import vmapping
from tests.helpers.gradcheck import check_gradient, flat_list
from tests.helpers.libraries import Library, libraries

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(5, 3))
MATRICES = RANDOM.normal(size=(5, 3, 3))
POSITIVE = MATRICES @ MATRICES.transpose(0, 2, 1) + np.eye(3)
PLACES = RANDOM.integers(0, 3, size=(5, 3))
TABLE = RANDOM.normal(size=(7, 4))


def in_turn(fn: Callable[..., Any], arrays: tuple[Any, ...], axes: tuple[int | None, ...]) -> list[Any]:
    """The stacked results of one example after the other."""
    each = [
        flat_list(fn(*(xp.asarray(x if axis is None else x[i]) for x, axis in zip(arrays, axes, strict=True))))
        for i in range(5)
    ]
    return [np.stack([evaluate(part) for part in parts]) for parts in zip(*each, strict=True)]


BATCHED: list[tuple[str, Callable[..., Any], tuple[Any, ...], tuple[int | None, ...]]] = [
    *((f.__name__, f, (X,), (0,)) for f in (xp.max, xp.argmax, xp.std, xp.var, xp.prod, xp.sort, xp.argsort, xp.flip)),
    ("cumulative_prod", xp.cumulative_prod, (X,), (0,)),
    ("argmin", lambda x: xp.argmin(x, axis=0, keepdims=True), (X,), (0,)), ("any", lambda x: xp.any(x > 0), (X,), (0,)),
    ("softmax", lambda x: activations.softmax(x), (POSITIVE,), (0,)),
    ("logsumexp", lambda x: neural.logsumexp(x, axis=-1), (POSITIVE,), (0,)),
    ("logsumexp-all", neural.logsumexp, (POSITIVE,), (0,)), ("relu", lambda x: activations.relu(x), (X,), (0,)),
    ("clip", lambda x: xp.clip(x, -0.5, 0.5), (X,), (0,)), ("where", lambda x: xp.where(x > 0, x, 0.0), (X,), (0,)),
    *((f"linalg.{f.__name__}", f, (POSITIVE,), (0,)) for f in (
        xp.linalg.inv, xp.linalg.cholesky, xp.linalg.det, xp.linalg.slogdet, xp.linalg.eigh, xp.linalg.svd,
        xp.linalg.qr, xp.linalg.trace, xp.linalg.svdvals, xp.linalg.matrix_norm,
    )),
    ("solve", xp.linalg.solve, (POSITIVE, X), (0, 0)),
    ("solve-matrices", xp.linalg.solve, (POSITIVE, MATRICES), (0, 0)),
    ("solve-one-vector", xp.linalg.solve, (POSITIVE, X[0]), (0, None)),
    ("solve-one-matrix", xp.linalg.solve, (POSITIVE[0], X), (None, 0)),
    ("take", lambda w, k: xp.take(w, k, axis=0), (TABLE, PLACES), (None, 0)),
    ("take-row", lambda w, k: w[k, :], (TABLE, PLACES[:, 0]), (None, 0)),
    ("take_along_axis", lambda x, k: xp.take_along_axis(x, k, axis=0), (X, PLACES), (0, 0)),
    ("gradient", grad(lambda x: xp.sum(xp.exp(x) * x[0])), (X,), (0,)),
    ("gradient-of-det", grad(xp.linalg.det), (POSITIVE,), (0,)),
    ("jacobian", jacobian(lambda x: xp.sin(x) * x[0]), (X,), (0,)),
    ("jvp", lambda x, v: list(jvp(xp.tanh, (x,), (v,))), (X, X[::-1].copy()), (0, 0)),
]  # fmt: skip
IN_A_LOOP: list[tuple[str, Callable[..., Any], tuple[Any, ...], tuple[int | None, ...]]] = [
    ("tile", lambda x: xp.tile(x, (2,)), (X,), (0,)),
    ("both-indexed", lambda x, k: x[k], (X, PLACES), (0, 0)),
    ("scan", lambda x: scan(lambda s: s * 2.0, outputs_info=[xp.sum(x)], n_steps=3)[0], (X,), (0,)),
    ("pinv", xp.linalg.pinv, (POSITIVE,), (0,)),
]


@pytest.mark.parametrize(("name", "fn", "arrays", "axes"), [*BATCHED, *IN_A_LOOP])
def test_as_in_turn(name: str, fn: Any, arrays: Any, axes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any(name == other[0] for other in IN_A_LOOP):
        monkeypatch.setattr(vmapping, "loop", None)  # each operation has a batching rule
    for got, want in zip(flat_list(vmap(fn, axes)(*arrays)), in_turn(fn, arrays, axes), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "dask-one", "dask-singles")), indirect=True)
def test_on_every_library(library: Library) -> None:
    got = vmap(lambda x, w: xp.tanh(x) @ w, (1, None))(library.array(X.T), library.array(X[0]))
    assert library_name(got) == library.name
    np.testing.assert_allclose(library.numpy(got), np.tanh(X) @ X[0])


def test_axes_of_arguments_and_results() -> None:
    value = vmap(lambda p, s: {"a": p["w"] * s, "b": (xp.sum(p["w"]) + p["c"],)}, ({"w": 1, "c": None}, None), 1)
    with pytest.raises(ValueError, match="out_axes names axis 1 of a result of 1 axes"):
        value({"w": X, "c": np.asarray(1.0)}, 2.0)
    value = vmap(
        lambda p, s: {"a": p["w"] * s, "b": (xp.sum(p["w"]) + p["c"],), "c": p["c"]},
        ({"w": -1, "c": None}, None),
        {"a": -1, "b": (0,), "c": None},
    )
    found = value({"w": X, "c": np.asarray(1.0)}, 2.0)
    np.testing.assert_allclose(found["a"], X * 2)
    np.testing.assert_allclose(found["b"][0], X.sum(0) + 1)
    assert found["c"] == 1.0


def test_what_does_not_depend_on_the_example_is_repeated() -> None:
    assert vmap(lambda x: 3.0)(X).tolist() == [3.0] * 5
    assert vmap(lambda x: xp.ones(2))(X).shape == (5, 2)


def test_nested() -> None:
    table = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))
    np.testing.assert_allclose(table(X[:, 0], X[:, 1]), np.outer(X[:, 0], X[:, 1]))
    crossed = vmap(vmap(lambda a, b: a - b, (0, None)), (None, 0))
    np.testing.assert_allclose(crossed(X[:, 0], X[:, 1]), X[:, 0] - X[:, 1, None])


def test_under_a_gradient() -> None:
    check_gradient(lambda x: vmap(lambda row: xp.max(row) * neural.logsumexp(row))(x), X, order=2)
    check_gradient(lambda x, w: vmap(lambda row: xp.tanh(row @ w))(x), X, X[0], order=2)
    check_gradient(lambda x: vmap(grad(lambda row: xp.sum(row**3)))(x), X, order=1)


def test_what_the_function_closes_over_is_differentiated_too() -> None:
    slope = grad(lambda w: xp.sum(vmap(lambda row: row @ w)(X)))(np.ones(3))
    np.testing.assert_allclose(slope, X.sum(0))


def test_draws_from_outside_are_shared() -> None:
    noise = RandomStreams(3).normal((3,), dtype="float64")
    shared = vmap(lambda row: row * 0.0 + noise)(Variable(X))
    assert np.ptp(evaluate(shared), axis=0).tolist() == [0.0] * 3


def test_of_unknown_length() -> None:
    x = placeholder((None, 3), dtype="float64")
    run = function([x], vmap(xp.max)(x))
    np.testing.assert_allclose(run(X), X.max(1))


def test_tensors_give_tensors() -> None:
    assert is_tensor(vmap(lambda row: row * 2)(Variable(X)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vmap(xp.sum, 2)(X), ValueError, r"axis 2 of an array of shape \(5, 3\)"),
        (lambda: vmap(xp.sum, None)(X), ValueError, "in_axes is None for all arguments"),
        (lambda: vmap(xp.add)(X, X[:2]), ValueError, "axes of one length, got 5 and 2"),
        (lambda: vmap(xp.add, (0,))(X, X), TypeError, "in_axes must hold an int, None, or what is built as"),
        (lambda: vmap(xp.add, "ab")(X, X), TypeError, "in_axes must hold an int, None, or"),
        (lambda: vmap(lambda x, y: x)(X, 2.0), TypeError, "an axis of what is no array: float"),
        (lambda: vmap(xp.sum, 0, None)(X), ValueError, "out_axes is None for a result that differs"),
        (lambda: vmap(xp.sum, 0, (0, 0))(X), TypeError, "out_axes must hold"),
        (lambda: vmap(lambda x: x + RandomStreams(3).normal((3,)))(X), ValueError, "fn draws random numbers"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
