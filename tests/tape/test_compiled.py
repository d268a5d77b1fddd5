"""Plans on a library that compiles, and plans that run uncompiled there; JAX without 64-bit types."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.namespace.compiling import compiled
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, checkpoint, function, gradients, ifelse, placeholder, scan, until, value_and_grad
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import RUNS, counted
from tests.helpers.libraries import why_not

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def on_jax() -> Any:
    RUNS.clear()
    with use_backend("jax"):
        yield


def is_compiled(run: Any) -> bool:
    """Return whether the single plan of a function was compiled."""
    return run.explain().endswith("compiled by jax.jit")


class TestPlans:
    def test_are_compiled_once_for_each_shape(self) -> None:
        x = placeholder((None,))
        run = function([x], counted(x, label="x") * 2.0)
        for _ in range(4):
            np.testing.assert_array_equal(run(jnp.ones(3)), 2.0)
        assert RUNS["x"] == 1
        assert is_compiled(run)
        run(jnp.ones(4))
        assert RUNS["x"] == 2

    def test_one_that_looks_at_values_runs_as_it_is(self) -> None:
        count = placeholder((), dtype="int64")
        run = function([count], xp.zeros((count + 0,)) + 1.0)
        for _ in range(3):
            assert run(jnp.asarray(3)).shape == (3,)
        assert not is_compiled(run)

    def test_errors_stay_what_they_are(self) -> None:
        x, y = placeholder((None,)), placeholder((None,))
        run = function([x, y], x + y)
        for _ in range(2):
            run(jnp.ones(3), jnp.ones(3))
            with pytest.raises(TypeError, match="incompatible"):
                run(jnp.ones(3), jnp.ones(4))
        run(jnp.ones(3), jnp.ones(3))
        assert is_compiled(run)

    def test_lengths_stay_integers(self) -> None:
        x = placeholder((None,))
        run = function([x], [x.shape[0], x * 2.0])
        for _ in range(3):
            assert type(run(jnp.ones(3))[0]) is int

    def test_updates(self) -> None:
        w, x = Variable(np.zeros(2)), placeholder((2,), dtype="float64")
        run = function([x], xp.sum(w), updates=[(w, w + x)])
        assert [float(run(jnp.ones(2))) for _ in range(4)] == [0.0, 2.0, 4.0, 6.0]
        assert is_compiled(run)

    def test_other_libraries_take_them_as_they_are(self) -> None:
        def plan(x: Any) -> tuple[Any, ...]:
            return (x,)

        from nbm_xp.namespace import get_namespace

        assert compiled(plan, get_namespace("numpy")) is plan


class TestDraws:
    @pytest.mark.parametrize("wide", [True, False])
    def test_have_the_same_bits_and_are_compiled_once(self, wide: bool) -> None:
        def drawn() -> tuple[list[Any], Any]:
            streams = RandomStreams(7)
            u = streams.uniform((4, 3), dtype="float32")
            chain, _ = scan(
                lambda h: 0.25 + 0.5 * xp.astype(streams.uniform((4, 3), dtype="float32") < h, "float32"),
                outputs_info=xp.full((4, 3), 0.5, dtype="float32"),
                n_steps=6,
            )
            run = function([], [counted(u, label="x"), chain])
            return [run() for _ in range(3)], run

        with use_backend("numpy"):
            expected, _ = drawn()
        RUNS.clear()
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", wide)
        try:
            found, run = drawn()
        finally:
            jax.config.update("jax_enable_x64", before)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got[0], want[0])
            np.testing.assert_array_equal(got[1], want[1])
        assert is_compiled(run)
        assert RUNS["x"] == 1

    def test_states_stay_where_they_are(self) -> None:
        with use_backend("numpy"):
            streams = RandomStreams(7)
            x = placeholder((5,), dtype="float32")
            run = function([x], x + streams.uniform((5,), dtype="float32"))
            other = function([], streams.uniform((5,), dtype="float32"))
            for _ in range(3):
                assert isinstance(run(jnp.zeros(5, dtype="float32")), jax.Array)
            assert isinstance(other(), np.ndarray)


class TestLoops:
    def test_a_long_one_is_compiled_at_once(self) -> None:
        run = function([], scan(lambda h: counted(h, label="x") * 0.5, outputs_info=Variable(1.0), n_steps=100)[0])
        assert run().shape == (100,)
        assert RUNS["x"] < 5

    def test_with_everything(self) -> None:
        def derivatives() -> list[Any]:
            x = Variable(np.linspace(-1.0, 1.0, 240).reshape(40, 6))
            w = Variable(np.linspace(-0.5, 0.5, 36).reshape(6, 6))
            info = {"initial": Variable(np.zeros((2, 6))), "taps": [-2, -1]}
            outputs, _ = scan(
                lambda row, a, b: checkpoint(lambda b: xp.tanh(row @ w + b))(b) + a * 0.1, x, info, go_backwards=True
            )
            loss = xp.sum(outputs * outputs)
            first = gradients(loss, [x, w])
            run = function([], [outputs, *first, gradients(xp.sum(first[1] * first[1]), w)])
            results = [run() for _ in range(3)]
            if x.library.__name__ == "jax.numpy":
                assert is_compiled(run)
            return [*results[0], *results[2]]

        with use_backend("numpy"):
            expected = derivatives()
        for got, want in zip(derivatives(), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("most", [9, 90])
    def test_that_stop(self, most: int) -> None:
        doubled, _ = scan(
            lambda v, e: (v * 2.0, until(v > 100.0)), None, Variable(1.0), non_sequences=Variable(1.0), n_steps=most
        )
        last, whole = function([], doubled[-1]), function([], doubled)
        for _ in range(3):
            assert float(last()) == 256.0
            assert whole().shape == (8,)
        assert is_compiled(last)
        assert not is_compiled(whole)  # its number of steps depends on data

    def test_a_state_that_changes_its_shape_is_refused_as_elsewhere(self) -> None:
        h = placeholder((None,))
        run = function([h], scan(lambda h: xp.concat([h, h]), outputs_info=h, n_steps=40)[0][-1])
        assert run(jnp.ones(0)).shape == (0,)
        short = function([h], scan(lambda h: xp.concat([h, h]), outputs_info=h, n_steps=3)[0][-1])
        for _ in range(3):
            assert short(jnp.ones(1)).shape == (8,)


class TestBranches:
    def test_of_values_that_are_known_while_running(self) -> None:
        x = placeholder((None,))
        chosen = ifelse(xp.sum(x) > 0.0, [xp.log(x), counted(x, label="x")], [-x, xp.exp(x)])
        run = function([x], [*chosen, gradients(xp.sum(chosen[0]), x)])
        for _ in range(3):
            np.testing.assert_allclose(run(jnp.full(2, 2.0))[2], 0.5)
            np.testing.assert_allclose(run(jnp.full(2, -2.0))[2], -1.0)
        assert is_compiled(run)

    def test_two_by_one_condition_and_one_inside_another(self) -> None:
        x = placeholder((2,))
        total = xp.sum(x)
        shared = xp.exp(x) * 2.0
        one = ifelse(total > 0.0, shared + 1.0, x)
        other = ifelse(total > 0.0, shared - 1.0, ifelse(total < -1.0, xp.sin(x), shared))
        run = function([x], [one, other, gradients(xp.sum(one * other), x)])
        for value in (1.0, -0.2, -3.0):
            with use_backend("numpy"):
                expected = run(np.full(2, value, dtype="float32"))
            for _ in range(3):
                for got, want in zip(run(jnp.full(2, value, dtype="float32")), expected, strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_of_different_shapes_run_as_they_are(self) -> None:
        x = placeholder((None,))
        run = function([x], ifelse(xp.sum(x) > 0.0, x, xp.concat([x, x])))
        for _ in range(3):
            assert run(jnp.ones(2)).shape == (2,)
            assert run(-jnp.ones(2)).shape == (4,)


class TestInsideAnotherCompiledFunction:
    def test_functions_and_gradients(self) -> None:
        x = placeholder((None, 3), dtype="float64")
        states, _ = scan(lambda row, h: xp.tanh(row + h), x, xp.zeros(3, dtype="float64"))
        run = function([x], [states, gradients(xp.sum(ifelse(xp.sum(x) > 0.0, states, -states)), x)])
        rows = jnp.linspace(-1.0, 2.0, 12).reshape(4, 3)
        for got, want in zip(jax.jit(lambda rows: run(rows))(rows), run(rows), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)

        def loss(rows: Any) -> Any:
            return xp.sum(scan(lambda row, h: xp.sin(row * h), rows, xp.ones(3, dtype="float64"))[0])

        value, slope = jax.jit(value_and_grad(loss))(rows)
        np.testing.assert_allclose(slope, value_and_grad(loss)(rows)[1], rtol=1e-12)
        assert value.shape == ()

    def test_updates_are_refused(self) -> None:
        x, total = placeholder(()), Variable(0.0)
        run = function([x], x, updates=[(total, total + x)], name="adding")
        with pytest.raises(TypeError, match=r"adding updates .* being compiled"):
            jax.jit(lambda x: run(x))(jnp.asarray(1.0))
        assert float(total) == 0.0


USUAL = """
import numpy as np
import nbm_xp
from nbm_xp import keras2 as K, natural_bm as B
from nbm_xp.namespace import get_namespace, to_numpy
from nbm_xp.tape import Variable, evaluate, value_and_grad
from nbm_xp.tape import namespace as xp

