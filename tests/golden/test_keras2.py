"""keras2 answers what Keras 2.0's backend answered on TensorFlow.

A test holds every record of a function. Of those that compute from floating-point arrays one is run once more with
arrays handed over as variables, one as placeholders of unknown lengths (recorded, compiled, then run), and one at once
with nothing but the standard; with ``--everywhere`` all.

All that runs on NumPy; with ``--everywhere``, which docs/keras2_functions.md is made with, on every library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from tests.golden.everywhere import library, pytest_generate_tests
from tests.golden.keras import hold_to_record, hold_with_standard, on_library
from tests.golden.reader import Case, read
from tests.golden.runner import System, check, each
from tests.helpers.libraries import Library, why_not

# The gradients of another product than the documented one, which `test_gradients_of_batches_by_the_first_axis` holds
# to their own: see BATCHES.
OF_ANOTHER_PRODUCT = [f"batch_dot/quirk-4x4-{axes}-gradient" for axes in ("none", "32", "33", "22", "23")]

CASES = [case for case in read("keras2") if case.id not in OF_ANOTHER_PRODUCT]


def by_the_first_axis(left: str, right: str, out: str) -> Callable[[list[Any], Any], Any]:
    """The product of four-dimensional batches by the documented rule: only the first axis is the batch's."""
    return lambda args, recorded: np.einsum(f"{left},{right}->{out}", *args[:2])


# As the documented rule has it: the letters of both factors and of their product.
BATCHES = {
    "none": ("bpqk", "brks", "bpqrs"),
    "32": ("bpqk", "brks", "bpqrs"),
    "33": ("bpqk", "brsk", "bpqrs"),
    "22": ("bpkq", "brks", "bpqrs"),
    "23": ("bpkq", "brsk", "bpqrs"),
}

# Where the original is at fault, or says what the document does not: the right answer, from the arguments and the
# recorded answer.
QUIRKS: dict[str, Callable[[list[Any], Any], Any]] = {
    # by the document these are Keras's tensors; the original looks for what only its layers add
    "is_keras_tensor/quirk-variable": lambda args, recorded: True,
    "is_keras_tensor/quirk-placeholder": lambda args, recorded: True,
    # references are TensorFlow's affair; Keras 2.0.6 gives the plain name
    "dtype/quirk-variable-float32": lambda args, recorded: "float32",
    "dtype/quirk-variable-float64": lambda args, recorded: "float64",
    "dtype/quirk-variable-int32": lambda args, recorded: "int32",
    # one element is an integer's worth of them
    "count_params/quirk-scalar": lambda args, recorded: 1,
    # the mean of integers is no integer
    "mean/quirk-int": lambda args, recorded: args[0].mean(axis=0).astype("float32"),
    "var/quirk-int": lambda args, recorded: args[0].var(axis=0),
    # a deviation of 0 has the gradient 0, not that of 0 / 0
    "std/quirk-constant-rows-gradient": lambda args, recorded: [np.nan_to_num(recorded[0], nan=0.0)],
    # without an axis the place is one in the flattened array
    "argmax/quirk-axis-none": lambda args, recorded: np.asarray(args[0].argmax()),
    "argmin/quirk-axis-none": lambda args, recorded: np.asarray(args[0].argmin()),
    # the dtype asked for, int32 by default, is that of the result
    "arange/quirk-floats": lambda args, recorded: recorded.astype("int32"),
    "variable/quirk-uint8": lambda args, recorded: recorded.astype("uint8"),
    # float64 was computed in float32
    "pool2d/float64": lambda args, recorded: recorded.astype("float64"),
    # integers add up in 64 bits, and truth values vary in double precision, as NumPy has it
    "sum/int": lambda args, recorded: recorded.astype("int64"),
    "prod/int": lambda args, recorded: recorded.astype("int64"),
    "function/int-input": lambda args, recorded: [recorded[0], recorded[1].astype("int64")],
    "var/bool": lambda args, recorded: args[0].var(axis=1),
    "std/bool": lambda args, recorded: args[0].std(axis=1),
    **{f"batch_dot/quirk-4x4-{axes}": by_the_first_axis(*letters) for axes, letters in BATCHES.items()},
}

# What these ask for is infinite or not a number, and NumPy remarks on it.
REMARKED = {"log/special", "log/special-float64", "pow/negative-base-fraction"}

