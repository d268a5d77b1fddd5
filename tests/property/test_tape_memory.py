"""What operations say of their results' memory: a result that is said to lie in its own shares it with no argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import namespace
from nbm_xp.namespace import is_array, is_lazy, library_name, running_namespace, to_numpy, use_backend
from nbm_xp.tape import Variable, as_tensor, gradients
from nbm_xp.tape import namespace as tape
from nbm_xp.tape.graph import LEAVES, VARIABLE, Node, reachable
from nbm_xp.tape.operations import IDENTITY_TAG
from nbm_xp.tape.plans.plan import compile_plan
from tests.golden.calls import OF_ARRAYS, first_of_each
from tests.helpers.gradcheck import flat_list, inner_product
from tests.helpers.known import reason_of, told
from tests.helpers.libraries import Library, libraries, today
from tests.helpers.tables import CASES, Case, by_function
from tests.helpers.tables.known import KNOWN

MUTABLE = libraries("numpy", "torch", "dask-ragged", without=("numpy-readonly",))


def shares(a: Any, b: Any) -> bool:
    """Whether to write to one array may change the other; of what is computed later, whether they are one."""
    if not is_array(a) or not is_array(b) or library_name(a) == "dask":
        return a is b and 0 not in a.shape
    return bool(np.shares_memory(to_numpy(a), to_numpy(b)))


def misdeclared(results: list[Any], variables: list[Variable], order: float) -> list[str]:
    """The operations whose results lie in the memory of an argument, though that is said not to be, gradients too."""
    tensors = [as_tensor(result) for result in results]
    roots = list(tensors)
    if order and any(variable.dtype.kind in "fc" for variable in variables):
        loss = inner_product(tensors, seed=1)
        roots += gradients(loss, [v for v in variables if v.dtype.kind in "fc"], disconnected="zero")
    xp = running_namespace([variable.value for variable in variables], namespace.default_namespace())
    values: dict[Node, Any] = {}
    found: list[str] = []
    for node in reachable([root.node for root in roots]):
        if node.op in LEAVES:
            values[node] = namespace.brought(node.payload.value if node.op is VARIABLE else node.payload, xp)
        elif not node.is_call:
            sources = node.call.inputs
            (value,) = compile_plan(sources, [node], xp, lazy=is_lazy(xp))(*(values[source] for source in sources))
            values[node] = value
            plain = not node.call.op.may_overlap and IDENTITY_TAG not in node.op.tags
            if plain and any(shares(value, values[source]) for source in sources):
                found.append(node.op.name)
    return found


@pytest.mark.at_night("dask")
@pytest.mark.parametrize("library", MUTABLE, indirect=True)
@pytest.mark.parametrize("cases", by_function(CASES))
def test_of_the_standard(cases: list[Case], library: Library) -> None:
    """Of NumPy's arrays in every case; elsewhere what differs is what the library's function does with memory."""
    able = [case for case in cases if reason_of(KNOWN, library.name, str(case)) is None]
    for case in today(able, library):
        with told(case), use_backend(library.name):
            variables = [Variable(library.array(a)) for a in case.arrays]
            assert not misdeclared(flat_list(case.call(tape, *variables)), variables, case.order)


@pytest.mark.at_night("dask")
@pytest.mark.parametrize("library", MUTABLE, indirect=True)
@pytest.mark.parametrize("cases", by_function(first_of_each(OF_ARRAYS, lambda call: call.form)))
def test_of_documented_functions(cases: list[Any], library: Library) -> None:
    for case in today(cases, library):
        with told(case):
            variables = [Variable(library.array(a)) for a in case.arrays]
            assert not misdeclared(flat_list(case(*variables)), variables, case.differentiable)


NOTHING_TO_DO: dict[str, Any] = {
    "tile": lambda x: tape.tile(x, (1, 1)), "repeat": lambda x: tape.repeat(x, 1, axis=0),
    "roll": lambda x: tape.roll(x, 0, axis=0), "concat": lambda x: tape.concat([x]),
    "sum": lambda x: tape.sum(x, axis=0), "mean": lambda x: tape.mean(x, axis=0),
    "prod": lambda x: tape.prod(x, axis=0), "max": lambda x: tape.max(x, axis=0),
    "norm": lambda x: tape.linalg.vector_norm(x, axis=0), "sort": lambda x: tape.sort(x, axis=0),
    "tril": lambda x: tape.tril(x, k=9), "cumulative_sum": lambda x: tape.cumulative_sum(x, axis=0),
    "cumulative_prod": lambda x: tape.cumulative_prod(x, axis=0),
    "floor": lambda x: tape.floor(tape.astype(x, "int64")), "ceil": lambda x: tape.ceil(tape.astype(x, "int64")),
    "round": lambda x: tape.round(tape.astype(x, "int64")), "trunc": lambda x: tape.trunc(tape.astype(x, "int64")),
    "abs": lambda x: tape.abs(tape.astype(x, "uint8")), "matrix_power": lambda x: tape.linalg.matrix_power(x[:, :1], 1),
    "clip": lambda x: tape.clip(x, -9.0, 9.0), "where": lambda x: tape.where(x == x, x, x),
    "take": lambda x: tape.take(x, tape.asarray([0]), axis=0), "conj": tape.conj,
    "fft.fftshift": lambda x: tape.fft.fftshift(x, axes=0),
    "average": lambda x: K.pool2d(x[None, :, :, None], (1, 1), pool_mode="avg"),
    "pool2d": lambda x: K.pool2d(x[None, :, :, None], (1, 1)), "softmax": lambda x: K.softmax(x[:, :1]), "relu": K.relu,
    "hard_sigmoid": K.hard_sigmoid, "logsumexp": lambda x: K.logsumexp(x[:, :1], axis=-1, keepdims=True),
    "conv2d": lambda x: K.conv2d(x[None, :, :, None], tape.ones((1, 1, 1, 1), dtype="float64")),
}  # fmt: skip


@pytest.mark.parametrize("library", MUTABLE, indirect=True)
@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_where_there_is_nothing_to_do(name: str, library: Library) -> None:
    x = Variable(library.array(np.asarray([[0.5, 1.0, 2.0]])))
    assert not misdeclared([NOTHING_TO_DO[name](x)], [x], 1)
