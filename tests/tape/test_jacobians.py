"""Jacobians and Hessians: all unit vectors at once, or one by one if an operation has no batching rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, function, grad, hessian, hvp, jacobian, placeholder, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library

X = np.asarray([0.5, -1.0, 2.0])
V = np.asarray([1.0, 10.0, -3.0])
MATRIX = np.asarray([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
BY_HAND = (1 - np.tanh(MATRIX @ X) ** 2)[:, None] * MATRIX


class TestJacobian:
    @pytest.mark.parametrize("mode", [None, "forward", "reverse"])
    def test_of_a_vector(self, library: Library, mode: Any) -> None:
        found = jacobian(lambda x: xp.tanh(xp.matmul(library.array(MATRIX), x)), mode=mode)(library.array(X))
        np.testing.assert_allclose(library.numpy(found), BY_HAND)

    def test_shapes_are_that_of_the_result_then_that_of_the_argument(self) -> None:
        x, y = np.arange(6.0).reshape(2, 3), np.asarray(2.0)
        found = jacobian(lambda x, y: {"matrix": x.T * y, "scalar": xp.sum(x) * y}, argnums=(0, 1))(x, y)
        assert [part.shape for part in found["matrix"]] == [(3, 2, 2, 3), (3, 2)]
        assert [part.shape for part in found["scalar"]] == [(2, 3), ()]
        np.testing.assert_array_equal(found["matrix"][0], 2.0 * np.einsum("ik,jl->ijlk", np.eye(3), np.eye(2)))
        np.testing.assert_array_equal(found["matrix"][1], x.T)

    def test_of_trees(self) -> None:
        found = jacobian(lambda p: (p["a"] * p["b"], p["a"][:2]))({"a": X, "b": np.asarray(3.0)})
        np.testing.assert_array_equal(found[0]["a"], 3.0 * np.eye(3))
        np.testing.assert_array_equal(found[0]["b"], X)
        np.testing.assert_array_equal(found[1]["a"], np.eye(3)[:2])
        np.testing.assert_array_equal(found[1]["b"], np.zeros(2))

    @pytest.mark.parametrize("mode", ["forward", "reverse"])
    def test_one_by_one_through_a_scan(self, mode: Any) -> None:
        def fn(x: Any) -> Any:
            steps, _ = scan(lambda s: xp.tanh(s * s[0]), outputs_info=x, n_steps=3)
            return steps[-1]

        def in_turn(x: Any) -> Any:
            for _ in range(3):
                x = xp.tanh(x * x[0])
            return x

        np.testing.assert_allclose(jacobian(fn, mode=mode)(X), jacobian(in_turn)(X), atol=1e-15)

    def test_with_unknown_lengths(self) -> None:
        x = placeholder((None,), dtype="float64")
        both = function([x], [jacobian(lambda x: x * xp.sum(x))(x), hessian(lambda x: xp.sum(x**3))(x)])
        for value in (X, X[:2]):
            first, second = both(value)
            np.testing.assert_allclose(first, np.eye(value.size) * np.sum(value) + value[:, None])
            np.testing.assert_allclose(second, np.diag(6 * value))

    def test_of_variables_is_recorded(self) -> None:
        x = Variable(X)
        found = jacobian(lambda x: x * x)(x)
        np.testing.assert_array_equal(evaluate(found), np.diag(2 * X))
        x.set_value(np.asarray([1.0, 3.0]))
        np.testing.assert_array_equal(evaluate(found), np.diag([2.0, 6.0]))

    def test_of_nothing_and_of_what_does_not_vary(self) -> None:
        assert jacobian(lambda x: x[:0])(X).shape == (0, 3)
        assert jacobian(lambda x: x * 2.0)(X[:0]).shape == (0, 0)
        assert jacobian(lambda x: xp.argsort(x))(X).tolist() == [[0.0] * 3] * 3

    def test_complex_numbers(self) -> None:
        z = np.asarray([1.0 + 2.0j, 3.0j])
        np.testing.assert_allclose(jacobian(lambda z: z * z, holomorphic=True)(z), np.diag(2 * z))
        np.testing.assert_allclose(jacobian(lambda z: xp.real(z) ** 2)(z), np.diag(2 * z.real))
        rotation = np.exp(1j * X)
        for mode in ("forward", "reverse"):
            found = jacobian(lambda x: xp.exp(1j * x), mode=mode)(X)  # type: ignore[arg-type]
            np.testing.assert_allclose(found, np.diag(1j * rotation))
        with pytest.raises(TypeError, match="holomorphic=True"):
            jacobian(lambda z: z * z)(z)

    def test_mode_is_checked(self) -> None:
        with pytest.raises(ValueError, match="mode must be"):
            jacobian(lambda x: x, mode="sideways")  # type: ignore[arg-type]


class TestHessian:
    def test_of_a_scalar(self, library: Library) -> None:
        def fn(x: Any) -> Any:
            return xp.sum(x**3) * x[0]

        by_hand = np.diag(6 * X * X[0]) + np.outer(np.eye(3)[0], 3 * X**2) + np.outer(3 * X**2, np.eye(3)[0])
        np.testing.assert_allclose(library.numpy(hessian(fn)(library.array(X))), by_hand)
        product = hvp(fn, library.array(X), library.array(V))
        np.testing.assert_allclose(library.numpy(product), by_hand @ V)

    def test_of_several_arguments(self) -> None:
        (xx, xy), (yx, yy) = hessian(lambda x, y: xp.sum(x**2) * y, argnums=(0, 1))(X, np.asarray(3.0))
        np.testing.assert_allclose(xx, 6.0 * np.eye(3))
        np.testing.assert_allclose(xy, 2 * X)
        np.testing.assert_allclose(yx, 2 * X)
        assert float(yy) == 0.0

    def test_of_a_vector(self) -> None:
        found = hessian(lambda x: x**2 * x[0])(X)
        np.testing.assert_allclose(found, jacobian(jacobian(lambda x: x**2 * x[0], mode="forward"), mode="forward")(X))
        assert found.shape == (3, 3, 3)

    def test_is_differentiated_again(self) -> None:
        third = grad(lambda x: xp.sum(hessian(lambda y: xp.sum(y**4))(x)))(X)
        np.testing.assert_allclose(third, 24 * X)
