"""Bad calls of the documented functions end in an error that says which function or argument is at fault.

From a recorded call of each function, valid as it stands, one argument at a time is exchanged for what is no answer to
anything, or hardly. A call may answer; but where it does not, its error names the function or a parameter of it, is
none that only the inside of a function explains, and has changed neither the configuration nor a variable.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1, keras2, natural_bm, tape
from nbm_xp.namespace import configuration, to_numpy
from nbm_xp.namespace.errors import FAILURES
from nbm_xp.neon import Backend
from nbm_xp.tape import evaluate, is_tensor
from nbm_xp.tape import namespace as recorded
from tests.golden.reader import Case, Hand, read
from tests.helpers.libraries import AT_NIGHT

SURFACES = {"keras1": keras1, "keras2": keras2, "natural_bm": natural_bm}
BAD: dict[str, Any] = {
    "None": None, "text": "abc", "no text": "", "texts": ["a", "b"], "ragged": [[1, 2], [3]], "object": object(),
    "mapping": {"a": 1}, "class": int, "slice": slice(0, 2), "nothing": (), "minus 100": -100, "nan": float("nan"),
    "too large": 2**70, "array of texts": np.asarray(["a", "b"]),
    "array of objects": np.asarray([1, None], dtype=object), "pair of a number and a text": (1, "a"),
}  # fmt: skip
ACCIDENTS = (AttributeError, KeyError, NameError, AssertionError, RecursionError, StopIteration, SystemError)
INSIDE = re.compile(
    r"'NoneType' object|has no attribute|not subscriptable|unsupported operand|not callable|to unpack"
    r"|index out of range"
)
SET = ("set_", "install_as", "clear_session", "manual_variable_initialization", "reset_uids")
"""Functions that are called for what they change, or print."""


def names(message: str, words: list[str]) -> bool:
    return any(re.search(rf"(?<![\w']){re.escape(word)}(?!\w)", message) for word in words)


def said(error: BaseException) -> str:
    """The message of an error, and the notes on it."""
    return "\n".join((str(error), *getattr(error, "__notes__", ())))


def is_of_the_case(error: BaseException, case: Case) -> bool:
    """Whether it was raised in a function that the case hands over, which has its own opinion of what it is given."""
    return any(frame.filename == f"<{case.id}>" for frame in traceback.extract_tb(error.__traceback__))


def first_calls(system: str) -> dict[str, Case]:
    """A recorded call of each function, which is no program and no series of steps."""
    found: dict[str, Case] = {}
    for case in read(system):
        if case.kind != "raises" and not case.is_program and not case.steps and not case.function.startswith(SET):
            found.setdefault(case.function, case)
    return found


CALLS = [
    pytest.param(system, case, id=f"{system}-{name}")
    for system in (*SURFACES, "neon")
    for name, case in first_calls(system).items()
]


def computed(value: Any) -> None:
    """Compute what was recorded, so that what only then is found out, is."""
    if isinstance(value, (list, tuple)):
        for part in value:
            computed(part)
    elif is_tensor(value):
        evaluate(value)


class Call:
    """One recorded call, of which arguments can be exchanged; every array is handed over anew."""

    def __init__(self, system: str, case: Case, *, as_variables: bool) -> None:
        self.case, self.surface = case, SURFACES.get(system) or Backend(rng_seed=1, library="numpy")
        self.function: Callable[..., Any] = getattr(self.surface, case.function)
        self.parameters = list(inspect.signature(self.function).parameters)
        self.made: list[tuple[Any, np.ndarray]] = []
        self.array: Hand = self.variable if as_variables else np.asarray

    def variable(self, value: np.ndarray) -> Any:
        make = self.surface.array if isinstance(self.surface, Backend) else self.surface.variable
        made = make(value, dtype=value.dtype.name)
        self.made.append((made, value))
        return made

    def __call__(self, exchanged: int | str | None = None, bad: Any = None) -> None:
        self.made.clear()
        callables = self.case.callables(self.surface)
        args = [self.case.decode(value, self.array, self.array, callables) for value in self.case.args]
        keywords = {key: self.case.decode(value, self.array, self.array, callables)
                    for key, value in self.case.kwargs.items()}  # fmt: skip
        if isinstance(exchanged, int):
            args[exchanged] = bad
        elif exchanged is not None:
            keywords[exchanged] = bad
        computed(self.function(*args, **keywords))

    def arguments(self) -> Iterator[int | str]:
        """The places and keywords that can be exchanged, those that the call leaves out too."""
        yield from range(len(self.case.args))
        yield from self.case.kwargs
        for name in self.parameters[len(self.case.args) :]:
            kind = inspect.signature(self.function).parameters[name].kind
            if name not in self.case.kwargs and kind is not inspect.Parameter.VAR_KEYWORD:
                yield name

    def changed(self) -> bool:
        """Whether a variable holds something else than it was given."""
        return any(
            not np.array_equal(to_numpy(made.value).reshape(-1), value.reshape(-1), equal_nan=value.dtype.kind in "fc")
            for made, value in self.made
            if hasattr(made, "value")
        )


@pytest.mark.filterwarnings("ignore")  # numbers that are no answer to anything overflow, too
@pytest.mark.parametrize("as_variables", [False, True], ids=["arrays", "variables"])
@pytest.mark.parametrize(("system", "case"), CALLS)
def test_bad_calls_say_what_is_at_fault(system: str, case: Case, as_variables: bool) -> None:
    call = Call(system, case, as_variables=as_variables)
    try:
        call()
    except (TypeError, ValueError):
        pytest.skip("this call is one of the other kind of arrays")
    before = configuration()
    short = []
    for argument in call.arguments():
        for label, bad in list(BAD.items())[slice(None) if AT_NIGHT else slice(as_variables, None, 2)]:
            try:
                call(argument, bad)
            except FAILURES as error:
                message = said(error)
                if is_of_the_case(error, case):
                    continue
                if not names(message, [case.function, "learning_phase", *call.parameters]):
                    short.append(f"{argument} is {label}: names neither: {type(error).__name__}: {message}")
                if isinstance(error, ACCIDENTS):
                    short.append(f"{argument} is {label}: an accident: {type(error).__name__}: {message}")
                if call.changed():
                    short.append(f"{argument} is {label}: a variable was changed")
            if configuration() != before:
                short.append(f"{argument} is {label}: the configuration was changed")
    assert not short, "\n".join(short)


@pytest.mark.parametrize("name", ["sum", "expand_dims", "linalg.solve", "concat", "reshape", "matmul", "take"])
def test_of_the_recorded_namespace(name: str) -> None:
    function = recorded
    for part in name.split("."):
        function = getattr(function, part)
    answered, messages = set(), []
    for label, bad in BAD.items():
        try:
            function(bad, bad)  # type: ignore[operator]
            answered.add(label)
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            messages.append(str(error))
    assert answered <= {"nothing"}  # no axis more, and the product of two vectors without elements
    assert all(messages) and not any(map(INSIDE.search, messages))


CALLS_OF_THE_TAPE: dict[str, tuple[Callable[[], Any], str]] = {
    "sigmoid of text": (lambda: tape.sigmoid("abc"), "sigmoid"),
    "softplus of None": (lambda: tape.softplus(None), "softplus"),
    "register_gradient of a list": (lambda: tape.register_gradient([], None), "name must be"),  # type: ignore[arg-type]
    "linspace from None": (lambda: recorded.linspace(None, 1.0, 3), "start must be"),
    "linspace to a list": (lambda: recorded.linspace(0.0, [None], 3), "stop must be"),
    "fft with an array for a norm": (
        lambda: recorded.fft.fft(np.ones(2), norm=np.asarray("ortho")),  # type: ignore[call-arg]
        "norm must be",
    ),
    "fft of too many": (lambda: recorded.fft.fft(np.ones(2), n=2**70), "below 2**63"),  # type: ignore[call-arg]
    "zeros of too many": (lambda: recorded.zeros(2**70), "shape must hold lengths below"),
    "fftshift of a number": (lambda: recorded.fft.fftshift(1.0), "x must have an axis"),
    "grad at texts": (lambda: tape.grad(recorded.sum)(np.asarray(["a"])), "argument 0"),
    "function of text": (lambda: tape.function([p := tape.placeholder((None,), name="x")], [p])("abc"), "argument x"),
    "singular": (lambda: evaluate(recorded.linalg.inv(np.zeros((2, 2)))), "inv: "),
}


@pytest.mark.parametrize(("call", "wanted"), CALLS_OF_THE_TAPE.values(), ids=CALLS_OF_THE_TAPE.keys())
def test_of_the_tape(call: Callable[[], Any], wanted: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert wanted in said(caught.value)
