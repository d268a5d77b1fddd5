"""Forward and reverse agree for every rule: the Jacobian, taken in rows, times a vector is the push of that vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import as_tensor, jacobian, jvp
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import DOUBLES, real_parts
from tests.helpers.tables import Case
from tests.property.test_tape_gradients import ONE_EACH


def places_and_function(case: Case) -> tuple[list[int], Any]:
    places = [i for i, array in enumerate(case.arrays) if str(array.dtype) in DOUBLES]

    def of_smooth_arguments(*smooth: Any) -> Any:
        given = [as_tensor(array) for array in case.arrays]
        for place, tensor in zip(places, smooth, strict=True):
            given[place] = tensor
        return real_parts(case.call(xp, *given))

    return places, of_smooth_arguments


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_rows_of_the_jacobian_times_a_vector_are_its_push(case: Case) -> None:
    places, fn = places_and_function(case)
    primals = [case.arrays[place] for place in places]
    rng = np.random.default_rng(0)
    tangents = [rng.normal(size=p.shape).astype(p.dtype) * (1 + 1j if p.dtype.kind == "c" else 1) for p in primals]
    rows = jacobian(fn, range(len(primals)), mode="reverse")(*primals)
    _, pushed = jvp(fn, primals, tangents)
    assert len(rows) == len(pushed)
    for row, tangent in zip(rows, pushed, strict=True):
        by_rows = sum(np.real(np.tensordot(part, t, axes=t.ndim)) for part, t in zip(row, tangents, strict=True))
        np.testing.assert_allclose(by_rows, tangent, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_all_at_once_is_in_turn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    places, fn = places_and_function(case)
    primals = [case.arrays[place] for place in places]
    at_once = jacobian(fn, range(len(primals)), mode="reverse")(*primals)
    monkeypatch.setattr("nbm_xp.tape.derivatives.vmapping.batched", lambda *args: None)
    monkeypatch.setattr("nbm_xp.tape.evaluation._plans", {})
    in_turn = jacobian(fn, range(len(primals)), mode="reverse")(*primals)
    for row, other in zip(at_once, in_turn, strict=True):
        for part, same in zip(row, other, strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-9, atol=1e-9)