nbm_xp.set_backend("jax")
draw = np.random.default_rng(0)
rows, labels = draw.normal(size=(6, 4)), draw.integers(0, 3, 6)  # of 64 bits, as NumPy makes them
x, y = K.placeholder((None, 4)), K.placeholder((None,), dtype="int64")
start = draw.normal(size=(4, 3)).astype("float32")
w = K.variable(start)
hidden = K.dropout(K.batch_normalization(x, K.mean(x, 0), K.var(x, 0), 0.0, 1.0), 0.25)
loss = K.mean(K.sparse_categorical_crossentropy(K.softmax(K.dot(hidden, w)), y))
step = K.function([x, y], [loss, K.argmax(K.dot(x, w))], updates=[(w, w - 0.1 * K.gradients(loss, [w])[0])])
value, best = step([rows, labels])
assert value.dtype == "float32" and np.isfinite(value)
assert best.tolist() == np.argmax(rows.astype("float32") @ start, axis=1).tolist()
assert float(evaluate(K.random_binomial((50,), p=np.float64(0.5))).sum()) > 0
jax = get_namespace("jax")
assert str(B.cumsum(jax.asarray([True, False])).dtype) == "int32"
assert to_numpy(K.one_hot(jax.asarray([0, 2]), 3)).tolist() == [[1, 0, 0], [0, 0, 1]]
v, g = value_and_grad(lambda t: xp.sum(xp.take(t, xp.argsort(t)) ** 2))(jax.asarray([3.0, 1.0]))
assert str(g.dtype) == "float32" and g.tolist() == [6.0, 2.0]
from nbm_xp.boltzmann import RBM
from nbm_xp.rng import Generator
data = (draw.random((40, 6)) < 0.4).astype("float32")
there, here = (RBM(4, random_state=5, n_iter=2).fit(v, sample_weight=np.ones(40)) for v in (jax.asarray(data), data))
np.testing.assert_allclose(there.score(jax.asarray(data)), here.score(data), rtol=1e-5)
on_jax = lambda name, *a: getattr(Generator(5, "jax"), name)(*a)
for name, *given in (("binomial", 1, 0.5, 9), ("integers", 0, 9, 9), ("choice", 9, 4), ("permutation", 9),
                     ("categorical", np.asarray([0.25, 0.75]), 9)):
    found = on_jax(name, *given)
    assert str(found.dtype) == "int32", name
    assert to_numpy(found).tolist() == getattr(Generator(5), name)(*given).tolist(), name
try:
    Variable(np.ones(2), dtype="float64")
except TypeError as error:
    assert "64-bit types are off" in str(error)
else:
    raise AssertionError("what is asked for is refused, not narrowed")
"""


@pytest.mark.skipif(why_not("jax") is not None, reason=str(why_not("jax")))
@pytest.mark.at_night
def test_graphs_run_in_32_bits() -> None:
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # what is asked for are dtypes
    environment.pop("JAX_ENABLE_X64", None)
    run = subprocess.run([sys.executable, "-c", USUAL], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
