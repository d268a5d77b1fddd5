"""natural_bm, keras1, keras2 and neon's backend answer on every library what the originals answered.

A test holds the records of a function: on NumPy all of them as they were recorded. On the other libraries, and in every
other form of the arrays, one of each kind is held, with ``--everywhere`` more: at once of arrays, of variables, and of
placeholders of unknown lengths (recorded, compiled, then run).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.namespace import reset_configuration
from nbm_xp.tape import is_tensor
from tests.golden.calls import ABOUT_VARIABLES, RECORDING
from tests.golden.known import KNOWN, is_remarked
from tests.golden.neon_backend import NEON, OTHER_GENERATOR
from tests.golden.reader import Case, read
from tests.golden.surfaces import BATCHES, SURFACES
from tests.golden.system import NUMPY, System
from tests.helpers.known import hold, reason_of
from tests.helpers.libraries import EVERYWHERE, ONE_CASE_IN, Library, libraries

REMARKS = "(overflow|divide by zero|invalid value) encountered"
"""What NumPy warns of where a record asks for what is infinite or not a number."""

# The gradients of another product than the documented one, for which `test_gradients_of_batches_by_the_first_axis` is.
OF_ANOTHER_PRODUCT = [f"batch_dot/quirk-4x4-{axes}-gradient" for axes in BATCHES]
SYSTEMS = SURFACES | {"neon": NEON}
CASES = [case for system in SYSTEMS for case in read(system) if case.id not in (*OF_ANOTHER_PRODUCT, *OTHER_GENERATOR)]
COMPUTED = [
    case
    for case in CASES
    if case.kind in ("value", "gradient")
    and not case.steps
    and case.is_about(array="f", variable="f")
    and case.function not in ABOUT_VARIABLES
    and (not case.is_program or case.function in RECORDING)
    and case.system != "neon"
]
NARROW = "ctc_decode/beam-narrow"
"""Chosen among its kind: Dask lays out as many rounds for each frame as there are prefixes in a beam, 100 in others."""
OTHERS = ("numpy", "dask-halves", "torch", "jax", "array_api_strict", "cupy")
ON_ALL = libraries(*OTHERS, without=("numpy-readonly",))
ON_SOME = ON_ALL if EVERYWHERE else libraries("numpy", "array_api_strict", "cupy", without=("numpy-readonly",))


def chosen(records: Sequence[Case], way: str, library: Library) -> Sequence[Case]:
    """On NumPy all as they were recorded; else one of each kind and kinds of dtypes, by night every third or sixth."""
    prepared = library.name in ("jax", "dask")  # these compile or lay out each record anew
    if library.name == "numpy" and (EVERYWHERE or way == "as_recorded"):
        return records
    if EVERYWHERE:
        step = 2 * ONE_CASE_IN if prepared else ONE_CASE_IN
        return [case for place, case in enumerate(records) if place % step == 0 or reason(case, way, library)]
    records = sorted(records, key=lambda case: case.id == NARROW)
    return list({(case.kind, "" if prepared else case.dtype_kinds): case for case in records}.values())


def reason(case: Case, way: str, library: Library) -> str | None:
    return reason_of(KNOWN, library.name, way, case.id)


def hold_records(records: Sequence[Case], way: str, library: Library, check: Callable[[System, Case], None]) -> None:
    """Check what is chosen of the records of a function, asked for in a way; one that is known to fail must."""

    def check_alone(case: Case) -> None:
        reset_configuration()
        with warnings.catch_warnings():
            if is_remarked(case):
                warnings.filterwarnings("ignore", REMARKS, RuntimeWarning)
            check(SYSTEMS[case.system].on(library, case), case)

    hold(chosen(records, way, library), lambda case: reason(case, way, library), check_alone)


def of(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """A test for each function of each system, of all records of it."""
    records: dict[str, list[Case]] = {}
    for case in cases:
        records.setdefault(f"{case.system}-{case.function}", []).append(case)
    return pytest.mark.parametrize("records", list(records.values()), ids=list(records))


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@of(CASES)
def test_as_recorded(records: list[Case], library: Library) -> None:
    hold_records(records, "as_recorded", library, lambda system, case: system.hold(case))


@pytest.mark.at_night("jax", "dask", "torch")
@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@of(case for case in COMPUTED if case.kind == "value")
def test_of_arrays(records: list[Case], library: Library) -> None:
    """Computed at once; the arrays are left as they were."""
    hold_records(records, "of_arrays", library, of_arrays)


def of_arrays(system: System, case: Case) -> None:
    handed: list[tuple[Any, np.ndarray]] = []

    def array(value: np.ndarray) -> Any:
        handed.append((system.array(value), value.copy()))
        return handed[-1][0]

    answer = system.answer(case, array, array)
    assert not is_tensor(answer) or case.function == "switch"
    system.check(answer, case)
    for given, value in handed:
        np.testing.assert_array_equal(system.library.numpy(given), value)


@pytest.mark.parametrize("library", ON_SOME, indirect=True)
@of(case for case in COMPUTED if "array" in case.tags())
def test_of_variables(records: list[Case], library: Library) -> None:
    hold_records(records, "of_variables", library, of_variables)


def of_variables(system: System, case: Case) -> None:
    system.check(system.answer(case, lambda a: (system.variable if a.dtype.kind == "f" else system.array)(a)), case)


@pytest.mark.parametrize("library", ON_SOME, indirect=True)
@of(COMPUTED)
def test_of_placeholders(records: list[Case], library: Library) -> None:
    hold_records(records, "of_placeholders", library, lambda system, case: system.check(system.compiled(case), case))


@pytest.mark.parametrize(("axes", "letters"), BATCHES.items())
def test_gradients_of_batches_by_the_first_axis(axes: str, letters: tuple[str, str, str]) -> None:
    """In the place of the cases whose recorded gradients are those of TensorFlow's other product."""
    left, right, out = letters
    generator = np.random.default_rng(3)
    x, y = generator.standard_normal((3, 2, 4, 4)), generator.standard_normal((3, 2, 4, 4))
    u, v = K.variable(x, dtype="float64"), K.variable(y, dtype="float64")
    product = K.batch_dot(u, v, axes=None if axes == "none" else tuple(map(int, axes)))
    found = [K.eval(gradient) for gradient in K.gradients(K.sum(product * product), [u, v])]
    g = 2 * np.einsum(f"{left},{right}->{out}", x, y)
    np.testing.assert_allclose(found[0], np.einsum(f"{out},{right}->{left}", g, y), rtol=1e-10)
    np.testing.assert_allclose(found[1], np.einsum(f"{left},{out}->{right}", x, g), rtol=1e-10)


@pytest.mark.parametrize("name", OTHER_GENERATOR)
def test_the_other_generator_of_neon_is_as_even(name: str) -> None:
    """In the place of what NumPy's generator drew: the same call, the same shape, the same distribution."""
    (case,) = (case for case in read("neon") if case.id == name)
    system = NEON.on(NUMPY, case)
    first, again = (system.concrete(system.answer(case)) for _ in range(2))
    assert first.shape == case.expected(case.result).shape
    np.testing.assert_array_equal(first, again)
    assert ((first >= 0) & (first <= 1)).all()
