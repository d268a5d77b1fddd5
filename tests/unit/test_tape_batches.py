"""Functions with a batch axis: a whole plan as one task for each block, with the numbers of the undivided batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from nbm_xp.functions.activations import softmax
from nbm_xp.functions.convolution import conv2d
from nbm_xp.functions.losses import sparse_categorical_crossentropy
from nbm_xp.functions.neural import logsumexp
from nbm_xp.functions.normalization import normalize_batch_in_training
from nbm_xp.functions.pooling import pool2d
from nbm_xp.functions.recurrence import rnn
from nbm_xp.namespace import use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, checkpoint, function, gradients, ifelse, operation, placeholder, scan, until
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.stable import sigmoid
from tests.libraries import guard

RNG = np.random.default_rng(3)
COUNT, WIDTH, HIDDEN = 23, 4, 5
ROWS = RNG.normal(size=(COUNT, WIDTH))
STATES = RNG.normal(size=(COUNT, HIDDEN))
STEPS = RNG.normal(size=(7, COUNT, WIDTH))
PLACES = RNG.integers(0, WIDTH, size=COUNT)
CHUNKS = [(5, 2), (COUNT, WIDTH), (1, 1), ((10, 0, 13), WIDTH)]

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def sealed() -> Iterator[None]:
    with guard():
        yield


def weights() -> list[Variable]:
    random = np.random.default_rng(4)
    shapes = (WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN,)
    return [Variable(0.4 * random.normal(size=shape), dtype="float64") for shape in shapes]


def rows(*shape: int | None, dtype: str = "float64", name: str | None = None) -> Any:
    return placeholder(shape or (None, WIDTH), dtype=dtype, name=name)


def computed(results: Any) -> list[Any]:
    return list(dask.compute(*results, scheduler="synchronous"))


def check(inputs: Any, outputs: Any, arrays: Any, chunks: Any, batch_axis: Any = 0, rtol: float = 1e-10) -> Any:
    """Hold what blocks give, in shape, dtype and numbers, to what the undivided arrays give."""
    batched = function(inputs, outputs, batch_axis=batch_axis)
    wanted = function(inputs, outputs)(*arrays)
    given = [a if c is None else da.from_array(a, chunks=c) for a, c in zip(arrays, chunks, strict=True)]
    lazy = batched(*given)
    for promise, found, want in zip(lazy, computed(lazy), wanted, strict=True):
        assert (promise.shape, promise.dtype) == (want.shape, want.dtype) == (found.shape, found.dtype)
        np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol)
    return lazy


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_sums_means_and_gradients(chunks: Any) -> None:
    x, (u, _, b) = rows(), weights()
    hidden = xp.tanh(x @ u + b)
    loss = xp.mean(xp.sum(hidden, axis=1) ** 2) + xp.sum(u * u)
    check([x], [hidden, loss, x.T @ hidden, *gradients(loss, [u, b, x])], [ROWS], [chunks])


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_further_rounds_use_what_was_combined(chunks: Any) -> None:
    x, (u, _, _) = rows(), weights()
    shares = xp.exp(x - xp.max(x, axis=0))
    shares = shares / xp.sum(shares, axis=0)
    normed = (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)
    loss = xp.mean(xp.tanh(normed @ u) ** 2) + xp.sum(shares * x)
    several = [xp.var(x, axis=0, correction=1), xp.std(x), xp.min(x, axis=0), xp.prod(x, axis=0), xp.any(x > 2.0)]
    several += [xp.all(x > -9.0, axis=0), xp.count_nonzero(x > 0, axis=0), logsumexp(x, axis=0), softmax(x)]
    check([x], [shares, loss, *several, *gradients(loss, [u, x])], [ROWS], [chunks])


def test_second_derivatives() -> None:
    x, (u, _, _) = rows(), weights()
    slope = gradients(xp.mean(xp.tanh(x @ u) ** 2), u)
    check([x], [gradients(xp.sum(slope * slope), u)], [ROWS], [(5, 2)])


def test_arrays_in_different_blocks_are_brought_in_step() -> None:
    x, y, (u, w, _) = rows(), rows(None, HIDDEN), weights()
    loss = xp.mean((x @ u - y @ w) ** 2)
    lazy = check([x, y], [x @ u + y, loss, *gradients(loss, [u, w])], [ROWS, STATES], [(5, 2), (4, 5)])
    assert lazy[0].chunks == ((4, 4, 4, 4, 4, 3), (HIDDEN,))


def test_arrays_of_different_lengths_are_refused() -> None:
    x, y = rows(), rows()
    run = function([x, y], [xp.sum(x), xp.sum(y)], batch_axis=0)
    with pytest.raises(ValueError, match="as many examples, got 20 and 23"):
        run(da.from_array(ROWS, chunks=5), da.from_array(ROWS[:20], chunks=5))


def test_scan_runs_within_blocks() -> None:
    x, start, (u, w, b) = rows(None, None, WIDTH), rows(None, HIDDEN), weights()
    states, _ = scan(lambda row, h: xp.tanh(row @ u + h @ w + b), [x], [start])
    loss = xp.mean(states**2) + xp.sum(w * w)
    outputs = [states, states[-1], loss, *gradients(loss, [u, w, b, x, start])]
    check([x, start], outputs, [STEPS, STATES], [(3, 5, 2), (4, 2)], [1, 0])


def test_scan_that_carries_something_whole() -> None:
    x, (u, w, b) = rows(None, None, WIDTH), weights()
    start = xp.zeros((x.shape[1], HIDDEN), dtype="float64")
    (states, shared), _ = scan(lambda row, h, s: [xp.tanh(row @ u + h @ w + s), s * 0.9], [x], [start, b])
    loss = xp.mean(xp.sum(states[-1] ** 2, axis=1)) + xp.sum(shared)
    check([x], [shared, shared[-1], states[-1], loss, *gradients(loss, [u, w, b])], [STEPS], [(3, 5, 2)], 1)


def test_scan_until_something_whole() -> None:
    start, (_, w, _) = rows(None, HIDDEN), weights()

    def step(h: Any, s: Any) -> Any:
        return [h @ w, s * 2.0], until(s * 2.0 > 50.0)

    (states, doubled), _ = scan(step, outputs_info=[start, Variable(1.0, dtype="float64")], n_steps=30)
    run, plain = (function([start], [states[-1], doubled[-1], states], batch_axis=axis) for axis in (0, None))
    found = computed(run(da.from_array(STATES, chunks=(6, 5))))
    for got, want in zip(found, plain(STATES), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_branches() -> None:
    x, (u, _, _) = rows(), weights()
    chosen = ifelse(xp.mean(x) > 0, [x * 2, xp.sum(u)], [x, xp.sum(u) * 3])
    check([x], [*chosen, gradients(xp.sum(chosen[0] @ u) + chosen[1], u)], [ROWS], [(5, 2)])


@pytest.mark.parametrize("every", [True, 3])
def test_checkpoints(every: Any) -> None:
    x, start, (u, w, b) = rows(None, None, WIDTH), rows(None, HIDDEN), weights()
    layer = checkpoint(lambda h: (xp.tanh(h @ w + b), xp.sum(h * h), xp.sum(w)))
    states, _ = scan(lambda row, h: xp.tanh(row @ u + h @ w), [x], [start], checkpoint=every)
    deeper, squares, whole = layer(states[-1])
    loss = xp.mean(deeper**2) + 0.1 * squares + whole
    outputs = [states, deeper, squares, whole, loss, *gradients(loss, [u, w, b, start])]
    check([x, start], outputs, [STEPS, STATES], [(7, 5, 4), (4, 5)], [1, 0])


def test_images() -> None:
    x, kernel = rows(None, 6, 5, 2), Variable(RNG.normal(size=(3, 3, 2, 4)), dtype="float64")
    pooled = pool2d(conv2d(x, kernel, data_format="channels_last"), (2, 2), data_format="channels_last")
    scores = xp.reshape(pooled, (-1, 24))
    loss = xp.mean(logsumexp(scores, axis=-1))
    images = RNG.normal(size=(COUNT, 6, 5, 2))
    check([x], [scores, loss, *gradients(loss, [kernel, x])], [images], [(5, 3, 5, 1)])


def test_layers() -> None:
    x, labels, (u, w, _) = rows(None, 7, WIDTH), rows(None, dtype="int64"), weights()
    step = lambda row, states: (xp.tanh(row @ u + states[0] @ w), [xp.tanh(row @ u + states[0] @ w)])  # noqa: E731
    last, outputs, _ = rnn(step, x, [xp.zeros((x.shape[0], HIDDEN), dtype="float64")])
    normed, mean, _ = normalize_batch_in_training(last, None, None, [0])
    loss = xp.mean(sparse_categorical_crossentropy(softmax(normed), labels))
    wanted = [last, outputs, normed, mean, loss, *gradients(loss, [u, w])]
    check([x, labels], wanted, [STEPS.swapaxes(0, 1).copy(), PLACES], [(5, 3, 2), 4])


def test_indexing_other_axes() -> None:
    x, places, (u, _, _) = rows(), rows(None, dtype="int64"), weights()
    picked = xp.take_along_axis(x, places[:, None], axis=1)
    rows_of_table = xp.take(u, places, axis=0)
    numbered = rows_of_table * xp.arange(places.shape[0], dtype="float64")[:, None]
    loss = xp.mean(picked**2) + xp.sum(numbered)
    outputs = [picked, rows_of_table, loss, x[:, 1:3], x[:, None, -1], *gradients(loss, [x, u])]
    check([x, places], outputs, [ROWS, PLACES], [(5, 2), 4])


def test_what_is_whole_may_be_as_long_as_all_blocks_together() -> None:
    x, table = rows(), Variable(ROWS)
    shape = (x.shape[0], 2, 2)
    outputs = [xp.reshape(table, shape), xp.linalg.vector_norm(xp.sum(x, axis=0)), xp.asarray(x, copy=True) + 1]
    check([x], outputs, [ROWS], [(5, 2)])


def test_what_has_no_rule_works_on_what_is_combined() -> None:
    def both(xp: Any, total: Any, count: Any) -> Any:
        return total[::-1] / count

    odd = operation("odd_share", infer=lambda total, count: (total.shape, total.dtype), run=both, gradient=None)
    x = rows()
    check([x], [odd(xp.sum(x, axis=0), xp.mean(x))], [ROWS], [(5, 2)])
    with pytest.raises(ValueError, match=r"odd_share.* is not known to work block by block"):
        function([x], odd(x, xp.mean(x)), batch_axis=0)


def test_examples_with_several_rows() -> None:
    x, (u, _, _) = rows(None, None, WIDTH), weights()
    flat = xp.reshape(x, (-1, WIDTH))
    apart = xp.reshape(flat @ u, (*x.shape[:2], HIDDEN))
    lazy = check([x], [flat, apart, gradients(xp.mean(apart**2), u)], [STEPS.swapaxes(0, 1).copy()], [(5, 2, 2)])
    assert lazy[0].chunks == ((35, 35, 35, 35, 21), (WIDTH,))


def test_whole_inputs_reach_every_block() -> None:
    x, table = rows(), rows(None, None)
    given = RNG.normal(size=(WIDTH, 3))
    for chunks in (None, (2, 1)):
        check([x, table], [x @ table, gradients(xp.sum(x @ table), table)], [ROWS, given], [(5, 2), chunks], (0, None))


def draws() -> tuple[list[Any], list[Any]]:
    rng, x = RandomStreams(5), rows()
    drawn = [
        rng.uniform((x.shape[0], 3), dtype="float64"),
        rng.normal((x.shape[0], 3), dtype="float64"),
        rng.binomial(x.shape, p=1 / (1 + xp.exp(-x))),
        rng.binomial((x.shape[0],), n=3, p=0.3),
        rng.uniform((WIDTH,), dtype="float64") + x,
        rng.multinomial(pvals=softmax(x)),
        rng.uniform((3, x.shape[0]), dtype="float64"),
        rng.uniform((2 * x.shape[0],), dtype="float64"),
    ]
    return [x], drawn


def test_draws_are_those_of_the_undivided_batch() -> None:
    (batched, plain) = draws(), draws()
    run, expected = function(*batched, batch_axis=0), function(*plain)
    for chunks in CHUNKS:
        lazy = run(da.from_array(ROWS, chunks=chunks))
        for found, want in zip(computed(lazy), expected(ROWS), strict=True):
            assert found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_draws_in_blocks_that_are_worth_moving_the_streams_to(dtype: str) -> None:
    def trials() -> tuple[list[Any], list[Any]]:
        rng, x = RandomStreams(11), rows(None, 40, dtype="float32")
        settings: dict[str, Any] = {"p": sigmoid(x), "dtype": dtype, "nstreams": 7}
        return [x], [rng.binomial(x.shape, **settings), rng.binomial((x.shape[0], 40), **settings) + 0 * settings["p"]]

    (batched, plain) = trials(), trials()
    run, expected = function(*batched, batch_axis=0), function(*plain)
    value = RNG.normal(size=(50, 40)).astype("float32")
    for chunks in ((13, 40), (50, 40), ((1, 30, 0, 19), 40)):
        for found, want in zip(computed(run(da.from_array(value, chunks=chunks))), expected(value), strict=True):
            np.testing.assert_array_equal(found, want, strict=True)


def gibbs() -> tuple[list[Any], list[Any], Any]:
    rng, v = RandomStreams(7), rows(None, 6)
    w = Variable(np.linspace(-1, 1, 24).reshape(6, 4), dtype="float64")

    def step(v: Any) -> Any:
        h = rng.binomial((v.shape[0], 4), p=1 / (1 + xp.exp(-(v @ w))), dtype="float64")
        return rng.binomial((v.shape[0], 6), p=1 / (1 + xp.exp(-(h @ w.T))), dtype="float64")

    chain, updates = scan(step, outputs_info=[v], n_steps=5)
    return [v], [chain[-1], xp.mean(chain[-1], axis=0)], updates


def test_draws_within_a_scan() -> None:
    batched, plain = gibbs(), gibbs()
    run, expected = function(*batched, batch_axis=0), function(*plain)
    value = (RNG.uniform(size=(COUNT, 6)) < 0.5).astype("float64")
    for chunks in (5, COUNT, 1):
        lazy = run(da.from_array(value, chunks=(chunks, 2)))
        for found, want in zip(computed(lazy), expected(value), strict=True):
            np.testing.assert_allclose(found, want)
    assert all(isinstance(state.value, np.ndarray) for state in batched[2])  # states are small, and known at once


def test_unknown_lengths_of_blocks() -> None:
    x, (u, _, _) = rows(), weights()
    spread = x - xp.mean(x, axis=0)
    numbered = x * xp.arange(x.shape[0], dtype="float64")[:, None]
    run = function([x], [spread, numbered, xp.max(x, axis=0), gradients(xp.mean(x @ u), u)], batch_axis=0)
    lazy = da.from_array(ROWS, chunks=(5, 2))
    chosen = np.arange(COUNT) % 7 < 2
    chosen[5:10] = False  # a block without examples
    parts = computed(run(lazy[da.from_array(chosen, chunks=5)]))
    kept = ROWS[chosen]
    np.testing.assert_allclose(parts[0], kept - kept.mean(axis=0))
    np.testing.assert_allclose(parts[1], kept * np.arange(len(kept))[:, None])
    np.testing.assert_allclose(parts[2], kept.max(axis=0))
    np.testing.assert_allclose(parts[3], np.repeat(kept.mean(axis=0)[:, None] / HIDDEN, HIDDEN, axis=1))


def test_no_examples() -> None:
    x = rows()
    run = function([x], [xp.sum(x, axis=0), xp.mean(x, axis=0), x * 2], batch_axis=0)
    total, mean, double = computed(run(da.from_array(ROWS[:0], chunks=(1, 2))))
    assert total.tolist() == [0.0] * WIDTH
    assert np.isnan(mean).all()
    assert double.shape == (0, WIDTH)


def test_arrays_that_are_not_lazy_run_as_ever() -> None:
    x, (u, _, _) = rows(), weights()
    run = function([x], xp.mean(x @ u), batch_axis=0)
    np.testing.assert_allclose(run(ROWS), (ROWS @ u.value).mean())


def test_host_arrays_beside_lazy_ones() -> None:
    x, y = rows(), rows()
    run = function([x, y], xp.sum(x * y, axis=0), batch_axis=0)
    (found,) = computed([run(da.from_array(ROWS, chunks=(5, 2)), ROWS)])
    np.testing.assert_allclose(found, (ROWS * ROWS).sum(axis=0))


def test_updates_are_lazy_and_follow_one_another() -> None:
    with use_backend("dask"):
        w = Variable(np.zeros(WIDTH), dtype="float64")
        x = rows()
        step = function([x], [], updates=[(w, w + xp.mean(x, axis=0))], batch_axis=0)
        for _ in range(3):
            step(da.from_array(ROWS, chunks=(5, 2)))
    (value,) = computed([w.value])
    np.testing.assert_allclose(value, 3 * ROWS.mean(axis=0))


def test_one_task_for_each_block_and_stage() -> None:
    x, (u, _, b) = rows(), weights()
    states, _ = scan(lambda h: xp.tanh(h @ Variable(np.eye(HIDDEN))), outputs_info=[xp.tanh(x @ u + b)], n_steps=200)
    loss = xp.mean(states[-1] ** 2)
    run = function([x], gradients(loss, [u, b]), batch_axis=0)
    lazy = run(da.from_array(RNG.normal(size=(64, WIDTH)), chunks=(1, WIDTH)))
    made = [key for key in lazy[0].__dask_graph__() if isinstance(key, tuple) and "block" in key[1:]]
    assert len(made) == 64
    assert len(lazy[0].__dask_graph__()) < 4 * 64


def test_graphs_travel() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    x, start, (u, w, _) = rows(None, None, WIDTH), rows(None, HIDDEN), weights()
    states, _ = scan(lambda row, h: xp.tanh(row @ u + h @ w), [x], [start])
    outputs = [xp.mean(states), *gradients(xp.mean(states), [u, w])]
    lazy = function([x, start], outputs, batch_axis=[1, 0])(
        da.from_array(STEPS, chunks=(7, 5, 4)), da.from_array(STATES, chunks=(5, 5))
    )
    sent = cloudpickle.dumps(lazy)
    assert len(sent) < 100_000
    for found, want in zip(computed(pickle.loads(sent)), computed(lazy), strict=True):
        np.testing.assert_allclose(found, want)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: xp.argmax(x, axis=0),
    "concat": lambda x: xp.concat([x, x], axis=0),
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=0),
    "flip": lambda x: xp.flip(x, axis=0),
    "getitem": lambda x: x[1:],
    "matmul": lambda x: x @ x.T,
    "reshape": lambda x: xp.reshape(x.T, (-1,)),
    "sort": lambda x: xp.sort(x, axis=0),
    "take": lambda x: xp.take(x, xp.asarray([0, 1]), axis=0),
    "tile": lambda x: xp.tile(x, (2, 1)),
    "scan": lambda x: scan(lambda row, s: s + row, [x], [xp.zeros((WIDTH,), dtype="float64")])[0],
    "mean": lambda x: scan(lambda h: h - xp.mean(h, axis=0), outputs_info=[x], n_steps=2)[0],
    "add": lambda x: x + Variable(ROWS),
    "multiply": lambda x: x[:, :, None] * xp.reshape(Variable(ROWS), (x.shape[0], WIDTH, 1)),
    "broadcast_to": lambda x: xp.broadcast_to(Variable(ROWS), (x.shape[0], WIDTH)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_other_examples_is_refused_by_name(name: str) -> None:
    x = rows()
    outputs = REFUSED[name](x)
    with pytest.raises(ValueError, match=r"batch_axis cannot be kept: .*(?s:.)*leave batch_axis out") as refusal:
        function([x], outputs, batch_axis=0)
    assert name in str(refusal.value) or name in ("scan", "mean")
    assert "recorded at" in str(refusal.value)


@pytest.mark.parametrize(
    ("batch_axis", "error", "match"),
    [
        (5, ValueError, "no input has with an unknown length"),
        ("rows", TypeError, "batch_axis must be an int"),
        ((0, 0), TypeError, "for each of the 1 inputs"),
        ((1,), ValueError, "must name an axis of unknown length"),
        ((2,), ValueError, "must be from -2 to 1"),
        ((None,), ValueError, "no input has"),
    ],
)
def test_batch_axis_is_checked(batch_axis: Any, error: type[Exception], match: str) -> None:
    x = rows()
    with pytest.raises(error, match=match):
        function([x], xp.sum(x), batch_axis=batch_axis)
