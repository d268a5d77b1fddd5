"""Derivatives of functions of arrays: everything that such a function may contain; one compilation per structure."""

from __future__ import annotations

import math
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

from nbm_xp import tape
from nbm_xp.namespace import array_namespace
from nbm_xp.tape import Variable, evaluate, grad, hvp, jvp, register_gradient, stop_gradient, value_and_grad, vjp
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.operations import OPERATIONS
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library

X = np.asarray([0.5, -1.0, 2.0])
V = np.asarray([1.0, 10.0, -3.0])


def loss(x: Any) -> Any:
    return xp.sum(xp.tanh(x) ** 2) * x[0]


def loss_gradient(x: Any) -> Any:
    t = np.tanh(x)
    return 2 * t * (1 - t**2) * x[0] + np.eye(3)[0] * np.sum(t**2)


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

    def test_what_does_not_matter_has_a_gradient_of_zero(self) -> None:
        assert value_and_grad(lambda x, y: xp.sum(y))(np.ones(2), np.ones(3))[1].tolist() == [0.0, 0.0]

    def test_a_float_is_an_array_without_axes(self) -> None:
        value, slope = value_and_grad(lambda x: x**2)(3.0)
        assert (float(value), float(slope), slope.shape, str(slope.dtype)) == (9.0, 6.0, (), "float32")
        assert float(grad(lambda p: p["x"] ** 3)({"x": 2.0})["x"]) == 12.0
        assert float(grad(grad(lambda x: x**3))(2.0)) == 12.0
        assert [float(x) for x in grad(lambda x, y: x * y, (0, 1))(2.0, np.asarray(5.0))] == [5.0, 2.0]
        assert float(jvp(lambda x: x * x, (3.0,), (1.0,))[1]) == float(vjp(lambda x: x * x, 3.0)[1](1.0)[0]) == 6.0
        with pytest.raises(TypeError, match="argument 0 must be floating to differentiate in, got the integer 3"):
            grad(lambda x: x**2)(3)

    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(TypeError, match="scalar"):
            value_and_grad(lambda x: x)(np.ones(2))
        with pytest.raises(TypeError, match="floating"):
            value_and_grad(lambda x: xp.sum(x))(np.asarray([1, 2]))
        with pytest.raises(TypeError, match="must be an array"):
            value_and_grad(lambda x: xp.sum(x))("1.0")
        with pytest.raises(TypeError, match="argument 1"):
            value_and_grad(lambda x: xp.sum(x), argnums=1)(np.ones(2))
        for derivative in (grad, value_and_grad, tape.jacobian):
            with pytest.raises(TypeError, match="fn must be a function, got float64: give the function,"):
                derivative(np.sum(np.ones(2)))(np.ones(2))

    def test_takes_trees_of_arrays(self) -> None:
        Layer = namedtuple("Layer", "w b")
        parameters = {"first": Layer(np.asarray([[1.0, 2.0]]), np.asarray([3.0])), "scale": [np.asarray(2.0)]}
        value, slope = value_and_grad(lambda p, x: p["scale"][0] * xp.sum(p["first"].w @ x + p["first"].b))(
            parameters, np.asarray([1.0, 1.0])
        )
        assert float(value) == 12.0
        assert isinstance(slope["first"], Layer)
        assert [slope["first"].w.tolist(), slope["first"].b.tolist()] == [[[2.0, 2.0]], [2.0]]
        assert [float(s) for s in slope["scale"]] == [6.0]
        ordered = value_and_grad(lambda p: p["b"] * p["a"])(OrderedDict(b=np.asarray(2.0), a=np.asarray(3.0)))[1]
        assert isinstance(ordered, OrderedDict)
        assert list(map(float, ordered.values())) == [3.0, 2.0]

    def test_gives_what_else_was_computed(self) -> None:
        def fn(x: Any) -> Any:
            y = xp.tanh(x)
            return xp.sum(y), {"hidden": y, "note": "kept", "rest": np.ones(1)}

        (value, aux), slope = value_and_grad(fn, has_aux=True)(X)
        np.testing.assert_allclose(aux["hidden"], np.tanh(X))
        assert isinstance(aux["hidden"], np.ndarray)
        assert aux["note"] == "kept"
        assert aux["rest"].tolist() == [1.0]
        np.testing.assert_allclose(value, np.sum(np.tanh(X)))
        np.testing.assert_allclose(slope, 1 - np.tanh(X) ** 2)
        slope_alone, aux = grad(fn, has_aux=True)(X)
        np.testing.assert_array_equal(slope_alone, slope)
        assert aux["note"] == "kept"
        with pytest.raises(TypeError, match="has_aux"):
            grad(lambda x: xp.sum(x), has_aux=True)(X)

    def test_the_function_may_look_at_values(self, library: Library) -> None:
        if library.lazy:
            pytest.skip("looking at a value would compute it")

        def fn(x: Any) -> Any:
            while float(stop_gradient(xp.max(x))) < 10.0:
                x = x * 2.0
            return xp.sum(x) if xp.sum(x) > 0 else -xp.sum(x)

        slope = grad(fn)
        assert library.numpy(slope(library.array([1.0, 2.0]))).tolist() == [8.0, 8.0]
        assert library.numpy(slope(library.array([1.0, -20.0, 10.0]))).tolist() == [-1.0, -1.0, -1.0]

    def test_a_mask_may_depend_on_the_argument(self) -> None:
        slope = grad(lambda x: xp.sum(x[x > 0.0] ** 2))
        assert slope(X).tolist() == [1.0, 0.0, 4.0]
        assert slope(-X).tolist() == [0.0, 2.0, 0.0]

    def test_elements_may_be_set(self) -> None:
        def fn(x: Any) -> Any:
            x[0] = x[1] * 3.0
            x *= 2.0
            return xp.sum(x)

        given = X.copy()
        assert grad(fn)(given).tolist() == [0.0, 8.0, 2.0]
        assert given.tolist() == X.tolist()

    def test_what_would_cut_the_derivative_is_refused(self) -> None:
        def held(x: Any) -> Any:
            w = Variable(np.ones(3))
            w.set_value(x)
            return w

        for cut in (
            np.asarray, np.mean, np.std, np.from_dlpack, evaluate, tape.Tensor.eval, Variable, held, np.linalg.norm,
            lambda x: float(xp.sum(x)), lambda x: math.exp(x[0]), lambda x: np.dot(V, x), lambda x: evaluate([x, V])[0],
            lambda x: np.concatenate([V, x]), lambda x: np.array([x[0], x[1]]), lambda x: np.full(3, x[0]),
            lambda x: xp.arange(x[0], 9.0, dtype="float64"),
        ):  # fmt: skip
            # that the loss depends on x elsewhere too would hide what is lost
            loss = lambda x, cut=cut: xp.sum(x) * xp.sum(xp.asarray(cut(x)))  # noqa: E731
            for derivative in (grad(loss), tape.jacobian(loss), lambda x, loss=loss: jvp(loss, (x,), (V,))):
                with pytest.raises(TypeError, match="is being differentiated and cannot become"):
                    derivative(X)
        # values without a derivative may be converted
        assert grad(lambda x: xp.sum(x) * int(evaluate(xp.argmax(x))))(X).tolist() == [2.0, 2.0, 2.0]
        assert grad(lambda x: xp.sum(xp.where(np.asarray(x > 0.0), x, 0.0)))(X).tolist() == [1.0, 0.0, 1.0]
        assert grad(lambda x: xp.sum(x) * float(evaluate(stop_gradient(x))[2]))(X).tolist() == [2.0, 2.0, 2.0]
        assert grad(lambda x: xp.sum(x) * float(stop_gradient(x)[2]))(X).tolist() == [2.0, 2.0, 2.0]
        assert float(Variable(2.0)) == 2.0

    @pytest.mark.parametrize("n", [0, 1, 2, 5])
    @pytest.mark.parametrize("endpoint", [True, False])
    def test_bounds_of_evenly_spaced_numbers(self, n: int, endpoint: bool) -> None:
        check_gradient(lambda x: xp.linspace(x[0], x[1] * x[2], n, endpoint=endpoint, dtype="float64") ** 2, X, order=2)

    def test_results_are_the_callers_to_change(self) -> None:
        factor = np.ones(3)
        slope = grad(lambda x: xp.sum(x * factor))(X)
        slope += 1.0
        assert factor.tolist() == [1.0, 1.0, 1.0]
        _, tangent = jvp(lambda x: x, (X,), (V,))
        tangent += 1.0
        assert V.tolist() == [1.0, 10.0, -3.0]

    def test_compiles_once_for_each_structure_and_rule(self) -> None:
        def fn(x: Any) -> Any:
            return xp.sum(xp.floor(x) * x)

        assert grad(fn)(X).tolist() == [0.0, -1.0, 2.0]
        before = len(tape.evaluation._plans)
        assert grad(fn)(X + 1.0).tolist() == [1.0, 0.0, 3.0]
        assert len(tape.evaluation._plans) == before
        rule = OPERATIONS["floor"].gradient
        register_gradient("floor", lambda g, out, x: g)
        try:
            assert grad(fn)(X).tolist() == [0.5, -2.0, 4.0]
        finally:
            register_gradient("floor", *rule)

    def test_compiled_plans_hold_no_arrays(self) -> None:
        import gc
        import weakref

        class Array(np.ndarray):
            """An array class with weak references."""

        x = np.ones(3).view(Array)
        alive = weakref.ref(x)
        grad(lambda t: xp.sum(xp.cos(t * 1.25)))(x)
        del x
        gc.collect()
        assert alive() is None


