"""natural_bm, keras1, keras2 and neon's backend answer on every library what the originals answered.

A test holds the records of a function: on NumPy all of them as they were recorded. On the other libraries, and in every
other form of the arrays, one of each kind is held, with ``--everywhere`` more: at once of arrays, of variables, and of
placeholders of unknown lengths (recorded, compiled, then run).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.tape import is_tensor
from tests.golden.calls import ABOUT_VARIABLES, RECORDING
from tests.golden.neon_backend import NEON, OTHER_GENERATOR
from tests.golden.reader import Case, read
from tests.golden.runner import each
from tests.golden.surfaces import BATCHES, SURFACES
from tests.golden.system import NUMPY
from tests.helpers.libraries import EVERYWHERE, Library, libraries

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
OTHERS = ("numpy", "dask-halves", "torch", "jax", "array_api_strict", "cupy")
ON_ALL = libraries(*OTHERS, without=("numpy-readonly",))
ON_SOME = ON_ALL if EVERYWHERE else libraries("numpy", "array_api_strict", "cupy", without=("numpy-readonly",))


@pytest.mark.jax_at_night
@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@each(CASES)
def test_as_recorded(case: Case, library: Library) -> None:
    SYSTEMS[case.system].on(library, case).hold(case)


@pytest.mark.jax_at_night
@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@each(case for case in COMPUTED if case.kind == "value")
def test_of_arrays(case: Case, library: Library) -> None:
    """Computed at once; the arrays are left as they were."""
    system = SYSTEMS[case.system].on(library, case)
    handed: list[tuple[Any, np.ndarray]] = []

    def array(value: np.ndarray) -> Any:
        handed.append((system.array(value), value.copy()))
        return handed[-1][0]

    answer = system.answer(case, array, array)
    assert not is_tensor(answer) or case.function == "switch"
    system.check(answer, case)
    for given, value in handed:
        np.testing.assert_array_equal(library.numpy(given), value)


@pytest.mark.parametrize("library", ON_SOME, indirect=True)
@each(case for case in COMPUTED if "array" in case.tags())
def test_of_variables(case: Case, library: Library) -> None:
    system = SYSTEMS[case.system].on(library, case)
    system.check(system.answer(case, lambda a: (system.variable if a.dtype.kind == "f" else system.array)(a)), case)


@pytest.mark.parametrize("library", ON_SOME, indirect=True)
@each(COMPUTED)
def test_of_placeholders(case: Case, library: Library) -> None:
    system = SYSTEMS[case.system].on(library, case)
    system.check(system.compiled(case), case)


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
