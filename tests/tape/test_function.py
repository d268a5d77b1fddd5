"""Compiled functions: inputs, outputs, updates, givens, array library, and errors."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import cloudpickle
import numpy as np
import pytest

from nbm_xp.namespace import get_namespace, library_name, use_backend
from nbm_xp.tape import Variable, evaluate, function, operation, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, why_not


def _fail(namespace: Any, x: Any) -> Any:
    raise ArithmeticError("a step that fails")


failing = operation("test_failing", infer=lambda x: (x.shape, x.dtype), run=_fail)


class TestInputsAndOutputs:
    def test_one_output_or_a_list(self) -> None:
        x = placeholder((None,), dtype="float64")
        array = np.asarray([1.0, 2.0])
        assert function([x], xp.sum(x))(array) == 3.0
        for outputs in ([x * 2, xp.sum(x)], (x * 2, xp.sum(x))):
            result = function([x], outputs)(array)
            assert isinstance(result, list)
            assert [r.tolist() for r in result] == [[2.0, 4.0], 3.0]
        assert function([x], [x * 2])(array)[0].tolist() == [2.0, 4.0]
        assert function([x], [])(array) == []
        assert function([x], None)(array) == []

    def test_python_values_are_taken(self) -> None:
        x, n = placeholder((None,)), placeholder((), dtype="int32")
        result = function([x, n], x * n)([1, 2], 3)
        assert result.tolist() == [3.0, 6.0]

    def test_arrays_are_cast_to_the_dtype_of_their_input(self) -> None:
        x = placeholder((None,), dtype="float32")
        run = function([x], x * 2)
        assert run(np.asarray([1, 2])).dtype == "float32"
        assert run(np.asarray([1.0, 2.0])).dtype == "float32"

    def test_an_intermediate_value_can_be_an_input(self) -> None:
        x = placeholder((None,), dtype="float64")
        y = x * 2
        assert function([y], y + 1)(np.asarray([10.0])).tolist() == [11.0]
        assert evaluate(y + 1, {y: np.asarray([5.0])}).tolist() == [6.0]
        assert (y + 1).eval({x: np.asarray([5.0])}).tolist() == [11.0]

    def test_lengths_can_be_outputs(self) -> None:
        x = placeholder((None, 3))
        assert function([x], [x.shape[0], x.shape[0] * 2])(np.zeros((4, 3))) == [4, 8]

    def test_scalars_come_back_as_arrays(self, library: Library) -> None:
        x = Variable(library.array(np.asarray([1.0, 2.0])))
        result = evaluate(xp.sum(x))
        assert library_name(result) == library.name
        assert result.shape == ()

    def test_a_missing_placeholder_is_named(self) -> None:
        x, y = placeholder((), name="x"), placeholder((), name="targets")
        with pytest.raises(ValueError, match="missing: targets"):
            function([x], x + y)
        with pytest.raises(ValueError, match="targets"):
            evaluate(y)

    def test_what_does_not_fit_is_named(self) -> None:
        x = placeholder((None, 3), name="pixels")
        run = function([x], x, name="predict")
        with pytest.raises(TypeError, match="predict takes 1 argument"):
            run()
        with pytest.raises(TypeError, match="pixels must have 2 axes"):
            run(np.ones(3))
        with pytest.raises(ValueError, match=r"pixels must have shape .*got \(2, 4\)"):
            run(np.ones((2, 4)))
        with pytest.raises(TypeError, match="givens"):
            run(x)
        with pytest.raises(TypeError, match="Tensors"):
            function([np.ones(2)], x)

    def test_unchecked_lengths_are_not_held_to(self) -> None:
        x = placeholder((10, 3), checked=False)
        assert function([x], xp.sum(x))(np.ones((4, 3))) == 12

    def test_unused_inputs(self) -> None:
        x, y = placeholder((), name="x"), placeholder((), name="spare")
        assert function([x, y], x * 2)(1.0, 2.0) == 2.0
        with pytest.raises(ValueError, match="spare"):
            function([x, y], x * 2, on_unused_input="raise")
        with pytest.warns(UserWarning, match="spare"):
            function([x, y], x * 2, on_unused_input="warn")
        with pytest.raises(ValueError, match="on_unused_input"):
            function([x, y], x * 2, on_unused_input="shout")
        function([x], x * 2, on_unused_input="raise")

    def test_variables_do_not_take_the_arrays_of_the_caller(self) -> None:
        x, v, w = placeholder((None,), dtype="float64"), Variable(np.zeros(3)), Variable(np.zeros(2))
        constant = np.ones(2)
        keep = function([x], None, updates=[(v, x[::-1]), (w, constant)])
        array = np.asarray([1.0, 2.0, 3.0])
        keep(array)
        array[:] = constant[:] = 9.0
        assert (v.get_value().tolist(), w.get_value().tolist()) == ([3.0, 2.0, 1.0], [1.0, 1.0])


class TestUpdates:
    def test_are_made_together_from_the_old_values(self) -> None:
        a, b = Variable(1.0), Variable(2.0)
        swap = function([], [a, b], updates=[(a, b), (b, a)])
        assert [float(v) for v in swap()] == [1.0, 2.0]
        assert (float(a), float(b)) == (2.0, 1.0)

    @pytest.mark.parametrize("kind", [list, tuple, dict, OrderedDict])
    def test_in_every_form(self, kind: type) -> None:
        a, b = Variable(1.0), Variable(2.0)
        function([], None, updates=kind([(a, a + 1.0), (b, b * 3)]))()
        assert (float(a), float(b)) == (2.0, 6.0)

    def test_nothing_changes_when_a_step_fails(self) -> None:
        a, b = Variable(np.ones(2)), Variable(np.ones(2))
        step = function([], xp.sum(a), updates=[(a, a + 1), (b, failing(b))])
        with pytest.raises(ArithmeticError):
            step()
        assert a.get_value().tolist() == b.get_value().tolist() == [1.0, 1.0]

    def test_are_cast_to_the_dtype_of_the_variable(self) -> None:
        a = Variable(np.ones(2, dtype="float32"))
        function([], None, updates=[(a, a * np.asarray([2.0, 3.0]))])()
        assert a.get_value().dtype == "float32"
        assert a.get_value().tolist() == [2.0, 3.0]

    def test_may_change_a_shape(self) -> None:
        a = Variable(np.ones(2))
        grow = function([], xp.sum(a), updates=[(a, xp.concat([a, a]))])
        assert [float(grow()) for _ in range(3)] == [2.0, 4.0, 8.0]
        assert a.shape == (16,)

    def test_what_is_wrong_is_named(self) -> None:
        a, x = Variable(np.ones(2), name="weights"), placeholder((), name="x")
        with pytest.raises(TypeError, match="Variables"):
            function([x], x, updates=[(x, x)])
        with pytest.raises(ValueError, match=r"weights.*twice"):
            function([], None, updates=[(a, a), (a, a + 1)])
        with pytest.raises(TypeError, match=r"weights.*1 axes, got 0"):
            function([], None, updates=[(a, xp.sum(a))])
        with pytest.raises(TypeError, match="updates"):
            function([], None, updates=[(a, a, a)])

    def test_on_every_library(self, library: Library) -> None:
        w = Variable(library.array(np.asarray([1.0, 2.0])))
        x = placeholder((None,), dtype="float64")
        step = function([x], xp.sum(w * x), updates=[(w, w - 0.5 * x)])
        loss = step(library.array(np.asarray([2.0, 2.0])))
        assert float(library.numpy(loss)) == 6.0
        assert library.numpy(w.value).tolist() == [0.0, 1.0]

    def test_a_variable_has_its_own_update(self) -> None:
        count = Variable(0.0)
        count.default_update = count + 1.0
        run = function([], count * 10.0)
        assert [float(run()) for _ in range(3)] == [0.0, 10.0, 20.0]
        explicit = function([], count * 1.0, updates=[(count, count - 3.0)])
        assert [float(explicit()), float(explicit())] == [3.0, 0.0]


class TestGivens:
    def test_stand_in_for_a_placeholder(self) -> None:
        data = Variable(np.arange(12.0).reshape(6, 2))
        index = placeholder((), dtype="int64", name="index")
        x = placeholder((None, 2), dtype="float64", name="x")
        total = Variable(np.zeros(2))
        batch = function(
            [index],
            [xp.sum(x), x.shape[0]],
            updates=[(total, total + xp.sum(x, axis=0))],
            givens={x: data[index * 2 : (index + 1) * 2]},
        )
        assert [[float(v) for v in batch(i)] for i in range(3)] == [[6.0, 2], [22.0, 2], [38.0, 2]]
        assert total.get_value().tolist() == [30.0, 36.0]

    def test_for_an_intermediate_value_or_a_variable(self) -> None:
        v = Variable(np.asarray([1.0, 2.0]))
        y = v * 10
        assert function([], xp.sum(y), givens=[(y, v + 1)])() == 5.0
        assert function([], xp.sum(y), givens=[(v, np.asarray([3.0, 4.0]))])() == 70.0

    def test_are_cast(self) -> None:
        x = placeholder((None,), dtype="float32")
        assert function([], x * 2, givens={x: np.asarray([1, 2])})().dtype == "float32"

    def test_are_all_put_in_at_once(self) -> None:
        x, y = placeholder((), dtype="float64"), placeholder((), dtype="float64")
        swapped = function([x, y], x - y, givens={x: y, y: x})
        assert swapped(5.0, 3.0) == -2.0
        assert function([x], x * 2, givens={x: np.asarray(4.0)})(1.0) == 8.0

    def test_one_in_terms_of_itself_is_refused(self) -> None:
        x = placeholder((), name="image")
        with pytest.raises(ValueError, match=r"image.*itself"):
            function([x], x * 2, givens={x: x / 255.0})

    def test_with_another_number_of_axes_is_refused(self) -> None:
        x = placeholder((None,))
        with pytest.raises(TypeError, match="axes"):
            function([], x, givens={x: np.ones((2, 2))})


class TestLibraries:
    def test_numpy_arguments_go_to_the_library_of_the_variables(self, library: Library) -> None:
        w = Variable(library.array(np.asarray([1.0, 2.0])))
        x = placeholder((None,), dtype="float64")
        result = function([x], w * x)(np.asarray([3.0, 4.0]))
        assert library.numpy(result).tolist() == [3.0, 8.0]

    def test_one_function_runs_on_each(self, library: Library) -> None:
        x = placeholder((None,), dtype="float64")
        run = function([x], xp.cumulative_sum(x) * 2)
        assert run(np.asarray([1.0, 2.0])).tolist() == [2.0, 6.0]
        assert library.numpy(run(library.array(np.asarray([1.0, 2.0])))).tolist() == [2.0, 6.0]

    def test_without_arrays_it_is_the_configured_one(self, library: Library) -> None:
        with use_backend(library.name):
            assert library_name(evaluate(xp.zeros((2,)))) == library.name

    @pytest.mark.skipif(why_not("dask") is not None, reason="dask is not installed")
    def test_two_libraries_are_refused(self) -> None:
        strict, dask = get_namespace("array_api_strict"), get_namespace("dask")
        w = Variable(strict.asarray([1.0, 2.0]))
        x = placeholder((None,), dtype="float64")
        with pytest.raises(TypeError, match=r"array_api_strict.*dask|dask.*array_api_strict"):
            function([x], w * x)(dask.asarray(np.ones(2)))

    def test_an_update_stays_in_its_library(self) -> None:
        strict = get_namespace("array_api_strict")
        w = Variable(np.ones(2), name="w")
        x = placeholder((None,), dtype="float64")
        step = function([x], None, updates=[(w, w + x)])
        with pytest.raises(TypeError, match=r"'w'.*another library"):
            step(strict.asarray([1.0, 2.0]))
        assert w.get_value().tolist() == [1.0, 1.0]


class TestExplain:
    """The executor that ran."""

    def test_nothing_before_the_first_call(self) -> None:
        x = placeholder((None,))
        assert function([x], x * 2.0).explain() == ""

    @pytest.mark.skipif(why_not("dask") is not None, reason="dask is not installed")
    def test_blocks_of_a_batch_or_the_whole(self) -> None:
        dask = get_namespace("dask")
        x = placeholder((None, 2), dtype="float64")
        run = function([x], xp.mean(x, axis=0), batch_axis=0, combine="mean")
        run(np.ones((4, 2)))
        run(dask.asarray(np.ones((4, 2)), chunks=(2, 2)))
        assert run.explain() == "numpy: a plan of 1 statement\ndask: one task for each block of the batch"
        run(dask.asarray(np.ones((0, 2))))  # no examples: no blocks
        assert "operation by operation" in run.explain()

    @pytest.mark.skipif(why_not("jax") is not None, reason="jax is not installed")
    def test_compiled_by_the_library(self) -> None:
        jax = get_namespace("jax")
        x = placeholder((None,), dtype="float32")
        run, rows = function([x], xp.sum(x)), jax.ones(3, dtype="float32")
        run(rows)
        assert run.explain().endswith("compiled by jax.jit")

    def test_in_another_process(self) -> None:
        x = placeholder((None,), dtype="float64")
        run = function([x], x * 2.0)
        run(np.ones(2))
        assert cloudpickle.loads(cloudpickle.dumps(run)).explain() == run.explain()