class TestRecorded:
    """Given Tensors, all transforms return Tensors."""

    def test_of_variables_and_placeholders(self) -> None:
        x = Variable(X)
        value, slope = value_and_grad(loss)(x)
        assert tape.is_tensor(value)
        np.testing.assert_allclose(evaluate(slope), loss_gradient(X))
        x.set_value(X * 2.0)
        np.testing.assert_allclose(evaluate(slope), loss_gradient(X * 2.0))
        y = tape.placeholder((None,), dtype="float64")
        compiled = tape.function([y], [grad(loss)(y), hvp(loss, y, y)])
        np.testing.assert_allclose(compiled(X)[0], loss_gradient(X))
        np.testing.assert_allclose(compiled(X)[1], hvp(loss, X, X))

    def test_gradients_of_gradients(self) -> None:
        slope = grad(grad(lambda x: x**4))
        assert float(slope(np.asarray(2.0))) == 48.0
        assert float(grad(slope)(np.asarray(2.0))) == 48.0
        norm = grad(lambda x: xp.sum(grad(loss)(x) ** 2))(X)
        np.testing.assert_allclose(norm, 2 * hvp(loss, X, loss_gradient(X)))

    def test_forward_over_reverse(self) -> None:
        (value, slope), (change, product) = jvp(value_and_grad(loss), (X,), (V,))
        np.testing.assert_allclose(slope, loss_gradient(X))
        np.testing.assert_allclose(change, loss_gradient(X) @ V)
        np.testing.assert_allclose(product, hvp(loss, X, V))
        np.testing.assert_allclose(value, evaluate(loss(Variable(X))))

    def test_an_inner_function_may_use_what_an_outer_one_differentiates(self) -> None:
        def outer(x: Any) -> Any:
            inner = grad(lambda y: xp.sum(x * y**2))(np.ones(3))  # its argument is not a Tensor; the result is 2 x
            return xp.sum(inner * x)

        np.testing.assert_allclose(grad(outer)(X), 4 * X)

    def test_an_inner_derivative_sees_its_own_argument_alone(self) -> None:
        """Perturbation confusion: d/dx (x d/dy (x + y)) is 1."""
        assert float(grad(lambda x: x * grad(lambda y: x + y)(x))(np.asarray(3.0))) == 1.0
        assert float(grad(lambda x: x * grad(lambda y: x * y)(x))(np.asarray(3.0))) == 6.0

    def test_inside_a_scan(self) -> None:
        steps, _ = tape.scan(lambda x: x - 0.1 * grad(loss)(x), outputs_info=Variable(X), n_steps=3)
        x = X
        for _ in range(3):
            x = x - 0.1 * loss_gradient(x)
        np.testing.assert_allclose(evaluate(steps[-1]), x)


