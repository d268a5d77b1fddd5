"""natural_bm answers what natural_bm on Theano answered.

Every recorded case is one test. Those that compute from arrays are run three further ways: plain arrays handed over as
variables, variables handed over as plain arrays (computed at once), and variables handed over as placeholders of
unknown lengths (recorded, compiled, then run).
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.namespace import to_numpy
from nbm_xp.tape import is_tensor
from tests.golden.mrg import advanced
from tests.golden.reader import Case, read

CASES = read("natural_bm")


def shared_at_ties(args: list[np.ndarray], recorded: list[np.ndarray]) -> list[np.ndarray]:
    """Recorded, the whole gradient of a tie went to the first argument."""
    tie, total = args[0] == args[1], recorded[0] + recorded[1]
    return [np.where(tie, total / 2, part) for part in recorded]


# Where the original is at fault: the right answer, from the arguments and the recorded answer.
QUIRKS: dict[str, Callable[[list[Any], Any], Any]] = {
    "logsumexp/quirk-all-minus-inf": lambda args, recorded: np.full_like(recorded, -np.inf),
    "logsumexp/quirk-plus-inf": lambda args, recorded: np.full_like(recorded, np.inf),
    "maximum/quirk-ties/grad": shared_at_ties,
    "minimum/quirk-ties/grad": shared_at_ties,
}

# What these ask for is infinite or not a number, and NumPy remarks on it, as it does when it is called directly.
REMARKED = {
    "exp/large",
    "exp/large64",
    "log/negative",
    "log/non-finite",
    "pow/negative-base-fraction",
    "square/large",
}
REMARKS = "ignore:(overflow|divide by zero|invalid value) encountered:RuntimeWarning"

# A refusal is one of these, with a message that says why; never an accident such as AttributeError or NameError.
REFUSALS = (TypeError, ValueError, IndexError, ArithmeticError, NotImplementedError)


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """One test for each case, under its own id."""
    marks = {name: [pytest.mark.filterwarnings(REMARKS)] for name in REMARKED}
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.id, marks=marks.get(case.id, ())) for case in cases]
    )


def variable(value: np.ndarray) -> Any:
    return B.variable(value, dtype=value.dtype.name)


def plain(value: np.ndarray) -> np.ndarray:
    return value


def concrete(value: Any) -> Any:
    """A result with every tensor evaluated and every array brought to NumPy."""
    if isinstance(value, list | tuple):
        return [concrete(part) for part in value]
    if is_tensor(value):
        value = B.eval(value)
    return to_numpy(value) if hasattr(value, "shape") else value


def check(got: Any, want: Any, case: Case) -> None:
    """Structure, shape, dtype and values; a plain Python number has no dtype to hold it to."""
    if isinstance(want, list | tuple):
        assert isinstance(got, list | tuple), f"{len(want)} values are recorded, got {got!r}"
        assert len(got) == len(want)
        for part, recorded in zip(got, want, strict=True):
            check(part, recorded, case)
    elif want is None or isinstance(want, str | bool):
        assert got == want
    else:
        want = np.asarray(want)
        if hasattr(got, "dtype"):
            assert got.dtype == want.dtype
        assert np.shape(got) == want.shape
        if case.kind == "bits" or want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol)


def check_svd(x: np.ndarray, got: list[np.ndarray], want: list[np.ndarray], case: Case) -> None:
    """Singular vectors are fixed up to signs and, in a null space, a rotation: hold them to what defines them."""
    u, s, v = got
    assert [part.dtype for part in got] == [part.dtype for part in want]
    assert [part.shape for part in got] == [part.shape for part in want]
    near = {"rtol": case.rtol, "atol": case.atol}
    np.testing.assert_allclose(s, want[1], **near)
    np.testing.assert_allclose(u @ u.T, np.eye(len(u)), **near)
    np.testing.assert_allclose(v @ v.T, np.eye(len(v)), **near)
    np.testing.assert_allclose((u[:, : len(s)] * s) @ v[: len(s)], x, **near)


def check_result(got: Any, case: Case) -> None:
    """Hold a result to what is recorded, or to the right answer where that is at fault."""
    want = case.expected(case.result)
    if case.function == "svd":
        check_svd(case.expected(case.args[0]), got, want, case)
    elif case.id in QUIRKS:
        check(got, QUIRKS[case.id]([case.expected(value) for value in case.args], want), case)
    else:
        check(got, want, case)


def call(case: Case, array: Callable[..., Any], hand: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """The result of a case's call and its decoded arguments."""
    names = case.callables(B)
    args = [case.decode(value, array, hand, names) for value in case.args]
    kwargs = {key: case.decode(value, array, hand, names) for key, value in case.kwargs.items()}
    if case.is_program:
        return args[0](*args[1:], **kwargs), args
    out = getattr(B, case.function)(*args, **kwargs)
    return (out[0] if case.function == "scan" else out), args


