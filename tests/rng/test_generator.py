"""`Generator`: its methods, its parameters, its state."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import core, set_floatx, to_numpy, use_backend
from nbm_xp.rng import Generator, jump
from nbm_xp.tape import Variable
from tests.helpers.calls import memory_of
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")


def test_library_comes_from_the_generator_then_the_parameters_then_the_configuration(library: Library) -> None:
    with use_backend(library.name):
        library.numpy(Generator(1).random(3))
    library.numpy(Generator(1, library.name).random(3))
    library.numpy(Generator(1).bernoulli(library.array([0.5, 0.2])))
    library.numpy(Generator(1, library.name).uniform(np.zeros(3), 1.0))


@pytest.mark.parametrize("library", libraries("torch", "jax", "array_api_strict"))
def test_parameters_of_two_libraries_are_refused(library: Library) -> None:
    with pytest.raises(TypeError, match=library.name):
        Generator(1, "numpy").uniform(library.array([0.0]), 1.0)
    with pytest.raises(TypeError, match=library.name):
        Generator(1).uniform(library.array([0.0]), np.ones(1))


def test_library_is_known_by_its_aliases_and_checked() -> None:
    assert Generator(1, "cpu").library == "numpy"
    with pytest.raises(ValueError, match="library must be one of"):
        Generator(1, "fortran")


@pytest.mark.parametrize(
    "size",
    [None, (), 0, 3, (3,), [2, 3], (2, 0), np.int64(4), (np.int32(4),), np.asarray([4]), np.asarray(4)],
    ids=repr,
)
def test_sizes(size: Any, library: Library) -> None:
    shape = np.empty(() if size is None else size).shape
    with use_backend(library.name):
        for x in (
            Generator(1).random(size), Generator(1).normal(size=size), Generator(1).binomial(3, 0.5, size),
            Generator(1).random(size, "float64", bits=31),
        ):  # fmt: skip
            assert library.numpy(x).shape == shape


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_what_no_memory_holds_is_refused_at_once(dtype: str) -> None:
    rng = Generator(1, "numpy")
    with pytest.raises(MemoryError):
        rng.random(2**50, dtype)
    assert rng == Generator(1, "numpy")


def test_parameters_broadcast(library: Library) -> None:
    lows, highs = np.asarray([[0.0], [-10.0]], "float32"), np.asarray([1.0, 2.0, 3.0], "float32")
    low, high = library.array(lows), library.array(highs)
    x = library.numpy(Generator(5, library.name).uniform(low, high))
    u = to_numpy(Generator(5).random((2, 3)))
    np.testing.assert_array_equal(x, u * (highs - lows) + lows, strict=True)
    z = Generator(5, library.name).normal(low, high, (4, 2, 3))
    assert library.numpy(z).shape == (4, 2, 3)
    with pytest.raises(ValueError, match=r"size must hold what the parameters broadcast to, \(2, 3\); got 3"):
        Generator(5, library.name).uniform(low, high, 3)
    with pytest.raises(ValueError, match="do not broadcast"):
        Generator(5, library.name).normal(library.array([1.0, 2.0]), high)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    assert Generator(1).random(3, dtype).dtype == dtype
    assert Generator(1).normal(size=3, dtype=dtype).dtype == dtype
    set_floatx(dtype)
    assert Generator(1).uniform(0, 2, 3).dtype == dtype
    assert Generator(1).bernoulli(0.5, 3).dtype == dtype
    assert Generator(1).uniform(np.zeros(3), 2).dtype == "float64"
    assert Generator(1).binomial(2, 0.5, 3).dtype == "int64"
    assert Generator(1).bernoulli(np.full(3, 0.5, "float32")).dtype == "float32"
    assert Generator(1).bernoulli(np.full(3, 1)).dtype == dtype


def test_jax_without_its_64_bit_types_draws_the_same_bits_and_rejects_float64() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    with jax.enable_x64(False):
        for dtype in ("float16", "float32"):
            for name, first in (("random", ()), ("normal", (1.0, 2.0)), ("gamma", (0.7,)), ("exponential", ())):
                got = getattr(Generator(1, "jax"), name)(*first, size=(3, 4), dtype=dtype)
                want = getattr(Generator(1), name)(*first, size=(3, 4), dtype=dtype)
                np.testing.assert_array_equal(to_numpy(got), want, strict=True)
        with pytest.raises(TypeError, match="JAX has no float64"):
            Generator(1, "jax").random(3, "float64")


def test_bits_of_uniforms() -> None:
    fine, plain = Generator(1).random(10_000, "float64"), Generator(1).random(10_000, "float64", bits=31)
    assert np.array_equal(plain * 2.0**31 % 1, np.zeros(10_000))
    assert (fine * 2.0**31 % 1 != 0).mean() > 0.99
    assert (np.abs(fine - plain) <= 2.0**-31).all()
    assert (fine > 0).all()
    assert (fine < 1).all()
    assert np.array_equal(Generator(1).random(9, "float64", bits=53), fine[:9])
    for dtype, bits in (("float32", 53), ("float64", 32)):
        with pytest.raises(ValueError, match="bits must be 31, or 53 where dtype is float64"):
            Generator(1).random(3, dtype, bits=bits)


def test_binomial_with_arrays_of_trials() -> None:
    n = np.asarray([0, 1, 5, 100])
    counts = Generator(3).binomial(n, 0.5, (2000, 4))
    assert (counts <= n).all()
    np.testing.assert_allclose(counts.mean(0), n / 2, atol=1)
    assert Generator(3).binomial(n[:0], 0.5).shape == (0,)
    np.testing.assert_array_equal(Generator(3).binomial(4, [0.0, 1.0]), [0, 4])
    np.testing.assert_array_equal(Generator(3).binomial(2, 1.0, 3, "bool"), [True] * 3)


def test_tensors_are_for_random_streams() -> None:
    with pytest.raises(TypeError, match=r"p must be a number or an array \(RandomStreams takes Tensors\)"):
        Generator(1).bernoulli(Variable([0.5]))


def test_a_state_can_be_read_set_compared_copied_and_written_down() -> None:
    generator = Generator([1, 2, 3, 4, 5, 6], "numpy", threads=2)
    assert generator.state == (1, 2, 3, 4, 5, 6, 0)
    assert repr(generator) == "Generator((1, 2, 3, 4, 5, 6), library='numpy', threads=2)"
    assert generator not in (Generator([1, 2, 3, 4, 5, 6]), 3)
    generator.spawn(3)
    generator.random(4)
    assert repr(generator) == f"Generator({generator.state}, library='numpy', threads=2)"
    copies = [copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    copies += [eval(repr(generator)), Generator(json.loads(json.dumps(generator.state)), "numpy", threads=2)]
    assert all(other == generator and repr(other) == repr(generator) for other in copies)
    first, child = generator.random(3), generator.spawn(1)
    for other in copies:
        assert other != generator
        np.testing.assert_array_equal(other.random(3), first)
        assert other.spawn(1) == child
        assert other == generator
    generator.state = 7
    assert generator == Generator(7, "numpy")
    with pytest.raises(TypeError, match="unhashable"):
        hash(generator)


def test_children_differ_from_each_other_and_from_all_else() -> None:
    generator = Generator(5)
    made = [*generator.spawn(3), *generator.spawn(2), *generator.spawn(2)[0].spawn(2), Generator(5)]
    made += [Generator(5).fold_in(data) for data in (0, 1, -1, 10**30, "", "0", "1")]
    made += Generator(5).substreams(3)[1:]
    made += [*Generator(5).split(3), Generator(), Generator()]
    assert len({other.state for other in made}) == len(made)
    assert Generator(5).spawn(5) == [*Generator(5).spawn(3), *_spawned_later(3, 2)]
    assert generator.state == (*Generator(5).state[:6], 7)
    np.testing.assert_array_equal(generator.random(4), Generator(5).random(4))


def _spawned_later(before: int, n: int) -> list[Generator]:
    generator = Generator(5)
    generator.spawn(before)
    return generator.spawn(n)


def test_jumps() -> None:
    state = (6, 5, 4, 3, 2, 1)
    generator = Generator(state)
    assert generator.jumped(3).state[:6] == jump(state, 3 * 2**134)
    assert generator == Generator(state)
    assert generator.advance(12345).state[:6] == jump(state, 12345)
    drawn = Generator(5)
    for n, steps in ((0, 0), (1, 2), (15_360, 2), (15_361, 2), (3 * 15_360, 4)):
        drawn.normal(size=n)
        assert drawn == Generator(5).advance(steps)
        drawn.state = 5
        drawn.gamma(2.0, size=n)
        assert drawn == Generator(5).advance(-(-n // 15_360))
        drawn.state = 5
    for index, worker in enumerate(Generator(state).substreams(6)):
        assert worker.state[:6] == jump(state, index * 2**160)
    assert Generator(5).substreams(0) == Generator(5).spawn(0) == Generator(5).split(0) == []


FILLED: list[tuple[str, tuple[Any, ...]]] = [
    ("random", ()), ("uniform", (-1.5, 2.5)), ("uniform", ([-1.0, 0.0, 1.0], 2.0)), ("standard_normal", ()),
    ("normal", (1.0, 2.0)), ("normal", (1.0, [1.0, 2.0, 3.0])), ("standard_exponential", ()), ("exponential", (3.0,)),
    ("standard_gamma", (2.0,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "jax")))
@pytest.mark.parametrize(("name", "parameters"), FILLED)
def test_an_array_that_is_there_takes_the_numbers(library: Library, name: str, parameters: Any, dtype: str) -> None:
    if library.name == "array_api_strict" and dtype == "float16":
        pytest.skip("array_api_strict has no float16")
    for shape, part in (((4, 3), ...), ((0, 3), ...), ((7, 6), (slice(None, None, 2), slice(None, None, 2)))):
        if library.name == "dask" and part is not ...:
            continue
        memory = library.array(np.full(shape, -7.0, dtype))
        out = memory[part]
        generator, other = Generator(5), Generator(5, library.name)
        assert getattr(generator, name)(*parameters, out=out) is out
        want = library.numpy(getattr(other, name)(*parameters, size=tuple(out.shape), dtype=dtype))
        np.testing.assert_array_equal(library.numpy(out), want, strict=True)
        if library.name != "dask":
            np.testing.assert_array_equal(library.numpy(memory)[part], want, strict=True)
            assert (np.delete(library.numpy(memory), slice(None, None, 2), 1) == -7.0).all() or part is ...
        assert generator.state == other.state


def test_a_kernel_fills_an_array_that_is_there_and_no_other() -> None:
    if core.level() == "none":
        pytest.skip("there are no kernels")
    out = np.empty((1000, 1000), "float32")
    for draw in (Generator(5).random, Generator(5).normal):
        assert memory_of(lambda draw=draw: draw(out=out)) < out.nbytes / 2  # type: ignore[misc]


@pytest.mark.parametrize("library", libraries("numpy-readonly", "jax"))
def test_what_cannot_be_written_to_is_neither_filled_nor_shuffled(library: Library) -> None:
    generator, x = Generator(5), library.array(np.zeros(5))
    with pytest.raises(TypeError, match="out must be an array that can be written to"):
        generator.random(out=x)
    with pytest.raises(TypeError, match="x must be an array that can be written to, use permutation instead"):
        generator.shuffle(x)
    assert generator == Generator(5)


@pytest.mark.parametrize("library", libraries("torch", "array_api_strict", "dask", "cupy"))
def test_shuffle_is_a_permutation_in_place(library: Library) -> None:
    x = library.array(np.arange(12).reshape(3, 4))
    want = Generator(5).permutation(np.arange(12).reshape(3, 4), axis=1)
    assert Generator(5).shuffle(x, axis=1) is None
    np.testing.assert_array_equal(library.numpy(x), want)
    host = np.arange(12).reshape(3, 4)
    Generator(5).shuffle(host, axis=1)
    np.testing.assert_array_equal(host, want)
    assert (np.sort(want, axis=1) == np.arange(12).reshape(3, 4)).all()


def test_choices_without_replacement_are_different() -> None:
    for p in (None, np.full(20, 0.05)):
        chosen = Generator(5).choice(20, (4, 5), replace=False, p=p)
        assert sorted(chosen.ravel()) == list(range(20))
    assert Generator(5).choice(7).shape == ()
    assert Generator(5).permutation(0).shape == (0,)


@given(st.integers(1, 9), st.integers(0, 60), st.integers(0, 5))
@settings(max_examples=30)
def test_multinomial_counts_add_up(outcomes: int, n: int, rows: int) -> None:
    p = np.random.default_rng(outcomes).dirichlet(np.ones(outcomes), max(rows, 1))
    counts = Generator(5).multinomial(n, p)
    assert counts.shape == p.shape
    assert (counts >= 0).all()
    assert (counts.sum(-1) == n).all()
