"""Assignment to Tensors and in-place operations, and writes of compiled code to the array of a Tensor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from threading import Thread
from typing import Any

import array_api_extra as xpx
import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.tape import Tensor, Variable, evaluate, function, grad, gradients, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

A = np.arange(6.0).reshape(2, 3)


class TestAssignment:
    def test_a_copy_is_another_and_what_was_computed_before_stays(self) -> None:
        for source in (xp.asarray(A), Variable(A), xp.asarray(A) * 1.0):
            copy = xp.asarray(source, copy=True)
            doubled = copy * 2.0
            copy[...] = 0.0
            np.testing.assert_array_equal(evaluate(source), A)
            np.testing.assert_array_equal(evaluate(copy), np.zeros((2, 3)))
            np.testing.assert_array_equal(evaluate(doubled), A * 2.0)

    def test_a_copy_of_an_array_is_the_tensors_own(self) -> None:
        array = A.copy()
        own, shared = xp.asarray(array, copy=True), xp.asarray(array)
        array[0, 0] = 7.0
        assert (float(own[0, 0]), float(shared[0, 0])) == (0.0, 7.0)

    @pytest.mark.parametrize("key", [..., slice(None), (), "mask", "mask of rows", "row and mask"])
    def test_nothing_flows_to_what_is_replaced_as_a_whole(self, key: Any) -> None:
        x, v = Variable(A), Variable(A + 1.0)
        y = xp.log(x * 0.0)  # the derivative is infinite
        masks = {"mask": xp.isinf(y), "mask of rows": x[:, 0] > -1.0, "row and mask": (slice(None), x[0, :] > -1.0)}
        key = masks[key] if isinstance(key, str) else key
        with np.errstate(all="ignore"):
            y[key] = xp.reshape(v * v, y[key].shape)
            by_x, by_v = evaluate(gradients(xp.sum(y * x), [x, v]))
        np.testing.assert_array_equal(by_x, (A + 1.0) ** 2)
        np.testing.assert_array_equal(by_v, 2 * (A + 1.0) * A)

    def test_of_an_unknown_length(self) -> None:
        x, rows = placeholder((None, None), dtype="float64"), placeholder((None,), dtype="int64")
        y = xp.asarray(x, copy=True)
        y[rows, ...] = y[0, :] + 1.0
        y[y > 4.0] = -1.0
        run = function([x, rows], [y, gradients(xp.sum(y), x)])
        value, gradient = run(A, np.asarray([1]))
        np.testing.assert_array_equal(value, [[0, 1, 2], [1, 2, 3]])
        np.testing.assert_array_equal(gradient, [[2, 2, 2], [0, 0, 0]])

    @pytest.mark.parametrize("make", [lambda: Variable(A, name="w"), lambda: placeholder((2, 3), name="w")])
    def test_of_what_is_set_as_a_whole(self, make: Callable[[], Any]) -> None:
        x = make()
        with pytest.raises(TypeError, match=r"'w'.*copy"):
            x[0, 0] = 1.0

    @pytest.mark.parametrize(
        ("key", "value", "error", "message"),
        [
            (0, [1.0, 2.0], ValueError, "broadcast"), (0, np.ones((1, 1, 3)), ValueError, "broadcast"),
            (5, 1.0, IndexError, "out of bounds"), ((0, 0, 0), 1.0, IndexError, "3 axes"), (0, 1j, TypeError, "1j"),
            (0, np.ones(3) + 1j, TypeError, "complex128"), (np.asarray([True]), 1.0, IndexError, "mask"),
            (np.asarray([True]), np.ones(3), IndexError, "mask"), (1.5, 1.0, IndexError, "integers"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_refused(self, key: Any, value: Any, error: type[Exception], message: str) -> None:
        x = xp.asarray(A)
        with pytest.raises(error, match=message):
            x[key] = value
        np.testing.assert_array_equal(evaluate(x), A)

    def test_integers_take_no_floats(self) -> None:
        x = xp.asarray(np.asarray([1, 2]))
        for value in (2.5, xp.asarray(2.5)):
            with pytest.raises(TypeError, match="int64"):
                x[0] = value
        x[0] = True
        assert x.dtype == "int64"

    def test_an_unknown_mask_takes_numbers_only(self) -> None:
        x = placeholder((3,), dtype="float64")
        y = xp.asarray(x, copy=True)
        y[x > 0] = 2.0
        with pytest.raises(ValueError, match=r"mask.*depends on data"):
            y[x > 0] = xp.ones(2, dtype="float64")

    def test_by_array_api_extra(self) -> None:
        x = Variable(A)
        y = xpx.at(x)[:, 0].set(7.0, copy=True)
        y = xpx.at(y)[1, :].add(1.0)
        np.testing.assert_array_equal(evaluate(y), [[7.0, 1.0, 2.0], [8.0, 5.0, 6.0]])
        np.testing.assert_array_equal(x.get_value(), A)


ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip
ON_BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift}


def in_place(symbol: str, x: Any, other: Any) -> Any:
    """Value of the name `x` after ``x += other`` or another in-place statement."""
    names = {"x": x, "other": other}
    exec(f"x {symbol}= other", names)
    return names["x"]


def call_in_place(op: Any, x: Any, other: Any) -> None:
    """Call the method of an in-place statement, as a class that wraps an array and forwards operators does."""
    getattr(x, f"__i{op.__name__.strip('_')}__")(other)


class TestInPlace:
    @pytest.mark.parametrize(
        ("symbol", "op", "other"),
        [
            *((symbol, op, other) for symbol, op in ARITHMETIC.items() for other in (2.0, np.asarray([1.0, 2.0, 4.0]))),
            ("@", operator.matmul, np.eye(3) * 2),
        ],
    )
    def test_arithmetic(self, symbol: str, op: Any, other: Any) -> None:
        kept = xp.asarray(A)
        np.testing.assert_allclose(evaluate(in_place(symbol, kept, other)), op(A, other))
        np.testing.assert_array_equal(evaluate(kept), A)
        call_in_place(op, kept, other)
        np.testing.assert_allclose(evaluate(kept), op(A, other))

    @pytest.mark.parametrize(("symbol", "op"), ON_BITS.items())
    def test_on_bits(self, symbol: str, op: Any) -> None:
        a = np.asarray([6, 5, 3])
        x = xp.asarray(a)
        np.testing.assert_array_equal(evaluate(in_place(symbol, x, 2)), op(a, 2))
        call_in_place(op, x, 2)
        np.testing.assert_array_equal(evaluate(x), op(a, 2))

    def test_a_method_writes_to_what_a_view_shows_and_is_differentiated(self) -> None:
        v = Variable(A)
        x = v * 1.0
        x[0].__imul__(v[1])
        np.testing.assert_array_equal(evaluate(x), [A[0] * A[1], A[1]])
        np.testing.assert_array_equal(evaluate(gradients(xp.sum(x), v)), [A[1], A[0] + 1.0])

    def test_a_method_that_cannot_write_raises(self) -> None:
        v, p = Variable(A), placeholder((2, 3), dtype="float64")
        spread, whole = xp.broadcast_to(xp.asarray(A[0]), (2, 3)), xp.asarray(np.asarray([1, 2]))
        for x, other, error in [(v, 1.0, TypeError), (p, 1.0, TypeError), (v[0], 1.0, TypeError),
                                (spread, 1.0, ValueError), (whole, 0.5, TypeError),
                                (whole, np.ones((3, 2), int), ValueError)]:  # fmt: skip
            with pytest.raises(error, match=r"assigned to|can hold|broadcast"):
                x.__iadd__(other)
        np.testing.assert_array_equal(v.get_value(), A)
        np.testing.assert_array_equal(evaluate(spread), A[[0, 0]])
        assert evaluate(whole).tolist() == [1, 2]

    def test_broadcasting_and_promotion_rebind(self) -> None:
        """A loss multiplies its scalar score by sample weights; the name is then bound to the product."""
        score = kept = xp.mean(xp.asarray(A))
        score *= np.asarray([1.0, 0.0, 2.0])
        assert score.shape == (3,) and kept.shape == ()
        np.testing.assert_array_equal(evaluate(score), A.mean() * np.asarray([1.0, 0.0, 2.0]))
        counts = whole = xp.asarray(np.asarray([1, 2], dtype="int32"))
        counts /= 2
        assert counts.dtype == "float32" and whole.dtype == "int32"
        whole += np.asarray([1, 2])
        assert whole.dtype == "int64"
        whole += np.ones((3, 2), dtype="int32")
        assert whole.shape == (3, 2)
        with pytest.raises(TypeError):
            whole += "text"

    def test_lengths_that_nobody_knows_may_differ(self) -> None:
        score, weights = placeholder((None,), dtype="float64"), placeholder((None,), dtype="float64")
        total = score
        total *= weights
        times = function([score, weights], total)
        assert times(np.asarray([2.0]), np.asarray([1.0, 3.0])).tolist() == [2.0, 6.0]


def test_the_value_of_a_variable_is_assigned_to_and_the_variable_stays() -> None:
    """`asarray` of a variable returns its value as a Tensor, to which assignment is recorded."""
    v = Variable(np.asarray([1.0, 2.0, 3.0]))
    value = xp.asarray(v)
    value[1] = 7.0
    assert evaluate(value).tolist() == [1.0, 7.0, 3.0]
    assert v.get_value().tolist() == [1.0, 2.0, 3.0]
    assert evaluate(gradients(xp.sum(value**2), v)).tolist() == [2.0, 0.0, 6.0]
    v.set_value([4.0, 5.0, 6.0])
    assert evaluate(value).tolist() == [4.0, 7.0, 6.0]
    for same in (v, xp.asarray(v, copy=False)):
        with pytest.raises(TypeError, match="assigned to as a whole"):
            same[1] = 7.0


ROWS = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch", "jax", without=("numpy-readonly",)),
                         indirect=True)  # fmt: skip
def test_a_write_arrives_in_the_tensors_own_library(library: Library) -> None:
    with use_backend(library.name):
        x = xp.asarray(library.array(ROWS)) * 1.0
        before = x + 1.0
        array = np.asarray(x)
        array[0] = -1.0
        assert np.asarray(x) is array  # as for any array
        after = x * 2.0
        np.testing.assert_array_equal(library.numpy(evaluate(x)), [[-1.0] * 3, ROWS[1]])
        np.testing.assert_array_equal(library.numpy(evaluate(before)), ROWS + 1.0)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
        np.asarray(x)[1] = 7.0
        np.testing.assert_array_equal(library.numpy(evaluate(after)), [[-2.0] * 3, 2 * ROWS[1]])
        assert type(evaluate(x)) is type(library.array(ROWS)) and type(x) is Tensor


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "complex128"])
def test_a_write_to_a_view_arrives_in_what_it_shows(dtype: str) -> None:
    for part in (lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[0, 1:2], lambda x: x[:0]):
        x, wanted = xp.ones((2, 3), dtype=dtype), np.ones((2, 3), dtype=dtype)
        shown = part(x)
        np.asarray(shown)[...] = 0
        part(wanted)[...] = 0
        np.testing.assert_array_equal(evaluate(shown), part(wanted))
        np.testing.assert_array_equal(evaluate(x), wanted)
    number = x[0, 0]
    np.asarray(number)[...] = 0
    assert evaluate(number) == evaluate(x)[0, 0] == 0


def test_arrays_for_views_of_one_tensor_do_not_undo_one_another() -> None:
    """Also if they overlap, and in threads."""
    x = xp.zeros((4, 2), dtype="float64")
    views = [x[0], x[1], x[2], x[3], x[0]]
    writing = [Thread(target=lambda v, n: np.asarray(v).put(n > 3, n + 1.0), args=(v, n)) for n, v in enumerate(views)]
    for one in writing:
        one.start()
    for one in writing:
        one.join()
    np.testing.assert_array_equal(evaluate(x), [[1.0, 5.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])


def test_reading_changes_nothing() -> None:
    """The node is unchanged, so gradients and variables are still found. A write of -0.0 over 0.0 is detected."""
    v = Variable(np.asarray([1.0, np.nan]))
    x = xp.asarray(np.asarray([0.0, np.nan]))
    y, loss = v * 2.0, xp.sum(x**2)
    node = y.node
    np.asarray(x), np.asarray(y)
    assert y.node is node
    assert evaluate(gradients(loss, x))[0] == 0.0
    v.set_value(np.zeros(2))
    assert evaluate(y).tolist() == [0.0, 0.0]
    np.asarray(y)[0] = -0.0
    assert np.signbit(evaluate(y)).tolist() == [True, False]
    v.set_value(np.ones(2))
    assert evaluate(y).tolist() == [0.0, 2.0]  # elements without a write are recomputed


def test_an_array_that_no_write_could_leave_is_for_reading() -> None:
    v = Variable(ROWS)
    for x in (v, v[0], xp.broadcast_to(xp.asarray(ROWS[0]), (2, 3)), xp.reshape((v * 1.0).T, (-1,))):
        assert not np.asarray(x).flags.writeable
        assert np.array(x).flags.writeable and np.asarray(x, dtype="float32").flags.writeable
    with pytest.raises(TypeError, match="is being differentiated"):
        grad(lambda x: xp.sum(np.asarray(x)))(ROWS)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(xp.asarray(ROWS), copy=False)


def test_a_copy_is_its_owners() -> None:
    x = xp.asarray(ROWS)
    for _ in range(2):  # for the Tensor, and for its array
        np.array(x)[0] = 9.0
        np.asarray(x, dtype="float32")[0] = 9.0
        array = np.asarray(x)
        assert array.flags.writeable
    np.testing.assert_array_equal(evaluate(x), ROWS)


def test_compiled_code_writes_its_output() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image, weights = xp.asarray(np.arange(16.0).reshape(4, 4)), xp.ones((3, 3), dtype="float64")
    whole = xp.zeros((2, 4, 4), dtype="float64")
    for i in range(2):
        ndimage.correlate(image, (i + 1) * weights, output=whole[i])
    wanted = evaluate(ndimage.correlate(image, weights))
    np.testing.assert_array_equal(evaluate(whole), [wanted, 2 * wanted])
    with pytest.raises(ValueError, match="read-only"):
        ndimage.correlate(image, weights, output=Variable(np.zeros((4, 4))))