__all__ = ["library", "pytest_generate_tests"]  # those of all systems


def system_for(case: Case, library: Library) -> System:
    return on_library(SYSTEM, library, case, ctc_decode=check_padded)


SYSTEM = System(K, QUIRKS, listed=True)


def check_padded(args: list[Any], got: list[Any], want: list[Any], case: Case) -> None:
    """Of lazy arrays, the paths have as many columns as there are frames: how many are used is data."""
    used = [path[:, : recorded.shape[1]] for path, recorded in zip(got[0], want[0], strict=True)]
    check([used, got[1]], want, case)
    assert all(np.all(path[:, part.shape[1] :] == -1) for path, part in zip(got[0], used, strict=True))


def tensor(value: np.ndarray, system: System) -> Any:
    """A variable of what is floating point; indices and flags as they are."""
    return system.variable(value) if value.dtype.kind == "f" else system.array(value)


def check_statistic(drawn: np.ndarray, x: Any, case: Case) -> None:
    """What the recorded sample says of one of ours: exactly, or within the bounds recorded for it."""
    for name, *values in case.expected(case.result):
        if name in ("dtype", "shape"):
            assert getattr(drawn, name) == values[0]
        elif name == "distinct values":
            np.testing.assert_allclose(np.unique(drawn), values[0], rtol=1e-6)
        elif name.startswith("constant along axis"):
            axis = int(name.split()[-1])
            assert np.all(drawn == np.take(drawn, [0], axis=axis))
        elif name.startswith("kept entries"):
            level = case.args[1]
            np.testing.assert_allclose(drawn[drawn != 0], (x / (1 - level))[drawn != 0], rtol=1e-6)
        else:
            _, lowest, highest = values
            assert lowest <= statistic(name, drawn) <= highest, name


def statistic(name: str, drawn: np.ndarray) -> float:
    what, *number = name.replace("equal to ", "").rsplit(" ", 1)
    if what == "quantile":
        return float(np.quantile(drawn, float(number[0])))
    if name == "fraction kept":
        return float(np.mean(drawn != 0))
    if what == "fraction":
        return float(np.mean(np.isclose(drawn, float(number[0]), rtol=1e-5)))
    return float(getattr(drawn, what)(dtype="float64") if what in ("mean", "std") else getattr(drawn, what)())


@each(CASES, REMARKED, again=False)
def test_as_recorded(case: Case, library: Library) -> None:
    system = system_for(case, library)
    if case.function == "backend":
        assert K.backend() == library.name  # a name of its own, as every port has
    elif case.kind == "statistic":
        args = [case.expected(value) for value in case.args]
        check_statistic(system.concrete(system.answer(case, system.array, system.variable)), args[0], case)
    else:
        hold_to_record(case, system, library)


# The place of a variable, and what is known of one, is another matter for placeholders.
ABOUT_VARIABLES = {"variable", "int_shape"}

# Cases that compute from floating-point arrays, so that it is the same how those are handed over.
COMPUTED = [
    case for case in CASES if case.kind in ("value", "gradient") and not case.steps and case.is_about(array="f")
]


# Programs that only record, and leave what they made to be computed.
RECORDING = {"normalize_batch_in_training", "rnn"}
RECORDED = [
    case
    for case in COMPUTED
    if (not case.is_program or case.function in RECORDING) and case.function not in ABOUT_VARIABLES
]


@each(COMPUTED, REMARKED)
def test_arrays_as_variables(case: Case, library: Library) -> None:
    system = system_for(case, library)
    system.check(system.answer(case, lambda value: tensor(value, system), system.variable), case)


@each(RECORDED, REMARKED)
def test_arrays_as_placeholders(case: Case, library: Library) -> None:
    system = system_for(case, library)
    system.check(system.compiled(case, arrays="f"), case)


@pytest.mark.skipif(why_not("array_api_strict") is not None, reason="array_api_strict is not installed")
@each(
    (
        case
        for case in COMPUTED
        if case.kind == "value" and not case.is_program and not case.id.endswith("to-float16")  # the standard has none
    ),
    REMARKED,
)
def test_with_nothing_but_the_standard(case: Case) -> None:
    hold_with_standard(case, SYSTEM)


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
