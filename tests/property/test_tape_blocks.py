"""Chains run in blocks give what they give whole, to the last bit: elements, sums, gradients, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import chains
from nbm_xp.tape import function, gradients, placeholder, sigmoid, softplus, threads, value_and_grad
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import memory_of

FULL, BLOCK = (17, 33), 130
NEVER = 10**18


@contextmanager
def in_blocks(monkeypatch: pytest.MonkeyPatch, large: int = 2, block: int = BLOCK) -> Iterator[list[int]]:
    """Blocks of few elements, for arrays of any size; counts the chains that ran so."""
    ran: list[int] = []
    failed: list[Exception] = []
    original = chains._Cut.run

    def counted(self: Any, *args: Any) -> Any:
        try:
            found = original(self, *args)
        except Exception as error:  # hidden from users, whose arrays are then taken whole
            failed.append(error)
            raise
        ran.append(1)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(chains, "LARGE", large)
        patch.setattr(chains, "BLOCK", block)
        patch.setattr(chains._Cut, "run", counted)
        yield ran
    assert all(isinstance(error, ArithmeticError) or "have its shape" in str(error) for error in failed), failed


def same_bits(one: Any, other: Any) -> None:
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    if one.dtype.kind == "f":
        signs = ~np.isnan(one)
        np.testing.assert_array_equal(np.signbit(one)[signs], np.signbit(other)[signs])


def both_ways(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Callable[..., Any]], *arrays: Any) -> list[int]:
    """Compare the results of what is made anew, whole and in blocks, on one thread and two."""
    with np.errstate(all="ignore"):
        with in_blocks(monkeypatch, large=NEVER):
            whole = make()(*arrays)
        with in_blocks(monkeypatch) as ran:
            run = make()
            results = [run(*arrays)]
            with threads(2):
                results.append(run(*arrays))
    for found in results:
        for one, other in zip(found, whole, strict=True):
            same_bits(one, other)
    return ran


UNARY = [
    xp.exp, xp.tanh, xp.sqrt, xp.log1p, xp.sin, xp.abs, xp.negative, xp.square, xp.floor, xp.sign,
    lambda x: sigmoid(x * 1.0), lambda x: softplus(x * 1.0),
    lambda x: xp.clip(x, -0.5, 1.5), lambda x: x**3, lambda x: x**0.5, lambda x: x**2, lambda x: 2 / x,
    lambda x: xp.where(x > 0.5, x, 0.0), lambda x: xp.astype(x > 0, xp.float64) * x,
    lambda x: xp.astype(xp.astype(xp.clip(x, -50.0, 50.0), xp.int32) % 5, xp.float32),
]  # fmt: skip
BINARY = [
    xp.add, xp.subtract, xp.multiply, xp.divide, xp.maximum, xp.minimum, xp.hypot, xp.atan2, xp.remainder,
    lambda x, y: xp.pow(xp.abs(x) + 0.5, y),
    lambda x, y: xp.where(x < y, x, y), lambda x, y: xp.where(xp.isfinite(x) & (x != y), y, x),
    lambda x, y: xp.clip(x, xp.minimum(y, 0.0), xp.maximum(y, 0.0)),
]  # fmt: skip
DTYPES = ["float32", "float32", "float64", "int32", "bool", "float16"]
SHAPES = [FULL, FULL, (33,), (17, 1), (1, 33), (1, 1), ()]
LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x, lambda x: np.asarray(x, order="F"), lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    lambda x: x[::-1].copy()[::-1] if x.ndim else x,
]  # fmt: skip


def array(shape: tuple[int, ...], dtype: str, layout: int, seed: int) -> Any:
    numbers = np.random.default_rng(seed).normal(0.3, 2.0, shape)
    return LAYOUTS[layout](np.asarray(numbers > 0 if dtype == "bool" else numbers).astype(dtype))


@st.composite
def graphs(draw: Any) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Shapes, dtypes and layouts of inputs, and what is done to them."""
    count = draw(st.integers(1, 3))
    layout = st.integers(0, len(LAYOUTS) - 1)
    specs = [(draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES)), draw(layout)) for _ in range(count)]
    specs[0] = (FULL, draw(st.sampled_from(["float32", "float64"])), specs[0][2])
    steps: list[tuple[Any, ...]] = []
    for place in range(count, count + draw(st.integers(2, 9))):
        recent = st.integers(max(0, place - 3), place - 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(UNARY)), draw(recent)))
        else:
            steps.append((draw(st.sampled_from(BINARY)), draw(recent), draw(st.integers(0, place - 1))))
    return specs, steps


