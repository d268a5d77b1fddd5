"""A generator as a value: argument and result of functions that JAX compiles, loops over and maps, same bits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import Generator

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

P = np.asarray([0.2, 0.3, 0.5], dtype=np.float32)
FEW: dict[str, Callable[[Generator], Any]] = {
    "uniform": lambda r: r.uniform(-1.0, 3.3, (3, 4), "float32"),
    "normal": lambda r: r.normal(1.0, 0.3, 30, "float32"),
    "permutation": lambda r: r.permutation(30),
}
MANY: dict[str, Callable[[Generator], Any]] = {
    "exponential": lambda r: r.exponential(1.7, 30, "float32"), "bernoulli": lambda r: r.bernoulli(P, (4, 3)),
    "categorical": lambda r: r.categorical(P, 30), "choice": lambda r: r.choice(10, 5, replace=False),
    "gamma": lambda r: r.gamma(0.7, 1.3, 300, "float32"), "beta": lambda r: r.beta(0.7, 1.3, 300, "float32"),
    "standard_t": lambda r: r.standard_t(3.0, 300, "float32"), "poisson": lambda r: r.poisson([4.0, 40.0], (150, 2)),
    "binomial": lambda r: r.binomial(1000, 0.3, 300), "integers": lambda r: r.integers(3, 1000, 300),
    "multinomial": lambda r: r.multinomial(20, P, 5), "dirichlet": lambda r: r.dirichlet(P, 5),
}  # fmt: skip


def rng() -> Generator:
    return Generator(234, "jax")


@pytest.mark.at_night("uniform", "permutation", "float64")
@pytest.mark.parametrize(
    ("name", "wide"),
    [
        *(("uniform", True), ("normal", False), ("permutation", False), ("float64", True)),
        *(pytest.param(name, wide, marks=pytest.mark.slow) for wide in (True, False) for name in MANY),
    ],
)
def test_bits_with_and_without_jit(name: str, wide: bool) -> None:
    draw = (FEW | MANY).get(name, lambda r: r.normal(1.0, 0.3, 30, "float64"))
    with jax.enable_x64(wide):
        plain = rng()
        expected = draw(plain)
        found, after = jax.jit(lambda r: (draw(r), r))(rng())
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), strict=True)
    assert after == plain
    assert pickle.loads(pickle.dumps(after)) == copy.copy(after) == plain


def test_scan_is_a_loop() -> None:
    after, found = jax.lax.scan(lambda r, _: (r, r.random(2)), rng(), None, length=3)
    one = rng()
    np.testing.assert_array_equal(found, np.stack([one.random(2) for _ in range(3)]))
    assert after == one


@pytest.mark.at_night
def test_map_over_parts_is_a_loop() -> None:
    parts = rng().split(3)
    together = jax.tree.map(lambda *states: jnp.stack(states), *parts)
    with pytest.raises(ValueError, match=r"the state of one generator has shape \(6,\), got \(3, 6\)"):
        together.random()
    loc = jnp.asarray([0.0, 1.0, 2.0])
    found = jax.jit(jax.vmap(lambda r, m: r.normal(m, 2.0, 4)))(together, loc)
    np.testing.assert_array_equal(found, np.stack([r.normal(m, 2.0, 4) for r, m in zip(parts, loc, strict=True)]))


@pytest.mark.parametrize("data", [np.int32(-7), np.int64(-(2**63))])
@pytest.mark.at_night("data0")
def test_traced_numbers_and_states(data: Any) -> None:
    folded, parts, again, jumped = jax.jit(
        lambda r, i: (r.fold_in(i), r.split(2), Generator(r.state, "jax"), r.jumped())
    )(rng(), data)
    assert folded == rng().fold_in(int(data))
    assert parts == rng().split(2)
    assert again == rng()
    assert jumped == rng().jumped()


@pytest.mark.at_night
def test_gradients_by_location_and_scale() -> None:
    def total(line: Any, r: Generator) -> Any:
        return jnp.sum(r.normal(line[0], line[1], 3))

    found = jax.jit(jax.grad(total))(jnp.asarray([1.0, 2.0]), rng())
    np.testing.assert_allclose(found, [3.0, np.sum(rng().normal(0.0, 1.0, 3, "float64"))], rtol=1e-6)


@pytest.mark.parametrize("library", ["jax", "numpy"])
def test_closed_over(library: str) -> None:
    r = Generator(234, library)
    for draw in (lambda: r.random(3, "float32"), lambda: r.split(2)[0].normal(), lambda: r.advance(1)):
        with pytest.raises(RuntimeError, match="the generator must be an argument of the function that JAX compiles"):
            jax.jit(lambda x, draw=draw: (draw(), x)[1])(1.0)
        assert r == Generator(234, library)
    with pytest.raises(RuntimeError, match="must be an argument"):
        jax.jit(lambda own: jax.lax.scan(lambda c, _: (c + own.random(), c), 0.0, None, length=2))(r)
    np.testing.assert_array_equal(*jax.vmap(lambda x: x + r.random())(jnp.zeros(2)))  # shared by the batch


def test_what_has_no_traced_form() -> None:
    with pytest.raises(NotImplementedError, match="bytes has no traced form"):
        jax.jit(lambda r: r.bytes(3))(rng())
    with pytest.raises(TypeError, match="data must be an int or a str, got an array of float"):
        jax.jit(lambda r, x: r.fold_in(x))(rng(), 1.5)
