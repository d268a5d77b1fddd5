"""What is written to a view of a Tensor is written to the Tensor, as NumPy has it; where it is not, it is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.tape import Variable, evaluate, function, gradients, look_up_by_identity, placeholder, scan
from nbm_xp.tape import namespace as xp

A = np.arange(12.0).reshape(3, 4)
Change = Callable[[Any, Any], Any]

VIEWS: dict[str, Change] = {
    "row": lambda np_, x: x[0], "last row": lambda np_, x: x[-1, ...], "rows": lambda np_, x: x[1:3],
    "every other": lambda np_, x: x[..., ::2], "backwards": lambda np_, x: x[::-1],
    "new axis": lambda np_, x: x[:, None], "transpose": lambda np_, x: x.T,
    "permuted": lambda np_, x: np_.permute_dims(x, (*range(1, x.ndim), 0)),
    "moved": lambda np_, x: np_.moveaxis(x, 0, -1), "flipped": lambda np_, x: np_.flip(x, axis=0),
    "expanded": lambda np_, x: np_.expand_dims(x, axis=-1),
    "squeezed": lambda np_, x: np_.squeeze(np_.expand_dims(x, axis=0), axis=0), "whole": lambda np_, x: x[...],
    "unstacked": lambda np_, x: np_.unstack(x, axis=0)[0], "stepped": lambda np_, x: x[-1:0:-2],
}  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(VIEWS)), min_size=1, max_size=4),
    st.sampled_from(["part[:1] = 0.5", "part[...] = -2", "part += 3", "part *= 3", "part -= 3", "part /= 3"]),
)
def test_as_numpy_has_it(names: list[str], statement: str) -> None:
    array, tensor = A.copy(), xp.asarray(A) * 1.0
    shown, view = array, tensor
    for name in names:
        if not isinstance(shown, np.ndarray) or shown.ndim < 1 or shown.shape[0] < 1 or shown.ndim > 6:
            break
        shown, view = VIEWS[name](np, shown), VIEWS[name](xp, view)
    if not isinstance(shown, np.ndarray) or not shown.ndim:
        return
    for part in ({"part": shown}, {"part": view}):
        exec(statement, {}, part)
    np.testing.assert_array_equal(evaluate(tensor), array)
    np.testing.assert_array_equal(evaluate(view), shown)


def test_through_a_reshape() -> None:
    for how in ({}, {"copy": False}):
        x = xp.asarray(A) * 1.0
        xp.reshape(x, (-1,), **how)[5] = -1.0
        xp.reshape(x[1:], (2, 2, 2), **how)[0, 1, 1] = -2.0
        xp.reshape(x[2, 0], (1,), **how)[0] = -3.0
        wanted = A.copy()
        wanted[1, 1], wanted[1, 3], wanted[2, 0] = -1.0, -2.0, -3.0
        np.testing.assert_array_equal(evaluate(x), wanted)
    copied = xp.reshape(x, (-1,), copy=True)
    copied[0] = 50.0
    assert float(x[0, 0]) == 0.0
    turned = xp.reshape(x.T, (-1,), copy=False)
    turned[1] = 70.0
    assert float(x[1, 0]) == 70.0


def test_several_views_see_what_was_written_before_they_are() -> None:
    x = xp.asarray(A) * 1.0
    one, other = x[0], x[:, 0]
    one[0], other[1] = 5.0, 6.0
    x[0, 1] = 7.0
    one[2] = 8.0
    np.testing.assert_array_equal(evaluate(x), [[5.0, 7.0, 8.0, 3.0], [6.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]])
    np.testing.assert_array_equal(evaluate(one), [5.0, 7.0, 8.0, 3.0])


def test_in_place_and_in_a_loop_over_rows() -> None:
    x = xp.asarray(A) * 1.0
    for row in x:
        row[1:3] *= 10.0
        row[...] += 1.0
    wanted = A.copy()
    wanted[:, 1:3] *= 10.0
    np.testing.assert_array_equal(evaluate(x), wanted + 1.0)


def test_gradients_and_unknown_lengths() -> None:
    x = placeholder((None, 4), dtype="float64")
    y = x * 2.0
    y[0, :][1:3] = x[1, :2] * 5.0
    run = function([x], [y, gradients(xp.sum(y), x)])
    value, slope = run(A)
    wanted = A * 2
    wanted[0, 1:3] = A[1, :2] * 5
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(slope, [[2, 0, 0, 2], [7, 7, 2, 2], [2, 2, 2, 2]])


def test_the_last_of_a_loop_is_a_part_of_its_results() -> None:
    steps, _ = scan(lambda h: h + 1.0, outputs_info=xp.zeros(2, dtype="float64"), n_steps=3)
    steps[-1][0] = 9.0
    steps[-1, 1] = 8.0
    np.testing.assert_array_equal(evaluate(steps), [[1.0, 1.0], [2.0, 2.0], [9.0, 8.0]])


def test_copies_are_their_own() -> None:
    x = xp.asarray(A) * 1.0
    for made in (
        copy.copy(x[0]), xp.asarray(x[0], copy=True), x[0] + 0.0, xp.take(x, xp.asarray([0]), axis=0),
        x[x > 3.0], xp.astype(x[0], "float64"), xp.meshgrid(x[0], x[1])[0], xp.tile(x, (1, 1)), xp.roll(x, 1),
    ):  # fmt: skip
        made[...] = 100.0
        np.testing.assert_array_equal(evaluate(x), A)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "of a variable": (lambda: Variable(A, name="w")[0], TypeError, "shows.*'w'.*copy"),
    "of a variable, reshaped": (lambda: xp.reshape(Variable(A, name="w"), (-1,)), TypeError, "shows.*'w'.*copy"),
    "of a placeholder": (lambda: placeholder((3, 4), name="w").T, TypeError, "shows.*'w'.*copy"),
    "a broadcast": (lambda: xp.broadcast_to(xp.asarray(A) * 1.0, (2, 3, 4)), ValueError, "reading only"),
    "a diagonal": (lambda: xp.linalg.diagonal(xp.asarray(A) * 1.0), ValueError, "reading only"),
    "a real part": (lambda: xp.real(xp.asarray(A) * 1j), ValueError, "reading only"),
    "reshaped rows": (lambda: xp.reshape((xp.asarray(A) * 1.0)[::2], (-1,)), ValueError, "copy=True or copy=False"),
    "a reshaped transpose": (lambda: xp.reshape((xp.asarray(A) * 1.0).T, (-1,)), ValueError, "copy=True or copy=False"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name: str) -> None:
    make, error, message = REFUSED[name]
    view = make()
    node = view.node
    base = view.viewed.base.node
    with pytest.raises(error, match=message):
        view[0] = 1.0
    assert view.node is node
    assert view.viewed.base.node is base


def test_an_array_filled_with_a_length_is_its_own() -> None:
    x = Variable(np.ones(3))
    filled = xp.full((3,), x.shape[0])
    filled[0] = 7
    np.testing.assert_array_equal(np.asarray(filled), [7, 3, 3])


class TestInPlace:
    def test_all_of_a_tensor_is_a_view_of_it(self) -> None:
        x = xp.asarray(A) * 1.0
        for key in (..., slice(None), (), (slice(None), ...), (slice(None), slice(None))):
            whole = x[key]
            assert whole is not x
            assert whole.node is x.node  # nothing is computed for it
            whole += 1.0
        np.testing.assert_array_equal(evaluate(x), A + 5.0)
        number = xp.sum(x)
        shown = number[...]
        shown *= 2.0
        assert float(number) == 2.0 * (A + 5.0).sum()
        v = Variable(A)
        part = v[...]
        part += 1.0
        np.testing.assert_array_equal(v.get_value(), A)

    def test_parts_that_overlap_are_added(self) -> None:
        """As an overlap-add convolution does."""
        out, block = xp.zeros((6,), dtype="float64"), Variable(np.asarray([1.0, 2.0, 3.0, 4.0]))
        for start in (0, 2):
            part = out[start : start + 4]
            part += block
        assert evaluate(out).tolist() == [1.0, 2.0, 4.0, 6.0, 3.0, 4.0]
        assert evaluate(gradients(xp.sum(out**2), block)).tolist() == [10.0, 16.0, 14.0, 20.0]

    def test_where_no_write_arrives_the_name_alone_changes(self) -> None:
        v, p = Variable(A), placeholder((3, 4), dtype="float64")
        whole, numbers = xp.asarray(A) * 1.0, xp.asarray(np.arange(4)) * 1
        spread = xp.broadcast_to(whole[0], (3, 4))
        for part, other in [(v[0], 1.0), (p[0], 1.0), (xp.reshape(whole.T, (-1,)), 1.0), (spread, 1.0),
                            (whole[0], np.ones((2, 4))), (numbers[:2], 0.5)]:  # fmt: skip
            kept = part
            part += other
            assert part is not kept
        np.testing.assert_array_equal(evaluate(whole), A)
        np.testing.assert_array_equal(v.get_value(), A)
        assert evaluate(numbers).tolist() == [0, 1, 2, 3]

    def test_models_of_symbolic_tensors_never_write(self) -> None:
        look_up_by_identity()
        try:
            whole = xp.asarray(A) * 1.0
            part = whole[0]
            part += 1.0
        finally:
            look_up_by_identity(False)
        np.testing.assert_array_equal(evaluate(whole), A)
        np.testing.assert_array_equal(evaluate(part), A[0] + 1.0)
