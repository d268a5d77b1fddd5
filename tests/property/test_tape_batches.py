"""Whatever the blocks, the numbers are those of the undivided batch; what cannot be done in blocks is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as xp
from tests.clusters import two_processes
from tests.gradcheck import flat_list
from tests.libraries import guard, ragged
from tests.tables import CASES, Case, by_function, told

COUNT = 12
RNG = np.random.default_rng(8)
VISIBLE, HIDDEN = 6, 4
DATA = (RNG.uniform(size=(COUNT, VISIBLE)) < 0.5).astype("float64")


@st.composite
def chunkings(draw: st.DrawFn, length: int = COUNT) -> tuple[int, ...]:
    """Any way to cut the batch, blocks without examples among the others."""
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    return tuple(int(size) for size in np.diff([0, *cuts, length]))


def contrastive_divergence() -> tuple[list[Any], list[Any]]:
    """The gradient of an RBM: a chain of draws as long as the batch, two free energies, three parameters."""
    rng, v = RandomStreams(9), placeholder((None, VISIBLE), dtype="float64")
    random = np.random.default_rng(1)
    w, b, c = (Variable(random.normal(size=size), dtype="float64") for size in ((VISIBLE, HIDDEN), VISIBLE, HIDDEN))

    def energy(v: Any) -> Any:
        return -xp.mean(v @ b + xp.sum(xp.log(1 + xp.exp(v @ w + c)), axis=1))

    def step(v: Any) -> Any:
        h = rng.binomial((v.shape[0], HIDDEN), p=B.sigmoid(v @ w + c), dtype="float64")
        return rng.binomial((v.shape[0], VISIBLE), p=B.sigmoid(h @ w.T + b), dtype="float64")

    chain, updates = scan(step, outputs_info=[v], n_steps=3)
    cost = energy(v) - energy(chain[-1])
    return [v], [chain[-1], cost, *gradients(cost, [w, b, c]), *updates.values()]


WANTED = function(*contrastive_divergence())(DATA)


@given(chunkings(), st.sampled_from([1, 4, VISIBLE]))
def test_any_blocks_give_the_same_numbers(rows: tuple[int, ...], columns: int) -> None:
    run = function(*contrastive_divergence(), batch_axis=0)
    with guard():
        lazy = run(da.from_array(DATA, chunks=(rows, columns)))
    for found, want in zip(dask.compute(*lazy, scheduler="synchronous"), WANTED, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


BATCHED = [case for case in CASES if case.unknown and case.arrays and case.arrays[0].ndim]


def batched(case: Case, axis: int) -> tuple[list[Any], list[int | None]]:
    """Placeholders for the arguments; those as long as the first along the axis are split along it."""
    first = case.arrays[0]
    axes = [
        axis if array.ndim == first.ndim and array.shape[axis] == first.shape[axis] else None for array in case.arrays
    ]
    shapes = [
        tuple(None if place == own else length for place, length in enumerate(array.shape))
        for array, own in zip(case.arrays, axes, strict=True)
    ]
    inputs = [placeholder(shape, dtype=str(a.dtype)) for shape, a in zip(shapes, case.arrays, strict=True)]
    return inputs, axes


def hold(case: Case, inputs: Sequence[Any], results: Sequence[Any], axes: Sequence[int | None]) -> None:
    """The results in blocks are those of the undivided arrays, if they are not refused."""
    try:
        run = function(inputs, list(results), batch_axis=list(axes))
    except ValueError as refusal:
        if "batch_axis cannot be kept" not in str(refusal):
            raise
        return
    with np.errstate(all="ignore"):
        wanted = function(inputs, list(results))(*case.arrays)
        given = [
            array if own is None else da.from_array(array, chunks=tuple(map(ragged, array.shape)))
            for array, own in zip(case.arrays, axes, strict=True)
        ]
        with guard():
            lazy = run(*given)
        computed = dask.compute(*lazy, scheduler="synchronous")
    for promise, found, want in zip(lazy, computed, map(np.asarray, wanted), strict=True):
        rtol = 1e-5 if want.dtype in ("float32", "complex64") else 1e-9
        assert (promise.shape, promise.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol, strict=True)


def along(case: Case, axis: int) -> None:
    inputs, axes = batched(case, axis)
    hold(case, inputs, flat_list(case.call(xp, *inputs)), axes)


ONE_OF_EACH_CALL = {(c.function, c.label, tuple(a.ndim for a in c.arrays)): c for c in BATCHED}
"""What can be done in blocks follows from options and numbers of axes, whatever the dtypes."""


@pytest.mark.parametrize("cases", by_function(ONE_OF_EACH_CALL.values()))
def test_every_function_in_blocks(cases: list[Case]) -> None:
    for case in cases:
        with told(case):
            along(case, 0)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in BATCHED if case.arrays[0].ndim > 1], ids=str)
def test_every_function_in_blocks_along_other_axes(case: Case) -> None:
    for axis in range(1, case.arrays[0].ndim):
        along(case, axis)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in BATCHED if case.order and case.differentiable], ids=str)
def test_every_gradient_in_blocks(case: Case) -> None:
    inputs, axes = batched(case, 0)
    results = [result for result in flat_list(case.call(xp, *inputs)) if result.dtype[0] == "f"]
    loss = sum(xp.sum(result * result) for result in results)
    targets = [tensor for tensor in inputs if tensor.dtype[0] == "f"]
    if results:
        hold(case, inputs, gradients(loss, targets, disconnected="zero"), axes)


@pytest.mark.slow
def test_on_a_cluster() -> None:
    """Tasks run in other processes: the graph travels, and nothing of this process is missed there."""
    with two_processes() as client:
        lazy = function(*contrastive_divergence(), batch_axis=0)(da.from_array(DATA, chunks=(5, VISIBLE)))
        found = client.gather(client.compute(lazy))
    for got, want in zip(found, WANTED, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
