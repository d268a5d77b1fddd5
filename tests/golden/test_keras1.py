"""keras1 answers what Keras 1.0's backend answered on Theano.

A test holds every record of a function. Almost all arrays are recorded as variables; of what computes from them one
record is run three times more: with arrays, computed at once; with placeholders of unknown lengths (recorded, compiled,
then run); and with nothing but the standard. With ``--everywhere`` all are.

All that runs on NumPy; with ``--everywhere`` on every library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1 as K
from tests.golden.everywhere import library, pytest_generate_tests
from tests.golden.keras import hold_to_record, hold_with_standard, on_library
from tests.golden.reader import Case, read
from tests.golden.runner import System, check, each
from tests.helpers.libraries import Library, why_not

__all__ = ["library", "pytest_generate_tests"]  # those of all systems

CASES = read("keras1")


# Where the original is at fault, or answers otherwise than its document says: the right answer, from the arguments and
# the recorded answer.
QUIRKS: dict[str, Callable[[list[Any], Any], Any]] = {
    # vectors of length 0 have no direction, and no nan is needed to say so
    "l2_normalize/quirk-zero-row": lambda args, recorded: np.nan_to_num(recorded, nan=0.0),
    # a negative axis is one counted from the end
    "squeeze/quirk-negative": lambda args, recorded: recorded.squeeze(-1),
    # of no weights at all, no class has a share, and the true one the least probability that is told apart from 0
    "categorical_crossentropy/quirk-zero-row": lambda args, recorded: np.nan_to_num(recorded, nan=-np.log(1e-7)),
    # the largest element of a window of one is that element
    "pool2d/quirk-one-same": lambda args, recorded: args[0],
    # a vector in, a vector out
    "softmax/quirk-vector": lambda args, recorded: recorded[0],
}


def check_truth(args: list[Any], got: Any, want: Any, case: Case) -> None:
    """Recorded as int8, documented as bool, or of `any` as uint8."""
    assert got.dtype == ("uint8" if case.function == "any" else "bool")
    check(got.astype(want.dtype), want, case)


SYSTEM = System(K, QUIRKS, dict.fromkeys(("any", "equal", "not_equal"), check_truth), listed=True)


def system_for(case: Case, library: Library) -> System:
    return on_library(SYSTEM, library, case)


def check_kept(drawn: np.ndarray, case: Case) -> None:
    """Of ones: the share kept, the mean, the largest and the smallest element."""
    found = [np.mean(drawn != 0), drawn.mean(dtype="float64"), drawn.max(), drawn.min()]
    np.testing.assert_allclose(found, case.expected(case.result), rtol=case.rtol, atol=case.atol)


# What these ask for is infinite or not a number, and NumPy remarks on it.
REMARKED = {"exp/extreme", "log/extreme", "log/extreme-float64", "pow/nan"}

# Of these the second draw is recorded, by `test_gradient_of_dropout`.
SECOND_DRAWS = [case for case in CASES if case.function == "dropout" and case.kind == "gradient"]


@each((case for case in CASES if case not in SECOND_DRAWS), REMARKED, again=False)
def test_as_recorded(case: Case, library: Library) -> None:
    system = system_for(case, library)
    if case.kind == "statistic":
        check_kept(system.concrete(system.answer(case, system.array, system.variable)), case)
    else:
        hold_to_record(case, system, library)


@each(SECOND_DRAWS, again=False)
def test_gradient_of_dropout(case: Case, library: Library) -> None:
    """The gradient is taken of what is drawn when it is computed: here, after the values were, of the next draw."""
    system = system_for(case, library)
    out, args = system.call(case, system.array, system.variable)
    gradients = system.gradients(case, out, args)
    system.concrete(out)
    system.check(gradients, case)


# What a function says of a variable, or does to it, is another matter for arrays and placeholders. Draws of a shape
# that is known come from fewer streams.
ABOUT_VARIABLES = {
    "batch_get_value", "batch_set_value", "count_params", "dropout", "eval", "get_value", "int_shape", "set_value",
}  # fmt: skip
COMPUTED = [
    case
    for case in CASES
    if case.kind in ("value", "gradient") and case.is_about(variable="f") and case.function not in ABOUT_VARIABLES
]
AT_ONCE = [case for case in COMPUTED if case.kind == "value" and not case.is_program]


@each(AT_ONCE, REMARKED)
def test_variables_as_arrays(case: Case, library: Library) -> None:
    system = system_for(case, library)
    system.check(system.answer(case, system.array, system.array), case)


@each((case for case in COMPUTED if not case.is_program or case.function == "rnn"), REMARKED)
def test_variables_as_placeholders(case: Case, library: Library) -> None:
    system = system_for(case, library)
    system.check(system.compiled(case), case)


@pytest.mark.skipif(why_not("array_api_strict") is not None, reason="array_api_strict is not installed")
@each((case for case in AT_ONCE if "float16" not in case.id), REMARKED)  # the standard has none
def test_with_nothing_but_the_standard(case: Case) -> None:
    hold_with_standard(case, SYSTEM, variables=False)
