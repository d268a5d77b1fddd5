"""What parameters and sizes may be, as `numpy.random.Generator` takes them: NumPy's scalars, lists, no size at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nbm_xp.cli import digests
from nbm_xp.namespace import kernels, library_name, to_numpy
from nbm_xp.rng import Generator
from tests.helpers.libraries import Library, guard, libraries

pytestmark = pytest.mark.at_night("jax")

LIBRARIES = libraries("numpy", "dask", "array_api_strict", "torch", "jax", "cupy")

ONE = (
    "random", "uniform", "normal", "integers", "binomial, few", "binomial, many", "poisson, small", "categorical",
    "gamma, small shape", "multinomial", "bernoulli",
)  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ONE)
def test_one_number(library: Library, name: str) -> None:
    """Without a size there are no axes, and the number is the first of several."""
    dtype = "float32" if name in digests.REAL else None
    want = to_numpy(digests.draw(Generator(5, "numpy"), name, 1, dtype))[0]
    for size in (None, ()):
        with guard():
            got = digests.draw(Generator(5, library.name), name, size, dtype)
        assert type(got) is type(library.array(np.zeros(1)))
        assert tuple(got.shape) == want.shape
        np.testing.assert_array_equal(library.numpy(got), want)


@pytest.mark.parametrize("scalar", [np.int64, np.uint8, np.uint64, np.asarray])
def test_numpy_scalars_are_the_ints_they_hold(scalar: Any) -> None:
    seven = scalar(7)
    for draw in (
        lambda g, n: g.integers(n, size=20), lambda g, n: g.integers(0, n, 20, endpoint=True),
        lambda g, n: g.permutation(n), lambda g, n: g.binomial(n, 0.3, 20), lambda g, n: g.binomial(n * n, 0.3, 20),
        lambda g, n: g.choice(n, 20), lambda g, n: g.choice(n, n, replace=False),
        lambda g, n: g.multinomial(n, [0.5, 0.5], 3),
        lambda g, n: g.permutation(np.arange(14).reshape(2, 7), axis=n // n),
    ):  # fmt: skip
        np.testing.assert_array_equal(draw(Generator(5), seven), draw(Generator(5), 7), strict=True)
    assert Generator(5).binomial(seven, 1.0) == 7
    lazy = Generator(5, "dask").integers(seven, size=20)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), Generator(5).integers(7, size=20))


def test_bounds_of_all_64_bits_may_be_numpy_scalars() -> None:
    for dtype in ("int64", "uint64"):
        least, most = (getattr(np.iinfo(dtype), end) for end in ("min", "max"))
        want = Generator(5).integers(least, most, 9, dtype, endpoint=True)
        scalars = np.dtype(dtype).type(least), np.dtype(dtype).type(most)
        np.testing.assert_array_equal(Generator(5).integers(*scalars, 9, dtype, endpoint=True), want, strict=True)


def test_nothing_to_draw() -> None:
    for draw in (
        lambda g: g.integers([]), lambda g: g.binomial([], 0.5), lambda g: g.poisson([]), lambda g: g.uniform([], 1.0),
        lambda g: g.permutation([]), lambda g: g.choice([], 0), lambda g: g.choice(5, 0, False),
        lambda g: g.multinomial(5, [0.5, 0.5], 0)[:, 0],
    ):  # fmt: skip
        assert draw(Generator(5)).shape == (0,)


def test_things_that_are_no_numbers() -> None:
    words = ["a", "b", "c", "d"]
    order = Generator(5).permutation(4)
    np.testing.assert_array_equal(Generator(5).permutation(words), np.asarray(words)[order], strict=True)
    np.testing.assert_array_equal(Generator(5).choice(words, 4, False), np.asarray(words)[order], strict=True)
    things = np.asarray([None, "b", 3, (4, 5)], dtype=object)
    Generator(5).shuffle(things)
    assert things.tolist() == [[None, "b", 3, (4, 5)][i] for i in order]
    rows = np.asarray([(1, 2.0), (3, 4.0)], dtype=[("n", "i8"), ("x", "f8")])
    assert set(Generator(5).permutation(rows)["n"]) == {1, 3}
    with pytest.raises(ValueError, match="a must be an int or hold things of one shape"):
        Generator(5).choice([[1], [2, 3]])


def test_what_has_no_probability_is_not_chosen() -> None:
    for p in ([0.0, 1.0, 5e-324], [5e-324, 1.0, 0.0], [0.0, 5e-324, 1.0]):
        assert {p[i] > 0 for i in Generator(5).choice(3, 2, False, p).tolist()} == {True}


NARROW: dict[str, tuple[Any, str]] = {
    "poisson": (lambda g, dtype: g.poisson([3.0, 1000.0], dtype=dtype), "count"),
    "binomial": (lambda g, dtype: g.binomial(1000, 0.5, 3, dtype=dtype), "count"),
    "binomial, arrays": (lambda g, dtype: g.binomial([5, 1000], 0.5, dtype=dtype), "count"),
    "multinomial": (lambda g, dtype: g.multinomial(1000, [0.25, 0.75], 3, dtype=dtype), "count"),
    "categorical": (lambda g, dtype: g.categorical(np.full(300, 1 / 300), 3, dtype=dtype), "numbers of all 300"),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_dtype_must_hold_what_is_drawn(name: str, threads: int) -> None:
    draw, what = NARROW[name]
    rng = Generator(5, threads=threads)
    with pytest.raises(ValueError, match=f"dtype must hold .*{what}"):
        draw(rng, "int8")
    assert rng == Generator(5)
    want = draw(Generator(5), "int64")
    for dtype in ("int16", "uint16", "int32", "uint64"):
        np.testing.assert_array_equal(draw(Generator(5), dtype), want)
    pytest.importorskip("dask.array")
    if what == "count":
        with pytest.raises(ValueError, match="dtype must hold all counts, and int8 holds none above 127; got a count"):
            draw(Generator(5, "dask"), "int8").compute(scheduler="synchronous")


@pytest.mark.parametrize(
    "name", ["exponential", "laplace", "logistic", "gumbel", "truncated_normal", "gamma", "normal"]
)
def test_parameters_must_be_finite_in_the_dtype(name: str) -> None:
    first = "scale" if name == "exponential" else "shape" if name == "gamma" else "loc"
    for draw in (
        lambda g: getattr(g, name)(1e39, size=3),
        lambda g: getattr(g, name)(np.asarray([1.0, 1e39]), dtype="float32"),
        lambda g: getattr(g, name)(np.asarray([1, 2**40]), dtype="float16"),
    ):
        rng = Generator(5)
        with pytest.raises(ValueError, match=f"{first} in float(32|16) must be finite, got 1.*e?"):
            draw(rng)
        assert rng == Generator(5)
        assert np.isfinite(getattr(rng, name)(1e39, size=3, dtype="float64")).all()
    da = pytest.importorskip("dask.array")
    lazy = getattr(Generator(5), name)(da.from_array(np.asarray([1.0, 1e39])), dtype="float32")
    with pytest.raises(ValueError, match=f"{first} in float32 must be finite, got 1e.39 in it"):
        lazy.compute(scheduler="synchronous")


SPLIT: dict[str, Any] = {
    "uniform": lambda g, a, **k: g.uniform(a, 2.0, **k), "normal": lambda g, a, **k: g.normal(a, a + 1.0, **k),
    "bernoulli": lambda g, a, **k: g.bernoulli(a, **k), "binomial": lambda g, a, **k: g.binomial(3, a, **k),
    "gamma": lambda g, a, **k: g.gamma(a, **k),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_chunks_asked_for_are_kept(name: str) -> None:
    """Also where parameters are split otherwise."""
    da = pytest.importorskip("dask.array")
    a = np.linspace(0.1, 0.9, 12).reshape(2, 6)
    with guard():
        lazy = SPLIT[name](Generator(5), da.from_array(a, chunks=(1, 4)), chunks=((2,), (1, 5)))
    assert lazy.chunks == ((2,), (1, 5))
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), SPLIT[name](Generator(5), a))


@pytest.mark.parametrize("chunks", [0, -2, 2.5, "x", ((3,), (4, 1)), (float("nan"), 2)])
def test_chunks_that_are_none(chunks: Any) -> None:
    pytest.importorskip("dask.array")
    rng = Generator(5, "dask")
    for draw in (rng.random, rng.gamma):
        with pytest.raises(ValueError, match="chunks must"):
            draw(2.0, size=(3, 4), chunks=chunks) if draw == rng.gamma else draw((3, 4), chunks=chunks)
    assert rng.state == Generator(5).state


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_of_another_byte_order_or_place(dtype: str) -> None:
    """It is filled, and read, as any other."""
    swapped = np.dtype(dtype).newbyteorder()
    for draw in (
        lambda g, **k: g.random(**k), lambda g, **k: g.normal(1.0, 2.0, **k), lambda g, **k: g.exponential(**k),
        lambda g, **k: g.uniform(np.zeros(7, swapped), 2.0, **k),
    ):  # fmt: skip
        want = draw(Generator(5), out=np.zeros(7, dtype))
        apart = np.frombuffer(bytearray(7 * swapped.itemsize + 1), dtype, offset=1)
        for out in (np.zeros(7, swapped), apart, np.zeros((7, 3), dtype)[:, 1]):
            assert draw(Generator(5), out=out) is out
            np.testing.assert_array_equal(out, want)
    p = np.linspace(0.0, 1.0, 7).astype(dtype)
    np.testing.assert_array_equal(Generator(5).bernoulli(p.astype(swapped)), Generator(5).bernoulli(p))
    np.testing.assert_array_equal(Generator(5).poisson(p.astype(swapped)), Generator(5).poisson(p))


def test_a_librarys_own_kernel_makes_ones_and_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are made on the host, and handed over as arrays of the kernel's library."""
    asked: list[str] = []

    def kernel(states: Any, p: Any, *options: Any) -> None:
        asked.extend(library_name(x) for x in (states, p))

    monkeypatch.setitem(kernels._KERNELS, ("rng.bernoulli", "array_api_strict"), kernel)
    drawn = Generator(5, "array_api_strict").bernoulli(np.linspace(0, 1, 50))
    assert asked == ["array_api_strict", "array_api_strict"]
    np.testing.assert_array_equal(to_numpy(drawn), Generator(5).bernoulli(np.linspace(0, 1, 50)))


def test_any_text_is_a_name() -> None:
    assert Generator(5).fold_in("\ud800") != Generator(5).fold_in("\ud801")


def test_threads_may_be_a_numpy_integer() -> None:
    assert repr(Generator((5,) * 6, threads=np.int64(2))) == "Generator((5, 5, 5, 5, 5, 5), threads=2)"


@pytest.mark.parametrize("threads", [1, 2])
def test_draws_of_python_threads_are_those_of_one(threads: int) -> None:
    def draw(rng: Generator) -> bytes:
        return b"".join(
            (rng.gamma(0.5, 1.0, 300).tobytes(), rng.binomial(100, 0.5, 300).tobytes(), rng.permutation(50).tobytes())
        )

    one, many = Generator(3), Generator(3, threads=threads)
    few = sorted(tuple(one.random(2, "float32")) for _ in range(200))  # of a table that is made ahead
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: tuple(many.random(2, "float32")), range(200))) == few
    want = {one.random(70_000).tobytes() for _ in range(40)}  # of five steps each
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: many.random(70_000).tobytes(), range(40))) == want
        assert one == many
        drawn = list(pool.map(lambda _: draw(many), range(20)))
    assert len(set(drawn)) == 20
    assert many == one.advance(60)  # a step for each of three draws
