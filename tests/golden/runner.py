"""What a surface answers to a recorded case, and whether that is what was recorded; the same for all systems.

The test module of a system says what it knows of it: a `System`, and which cases are run in which ways.
"""

import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import reset_configuration, to_numpy
from nbm_xp.tape import is_tensor
from tests.golden import limits
from tests.golden.known import reason_of
from tests.golden.reader import Case, Hand
from tests.helpers.libraries import EVERYWHERE, computing

__all__ = ["REFUSALS", "System", "check", "each", "plain"]

REMARKS = "(overflow|divide by zero|invalid value) encountered"

VALUES = {"batch_get_value", "eval", "get_value"}
"""Functions that ask for values, so that lazy arrays are to be computed."""

REFUSALS = (TypeError, ValueError, IndexError, ArithmeticError, NotImplementedError)
"""A refusal is one of these, with a message that says why; never an accident such as AttributeError or NameError."""


def each(cases: Iterable[Case], remarked: Collection[str] = (), *, again: bool = True) -> Callable[..., Any]:
    """One test for each function, which holds every record of it: a failure names the records that it is about.

    The test takes a record and, perhaps, a library. What the records `remarked` ask for is infinite or not a number,
    and NumPy remarks on it, as it does when it is called directly. Of records that are asked for `again`, in
    another way than as they were recorded, one of each kind is held by day.
    """
    records: dict[str, list[Case]] = {}
    for case in cases:
        records.setdefault(case.function, []).append(case)

    def over(test: Callable[..., None]) -> Any:
        way, takes_library = test.__name__.removeprefix("test_"), "library" in inspect.signature(test).parameters

        def whole(request: pytest.FixtureRequest, records: list[Case], library: Any = None) -> None:
            failed: list[tuple[str, Exception]] = []
            reasons, held = [], 0
            for case in _chosen(records, way, library) if again else records:
                reason = None if library is None else reason_of(way, case, library)
                reset_configuration()
                try:
                    with warnings.catch_warnings():
                        if case.id in remarked:
                            warnings.filterwarnings("ignore", REMARKS, RuntimeWarning)
                        test(*((case, library) if takes_library else (case,)))
                        held += 1
                        assert reason is None, f"it must fail: {reason}"
                except Exception as error:
                    if reason is None or (isinstance(error, AssertionError) and str(reason) in str(error)):
                        failed.append((case.id, error))
                    else:
                        reasons.append(reason)
            request.node.user_properties.append(("known", reasons))
            if failed:
                lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failed]
                raise AssertionError("\n".join(lines)) from failed[0][1]
            if not held:
                pytest.xfail(reasons[0])

        names = ("request", "records", *(["library"] if takes_library else []))
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        whole.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
        whole.__name__, whole.__doc__, whole.__module__ = test.__name__, test.__doc__, test.__module__
        return pytest.mark.parametrize("records", list(records.values()), ids=list(records))(whole)

    return over


def _chosen(records: Sequence[Case], way: str, library: Any) -> Sequence[Case]:
    """By day a record of each kind; by night all on NumPy, and some elsewhere, with those that are known to fail."""
    if not EVERYWHERE:
        return list({case.kind: case for case in records}.values())
    if library is None or library.name == "numpy":
        return records
    step = 6 if library.name in ("jax", "dask") else 3  # these compile or lay out each record anew
    return [case for place, case in enumerate(records) if place % step == 0 or reason_of(way, case, library)]


def plain(value: np.ndarray) -> np.ndarray:
    return value


def check(got: Any, want: Any, case: Case) -> None:
    """Structure, shape, dtype and values; a plain Python number has no dtype to hold it to."""
    if isinstance(want, list | tuple):
        assert isinstance(got, list | tuple), f"{len(want)} values are recorded, got {got!r}"
        assert len(got) == len(want)
        for part, recorded in zip(got, want, strict=True):
            check(part, recorded, case)
    elif want is None and case.kind == "gradient":  # nothing depends on the argument: no gradient, or one of zeros
        assert got is None or not np.any(got)
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


def _unnested(value: Any, leaves: list[Any]) -> Any:
    """The structure of lists in lists, what they hold appended to `leaves`."""
    if isinstance(value, list | tuple):
        return [_unnested(part, leaves) for part in value]
    leaves.append(value)
    return None


def _nested(structure: Any, leaves: Iterator[Any]) -> Any:
    return next(leaves) if structure is None else [_nested(part, leaves) for part in structure]


