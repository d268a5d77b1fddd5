"""Peak memory of plans: what is held at once, counted on arrays large enough to tell."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, function, gradients, placeholder
from nbm_xp.tape import namespace as xp

ARRAY = np.full((200, 500), 0.5)


def arrays_held(run: Callable[..., Any], *arguments: Any) -> float:
    """The most that a call allocates at once, results included, in arrays: the least of three calls.

    What other threads of the process allocate meanwhile counts too, and is not the same each time.
    """
    run(*arguments)
    return min(_allocated(run, *arguments) for _ in range(3)) / ARRAY.nbytes


def _allocated(run: Callable[..., Any], *arguments: Any) -> int:
    tracemalloc.start()  # what was there before, and goes meanwhile, does not count
    before, _ = tracemalloc.get_traced_memory()
    run(*arguments)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


LINKS: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    # a link of the chain, and how many arrays its gradient has to keep
    "sin": (lambda y, x: xp.sin(y), 1),
    "tanh of a line": (lambda y, x: xp.tanh(y * 0.9 + 0.1), 1),
    "sum of products": (lambda y, x: xp.exp(-y) * x, 1),
    "beside the input": (lambda y, x: xp.sin(y) + x, 1),
    "quotient": (lambda y, x: y / (y * y + 1.0), 2),
}


def chain(name: str, steps: int) -> tuple[Tensor, Tensor]:
    x = placeholder((None, None), dtype="float64")
    y = x
    for _ in range(steps):
        y = LINKS[name][0](y, x)
    return x, y


@pytest.mark.parametrize("name", LINKS)
def test_a_chain_holds_two_or_three_arrays(name: str) -> None:
    x, y = chain(name, 20)
    assert arrays_held(function([x], xp.sum(y)), ARRAY) < 3.1
    assert arrays_held(function([x], y), ARRAY) < 3.1


@pytest.mark.parametrize("name", LINKS)
def test_its_gradient_keeps_what_it_needs(name: str) -> None:
    x, y = chain(name, 20)
    loss = xp.sum(y)
    assert arrays_held(function([x], [loss, gradients(loss, x)]), ARRAY) < 20 * LINKS[name][1] + 4.1


def test_a_sum_over_a_list_holds_few() -> None:
    x = placeholder((None, None), dtype="float64")
    terms = [xp.sin(x * float(i)) for i in range(40)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    assert arrays_held(function([x], total), ARRAY) < 4.1
    assert arrays_held(function([x], gradients(xp.sum(total), x)), ARRAY) < 5.1


def test_layers_keep_their_activations_alone() -> None:
    x = placeholder((None, None), dtype="float64")
    weights = [Variable(np.full((500, 500), 1e-3)) for _ in range(10)]
    y = x
    for weight in weights:
        y = xp.tanh(y @ weight)
    loss = xp.sum(y * y)
    held = arrays_held(function([x], gradients(loss, weights)), ARRAY)
    assert held < 10 + 10 * 2.5 + 4.1  # activations, gradients of weights (2.5 arrays each) and what is in hand
