"""A surface that records are held to: how a record is called on a library, and how its arrays are handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbm_xp import set_backend
from nbm_xp.namespace import is_array, library_name, to_numpy
from nbm_xp.tape import is_tensor
from tests.golden import limits
from tests.golden.reader import Case, Hand
from tests.helpers.libraries import Library, computing

__all__ = ["NUMPY", "Check", "Right", "System", "check"]

Right = Callable[[list[Any], Any], Any]
"""The right answer where the original is at fault, from the arguments and the recorded answer."""
Check = Callable[[list[Any], Any, Any, Case], None]
"""A function's own check, of the arguments, the answer and what is recorded."""
VALUES = {"batch_get_value", "eval", "get_value"}
"""Functions that ask for values, so that lazy arrays are to be computed."""
REFUSALS = (TypeError, ValueError, IndexError, ArithmeticError, NotImplementedError)
"""A refusal is one of these, with a message that says why; never an accident such as AttributeError or NameError."""
OF_NUMPY = ("str(a.dtype)", "csr_matrix(a)", "a.astype(")
"""What programs make of their arrays, which only NumPy's will do for: a dtype's name, a matrix of SciPy's."""
NUMPY = Library("numpy", "numpy")


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


@dataclass(frozen=True)
class System:
    """A surface on a library, with what is to be known about the records of it."""

    surface: Any
    quirks: Mapping[str, Right]
    statistic: Callable[[Any, list[Any], Case], None]
    """The check of a sample."""
    checks: Mapping[str, Check] = field(default_factory=dict)
    of_lazy: Mapping[str, Check] = field(default_factory=dict)
    """Checks of answers whose lengths lazy arrays do not know."""
    listed: bool = False
    """Whether a compiled function takes its arguments in one list, and gives a list."""
    library: Library = NUMPY

    def on(self, library: Library, case: Case) -> System:
        """The surface as a case is run on a library: what is made is made there."""
        set_backend(library.name)
        self.surface.set_floatx(case.floatx)
        return replace(self, library=library)

    def array(self, value: np.ndarray) -> Any:
        return self.library.array(value)

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
        if case.is_program and any(text in case.note for text in OF_NUMPY):
            array, hand = (lambda value: value), lambda value: self.surface.variable(value, dtype=value.dtype.name)
        names = case.callables(self.surface)
        args = [case.decode(v, hand if i in case.wrt else array, hand, names) for i, v in enumerate(case.args)]
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

    def answer(self, case: Case, array: Hand | None = None, hand: Hand | None = None) -> Any:
        """What the case asks for, values or gradients, not yet evaluated; by default of what it was recorded of."""
        out, args = self.call(case, array or self.array, hand or self.variable)
        return self.gradients(case, out, args) if case.kind == "gradient" else out

    def hold(self, case: Case) -> None:
        """Run a case as it was recorded."""
        if case.kind == "raises":
            self.check_refused(case)
        elif case.steps:
            self.run_steps(case)
        elif case.kind == "statistic":
            self.statistic(self.concrete(self.answer(case)), self.arguments(case), case)
        elif case.function == "backend":
            assert self.surface.backend() == self.library.name  # a name of its own, as every port has
        else:
            answer = self.answer(case)
            if is_array(answer) and "array" in case.tags() and not case.is_program:
                known = self.library.lazy and case.function == "shape"  # lengths, which need not be computed
                assert library_name(answer) == ("numpy" if known else self.library.name)
            self.check(answer, case)

    def run_steps(self, case: Case) -> None:
        """Run the steps of a case, each held to what is recorded for it."""
        for step in case.steps:
            args = [case.decode(value, self.array, self.variable) for value in step.args]
            kwargs = {key: case.decode(value, self.array, self.variable) for key, value in step.kwargs.items()}
            out = getattr(self.surface, step.function)(*args, **kwargs)
            check(self.concrete(out), case.expected(step.result), case)

    def arguments(self, case: Case) -> list[Any]:
        """A case's positional arguments on NumPy; functions among them are None."""
        names = dict.fromkeys(case.callables(self.surface))
        return [case.decode(value, np.asarray, np.asarray, names) for value in case.args]

    def check(self, got: Any, case: Case) -> None:
        """Hold an answer to what is recorded, or to the right answer where that is at fault."""
        got, want = self.concrete(got), case.expected(case.result)
        args = self.arguments(case)
        own = self.of_lazy.get(case.function) if self.library.lazy else None
        if own := own or self.checks.get(case.function):
            own(args, got, want, case)
        elif case.id in self.quirks:
            right = self.quirks[case.id](args, want)  # computed here, with a rounding of its own
            check(got, right, replace(case, rtol=max(case.rtol, 1e-6)))
        else:
            check(got, want, case)

    def compiled(self, case: Case) -> Any:
        """The answer of a compiled function, of placeholders of unknown lengths for floating arrays and variables."""
        placeholders: list[Any] = []
        values: list[Any] = []

        def placeholder(value: np.ndarray) -> Any:
            placeholders.append(self.surface.placeholder(ndim=value.ndim, dtype=value.dtype.name))
            values.append(self.array(value))
            return placeholders[-1]

        def array(value: np.ndarray) -> Any:
            return placeholder(value) if value.dtype.kind == "f" else self.array(value)

        leaves: list[Any] = []
        nested = _unnested(self.answer(case, array, placeholder), leaves)
        recorded = [leaf for leaf in leaves if is_tensor(leaf)]  # a dtype or a shape may be known without any values
        compiled = self.surface.function(placeholders, recorded)
        with computing():
            found = iter(compiled(values) if self.listed else compiled(*values))
        return _nested(nested, iter([next(found) if is_tensor(leaf) else leaf for leaf in leaves]))

    def check_refused(self, case: Case) -> None:
        """Refused with a message, accidents apart; or, where the original need not have refused, as is known."""
        error = answer = None
        try:
            answer = self.run_steps(case) if case.steps else self.concrete(self.answer(case))
        except REFUSALS as refusal:
            error = refusal
        except RuntimeError as refusal:
            assert self.library.name == "torch"  # which rejects shapes so
            error = refusal
        assert error is None or str(error), f"{type(error).__name__} without a message"
        if "/limit-" in case.id:
            name = getattr(self.surface, "__name__", type(self.surface).__name__)
            limits.hold(f"{name}:{case.id}", error, answer)
        else:
            assert error is not None, f"answered where the original raises {case.result}"


def _unnested(value: Any, leaves: list[Any]) -> Any:
    """The structure of lists in lists, what they hold appended to `leaves`."""
    if isinstance(value, list | tuple):
        return [_unnested(part, leaves) for part in value]
    leaves.append(value)
    return None


def _nested(structure: Any, leaves: Iterator[Any]) -> Any:
    return next(leaves) if structure is None else [_nested(part, leaves) for part in structure]
