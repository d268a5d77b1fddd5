"""How the recorded cases of a Keras backend are run; what its surface is held to besides stands in its test module."""

from dataclasses import replace
from typing import Any

import numpy as np

from nbm_xp import set_backend
from nbm_xp.namespace import asarray, get_namespace, is_array, library_name
from tests.golden.reader import Case
from tests.golden.runner import System, check
from tests.helpers.libraries import Library

__all__ = ["hold_to_record", "hold_with_standard", "on_library", "run_steps"]


def takes_numpy(case: Case) -> bool:
    """Whether a program makes of its arrays what only NumPy's will do for: a dtype's name, a matrix of SciPy's."""
    return case.is_program and any(text in case.note for text in ("str(a.dtype)", "csr_matrix(a)", "a.astype("))


def on_library(system: System, library: Library, case: Case, **checks: Any) -> System:
    """The surface on one library: what is made is made there, and arrays are of it."""
    set_backend(library.name)
    system.surface.set_floatx(case.floatx)
    if takes_numpy(case):
        return system
    return replace(system, array=library.array, checks={**system.checks, **(checks if library.lazy else {})})


def hold_to_record(case: Case, system: System, library: Library) -> None:
    """Hold the surface to a case that is no statistic."""
    if case.kind == "raises":
        system.check_refused(lambda: system.answer(case, system.array, system.variable), case)
    elif case.steps:
        run_steps(case, system)
    else:
        answer = system.answer(case, system.array, system.variable)
        if is_array(answer) and "array" in case.tags() and not case.is_program:
            known = library.lazy and case.function == "shape"  # lengths, which need not be computed
            assert library_name(answer) == ("numpy" if known else library.name)
        system.check(answer, case)


def run_steps(case: Case, system: System) -> None:
    for step in case.steps:
        args = [case.decode(value, system.array, system.variable) for value in step.args]
        kwargs = {key: case.decode(value, system.array, system.variable) for key, value in step.kwargs.items()}
        check(
            system.concrete(getattr(system.surface, step.function)(*args, **kwargs)), case.expected(step.result), case
        )


def hold_with_standard(case: Case, system: System, *, variables: bool = True) -> None:
    """Compute at once with arrays of the library that has no more than the standard; what is made is made there too.

    Those that are recorded as variables stay variables, or are made arrays as well.
    """
    set_backend("array_api_strict")
    system.surface.set_floatx(case.floatx)
    xp = get_namespace("array_api_strict")

    def array(value: np.ndarray) -> Any:
        return asarray(value, xp)

    system.check(system.answer(case, array, system.variable if variables else array), case)
