"""Functions with a batch axis: a plan runs as one task per block, with the results of the undivided batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.functions.activations import softmax
from nbm_xp.functions.neural import logsumexp
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, checkpoint, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import guard

RNG = np.random.default_rng(3)
COUNT, WIDTH, HIDDEN = 23, 4, 5
ROWS = RNG.normal(size=(COUNT, WIDTH))
STATES = RNG.normal(size=(COUNT, HIDDEN))
STEPS = RNG.normal(size=(7, COUNT, WIDTH))
CHUNKS = [(5, 2), (COUNT, WIDTH), (1, 1), ((10, 0, 13), WIDTH)]


@pytest.fixture(autouse=True)
def sealed() -> Iterator[None]:
    with guard():
        yield


def weights() -> list[Variable]:
    random = np.random.default_rng(4)
    shapes = (WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN,)
    return [Variable(0.4 * random.normal(size=shape), dtype="float64") for shape in shapes]


def rows(*shape: int | None, dtype: str = "float64") -> Any:
    return placeholder(shape or (None, WIDTH), dtype=dtype)


def computed(results: Any) -> list[Any]:
    return list(dask.compute(*results, scheduler="synchronous"))


def check(
    inputs: Any, outputs: Any, arrays: Any, chunks: Any, batch_axis: Any = 0, combine: Any = None, rtol: float = 1e-10
) -> Any:
    """Compare the results of blocks, in shape, dtype and values, with those of the undivided arrays."""
    batched = function(inputs, outputs, batch_axis=batch_axis, combine=combine)
    wanted = function(inputs, outputs)(*arrays)
    given = [a if c is None else da.from_array(a, chunks=c) for a, c in zip(arrays, chunks, strict=True)]
    lazy = batched(*given)
    for promise, found, want in zip(lazy, computed(lazy), wanted, strict=True):
        assert (promise.shape, promise.dtype) == (want.shape, want.dtype) == (found.shape, found.dtype)
        np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol)
    return lazy


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_what_has_the_batch_is_joined(chunks: Any) -> None:
    x, (u, _, b) = rows(), weights()
    hidden = xp.tanh(x @ u + b)
    outputs = [hidden, softmax(x), xp.sum(hidden, axis=1), x.T, x[:, 1:3], xp.reshape(x, (-1,)), logsumexp(x, axis=1)]
    lazy = check([x], [*outputs, gradients(xp.sum(hidden**2), x)], [ROWS], [chunks])
    assert len(lazy[0].chunks[0]) == len([n for n in da.from_array(ROWS, chunks=chunks).chunks[0] if n])


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_what_has_not_is_added_up_or_averaged(chunks: Any) -> None:
    x, (u, _, b) = rows(), weights()
    hidden = xp.tanh(x @ u + b)
    loss = xp.mean(xp.sum(hidden, axis=1) ** 2) + xp.sum(u * u)
    check([x], [hidden, loss, *gradients(loss, [u, b])], [ROWS], [chunks], combine="mean")
    check([x], [x.T @ hidden, xp.count_nonzero(x > 0)], [ROWS], [chunks], combine="sum")
    check([x], [xp.sum(x, axis=0), hidden, xp.mean(x, axis=0)], [ROWS], [chunks], combine=["sum", None, "mean"])


@given(st.lists(st.integers(0, COUNT), max_size=6), st.sampled_from([1, 3, WIDTH]))
def test_any_blocks_give_the_same_numbers(cuts: list[int], columns: int) -> None:
    chunks = tuple(int(size) for size in np.diff([0, *sorted(cuts), COUNT]))
    x, (u, _, b) = rows(), weights()
    cost = xp.mean(xp.log(1 + xp.exp(x @ u + b)))
    check([x], [xp.tanh(x @ u), cost, *gradients(cost, [u, b])], [ROWS], [(chunks, columns)], combine="mean")


def test_arrays_in_different_blocks_are_brought_in_step() -> None:
    x, y, (u, w, _) = rows(), rows(None, HIDDEN), weights()
    lazy = check([x, y], [x @ u + y, y @ w], [ROWS, STATES], [(5, 2), (4, 5)])
    assert lazy[0].chunks == ((4, 4, 4, 4, 4, 3), (HIDDEN,))


def test_arrays_of_different_lengths_raise() -> None:
    x, y = rows(), rows()
    run = function([x, y], [xp.sum(x), xp.sum(y)], batch_axis=0, combine="sum")
    with pytest.raises(ValueError, match="as many examples, got 20 and 23"):
        run(da.from_array(ROWS, chunks=5), da.from_array(ROWS[:20], chunks=5))


def test_loops_run_within_blocks() -> None:
    x, start, (u, w, b) = rows(None, None, WIDTH), rows(None, HIDDEN), weights()
    layer = checkpoint(lambda h: xp.tanh(h @ w + b))
    states, _ = scan(lambda row, h: xp.tanh(row @ u + h @ w + b), [x], [start])
    loss = xp.mean(layer(states[-1]) ** 2) + xp.sum(w * w)
    outputs = [states, layer(states[-1]), loss, *gradients(loss, [u, w, b])]
    check([x, start], outputs, [STEPS, STATES], [(3, 5, 2), (4, 2)], [1, 0], "mean")


def test_examples_with_several_rows() -> None:
    x, (u, _, _) = rows(None, None, WIDTH), weights()
    flat = xp.reshape(x, (-1, WIDTH))
    lazy = check([x], [flat, xp.reshape(flat @ u, (*x.shape[:2], HIDDEN))], [STEPS.swapaxes(0, 1).copy()], [(5, 2, 2)])
    assert lazy[0].chunks == ((35, 35, 35, 35, 21), (WIDTH,))


def test_whole_inputs_reach_every_block() -> None:
    x, table = rows(), rows(None, None)
    given = RNG.normal(size=(WIDTH, 3))
    for chunks in (None, (2, 1)):
        outputs = [x @ table, gradients(xp.sum(x @ table), table)]
        check([x, table], outputs, [ROWS, given], [(5, 2), chunks], (0, None), "sum")


def test_unknown_lengths_of_blocks() -> None:
    x, (u, _, _) = rows(), weights()
    outputs = [x * 2, xp.sum(x, axis=0), gradients(xp.mean(x @ u), u)]
    run = function([x], outputs, batch_axis=0, combine=[None, "sum", "mean"])
    lazy = da.from_array(ROWS, chunks=(5, 2))
    chosen = np.arange(COUNT) % 7 < 2
    chosen[5:10] = False  # a block without examples
    parts = computed(run(lazy[da.from_array(chosen, chunks=5)]))
    kept = ROWS[chosen]
    np.testing.assert_allclose(parts[0], kept * 2)
    np.testing.assert_allclose(parts[1], kept.sum(axis=0))
    np.testing.assert_allclose(parts[2], np.repeat(kept.mean(axis=0)[:, None] / HIDDEN, HIDDEN, axis=1))


def test_no_examples() -> None:
    x = rows()
    run = function([x], [xp.sum(x, axis=0), x * 2], batch_axis=0, combine="sum")
    total, double = computed(run(da.from_array(ROWS[:0], chunks=(1, 2))))
    assert total.tolist() == [0.0] * WIDTH
    assert double.shape == (0, WIDTH)


def test_arrays_that_are_not_lazy_run_as_ever() -> None:
    x, (u, _, _) = rows(), weights()
    run = function([x], xp.mean(x @ u), batch_axis=0, combine="mean")
    np.testing.assert_allclose(run(ROWS), (ROWS @ u.value).mean())


def test_host_arrays_beside_lazy_ones() -> None:
    x, y = rows(), rows()
    run = function([x, y], xp.sum(x * y, axis=0), batch_axis=0, combine="sum")
    (found,) = computed([run(da.from_array(ROWS, chunks=(5, 2)), ROWS)])
    np.testing.assert_allclose(found, (ROWS * ROWS).sum(axis=0))


def test_one_task_for_each_block() -> None:
    x, (u, _, b) = rows(), weights()
    states, _ = scan(lambda h: xp.tanh(h @ Variable(np.eye(HIDDEN))), outputs_info=[xp.tanh(x @ u + b)], n_steps=200)
    lazy = function([x], states[-1], batch_axis=0)(da.from_array(RNG.normal(size=(64, WIDTH)), chunks=(1, WIDTH)))
    assert len(lazy.__dask_graph__()) < 7 * 64


@pytest.mark.filterwarnings("ignore:numpy.core is deprecated")  # cloudpickle looks into it
def test_graphs_travel() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    x, start, (u, w, _) = rows(None, None, WIDTH), rows(None, HIDDEN), weights()
    states, _ = scan(lambda row, h: xp.tanh(row @ u + h @ w), [x], [start])
    outputs = [xp.mean(states), *gradients(xp.mean(states), [u, w])]
    lazy = function([x, start], outputs, batch_axis=[1, 0], combine="mean")(
        da.from_array(STEPS, chunks=(7, 5, 4)), da.from_array(STATES, chunks=(5, 5))
    )
    sent = cloudpickle.dumps(lazy)
    assert len(sent) < 100_000
    for found, want in zip(computed(pickle.loads(sent)), computed(lazy), strict=True):
        np.testing.assert_allclose(found, want)


MIXED: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: xp.argmax(x, axis=0), "arange": lambda x: x * xp.arange(x.shape[0], dtype="float64")[:, None],
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=0), "flip": lambda x: xp.flip(x, axis=0),
    "getitem": lambda x: x[1:], "matmul": lambda x: x @ x.T, "mean": lambda x: x - xp.mean(x, axis=0),
    "sort": lambda x: xp.sort(x, axis=0), "sum": lambda x: xp.sum(x, axis=0),
    "take": lambda x: xp.take(x, xp.asarray([0, 1]), axis=0), "add": lambda x: x + Variable(ROWS),
    "random": lambda x: x + RandomStreams(3).uniform(x.shape, dtype="float64"), "scalar": lambda x: x / x.shape[0],
    "update": lambda x: scan(lambda row, s: s + row, [x], [xp.zeros((WIDTH,), dtype="float64")])[0],
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_what_needs_other_examples_raises(name: str) -> None:
    x = rows()
    outputs = MIXED[name](x)
    with pytest.raises(ValueError, match="batch_axis cannot be kept"):
        function([x], outputs, batch_axis=0)


@pytest.mark.parametrize(
    ("batch_axis", "combine", "error", "match"),
    [
        (5, None, ValueError, "no input has with an unknown length"),
        ("rows", None, TypeError, "batch_axis must be an int"), ((0, 0), None, TypeError, "for each of the 1 inputs"),
        ((1,), None, ValueError, "must name an axis of unknown length"),
        ((2,), None, ValueError, "must name an axis of unknown length"), ((None,), None, ValueError, "no input has"),
        (0, "product", ValueError, "combine must be"), (0, ["sum", "sum"], ValueError, "for each of 1 outputs"),
    ],
)  # fmt: skip
def test_arguments_are_checked(batch_axis: Any, combine: Any, error: type[Exception], match: str) -> None:
    x = rows()
    with pytest.raises(error, match=match):
        function([x], xp.sum(x), batch_axis=batch_axis, combine=combine)


def test_updates_raise() -> None:
    x, (u, _, _) = rows(), weights()
    with pytest.raises(ValueError, match="updates or random draws"):
        function([x], x @ u, updates=[(u, u * 2)], batch_axis=0)
