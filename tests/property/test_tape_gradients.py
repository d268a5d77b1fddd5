"""Every gradient rule agrees with finite differences, in first and second order; the flat functions are one list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, function, gradients, placeholder
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.operations import OPERATIONS
from tests.helpers.gradcheck import DOUBLES, check_gradient, flat_list, inner_product, real_parts
from tests.helpers.known import told
from tests.helpers.libraries import EVERYWHERE, Library, libraries
from tests.helpers.tables import CASES, Case, by_function

FLAT = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "count_nonzero", "equal", "floor", "floor_divide", "greater",
    "greater_equal", "isfinite", "isin", "isinf", "isnan", "less", "less_equal", "linalg.matrix_rank", "logical_and",
    "logical_not", "logical_or", "logical_xor", "not_equal", "round", "searchsorted", "sign", "signbit", "trunc",
})  # fmt: skip
"""Constant almost everywhere, or not floating. (`sign` of complex numbers is not, and has a rule.)"""

CREATED = frozenset({
    "arange", "empty", "empty_like", "eye", "fft.fftfreq", "fft.rfftfreq", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
})  # fmt: skip
"""Made of no array, or of its shape alone."""

LOOKED_AT = frozenset({"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"})
"""Evaluated while recording, because the lengths of their results depend on data."""

WITHOUT_RULE: set[str] = set()

SMOOTH = [c for c in CASES if c.differentiable and c.order and c.function not in FLAT | CREATED | WITHOUT_RULE]


@pytest.mark.parametrize("cases", by_function(SMOOTH))
def test_rule_agrees_with_finite_differences(cases: list[Case]) -> None:
    for case in cases:
        with told(case):
            check_gradient(lambda *tensors, case=case: case.call(xp, *tensors), *case.arrays, order=case.order)


ONE_EACH = list({(c.function, "c" in {a.dtype.kind for a in c.arrays}): c for c in SMOOTH}.values())
CALLS = {(c.function, c.label, tuple(a.ndim for a in c.arrays)): c for c in SMOOTH if c.unknown}
"""A rule knows a call by its options and the numbers of axes; which dtypes there are is for finite differences."""


@pytest.mark.parametrize("cases", by_function(CALLS.values()))
def test_gradient_is_the_same_with_unknown_lengths(cases: list[Case]) -> None:
    """A rule takes from the lengths what it needs: no shape need be known while recording."""
    for case in cases:
        with told(case):
            places = [i for i, a in enumerate(case.arrays) if str(a.dtype) in DOUBLES]
            known = [Variable(a) for a in case.arrays]
            unknown = [placeholder(None, ndim=a.ndim, dtype=str(a.dtype)) for a in case.arrays]
            order = case.order if any(case is one for one in ONE_EACH) else 1
            wanted, asked = (slopes(case, inputs, places, order) for inputs in (known, unknown))
            for want, got in zip(evaluate(wanted), function(unknown, asked)(*case.arrays), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, strict=True)


def slopes(case: Case, inputs: list[Any], places: list[int], order: int) -> list[Any]:
    """The gradients of a function of the results, and to second order those of their squares."""
    results = [r for r in real_parts(case.call(xp, *inputs)) if r.dtype == "float64"]
    loss = sum((xp.sum(xp.sin(r * 1.3)) for r in results), xp.asarray(0.0, dtype="float64"))
    first = gradients(loss, [inputs[i] for i in places], disconnected="zero")
    if order == 1:
        return first
    again = sum((xp.sum(g * g) for g in real_parts(first)), xp.asarray(0.0, dtype="float64"))
    return first + gradients(again, [inputs[i] for i in places], disconnected="zero")


OTHERS = libraries("array_api_strict", "dask-ragged", "torch", "jax", "cupy")
BY_DAY = ONE_EACH if EVERYWHERE else list({c.function: c for c in reversed(ONE_EACH)}.values())


@pytest.mark.at_night("dask", "torch", "jax")
@pytest.mark.parametrize("library", OTHERS, indirect=True)
@pytest.mark.parametrize("case", BY_DAY, ids=str)
def test_gradient_is_the_same_on_every_library(case: Case, library: Library) -> None:
    def run(*arrays: Any) -> list[Any]:
        variables = list(map(Variable, arrays))
        floating = [v for v in variables if v.dtype in DOUBLES]
        first = gradients(inner_product(case.call(xp, *variables), seed=1), floating, disconnected="zero")
        found = list(first)
        if case.order > 1:
            second = sum((xp.sum(g * g) for g in real_parts(first)), xp.asarray(0.0, dtype="float64"))
            found += gradients(second, floating, disconnected="zero")
        return evaluate([*found, *variables])[: len(found)]  # with the variables: a gradient may depend on none of them

    for got, want in zip(library.at_once(run, *case.arrays), run(*case.arrays), strict=True):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-9, strict=True)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.function in FLAT and any(a.dtype == np.float64 for a in c.arrays)], ids=str
)
def test_flat_function_gives_zeros(case: Case) -> None:
    variables = [Variable(a, dtype="float64") for a in case.arrays if a.dtype == np.float64]
    given = iter(variables)
    inputs = [next(given) if a.dtype == np.float64 else Variable(a) for a in case.arrays]
    results = flat_list(case.call(xp, *inputs))
    loss = sum((xp.sum(xp.astype(r, xp.float64)) for r in results), xp.sum(variables[0]) * 0.0)
    for gradient, variable in zip(gradients(loss, variables, disconnected="zero"), variables, strict=True):
        np.testing.assert_array_equal(evaluate(gradient), np.zeros(variable.shape))


def test_every_function_is_smooth_flat_or_created() -> None:
    covered = {case.function for case in SMOOTH} | FLAT | CREATED | LOOKED_AT | WITHOUT_RULE
    assert {case.function for case in CASES} <= covered


def test_what_lets_nothing_through_is_in_the_list() -> None:
    """No operation that a function of the standard records keeps a gradient back, unless the list says so."""
    standard = {case.function for case in CASES}
    closed = {
        name
        for name, op in OPERATIONS.items()
        if name in standard and isinstance(op.gradient, tuple) and all(rule is None for rule in op.gradient)
    }
    assert closed <= FLAT | CREATED
