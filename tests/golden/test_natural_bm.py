"""natural_bm answers what natural_bm on Theano answered.

A test holds every record of a function. Of those that compute from arrays one is run three further ways, and with
``--everywhere`` all are: plain arrays handed over as variables, variables handed over as plain arrays (computed at
once), and variables handed over as placeholders of unknown lengths (recorded, compiled, then run).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp import natural_bm as B
from nbm_xp.tape import is_tensor
from tests.golden.mrg import advanced
from tests.golden.reader import Case, read
from tests.golden.runner import System, check, each, plain

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


def check_svd(args: list[Any], got: list[np.ndarray], want: list[np.ndarray], case: Case) -> None:
    """Singular vectors are fixed up to signs and, in a null space, a rotation: hold them to what defines them."""
    u, s, v = got
    assert [part.dtype for part in got] == [part.dtype for part in want]
    assert [part.shape for part in got] == [part.shape for part in want]
    near = {"rtol": case.rtol, "atol": case.atol}
    np.testing.assert_allclose(s, want[1], **near)
    np.testing.assert_allclose(u @ u.T, np.eye(len(u)), **near)
    np.testing.assert_allclose(v @ v.T, np.eye(len(v)), **near)
    np.testing.assert_allclose((u[:, : len(s)] * s) @ v[: len(s)], args[0], **near)


SYSTEM = System(B, QUIRKS, {"svd": check_svd})


def run_steps(case: Case) -> None:
    """Run a stateful case, each step held to what is recorded for it."""
    home: Any = None
    made: list[Any] = []
    for step in case.steps:
        args = [case.decode(value, plain, SYSTEM.variable) for value in step.args]
        kwargs = {key: case.decode(value, plain, SYSTEM.variable) for key, value in step.kwargs.items()}
        owner, _, method = step.function.rpartition(".")
        out: Any
        if step.function in ("RandomStreams", "make_rng"):
            out = home = getattr(B, step.function)(*args, **kwargs)
        elif step.function == "draw":
            out = made[args[0]]
        elif step.function == "advance":
            home.set_rstate(advanced(SYSTEM.concrete(home.rstate).tolist(), args[0]))
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
            check(SYSTEM.concrete(out), case.expected(step.result), case)


def check_statistic(got: np.ndarray, case: Case) -> None:
    shape, dtype, mean, deviation, lowest, highest = case.expected(case.result)
    assert got.shape == shape
    assert got.dtype == dtype
    np.testing.assert_allclose([got.mean(), got.std()], [mean, deviation], rtol=0, atol=case.atol)
    assert lowest is None or got.min() >= lowest
    assert highest is None or got.max() <= highest


@each(CASES, REMARKED, again=False)
def test_as_recorded(case: Case) -> None:
    B.set_floatx(case.floatx)
    if case.id == "backend":
        assert B.backend() == "numpy"  # a name of its own, as every port has
    elif case.kind == "raises":
        SYSTEM.check_refused(
            lambda: run_steps(case) if case.steps else SYSTEM.answer(case, plain, SYSTEM.variable), case
        )
    elif case.steps:
        run_steps(case)
    elif case.kind == "statistic":
        check_statistic(SYSTEM.concrete(SYSTEM.answer(case, plain, SYSTEM.variable)), case)
    else:
        SYSTEM.check(SYSTEM.answer(case, plain, SYSTEM.variable), case)


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


@each((case for case in COMPUTED if "array" in case.tags()), REMARKED)
def test_arrays_as_variables(case: Case) -> None:
    B.set_floatx(case.floatx)
    SYSTEM.check(SYSTEM.answer(case, SYSTEM.variable, SYSTEM.variable), case)


@each((case for case in COMPUTED if case.kind == "value" and "variable" in case.tags()), REMARKED)
def test_variables_as_arrays(case: Case) -> None:
    B.set_floatx(case.floatx)
    out = SYSTEM.answer(case, plain, plain)
    assert not is_tensor(out)
    SYSTEM.check(out, case)


@each((case for case in COMPUTED if "variable" in case.tags()), REMARKED)
def test_variables_as_placeholders(case: Case) -> None:
    B.set_floatx(case.floatx)
    SYSTEM.check(SYSTEM.compiled(case), case)
