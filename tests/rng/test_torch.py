"""Draws where PyTorch compiles, maps and differentiates functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import Generator

torch = pytest.importorskip("torch", reason="torch is not installed")


def test_a_draw_that_is_compiled_is_an_error_and_one_beside_it_is_as_ever() -> None:
    rng = Generator(5, "torch")

    def made_inside(x: Any) -> Any:
        return x + Generator(5, "torch").random(3, "float64")

    def inside(x: Any) -> Any:
        return x + rng.gamma(x, dtype="float64")

    drawn = torch.compiler.disable(rng.gamma)

    def beside(x: Any) -> Any:
        return x + drawn(x, dtype="float64")

    x = torch.ones(3, dtype=torch.float64)
    for function, what in ((made_inside, "a Generator"), (inside, "a random draw")):
        with pytest.raises(RuntimeError, match=f"{what} cannot be compiled by"):
            torch.compile(function, backend="eager")(x)
    assert rng == Generator(5, "torch")
    want = x + Generator(5, "torch").gamma(x, dtype="float64")
    np.testing.assert_array_equal(torch.compile(beside, backend="eager")(x), want)


@pytest.mark.parametrize("name", ["gamma", "normal", "poisson", "bernoulli", "dirichlet"])
def test_a_parameter_that_is_mapped_is_an_error(name: str) -> None:
    rng, p = Generator(5, "torch"), torch.full((3, 2), 0.5)
    for function in (getattr(rng, name), torch.func.grad(lambda a: getattr(rng, name)(a).sum())):
        with pytest.raises(RuntimeError, match="must not have a parameter over which"):
            torch.func.vmap(function)(p)
    assert rng == Generator(5, "torch")


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # of PyTorch itself
def test_jacobians_of_draws_in_both_modes() -> None:
    def draw(a: Any) -> Any:
        return Generator(5, "torch").gamma(a, size=3, dtype="float64")

    a = torch.asarray(1.3, dtype=torch.float64)
    want = torch.stack([torch.func.grad(lambda a, k=k: draw(a)[k])(a) for k in range(3)])
    for jacobian in (torch.func.jacfwd, torch.func.jacrev):
        np.testing.assert_array_equal(jacobian(draw)(a), want)