def computed(inputs: list[Any], steps: list[tuple[Any, ...]]) -> list[Any]:
    values = [xp.astype(x, xp.float32) if x.dtype == "bool" else x for x in inputs]
    for operate, *places in steps:
        values.append(operate(*(values[place] for place in places)))
    return values


@pytest.mark.parametrize("lengths", ["known", "unknown"])
@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_any_chain_gives_the_same_bits(lengths: str, graph: Any) -> None:
    specs, steps = graph
    arrays = [array(shape, dtype, layout, seed) for seed, (shape, dtype, layout) in enumerate(specs)]
    with pytest.MonkeyPatch.context() as monkeypatch:

        def make() -> Any:
            shapes = [shape if lengths == "known" else [None] * len(shape) for shape, _, _ in specs]
            inputs = [placeholder(shape, dtype=dtype) for shape, (_, dtype, _) in zip(shapes, specs, strict=True)]
            values = computed(inputs, steps)
            last = values[-1]
            return function(inputs, [last, values[len(inputs)], xp.sum(last), xp.mean(values[-2] + last)])

        both_ways(monkeypatch, make, *arrays)


@settings(max_examples=40, deadline=None)
@given(graph=graphs())
def test_so_do_gradients(graph: Any) -> None:
    specs, steps = graph
    arrays = [array(shape, dtype, layout, seed) for seed, (shape, dtype, layout) in enumerate(specs)]
    with pytest.MonkeyPatch.context() as monkeypatch:

        def make() -> Any:
            inputs = [placeholder([None] * len(shape), dtype=dtype) for shape, dtype, _ in specs]
            loss = xp.mean(computed(inputs, steps)[-1] * 0.5)
            floating = [x for x in inputs if x.dtype.kind == "f"]
            return function(inputs, [loss, *gradients(loss, floating, disconnected="zero")])

        both_ways(monkeypatch, make, *arrays)


REDUCED: list[tuple[tuple[int, ...], Any]] = [
    ((5000,), 0), ((5000,), None), ((70, 30), 0), ((70, 30), 1), ((70, 30), None), ((3, 900), 1), ((3, 900), 0),
    ((900, 3), 0), ((900, 3), 1), ((10, 1, 90), 1), ((10, 7, 9), (0, 1)), ((10, 7, 9), (1, 2)), ((10, 7, 9), 1),
    ((10, 7, 9), (0, 2)), ((1, 600), 1), ((600, 1), 0), ((600, 1), 1), ((2, 2, 400), (0, 2)), ((50, 50, 1), (0, 2)),
]  # fmt: skip