class TestVjpAndJvp:
    def test_of_trees(self) -> None:
        def fn(p: Any, x: Any) -> Any:
            return {"product": p["w"] * x, "both": (xp.sum(x), p["w"][0])}, [p["b"]]

        primals = ({"w": X, "b": np.asarray(1.0)}, V)
        value, pullback = vjp(fn, *primals)
        assert value[0]["product"].tolist() == (X * V).tolist()
        by_p, by_x = pullback(({"both": (2.0, 3.0), "product": np.ones(3)}, [np.asarray(5.0)]))
        assert by_p["w"].tolist() == [4.0, 10.0, -3.0]
        assert float(by_p["b"]) == 5.0
        assert by_x.tolist() == (X + 2.0).tolist()
        value, tangent = jvp(fn, primals, ({"w": np.ones(3), "b": 7.0}, np.zeros(3)))
        assert tangent[0]["product"].tolist() == V.tolist()
        assert [float(t) for t in (*tangent[0]["both"], *tangent[1])] == [0.0, 1.0, 7.0]

    def test_pullback_of_tensors_is_recorded(self) -> None:
        _, pullback = vjp(lambda x: xp.exp(x), X)
        weights = Variable(np.ones(3))
        (slope,) = pullback(weights)
        np.testing.assert_allclose(evaluate(tape.gradients(xp.sum(slope), weights)), np.exp(X))
        x = Variable(X)
        _, pullback = vjp(lambda x: xp.exp(x), x)
        np.testing.assert_allclose(evaluate(pullback(np.ones(3))[0]), np.exp(X))

    def test_of_what_does_not_depend_or_does_not_vary(self) -> None:
        value, tangent = jvp(lambda x, y: (xp.floor(x), y, xp.argmax(x)), (X, V), (V, X))
        assert tangent[0].tolist() == [0.0, 0.0, 0.0]
        assert tangent[1].tolist() == X.tolist()
        assert int(tangent[2]) == 0
        assert int(value[2]) == 2
        _, pullback = vjp(lambda x, y: (xp.argmax(x), y), X, V)
        assert [slope.tolist() for slope in pullback((0, X))] == [[0.0] * 3, X.tolist()]

    def test_complex_numbers(self) -> None:
        z, d = np.asarray([1.0 + 2.0j]), np.asarray([0.5 - 1.0j])
        np.testing.assert_allclose(jvp(lambda z: z * z, (z,), (d,))[1], 2 * z * d)
        np.testing.assert_allclose(jvp(lambda z: xp.conj(z), (z,), (d,))[1], np.conj(d))
        np.testing.assert_allclose(jvp(lambda z: xp.abs(z), (z,), (d,))[1], np.real(np.conj(z) * d) / np.abs(z))
        np.testing.assert_allclose(jvp(lambda z: xp.imag(z), (z,), (d,))[1], np.imag(d))
        np.testing.assert_allclose(vjp(lambda z: z * z, z)[1](d)[0], 2 * z * d)
        np.testing.assert_allclose(hvp(lambda z: xp.sum(xp.abs(z) ** 2), z, d), 2 * np.conj(d))

    def test_float32_stays_float32(self) -> None:
        x = X.astype("float32")
        value, tangent = jvp(lambda x: xp.exp(x), (x,), (V,))
        assert (value.dtype, tangent.dtype) == ("float32", "float32")
        assert vjp(lambda x: xp.exp(x), x)[1](V)[0].dtype == "float32"

    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(ValueError, match=r"tangents must hold an array of shape \(3,\)"):
            jvp(lambda x: x, (X,), (np.ones(2),))
        with pytest.raises(TypeError, match="tangents must have a tuple or list of 1"):
            jvp(lambda x: x, (X,), (V, V))
        with pytest.raises(TypeError, match="primals must be a tuple or list"):
            jvp(lambda x: x, X, V)
        with pytest.raises(TypeError, match="floating"):
            jvp(lambda x: x, (np.arange(3),), (V,))
        with pytest.raises(TypeError, match="must be real"):
            jvp(lambda x: x, (X,), (V * 1j,))
        _, pullback = vjp(lambda x: {"a": x}, X)
        with pytest.raises(TypeError, match=r"cotangents must have a dict with the keys \['a'\]"):
            pullback(np.ones(3))
        with pytest.raises(TypeError, match=r"cotangents must hold an array of shape \(3,\)"):
            pullback({"a": 1.0})


def test_the_namespace_of_the_arguments_is_the_tapes() -> None:
    assert grad(lambda x, y: array_namespace(x, y).sum(x * y))(X, V).tolist() == V.tolist()
