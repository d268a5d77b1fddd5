"""Bad input to a `Generator`: an error that names the argument, and a state that stays as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import Generator, jump
from tests.helpers.libraries import Library, guard, libraries

NAN = float("nan")
HALF = np.asarray([0.5, 0.25])

REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda g: g.normal(size=-1), ValueError, "size must hold lengths of 0 or more, got -1"),
    (lambda g: g.gamma(1.0, size=(2, None)), TypeError, "size must be an int or a tuple of ints"),
    (lambda g: g.poisson(1.0, 2.5), TypeError, "size must be an int or a tuple of ints, got 2.5"),
    (lambda g: g.integers(5, size="3"), TypeError, "size must be an int or a tuple of ints"),
    (lambda g: g.random((2**30, 2**30)), ValueError, r"size must hold at most 2\*\*55 elements"),
    (lambda g: g.exponential(HALF, 3), ValueError, r"size must hold what the parameters broadcast to, \(2,\)"),
    (lambda g: g.beta(HALF, np.ones(3)), ValueError, "do not broadcast"),
    (lambda g: g.uniform(-1e308, 1e308, 3, "float64"), ValueError, "high - low in float64 must .* 0 or more, got inf"),
    (lambda g: g.uniform(-1e39, 1.0, 3, "float32"), ValueError, "low in float32 must be finite, got -1e[+]39"),
    (lambda g: g.uniform(1.0, 0.0, 3), ValueError, "high - low in float32 must be finite and 0 or more, got -1"),
    (lambda g: g.uniform([0.0, 3.0], 2.0), ValueError, "high - low in float64 must be .* 0 or more, got -1.0 in"),
    (lambda g: g.normal(10**400, 1.0, 3), ValueError, "loc must be finite, got 1000"),
    (lambda g: g.uniform(["a"], 1.0), TypeError, r"low must be a number or an array of numbers, got \['a'\]"),
    (lambda g: g.bernoulli(np.asarray(["a"])), TypeError, "p must be a number or an array of numbers, got array"),
    (lambda g: g.binomial(["a"], 0.5), TypeError, "n must be a number or an array of numbers, got"),
    (lambda g: g.permutation(HALF, axis=0.0), TypeError, "axis must be an int, got 0.0"),
    (lambda g: g.normal(0.0, [1.0, -2.0]), ValueError, "scale must be finite and 0 or more, got -2.0 in it"),
    (lambda g: g.bernoulli(np.asarray([0.5, -0.1], "float16")), ValueError, "p must be from 0 to 1, got -0.09"),
    (lambda g: g.bernoulli(np.asarray([[0.5], [2.0]]), (2, 3)), ValueError, "p must be from 0 to 1, got 2.0 in it"),
    (lambda g: g.binomial(3, [0.5, 1.01]), ValueError, "p must be from 0 to 1, got 1.01 in it"),
    (lambda g: g.bernoulli("0.5", 3), TypeError, "p must be a number or an array"),
    (lambda g: g.bernoulli(0.5j * np.ones(2)), TypeError, "p must be real, got an array of complex128"),
    (lambda g: g.binomial([5, -1], 0.5), ValueError, r"n must be an integer from 0 to 2\*\*53, got -1 in it"),
    (lambda g: g.binomial(2.5, 0.5), TypeError, "n must be an int or an array of ints, got 2.5"),
    (lambda g: g.integers(5, 5, 3), ValueError, "high must be more than low, got 5, 5"),
    (lambda g: g.integers(5, 4, 3, endpoint=True), ValueError, "high must be low or more, got 5, 4"),
    (lambda g: g.integers(0, 300, dtype="uint8"), ValueError, "low and high must be within what uint8 holds"),
    (lambda g: g.integers(-1, 3, dtype="uint8"), ValueError, "low and high must be within what uint8 holds"),
    (lambda g: g.integers([0, -1], 3, dtype="uint8"), ValueError, "low must be within what uint8 holds"),
    (lambda g: g.integers(0.5, 3), TypeError, "low must be an int or an array of ints, got 0.5"),
    (lambda g: g.integers([1, 2], [3, 2]), ValueError, "high - low must be more than 0"),
    (lambda g: g.integers(0, 3, dtype="float32"), TypeError, "dtype must be one of int8"),
    (lambda g: g.normal(size=3, dtype="int32"), TypeError, "dtype must be one of float16, float32, float64"),
    (lambda g: g.gamma(1.0, size=3, dtype="complex64"), TypeError, "dtype must be one of float16"),
    (lambda g: g.poisson(1.0, 3, "bool"), TypeError, "dtype must be one of int8, .*; got 'bool'"),
    (lambda g: g.categorical([0.5, 0.5], 3, "float32"), TypeError, "dtype must be one of int8"),
    (lambda g: g.multinomial(3, [0.5, 0.6]), ValueError, "pvals must add up to 1 along the last axis, got 1.1"),
    (lambda g: g.multinomial(3, [1.5, -0.5]), ValueError, "pvals must be from 0 to 1, got 1.5 in it"),
    (lambda g: g.multinomial(3, 1.0), TypeError, "pvals must be an array of probabilities, got 1.0"),
    (lambda g: g.categorical(np.ones((2, 0))), ValueError, "pvals must have probabilities along its last axis"),
    (lambda g: g.categorical([[0.5, 0.5], [0.5, 0.4]]), ValueError, "pvals must add up to 1"),
    (lambda g: g.choice(0), ValueError, "a must hold something to choose from, got 0 things"),
    (lambda g: g.choice(2.5), TypeError, "a must be an int or an array of ints, got 2.5"),
    (lambda g: g.choice(3, 4, replace=False), ValueError, "size must be at most 3 without replacement, got 4"),
    (lambda g: g.choice(3, p=[0.5, 0.5]), ValueError, r"p must have a probability for each of 3, got shape \(2,\)"),
    (lambda g: g.choice(2, p=[0.5, 0.6]), ValueError, "p must add up to 1"),
    (lambda g: g.choice(2, p=-1), TypeError, "p must be an array of probabilities, got -1"),
    (lambda g: g.choice(1, p=np.asarray(1.0)), ValueError, r"p must have a probability for each of 1, got shape"),
    (lambda g: g.choice(3, 2, False, [0.0, 1.0, 0.0]), ValueError, "size must be at most 1, as many as have"),
    (lambda g: g.choice(np.ones((2, 3)), axis=2), ValueError, "axis must be from -2 to 1, got 2"),
    (lambda g: g.permutation(np.ones(3), axis=1), ValueError, "axis must be from -1 to 0, got 1"),
    (lambda g: g.permutation(-1), ValueError, "x must be 0 or more, got -1"),
    (lambda g: g.permutation(1.5), TypeError, "x must be an int or an array of ints, got 1.5"),
    (lambda g: g.shuffle([1, 2]), TypeError, "x must be an array, got list"),
    (lambda g: g.random(out=[1.0]), TypeError, "out must be an array, got list"),
    (lambda g: g.random(3, out=np.zeros(2)), ValueError, r"out must have the shape that size says, \(3,\); got"),
    (lambda g: g.random((), out=np.zeros(2)), ValueError, r"out must have the shape that size says, \(\); got"),
    (lambda g: g.normal(np.zeros(3), out=np.zeros(2)), ValueError, "size must hold what the parameters"),
    (lambda g: g.normal(out=np.zeros(2, "int64")), TypeError, "out must be of floating-point dtype, got int64"),
    (lambda g: g.exponential(dtype="float32", out=np.zeros(2)), TypeError, "out must be of float32 dtype, got float64"),
    (lambda g: g.standard_exponential(3, method="zig"), ValueError, "method must be 'inv', inversion, got"),
    (lambda g: g.jumped(-1), ValueError, "jumps must be 0 or more, got -1"),
    (lambda g: jump((1, 2, 3, 4, 5, 6), -1), ValueError, "steps must be zero or more, got -1"),
    (lambda g: g.advance(1.5), TypeError, "n must be an int, got 1.5"),
    (lambda g: g.spawn(-1), ValueError, "n must be 0 or more, got -1"),
    (lambda g: g.substreams(2**26), ValueError, r"n must be at most 2\*\*25"),
    (lambda g: g.fold_in(1.5), TypeError, "data must be an int or a str, got 1.5"),
    (lambda g: setattr(g, "state", (1, 2, 3, 4, 5, 6, -1)), ValueError, "the counter of the state must be 0"),
    (lambda g: g.triangular(0.0, 2.0, 1.0), ValueError, "left, mode, right must be in .*got 0.0, 2.0, 1.0"),
    (lambda g: g.triangular(0, [0.25, 1.0], 0.5), ValueError, "left, mode, right must be .*, got 0.0, 1.0, 0.5"),
    (lambda g: g.negative_binomial(1e18, 0.01), ValueError, "n, p must be so that"),
    (lambda g: g.hypergeometric(1, 2, 4), ValueError, "ngood, nbad, nsample must be so that.*got 1, 2, 4"),
    (lambda g: g.hypergeometric(2**53, 1, 4), ValueError, "ngood, nbad, nsample must be so that"),
    (lambda g: g.dirichlet([-1.0, 1.0]), ValueError, "alpha must be finite and 0 or more, got -1.0"),
    (lambda g: g.dirichlet([0.0, 0.0]), ValueError, "alpha must be above 0 in one component"),
    (lambda g: g.multivariate_normal([0, 0], [[1, 0, 0]]), ValueError, r"cov must have shape \(n, n\), got .*\(1, 3\)"),
    (lambda g: g.multivariate_normal([0, 0, 0], np.eye(2)), ValueError, "mean and cov must be of .*, got 3 and 2"),
    (lambda g: g.multivariate_normal([0, 0], np.eye(2), check_valid="x"), ValueError, "check_valid must be 'warn' or"),
    (lambda g: g.multivariate_normal([0, 0], np.eye(2), method="x"), ValueError, "method must be 'svd' or"),
    (lambda g: g.multivariate_hypergeometric([1, 2], 2, method="x"), ValueError, "method must be 'marginals' or"),
    (lambda g: g.multivariate_hypergeometric([1, 2], 4), ValueError, "nsample less all colors must be 0 or less"),
    (lambda g: g.multivariate_hypergeometric([[1, 2]], 2), ValueError, r"colors must have shape \(n,\)"),
    (lambda g: g.bytes(-1), ValueError, "length must be 0 or more, got -1"),
    (lambda g: g.permuted([1, 2, 3], axis=2), ValueError, "axis must be from -1 to 0, got 2"),
    (lambda g: g.permuted(np.arange(3), out=np.zeros(3)), ValueError, "out must have the library, dtype and shape"),
    (lambda g: g.random(3, "beerfloat"), TypeError, "dtype must be one of"),
    (lambda g: g.permutation(2**60), ValueError, "x must be at most 2\\*\\*55, got 1152921504606846976"),
    (lambda g: g.random(out=np.asarray(["a"])), TypeError, "out must hold numbers: .* got <U1"),
    (lambda g: g.integers(3, dtype=np.asarray(["a"])), TypeError, "the dtype of an array must be .*; got <U1"),
    (lambda g: g.choice(2**60, 3, replace=False), ValueError, "a must be at most"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_errors_name_the_argument_and_leave_the_state_alone(call: Any, error: type[Exception], message: str) -> None:
    generator = Generator(5)
    with pytest.raises(error, match=message):
        call(generator)
    assert generator == Generator(5)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "all"])
def test_threads(threads: Any) -> None:
    with pytest.raises(ValueError, match="threads must be an int of 1 or more"):
        Generator(5, threads=threads)


LATE: list[tuple[Any, str]] = [
    (lambda g, a: g.multinomial(a([5, -1]), [0.5, 0.5]), r"n must be an integer from 0 to 2\*\*53, got -1 in it"),
    (lambda g, a: g.triangular(0.0, a([0.5, 2.0]), 1.0), "left, mode, right must be in ascending order"),
    (lambda g, a: g.hypergeometric(a([1, 2]), 1, 3), "ngood, nbad, nsample must be so that"),
    (lambda g, a: g.multivariate_hypergeometric(a([1, 2]), 4, 3), "nsample less all colors must be 0 or less"),
    (lambda g, a: g.dirichlet(a([0.0, 0.0]), 3), "alpha must be above 0 in one component"),
    (lambda g, a: g.categorical(a([0.5, 0.6]), 3), "pvals must add up to 1"),
    (lambda g, a: g.multinomial(3, a([0.5, 0.6])), "pvals must add up to 1"),
    (lambda g, a: g.integers(a([3, 2]), 3), "high - low must be more than 0"),
    (lambda g, a: g.choice(2, p=a([0.5, 0.6])), "p must add up to 1"),
    (lambda g, a: g.choice(3, 2, False, a([0.0, 0.0, 1.0])), "size must be at most 1, as many as have"),
    (lambda g, a: g.choice(3, 2, False, a([NAN, 0.5, 0.5])), "p must be from 0 to 1"),
]


@pytest.mark.parametrize("library", libraries("dask-one"))
@pytest.mark.parametrize(("call", "message"), LATE)
def test_values_in_dask_arrays_are_errors_when_computed(library: Library, call: Any, message: str) -> None:
    with guard():
        lazy = call(Generator(5), lambda value: library.array(np.asarray(value)))
    with pytest.raises(ValueError, match=message):
        lazy.compute(scheduler="synchronous")


@pytest.mark.parametrize("library", libraries("dask-one"))
def test_dask_shapes_must_be_known(library: Library) -> None:
    x = library.array(np.asarray([0.5, 0.25]))
    unknown = x[x > 0.3]
    generator = Generator(5)
    with guard(), pytest.raises(TypeError, match="parameters must have known shapes"):
        generator.bernoulli(unknown)
    generator = Generator(5, "dask")
    for draw in (generator.random, generator.normal, generator.exponential, generator.standard_normal):
        with guard(), pytest.raises(ValueError, match=r"chunks must say how .* Chunks do not add up to shape"):
            draw(size=3, chunks=((1, 1),))
    assert generator == Generator(5, "dask")
