"""Memory: peak use of plans, and results that share no memory with variables, arguments or each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import tape
from nbm_xp.functions.control import print_tensor
from nbm_xp.tape import Variable, composite, evaluate, function, gradients, operation, placeholder, scan, stop_gradient
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import memory_of

ARRAY = np.full((200, 500), 0.5)


def arrays_held(run: Callable[..., Any], *arguments: Any) -> float:
    """Peak memory of a call including its results, as a number of arrays."""
    return memory_of(run, *arguments) / ARRAY.nbytes


LINKS: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    # a link of the chain, and the number of arrays that its gradient keeps
    "sin": (lambda y, x: xp.sin(y), 1), "tanh of a line": (lambda y, x: xp.tanh(y * 0.9 + 0.1), 1),
    "sum of products": (lambda y, x: xp.exp(-y) * x, 1), "beside the input": (lambda y, x: xp.sin(y) + x, 1),
    "quotient": (lambda y, x: y / (y * y + 1.0), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_chain_holds_two_or_three_arrays_and_its_gradient_what_it_needs(name: str) -> None:
    link, kept = LINKS[name]
    y = x = placeholder((None, None), dtype="float64")
    for _ in range(20):
        y = link(y, x)
    loss = xp.sum(y)
    assert arrays_held(function([x], loss), ARRAY) < 3.5
    assert arrays_held(function([x], y), ARRAY) < 3.5
    assert arrays_held(function([x], [loss, gradients(loss, x)]), ARRAY) < 20 * kept + 4.5


def test_a_sum_over_a_list_holds_few() -> None:
    x = placeholder((None, None), dtype="float64")
    terms = [xp.sin(x * float(i)) for i in range(40)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    assert arrays_held(function([x], total), ARRAY) < 4.5
    assert arrays_held(function([x], gradients(xp.sum(total), x)), ARRAY) < 5.5


def test_layers_keep_their_activations_alone() -> None:
    x = placeholder((None, None), dtype="float64")
    weights = [Variable(np.full((500, 500), 1e-3)) for _ in range(10)]
    y = x
    for weight in weights:
        y = xp.tanh(y @ weight)
    loss = xp.sum(y * y)
    held = arrays_held(function([x], gradients(loss, weights)), ARRAY)
    assert held < 10 + 10 * 2.5 + 4.5  # activations, gradients of weights (2.5 arrays each) and temporaries


@composite(gradient=lambda g, out, x: g, name="test_same")
def same(x: Any) -> Any:
    return x


@composite(gradient=(None, lambda g, out, x, y: g), arrays=2, name="test_second")
def second(x: Any, y: Any) -> Any:
    return y.T


@composite(gradient=lambda g, out, x: g, name="test_spread")
def spread(x: Any) -> Any:
    return np.broadcast_to(x, (2, *x.shape)) if isinstance(x, np.ndarray) else xp.broadcast_to(x, (2, *x.shape))


both = operation(
    "test_both", infer=lambda x: [(x.shape, x.dtype)] * 2, run=lambda xp, x: (x, x[::-1, ...]), gradient=None,
    several=True,
)  # fmt: skip

PASSED_ON: dict[str, Any] = {
    "real": xp.real, "imag": xp.imag, "diagonal": xp.linalg.diagonal, "positive": xp.positive, "printed": print_tensor,
    "a composite that returns its argument": same, "a composite that shows its second": lambda x: second(x * 1.0, x),
    "a composite that repeats": spread, "the first of two results": lambda x: both(x)[0],
    "the second of two results": lambda x: both(x)[1],
    "a part of what a composite returns": lambda x: same(same(x))[0, :],
    "diagonal of the transpose": lambda x: xp.linalg.diagonal(x.T),
    "branch": lambda x: tape.ifelse(xp.asarray(True), x, x * 2),
    "checkpoint": lambda x: tape.checkpoint(lambda a: (a.T, a * 1))(x)[0],
    "last step": lambda x: scan(lambda h: h, outputs_info=x, n_steps=2)[0][-1],
}  # fmt: skip


@pytest.mark.parametrize("name", PASSED_ON)
def test_results_own_their_memory(name: str) -> None:
    array = np.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="complex128")
    v, x = Variable(array), placeholder((2, 2), dtype="complex128")
    result = PASSED_ON[name](v)
    for value in (function([], result)(), evaluate(result), evaluate([result])[0]):
        assert not np.shares_memory(value, v.value)
        assert value.flags.writeable
    new = PASSED_ON[name](x)
    kept = Variable(np.zeros((1,) * new.ndim), dtype=str(new.dtype))
    function([x], None, updates=[(kept, new)])(array)
    assert not np.shares_memory(kept.value, array)


def test_an_output_written_like_an_update_is_not_the_variable() -> None:
    v, w = Variable(np.ones(2)), Variable(np.asarray([3.0, 4.0]))
    for equal in (w * 2, stop_gradient(w) * 2):
        out = function([], w * 2, updates=[(v, equal)])()
        out[:] = 0.0
        assert v.get_value().tolist() == [6.0, 8.0]


def test_what_is_declared_to_be_its_own_is_not_copied() -> None:
    @composite(gradient=lambda g, out, x: g, name="test_kept_twice", may_overlap=False)
    def twice(x: Any) -> Any:
        made.append(x * 2)
        return made[-1]

    made: list[Any] = []
    out = function([], twice(Variable(np.ones(2))))()
    assert out is made[-1]


def test_equal_gradients_are_arrays_of_their_own() -> None:
    v, w = Variable(np.ones(2)), Variable(np.asarray([3.0, 4.0]))
    both = gradients(xp.sum((v + w) ** 2), [v, w])
    for first, second in (
        function([], both)(),
        evaluate(both),
        tape.grad(lambda a, b: xp.sum((a + b) ** 2), argnums=(0, 1))(v.get_value(), w.get_value()),
    ):
        first *= 0.0
        assert second.tolist() == [8.0, 10.0]