@dataclass(frozen=True)
class System:
    """A surface, with what is to be known about the cases recorded for it."""

    surface: Any
    quirks: Mapping[str, Callable[[list[Any], Any], Any]]
    """Where the original is at fault: the right answer, from the arguments and the recorded answer."""

    checks: Mapping[str, Callable[[list[Any], Any, Any, Case], None]] = field(default_factory=dict)
    """By function, a check of its own: of the arguments, the answer and what is recorded."""

    listed: bool = False
    """Whether a compiled function takes its arguments in one list, and gives a list."""

    array: Hand = plain
    """How a NumPy array becomes one of the library that computes."""

    def variable(self, value: np.ndarray) -> Any:
        return self.surface.variable(self.array(value), dtype=value.dtype.name)

    def concrete(self, value: Any) -> Any:
        """A result with every tensor evaluated and every array brought to NumPy."""
        if isinstance(value, list | tuple):
            return [self.concrete(part) for part in value]
        with computing():
            if is_tensor(value):
                value = self.surface.eval(value)
            return to_numpy(value) if hasattr(value, "shape") else value

    def call(self, case: Case, array: Hand, hand: Hand) -> tuple[Any, list[Any]]:
        """The result of a case's call, and its arguments; what is differentiated is handed over as variables are."""
        names = case.callables(self.surface)
        args = [
            case.decode(value, hand if place in case.wrt else array, hand, names)
            for place, value in enumerate(case.args)
        ]
        kwargs = {key: case.decode(value, array, hand, names) for key, value in case.kwargs.items()}
        if case.is_program:
            with computing():  # where it says so
                return args[0](*args[1:], **kwargs), args
        with computing() if case.function in VALUES else nullcontext():
            out = getattr(self.surface, case.function)(*args, **kwargs)
        return (out[0] if case.function == "scan" else out), args

    def gradients(self, case: Case, out: Any, args: list[Any]) -> Any:
        loss = self.surface.sum(out * case.expected(case.cotangent))
        return self.surface.gradients(loss, [args[position] for position in case.wrt])

    def answer(self, case: Case, array: Hand, hand: Hand) -> Any:
        """What the case asks for, values or gradients, not yet evaluated."""
        out, args = self.call(case, array, hand)
        return self.gradients(case, out, args) if case.kind == "gradient" else out

    def prepare(self, case: Case) -> None:
        """Set what a case's answer is computed under."""
        self.surface.set_floatx(case.floatx)

    def check(self, got: Any, case: Case) -> None:
        """Hold an answer to what is recorded, or to the right answer where that is at fault."""
        self.prepare(case)
        got, want = self.concrete(got), case.expected(case.result)
        names = dict.fromkeys(case.callables(self.surface))
        args = [case.decode(value, np.asarray, np.asarray, names) for value in case.args]
        if case.function in self.checks:
            self.checks[case.function](args, got, want, case)
        elif case.id in self.quirks:
            right = self.quirks[case.id](args, want)  # computed here, with a rounding of its own
            check(got, right, replace(case, rtol=max(case.rtol, 1e-6)))
        else:
            check(got, want, case)

    def compiled(self, case: Case, *, arrays: str = "") -> Any:
        """The answer of a compiled function, given placeholders of unknown lengths for variables.

        And for arrays whose dtypes are of the kinds `arrays`.
        """
        placeholders: list[Any] = []
        values: list[Any] = []

        def placeholder(value: np.ndarray) -> Any:
            placeholders.append(self.surface.placeholder(ndim=value.ndim, dtype=value.dtype.name))
            values.append(self.array(value))
            return placeholders[-1]

        def array(value: np.ndarray) -> Any:
            return placeholder(value) if value.dtype.kind in arrays else self.array(value)

        out = self.answer(case, array, placeholder)
        leaves: list[Any] = []
        nested = _unnested(out, leaves)
        recorded = [leaf for leaf in leaves if is_tensor(leaf)]  # a dtype or a shape may be known without any values
        compiled = self.surface.function(placeholders, recorded)
        with computing():
            found = iter(compiled(values) if self.listed else compiled(*values))
        leaves = [next(found) if is_tensor(leaf) else leaf for leaf in leaves]
        return _nested(nested, iter(leaves))

    def check_refused(self, run: Callable[[], Any], case: Case) -> None:
        """Refused with a message, accidents apart; or, where the original need not have refused, as is known."""
        error = answer = None
        try:
            answer = self.concrete(run())
        except REFUSALS as refusal:
            error = refusal
        assert error is None or str(error), f"{type(error).__name__} without a message"
        if "/limit-" in case.id:
            name = getattr(self.surface, "__name__", type(self.surface).__name__)
            limits.hold(f"{name}:{case.id}", error, answer)
        else:
            assert error is not None, f"answered where the original raises {case.result}"
