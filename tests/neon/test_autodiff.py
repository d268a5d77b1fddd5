"""Gradients of op-trees and neon's `Autodiff`: values, views, destinations of gradients, and errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Autodiff, Backend, gradients
from tests.helpers.libraries import Library, computing


@pytest.fixture
def be() -> Backend:
    return Backend(rng_seed=1, default_dtype="float64", library="numpy")


def filled(be: Backend, *shape: int) -> Any:
    return be.array(np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape))


def test_it_gives_trees_buffers_and_arrays(library: Library) -> None:
    be = Backend(default_dtype="float64", library=library.name)
    x, y, other = filled(be, 2, 3), filled(be, 2, 1), filled(be, 4, 2)
    found = Autodiff(be.square(x) * y + be.sum(x), be)
    with computing():
        values = [value.get() for value in (x, y)]
        wanted = [2 * values[0] * values[1] + 6, (values[0] ** 2).sum(axis=1, keepdims=True), np.zeros((4, 2))]
        for got in (
            found.get_grad_asnumpyarray([x, y, other]),
            [buffer.get() for buffer in found.get_grad_tensor([x, y, other])],
            [tree.asnumpyarray() for tree in found.get_grad_op_tree([x, y, other])],
        ):
            for one, right in zip(got, wanted, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-12)


def test_views_collect_what_reaches_their_elements(be: Backend) -> None:
    x = filled(be, 2, 3)
    tree = be.sum(x[0:1] * 3) + be.sum(x.reshape(3, 2).T[1, :] * 5)
    (of_all,) = Autodiff(tree, be).get_grad_asnumpyarray([x])
    row, turned, fresh = Autodiff(tree, be).get_grad_asnumpyarray([x[1], x.T, x[:, 2:3]])
    assert of_all.tolist() == [[3, 8, 3], [5, 0, 5]]
    assert (row.tolist(), turned.tolist(), fresh.tolist()) == ([[5, 0, 5]], of_all.T.tolist(), [[3], [5]])


def test_the_error_may_be_where_a_gradient_goes(be: Backend) -> None:
    x, scale, error = filled(be, 2, 3), filled(be, 2, 1), filled(be, 2, 3)
    given, slope = error.get(), be.zeros((2, 1))
    differentiation = Autodiff(x * scale, be, next_error=error)
    differentiation.back_prop_grad([x, scale], [error, slope])
    np.testing.assert_allclose(error.get(), given * scale.get())
    np.testing.assert_allclose(slope.get(), (given * x.get()).sum(axis=1, keepdims=True))
    differentiation.cleanup()


def test_what_is_recorded_once_serves_for_new_values(be: Backend) -> None:
    x, error, slope = filled(be, 1, 2), be.ones((1, 2)), be.zeros((1, 2))
    differentiation = Autodiff(be.square(x), be, error)
    x[:], error[:] = 5, 2
    differentiation.back_prop_grad([x], [slope])
    assert slope.get().tolist() == [[20, 20]]


def test_a_bad_argument_is_named_and_nothing_is_written(be: Any) -> None:
    x, y, slope = filled(be, 2, 3), filled(be, 2, 3), be.ones((2, 3))
    tree = be.square(x)
    assert not any(gradients(be.sgn(x), [x])[0].get().ravel())
    bad: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: gradients(tree, [y]), ValueError, "does not depend"),
        (lambda: gradients(tree, [3.0]), TypeError, "Buffers"),  # type: ignore[list-item]
        (lambda: gradients(tree, x), TypeError, "buffers must be a list"),
        (lambda: gradients(3.0, [x]), TypeError, "tree must be an op-tree"),  # type: ignore[arg-type]
        (lambda: Autodiff(2.0, be), TypeError, "op_tree must be an op-tree, got float"),  # type: ignore[arg-type]
        (lambda: Autodiff(tree, be, be.ones((3, 2))), ValueError, "next_error must have the op-tree's shape"),
        (lambda: Autodiff(tree, be).get_grad_op_tree([tree]), TypeError, "tensors must hold Buffers"),
        (lambda: Autodiff(tree, be).back_prop_grad([x], [np.ones(3)]), TypeError, "gradients must hold Buffers"),
        (lambda: Autodiff(tree, be).back_prop_grad([x], [slope, slope]), ValueError, "must be one for each of 1"),
        (lambda: Autodiff(tree, be).back_prop_grad([x, x], [slope, be.zeros((5, 1))]), ValueError,
         "gradient 1 must fit the shape"),
    ]  # fmt: skip
    for call, error, message in bad:
        with pytest.raises(error, match=message):
            call()
    assert slope.get().tolist() == [[1, 1, 1], [1, 1, 1]]
