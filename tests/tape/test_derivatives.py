"""Reverse-mode gradients: valid arguments, errors, dtypes, broadcasting, disconnected variables, custom rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import tape
from nbm_xp.tape import Variable, composite, evaluate, function, grad, gradients, placeholder, stop_gradient
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.operations import OPERATIONS
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library

SHAPES = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (1, 1), (4, 2, 3), (4, 1, 3), (1, 2, 1)]


class TestBroadcasting:
    @pytest.mark.parametrize("left", SHAPES[1:], ids=str)
    @pytest.mark.parametrize("right", SHAPES[1:], ids=str)
    def test_is_undone_when_the_plan_runs(self, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        a, b = np.ones(left), np.full(right, 2.0)
        shape = np.broadcast_shapes(left, right)
        x, y = placeholder(ndim=a.ndim, dtype="float64"), placeholder(ndim=b.ndim, dtype="float64")
        loss = xp.mean(x * x * y)
        by_x, by_y = function([x, y], gradients(loss, [x, y]))(a, b)
        np.testing.assert_allclose(by_x, np.full(left, 4.0 / a.size), strict=True)
        np.testing.assert_allclose(by_y, np.full(right, 1.0 / b.size), strict=True)
        (again,) = function([x, y], gradients(xp.sum(gradients(loss, x) * x), [x]))(a, b)
        np.testing.assert_allclose(again, np.full(left, 8.0 / a.size), strict=True)
        assert function([x, y], (x * y).shape[-1])(a, b) == shape[-1]

    def test_is_undone_by_a_product(self) -> None:
        assert evaluate(gradients(xp.sum(xp.broadcast_to(x := Variable(1.0), (2, 3))), x)) == 6.0


class TestDtypes:
    def test_a_gradient_has_that_of_its_variable(self) -> None:
        narrow, wide = Variable(np.ones(2, dtype="float32")), Variable(np.ones(2))
        by_narrow, by_wide = gradients(xp.sum(narrow * wide * 3.0), [narrow, wide])
        assert (by_narrow.dtype, by_wide.dtype) == ("float32", "float64")
        assert [g.dtype for g in evaluate([by_narrow, by_wide])] == ["float32", "float64"]

    def test_or_of_the_expression_where_asked(self) -> None:
        narrow = Variable(np.asarray([1 / 3, 2.0], dtype="float32"))
        loss = xp.sum(xp.astype(narrow, xp.float64) ** 2 * (1 / 3))
        kept, wide = gradients(loss, narrow), gradients(loss, narrow, keep_dtype=False)
        assert (kept.dtype, wide.dtype) == ("float32", "float64")
        exact = 2 / 3 * narrow.get_value().astype("float64")
        np.testing.assert_allclose(evaluate(wide), exact, rtol=1e-15)
        np.testing.assert_allclose(evaluate(kept), exact, rtol=1e-6)

    def test_nothing_flows_through_integers(self) -> None:
        x = Variable(np.asarray([1.5, 2.5]))
        through = xp.astype(xp.astype(x, xp.int64), xp.float64)
        np.testing.assert_array_equal(evaluate(gradients(xp.sum(through * x), x)), [1.0, 2.0])

    def test_of_a_loss_of_low_precision(self) -> None:
        x = Variable(np.asarray([1.0, 2.0], dtype="float16"))
        gradient = evaluate(gradients(xp.sum(x * x), x))
        assert gradient.dtype == "float16"
        assert gradient.tolist() == [2.0, 4.0]


class TestDriver:
    def test_one_variable_or_several(self) -> None:
        x, y = Variable(3.0), Variable(2.0)
        assert isinstance(gradients(x * y, x), tape.Tensor)
        assert [float(g) for g in gradients(x * y, [x, y])] == [2.0, 3.0]
        assert [float(g) for g in gradients(x * y, (y,))] == [3.0]
        assert gradients(x * y, []) == []

    def test_of_the_loss_itself_and_of_intermediate_values(self) -> None:
        x = Variable(np.asarray([1.0, 2.0]))
        y = x * 3.0
        loss = xp.sum(y * y)
        assert float(gradients(loss, loss)) == 1.0
        by_y, by_x = evaluate(gradients(loss, [y, x]))
        np.testing.assert_allclose(by_y, [6.0, 12.0])
        np.testing.assert_allclose(by_x, [18.0, 36.0])

    def test_what_is_disconnected(self) -> None:
        x, y = Variable(np.ones(2), name="x"), Variable(np.ones(3), name="spare")
        loss = xp.sum(x)
        with pytest.raises(ValueError, match="spare"):
            gradients(loss, [x, y])
        assert evaluate(gradients(loss, y, disconnected="zero")).tolist() == [0.0, 0.0, 0.0]
        assert gradients(loss, [x, y], disconnected="none")[1] is None

    def test_a_length_does_not_connect(self) -> None:
        x, y = placeholder((None,), dtype="float64"), Variable(1.0, dtype="float64")
        loss = y * x.shape[0]
        assert function([x], gradients(loss, y))(np.ones(5)) == 5.0
        with pytest.raises(ValueError, match="does not depend"):
            gradients(loss, x)

    def test_what_is_wrong_is_named(self) -> None:
        x = Variable(np.ones(2))
        with pytest.raises(TypeError, match="without axes"):
            gradients(x, x)
        with pytest.raises(TypeError, match="without axes"):
            gradients(1.0, x)
        with pytest.raises(TypeError, match="ndarray"):
            gradients(xp.sum(x), [np.ones(2)])


def test_stop_gradient_cuts_one_path_or_the_only_one() -> None:
    x = Variable(np.asarray([3.0]))
    assert evaluate(stop_gradient(x * 2)).tolist() == [6.0]
    assert evaluate(gradients(xp.sum(x * stop_gradient(x)), x)).tolist() == [3.0]
    with pytest.raises(ValueError, match="does not depend"):
        gradients(xp.sum(stop_gradient(x)), x)
    assert evaluate(gradients(xp.sum(stop_gradient(x)), x, disconnected="zero")).tolist() == [0.0]


@pytest.fixture
def _restored_rule() -> Iterator[None]:
    before = OPERATIONS["tan"].gradient
    yield
    OPERATIONS["tan"].gradient = before


class TestRegisterGradient:
    @pytest.mark.usefixtures("_restored_rule")
    def test_replaces_a_rule(self) -> None:
        tape.register_gradient("tan", lambda g, out, x: g * 7.0)
        x = Variable(np.asarray([0.5]))
        assert evaluate(gradients(xp.sum(xp.tan(x)), x)).tolist() == [7.0]

    @pytest.mark.usefixtures("_restored_rule")
    def test_for_all_arguments_at_once(self) -> None:
        tape.register_gradient("tan", joint=lambda g, out, x: [g * 5.0])
        x = Variable(np.asarray([0.5]))
        assert evaluate(gradients(xp.sum(xp.tan(x)), x)).tolist() == [5.0]

    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(ValueError, match="fly"):
            tape.register_gradient("fly", None)
        with pytest.raises(ValueError, match="either"):
            tape.register_gradient("tan")
        with pytest.raises(ValueError, match="either"):
            tape.register_gradient("tan", None, joint=lambda g, out, x: [None])


@composite(gradient=(lambda g, out, x, y, power: g * power * x ** (power - 1) * y, None), arrays=2, name="test_scaled")
def scaled_power(x: Any, y: Any, power: int = 2) -> Any:
    """``x**power * y``, differentiable only with respect to `x`."""
    return x**power * y


class TestComposite:
    def test_is_one_node_with_its_own_rule(self) -> None:
        x, y = Variable(np.asarray([1.0, 2.0])), Variable(np.asarray([3.0, 4.0]))
        result = scaled_power(x, y, power=3)
        assert result.node.op.name == "test_scaled"
        assert evaluate(result).tolist() == [3.0, 32.0]
        by_x, by_y = gradients(xp.sum(result), [x, y], disconnected="zero")
        assert evaluate([by_x, by_y])[0].tolist() == [9.0, 48.0]
        assert evaluate(by_y).tolist() == [0.0, 0.0]

    def test_infers_from_its_body(self) -> None:
        x = placeholder((None, 3), dtype="float32")
        result = scaled_power(x, np.ones(3))
        assert result.shape == x.shape
        assert result.dtype == "float64"

    def test_takes_options_as_python_does(self) -> None:
        x = Variable(np.asarray([2.0]))
        assert evaluate(scaled_power(x, x, 3)).tolist() == evaluate(scaled_power(x, x, power=3)).tolist() == [16.0]
        for wrong in (lambda: scaled_power(x), lambda: scaled_power(x, x, 1, 2), lambda: scaled_power(x, x, size=1)):
            with pytest.raises(TypeError):
                wrong()

    @pytest.mark.parametrize("function", [tape.sigmoid, tape.softplus], ids=["sigmoid", "softplus"])
    def test_rule_agrees_with_its_parts(self, function: Any) -> None:
        array = np.linspace(-4.0, 4.0, 9)
        check_gradient(function, array)
        x = Variable(array)
        by_rule, by_parts = (gradients(xp.sum(xp.sin(f(x))), x) for f in (function, function.body))
        np.testing.assert_allclose(evaluate(by_rule), evaluate(by_parts), rtol=1e-12)


split_sum = tape.operation(
    "test_split_sum",
    infer=lambda x, parts: [((), x.dtype) for _ in range(parts)],
    run=lambda namespace, x, parts: tuple(namespace.sum(x[i::parts]) for i in range(parts)),
    gradient=tape.Joint(lambda g, out, x, parts: [_spread(g, out, x, parts)]),
    several=True,
)


def _spread(g: dict[int, tape.Tensor], out: Any, x: tape.Tensor, parts: int) -> tape.Tensor:
    places = xp.arange(x.node.shape[0]) % parts
    total = xp.zeros_like(x)
    for index, cotangent in g.items():
        total = total + xp.where(places == index, cotangent, 0.0) * (out[index] / out[index])
    return total


class TestOperation:
    def test_with_several_results(self) -> None:
        x = Variable(np.arange(1.0, 7.0))
        even, odd = split_sum(x, parts=2)
        assert [float(v) for v in evaluate([even, odd])] == [9.0, 12.0]
        both = gradients(even * even + 3.0 * odd, x)
        assert evaluate(both).tolist() == [18.0, 3.0, 18.0, 3.0, 18.0, 3.0]
        assert evaluate(gradients(odd, x)).tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
        check_gradient(lambda x: split_sum(x * x, parts=3), x.get_value())

    def test_on_every_library(self, library: Library) -> None:
        x = Variable(library.array(np.arange(1.0, 5.0)))
        even, odd = split_sum(x, parts=2)
        results = evaluate([even, odd, gradients(even * odd, x)])
        np.testing.assert_allclose(library.numpy(results[2]), [6.0, 4.0, 6.0, 4.0])

    def test_without_a_rule_is_named_where_it_matters(self) -> None:
        plain = tape.operation("test_no_rule", infer=lambda x: (x.shape, x.dtype), run=lambda namespace, x: x * 2)
        x = Variable(np.ones(2))
        assert evaluate(plain(x)).tolist() == [2.0, 2.0]
        with pytest.raises(NotImplementedError, match="test_no_rule"):
            gradients(xp.sum(plain(x)), x)
        assert evaluate(gradients(xp.sum(plain(stop_gradient(x)) * x), x)).tolist() == [2.0, 2.0]

    def test_a_name_is_taken_once(self) -> None:
        with pytest.raises(ValueError, match="exp"):
            tape.operation("exp", infer=lambda x: (x.shape, x.dtype), run=lambda namespace, x: x)


CUT: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "log": (lambda x: xp.log(x), [0.0, 1.0, 0.5]),
    "square of log": (lambda x: xp.log(x) ** 2, [0.0, 0.0, 0.6931471805599453]),
    "chain": (lambda x: xp.sqrt(-xp.negative(x) + 0.0) * 2.0, [0.0, 1.0, 0.7071067811865475]),
    "reciprocal": (lambda x: 1.0 / x, [0.0, -1.0, -0.25]),
    "overflow": (lambda x: xp.exp(x - 1e9 * (1.0 - xp.sign(x))) / x, [0.0, 0.0, 1.8472640247326626]),
    "nested": (lambda x: xp.where(x > 1.0, xp.log(x - 1.0), xp.log(x)), [0.0, 1.0, 1.0]),
}
"""Functions of x, infinite or NaN in value or derivative at 0, and their derivatives at 0, where `where` leaves them
out, and at 1 and 2."""


@pytest.mark.parametrize("name", CUT)
@pytest.mark.at_night("jax")
def test_what_where_leaves_out_has_no_part_in_the_gradient(library: Library, name: str) -> None:
    cut, want = CUT[name]
    x = library.array(np.asarray([0.0, 1.0, 2.0]))
    for loss in (lambda a: xp.sum(xp.where(a > 0.0, cut(a), 0.0)), lambda a: xp.sum(xp.where(a <= 0.0, 0.0, cut(a)))):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slopes = library.numpy(grad(loss)(x))
            np.testing.assert_allclose(slopes, want, rtol=1e-12)
            bent = library.numpy(grad(lambda a, loss=loss: xp.sum(grad(loss)(a)))(x))  # type: ignore[misc]
        assert np.all(np.isfinite(bent)) and bent[0] == 0.0


def test_what_is_left_out_is_not_summed_back() -> None:
    x = np.asarray([0.0, 1.0, 2.0])
    with np.errstate(all="ignore"):
        assert grad(lambda w: xp.sum(xp.where(x > 0.0, xp.log(x * w), 0.0)))(np.asarray(4.0)) == 0.5
