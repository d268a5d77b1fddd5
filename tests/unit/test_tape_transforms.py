"""`value_and_grad` on arrays: like the function itself, whatever it closes over, compiled once for each structure."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp.tape import Variable, value_and_grad
from nbm_xp.tape import namespace as xp
from tests.libraries import Library


class TestValueAndGrad:
    def test_of_one_argument(self, library: Library) -> None:
        differentiated = value_and_grad(lambda w, x: xp.sum(xp.tanh(w * x)))
        w, x = np.asarray([0.5, -1.0]), np.asarray([2.0, 3.0])
        value, gradient = differentiated(library.array(w), library.array(x))
        np.testing.assert_allclose(library.numpy(value), np.sum(np.tanh(w * x)))
        np.testing.assert_allclose(library.numpy(gradient), x / np.cosh(w * x) ** 2)

    def test_of_several(self) -> None:
        differentiated = value_and_grad(lambda a, b, c: xp.sum(a * b * c), argnums=(2, 0))
        value, (by_c, by_a) = differentiated(np.asarray([2.0]), np.asarray([3.0]), np.asarray([5.0]))
        assert (float(value), by_c.tolist(), by_a.tolist()) == (30.0, [6.0], [15.0])
        assert value_and_grad(lambda a, b: xp.sum(a * b), argnums=-1)(np.ones(1), np.ones(1))[1].tolist() == [1.0]

    def test_calls_anew_every_time(self) -> None:
        factors = [2.0]
        differentiated = value_and_grad(lambda x: xp.sum(x * factors[0]))
        assert differentiated(np.ones(2))[1].tolist() == [2.0, 2.0]
        factors[0] = -0.0
        assert differentiated(np.ones(2))[1].tolist() == [0.0, 0.0]
        factors[0] = 3
        assert differentiated(np.ones(4))[1].tolist() == [3.0] * 4
        assert differentiated(np.ones(2, dtype="float32"))[1].dtype == "float32"

    def test_closes_over_arrays_and_variables(self) -> None:
        weights, scale = np.asarray([1.0, 2.0]), Variable(2.0, dtype="float64")
        differentiated = value_and_grad(lambda x: xp.sum(x * weights) * scale)
        assert differentiated(np.ones(2))[1].tolist() == [2.0, 4.0]
        scale.set_value(3.0)
        weights = np.asarray([5.0, 7.0])
        assert differentiated(np.ones(2))[1].tolist() == [15.0, 21.0]

    def test_passes_other_arguments_on(self) -> None:
        differentiated = value_and_grad(lambda x, power, *, scale: xp.sum(x**power) * scale)
        assert differentiated(np.asarray([2.0]), 3, scale=0.5)[1].tolist() == [6.0]

    def test_integer_arrays_may_be_other_arguments(self) -> None:
        differentiated = value_and_grad(lambda x, i: xp.sum(x[i] ** 2))
        assert differentiated(np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 2, 2]))[1].tolist() == [2.0, 0.0, 12.0]

    def test_what_does_not_matter_has_a_gradient_of_zero(self) -> None:
        assert value_and_grad(lambda x, y: xp.sum(y))(np.ones(2), np.ones(3))[1].tolist() == [0.0, 0.0]

    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(TypeError, match="scalar"):
            value_and_grad(lambda x: x)(np.ones(2))
        with pytest.raises(TypeError, match="floating"):
            value_and_grad(lambda x: xp.sum(x))(np.asarray([1, 2]))
        with pytest.raises(TypeError, match="must be an array"):
            value_and_grad(lambda x: xp.sum(x))(1.0)
        with pytest.raises(TypeError, match="argument 1"):
            value_and_grad(lambda x: xp.sum(x), argnums=1)(np.ones(2))