class TestSums:
    @pytest.mark.parametrize(("shape", "axis"), REDUCED)
    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "complex64"])
    @pytest.mark.parametrize("keepdims", [False, True])
    def test_are_added_up_as_numpy_does(
        self, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], axis: Any, dtype: str, keepdims: bool
    ) -> None:
        def make() -> Any:
            x, row = placeholder([None] * len(shape), dtype=dtype), placeholder((None,), dtype=dtype)
            value = (x + row) * x
            means = [] if dtype == "int32" else [xp.mean(value + x, axis=axis, keepdims=keepdims)]
            return function([x, row], [value, xp.sum(value, axis=axis, keepdims=keepdims), *means])

        row = array(shape[-1:], "float64", 0, 1).astype(dtype)
        both_ways(monkeypatch, make, array(shape, "float64", 0, 0).astype(dtype), row)

    def test_run_with_their_chain_where_the_order_is_numpys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for axis in (None, 0, 1):
            x = placeholder((None, None), dtype="float32")
            run = function([x], xp.sum(xp.exp(x) * x, axis=axis))
            with in_blocks(monkeypatch) as ran:
                run(np.ones((30, 20), dtype="float32"))
            assert ran == [1]

    @pytest.mark.parametrize("count", [129, 1000, 4097, 100_001])
    def test_tree_is_that_of_numpy_at_any_length(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        def make() -> Any:
            x = placeholder((None,), dtype="float32")
            return function([x], [xp.sum(x * x), xp.mean(x * x - 1.0)])

        for block in (8, 200, 1000):
            with in_blocks(monkeypatch, large=NEVER):
                numbers = array((count,), "float32", 0, 3)
                whole = make()(numbers)
            with in_blocks(monkeypatch, block=block):
                for one, other in zip(make()(numbers), whole, strict=True):
                    same_bits(one, other)


class TestWhatRuns:
    def test_a_chain_is_one_call_and_small_arrays_take_the_statements(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = placeholder((None,), dtype="float32")
        run = function([x], xp.tanh(xp.exp(x) + 1.0))
        assert f"a0.size >= {chains.LARGE}" in run.source()
        with in_blocks(monkeypatch, large=100) as ran:
            run(np.ones(99, dtype="float32"))
            assert ran == []
            run(np.ones(100, dtype="float32"))
            assert ran == [1]

    def test_lengths_that_turn_out_different_are_no_chain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def make() -> Any:
            x, y = placeholder((None,), dtype="float64"), placeholder((None,), dtype="float64")
            loss = xp.sum(xp.exp(x) * xp.tanh(y))
            return function([x, y], [xp.exp(x) + 1.0, xp.tanh(y) - 1.0, loss, *gradients(loss, [x, y])])

        assert both_ways(monkeypatch, make, np.ones(50), np.ones(1)) == []
        assert 1 in both_ways(monkeypatch, make, np.linspace(0.0, 1.0, 50), np.ones(50))

    def test_what_only_has_the_length_of_an_array_is_no_chain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def make() -> Any:
            x, number = placeholder((None,), dtype="float64"), placeholder((), dtype="float64")
            spread = xp.broadcast_to(number, x.shape)
            return function([x, number], [xp.exp(spread) * xp.ones_like(x) + spread, xp.sum(xp.tanh(spread) * 2.0)])

        assert both_ways(monkeypatch, make, np.ones(500), np.asarray(0.3)) == []

    def test_a_value_between_two_chains_is_handed_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def make() -> Any:
            x, w = placeholder((None, 4), dtype="float64"), placeholder((4, 4), dtype="float64")
            hidden = sigmoid(x @ w + 0.5)
            loss = xp.mean(xp.log(1.0 + xp.exp(hidden @ w)) ** 2)
            return function([x, w], [loss, hidden, *gradients(loss, [x, w])])

        ran = both_ways(monkeypatch, make, array((50, 4), "float64", 0, 0), array((4, 4), "float64", 0, 1))
        assert sum(ran) >= 4

    def test_errors_and_warnings_are_those_of_whole_arrays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = placeholder((None,), dtype="float64")
        run = function([x], xp.sqrt(xp.exp(x) * 1.0))
        overflows = pytest.raises(FloatingPointError, match="overflow")
        with in_blocks(monkeypatch), np.errstate(over="raise"), overflows as caught:
            run(np.linspace(0.0, 1000.0, 500))
        assert any("recorded at" in note for note in caught.value.__notes__)

    def test_arrays_in_another_order_are_taken_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = placeholder((None, None), dtype="float32")
        run = function([x], xp.exp(x) * 2.0)
        with in_blocks(monkeypatch) as ran:
            found = run(np.asfortranarray(np.ones((30, 40), dtype="float32")))
        assert ran == []
        assert found.flags.f_contiguous

    def test_functions_of_arrays_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = np.linspace(0.0, 3.0, 500)
        with in_blocks(monkeypatch) as ran:
            value, slope = value_and_grad(lambda x: xp.sum(xp.exp(xp.sin(x))))(numbers)
        assert ran == [1]
        same_bits(value, np.sum(np.exp(np.sin(numbers))))
        np.testing.assert_allclose(slope, np.exp(np.sin(numbers)) * np.cos(numbers), rtol=1e-15)

    @pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
    def test_threads_are_counted(self, count: Any) -> None:
        with pytest.raises(ValueError, match="count must be an int of 1 or more"), threads(count):
            raise AssertionError("not reached")


class TestMemory:
    SIZE = 1 << 22

    def held(self, run: Callable[..., Any], *arrays: Any) -> float:
        """The most that a call holds at once, results included, in arrays."""
        return memory_of(run, *arrays) / float(arrays[0].nbytes)

    def test_a_chain_holds_its_result_and_some_blocks(self) -> None:
        x = placeholder((None,), dtype="float32")
        y = x
        for _ in range(10):
            y = xp.tanh(y * 0.9 + xp.exp(-y * y))
        array = np.full(self.SIZE, 0.5, dtype="float32")
        assert self.held(function([x], y), array) < 1.25
        assert self.held(function([x], xp.sum(y)), array) < 0.25
        assert self.held(function([x], [xp.sum(y), gradients(xp.sum(y), x)]), array) < 1.5

    def test_so_with_broadcasting_and_sums_over_axes(self) -> None:
        x, row = placeholder((None, None), dtype="float64"), placeholder((None,), dtype="float64")
        y = xp.tanh(x + row) * xp.exp(-x)
        arrays = np.full((self.SIZE // 256, 256), 0.5, dtype="float64"), np.ones(256, dtype="float64")
        assert self.held(function([x, row], [xp.sum(y, axis=0), xp.mean(y, axis=1)]), *arrays) < 0.25
