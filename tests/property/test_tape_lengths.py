"""Unknown lengths: arithmetic as of integers in one canonical form, usable wherever a length is, right when run."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbm_xp.tape import Length, Tensor, Variable, function, gradients, placeholder
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.lengths import broadcast_length, maximum_length, minimum_length
from tests.helpers.libraries import Library, libraries

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
EXTREMES = {"min": (minimum_length, min), "max": (maximum_length, max)}

trees = st.recursive(
    st.one_of(st.sampled_from(["a", "b", "c"]), st.integers(-4, 6)),
    lambda inner: st.tuples(st.sampled_from([*OPERATORS, *EXTREMES]), inner, inner),
    max_leaves=8,
)


def build(tree: Any, lengths: dict[str, Any], symbolic: bool) -> Any:
    """The tree computed with lengths or with the integers that they stand for."""
    if isinstance(tree, str):
        return lengths[tree]
    if isinstance(tree, int):
        return tree
    name, left, right = tree
    a, b = build(left, lengths, symbolic), build(right, lengths, symbolic)
    if name in EXTREMES:
        return EXTREMES[name][0]((a, b)) if symbolic else EXTREMES[name][1](a, b)
    if name in ("//", "%") and type(b) is int:
        assume(b != 0)
    return OPERATORS[name](a, b)


def axes(*lengths: int) -> tuple[list[Tensor], list[Any]]:
    return [placeholder(ndim=1) for _ in lengths], [np.zeros(n, dtype="float32") for n in lengths]


@given(trees, st.tuples(*[st.integers(0, 7)] * 3))
def test_any_expression_evaluates_as_integers_do(tree: Any, sizes: tuple[int, int, int]) -> None:
    try:
        expected = build(tree, dict(zip("abc", sizes, strict=True)), symbolic=False)
    except ZeroDivisionError:
        assume(False)
    inputs, arrays = axes(*sizes)
    length = build(tree, {name: x.shape[0] for name, x in zip("abc", inputs, strict=True)}, symbolic=True)
    assert isinstance(length, (int, Length))
    assert function(inputs, length)(*arrays) == expected if isinstance(length, Length) else length == expected


@given(trees, st.tuples(*[st.integers(1, 7)] * 3))
def test_lengths_of_variables_are_known_and_follow_them(tree: Any, sizes: tuple[int, int, int]) -> None:
    variables = [Variable(np.zeros(2)) for _ in sizes]
    raw = {name: v.node.shape[0] for name, v in zip("abc", variables, strict=True)}
    length = build(tree, raw, symbolic=True)
    for variable, size in zip(variables, sizes, strict=True):
        variable.set_value(np.zeros(size))
    try:
        expected = build(tree, dict(zip("abc", sizes, strict=True)), symbolic=False)
    except ZeroDivisionError:
        assume(False)
    assert length == expected
    assert int(length) == expected
    assert (length.hint if isinstance(length, Length) else length) == expected


@given(trees, trees)
def test_polynomials_have_one_form(left: Any, right: Any) -> None:
    lengths = {name: placeholder(ndim=1).shape[0] for name in "abc"}
    a, b = build(left, lengths, symbolic=True), build(right, lengths, symbolic=True)
    assert a + b == b + a
    assert a * b == b * a
    assert a - a == 0
    assert (a + b) * (a + b) == a * a + 2 * a * b + b * b
    assert hash(a + b) == hash(b + a)
    assert minimum_length((a, b)) == minimum_length((b, a))
    if isinstance(a, Length):
        assert (a * 6) // 3 == a * 2
        assert (a * 4) % 2 == 0
    axis = lengths["a"]
    assert (axis * b) // axis == b
    assert (axis * b) % axis == 0


def test_lengths_are_equal_by_identity() -> None:
    x, y = placeholder((None, None)), placeholder((None, None))
    assert x.shape[0] == x.shape[0]
    assert x.shape[0] != x.shape[1]
    assert x.shape[0] != y.shape[0]
    assert x.shape[0] != 3
    assert (x * 2.0).shape == x.shape
    assert xp.exp(x).shape == x.shape
    assert x.T.shape == x.shape[::-1]
    assert len({x.shape[0], (x + x).shape[0], y.shape[0]}) == 2


def test_extremes_that_can_be_told_are_told() -> None:
    n, m = placeholder((None, None)).shape
    assert minimum_length((n, n + m)) == n
    assert maximum_length((n, 0)) == n
    assert minimum_length((3, n, 5)) == minimum_length((n, 3))
    assert maximum_length((n + 2, n)) == n + 2
    assert isinstance(maximum_length((n - 1, 0)), Length)


def test_broadcasting_of_two_unknown_lengths() -> None:
    n, m = placeholder((None, None)).shape
    assert broadcast_length((n, 1)) == n
    assert broadcast_length((n, n)) == n
    assert broadcast_length((n, m)) == broadcast_length((m, n))
    assert broadcast_length((n, broadcast_length((n, m)))) == broadcast_length((n, m))
    assert broadcast_length(()) == 1
    x, y = placeholder(ndim=1), placeholder(ndim=1)
    both = function([x, y], (x + y).shape[0])
    for a, b, wide in ((1, 4, 4), (4, 1, 4), (4, 4, 4), (1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 0)):
        assert both(np.zeros(a), np.zeros(b)) == wide


@given(st.data())
def test_slices_of_unknown_length(data: st.DataObject) -> None:
    bound = st.one_of(st.none(), st.integers(-6, 6))
    step = data.draw(st.one_of(st.none(), st.integers(-3, 3).filter(bool)))
    part = slice(data.draw(bound), data.draw(bound), step)
    x = placeholder(ndim=1, dtype="float64")
    sliced = x[part]
    run = function([x], [sliced, sliced.shape[0], gradients(xp.sum(sliced * sliced), x)])
    for size in range(6):
        array = np.arange(1.0, size + 1)
        value, length, gradient = run(array)
        np.testing.assert_array_equal(value, array[part])
        assert length == len(array[part])
        expected = np.zeros(size)
        expected[part] = 2 * array[part]
        np.testing.assert_array_equal(gradient, expected)


SOME = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", without=("numpy-readonly",))


@pytest.mark.parametrize("library", SOME, indirect=True)
def test_unknown_lengths_stand_wherever_a_length_does(library: Library) -> None:
    x = placeholder((None, 3), dtype="float64", name="x")
    n, k = x.shape
    assert k == 3
    results = [
        xp.reshape(x, (n * k,)), xp.reshape(x, (k, n)), xp.zeros((n, 2)), xp.ones(n), xp.full((n,), 2.0), xp.arange(n),
        xp.arange(n, 2 * n + 1), xp.eye(n), xp.broadcast_to(x[:1, :], (n, 3)), x / n, x * n - n, n * x, n / x,
        x[: n - 1], xp.tile(x, (n, 1)), xp.repeat(x, n, axis=0), xp.linspace(0, 1, n), xp.asarray(n),
        xp.asarray([n, k]),
        xp.sum(x) / (n * k), 1.0 / n, n * 0.5, xp.where(x > n, x, 0.0), x + n // 2, xp.full((2,), n),
    ]  # fmt: skip
    array = np.arange(12.0).reshape(4, 3) + 1.0
    expected = [
        array.reshape(12), array.reshape(3, 4), np.zeros((4, 2)), np.ones(4), np.full(4, 2.0), np.arange(4),
        np.arange(4, 9), np.eye(4), np.broadcast_to(array[:1], (4, 3)), array / 4, array * 4 - 4, 4 * array, 4 / array,
        array[:3], np.tile(array, (4, 1)), np.repeat(array, 4, axis=0), np.linspace(0, 1, 4), np.asarray(4),
        np.asarray([4, 3]), np.sum(array) / 12, 0.25, 2.0, np.where(array > 4, array, 0.0), array + 2, np.full(2, 4),
    ]  # fmt: skip
    actual = function([x], results)(library.array(array))
    for got, want in zip(map(library.numpy, actual), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_length_recorded_as_a_tensor_stays_the_length() -> None:
    x = placeholder((None, 4))
    shape = xp.stack([xp.asarray(n) for n in x.shape])
    assert xp.zeros((shape[0], shape[1])).shape == x.shape


def test_what_a_length_prints() -> None:
    x = placeholder((None, 2), name="x")
    n = x.shape[0]
    assert repr(n) == "Length(x.shape[0])"
    assert repr(2 * n + 1) == "Length(2 * x.shape[0] + 1)"
    assert "//" in repr((n + 1) // 2)
    assert "min" in repr(minimum_length((n, 3)))


def test_unknown_lengths_are_no_integers() -> None:
    n = placeholder((None,), name="rows").shape[0]
    for use in (int, operator.index, range, float, lambda n: n < 3, lambda n: [0] * n):
        with pytest.raises(TypeError, match="rows"):
            use(n)
    assert bool(n)
    with pytest.raises(TypeError):
        n + "1"


def test_a_length_beside_a_tensor_is_arithmetic_on_the_tensor() -> None:
    x = placeholder((None,), dtype="float64")
    n = x.shape[0]
    for result in (n + x, n - x, n * x, n / x, n // x, n % x, x + n, x % n):
        assert isinstance(result, Tensor)
        assert result.dtype == "float64"
    for result in (n == x, n != x, n < x, n >= x, x == n):
        assert isinstance(result, Tensor)
        assert result.dtype == "bool"