def gradients(case: Case, out: Any, args: list[Any]) -> Any:
    loss = B.sum(out * case.expected(case.cotangent))
    return B.gradients(loss, [args[position] for position in case.wrt])


def run_steps(case: Case) -> None:
    """Run a stateful case, each step held to what is recorded for it."""
    home: Any = None
    made: list[Any] = []
    for step in case.steps:
        args = [case.decode(value, plain, variable) for value in step.args]
        kwargs = {key: case.decode(value, plain, variable) for key, value in step.kwargs.items()}
        owner, _, method = step.function.rpartition(".")
        out: Any
        if step.function in ("RandomStreams", "make_rng"):
            out = home = getattr(B, step.function)(*args, **kwargs)
        elif step.function == "draw":
            out = made[args[0]]
        elif step.function == "advance":
            home.set_rstate(advanced(concrete(home.rstate).tolist(), args[0]))
            out = home.rstate
        elif owner:
            member = getattr(home, method)
            out = member(*args, **kwargs) if callable(member) else member
        else:
            if step.function.startswith("random_"):
                kwargs.setdefault("rng", home)
            out = getattr(B, step.function)(*args, **kwargs)
        made.append(out)
        if out is not home and (case.kind != "raises" or step is not case.steps[-1]):
            check(concrete(out), case.expected(step.result), case)


def refusal(case: Case) -> Exception | None:
    """The error with which the case's call is refused; accidents are not caught."""
    try:
        if case.steps:
            run_steps(case)
        else:
            concrete(call(case, plain, variable)[0])
    except REFUSALS as error:
        return error
    return None


def check_statistic(got: np.ndarray, case: Case) -> None:
    shape, dtype, mean, deviation, lowest, highest = case.expected(case.result)
    assert got.shape == shape
    assert got.dtype == dtype
    np.testing.assert_allclose([got.mean(), got.std()], [mean, deviation], rtol=0, atol=case.atol)
    assert lowest is None or got.min() >= lowest
    assert highest is None or got.max() <= highest


@each(CASES)
def test_as_recorded(case: Case) -> None:
    B.set_floatx(case.floatx)
    if case.id == "backend":
        assert B.backend() == "numpy"  # a name of its own, as every port has
    elif case.kind == "raises":
        error = refusal(case)
        assert error is not None or "/limit-" in case.id, f"answered where the original raises {case.result}"
        assert error is None or str(error), f"{type(error).__name__} without a message"
    elif case.steps:
        run_steps(case)
    elif case.kind == "gradient":
        out, args = call(case, plain, variable)
        check_result(concrete(gradients(case, out, args)), case)
    elif case.kind == "statistic":
        check_statistic(concrete(call(case, plain, variable)[0]), case)
    else:
        out, _ = call(case, plain, variable)
        check_result(concrete(out), case)


# Cases that only compute from the arrays they are given, so that it is the same how those are handed over.
ABOUT_VARIABLES = {"variable", "get_value", "batch_get_value", "eval", "get_variable_shape"}
COMPUTED = [
    case
    for case in CASES
    if case.kind in ("value", "gradient")
    and not case.is_program
    and not case.steps
    and case.function not in ABOUT_VARIABLES
]


@each(case for case in COMPUTED if "array" in case.tags())
def test_arrays_as_variables(case: Case) -> None:
    B.set_floatx(case.floatx)
    out, _ = call(case, variable, variable)
    check_result(concrete(out), case)


@each(case for case in COMPUTED if case.kind == "value" and "variable" in case.tags())
def test_variables_as_arrays(case: Case) -> None:
    B.set_floatx(case.floatx)
    out, _ = call(case, plain, plain)
    assert not is_tensor(out)
    check_result(concrete(out), case)


@each(case for case in COMPUTED if "variable" in case.tags())
def test_variables_as_placeholders(case: Case) -> None:
    B.set_floatx(case.floatx)
    placeholders: list[Any] = []
    values: list[np.ndarray] = []

    def placeholder(value: np.ndarray) -> Any:
        placeholders.append(B.placeholder(ndim=value.ndim, dtype=value.dtype.name))
        values.append(value)
        return placeholders[-1]

    out, args = call(case, plain, placeholder)
    if case.kind == "gradient":
        out = gradients(case, out, args)
    several = isinstance(out, list | tuple)
    outputs = list(out) if several else [out]
    if all(map(is_tensor, outputs)):  # a dtype or a shape may be known without any values
        outputs = B.function(placeholders, outputs)(*values)
    check_result(concrete(outputs if several else outputs[0]), case)
