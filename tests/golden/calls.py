"""Recorded calls as functions of their arrays: the cases of laws that hold for every documented function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tests.golden.reader import Case, Hand, read
from tests.golden.surfaces import SURFACES

__all__ = ["ABOUT_VARIABLES", "CALLS", "OF_ARRAYS", "RECORDING", "Call", "first_of_each"]

ABOUT_VARIABLES = {
    "batch_get_value", "batch_set_value", "constant", "count_params", "dropout", "eval", "get_value",
    "get_variable_shape", "gradients", "int_shape", "is_keras_tensor", "placeholder", "set_value", "variable",
}  # fmt: skip
"""What says something of a variable, or does something to it, so that it matters how arrays are handed over."""
RECORDING = {"normalize_batch_in_training", "rnn"}
"""Programs that only record, and leave what they made to be computed."""

ASK_FOR_VALUES = {"arange", "ctc_decode", "ctc_label_dense_to_sparse", "ifelse", "print_tensor", "scan", "switch"}
"""What asks for a value, which lazy arrays do not give without a computation."""
GIVE_NO_ARRAYS = {"dtype", "is_sparse", "ndim", "shape", "to_dense"}


@dataclass(frozen=True)
class Call:
    """A recorded call as a function of its arrays, of which floating ones are in double precision."""

    case: Case

    def __str__(self) -> str:
        return f"{self.case.system}-{self.case.id}"

    @property
    def name(self) -> str:
        return self.case.function

    @property
    def form(self) -> tuple[Any, ...]:
        """The function and what it was called with: how many arguments, which keywords."""
        return self.name, len(self.case.args), *self.case.kwargs

    @property
    def differentiable(self) -> bool:
        """Whether a gradient was recorded of it."""
        return self.case.kind == "gradient"

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        found: list[np.ndarray] = []
        self._arguments(lambda value: found.append(value.astype("float64") if value.dtype.kind == "f" else value))
        return tuple(found)

    @cached_property
    def answer(self) -> Any:
        """NumPy's, which the records hold."""
        return self(*self.arrays)

    def __call__(self, *arrays: Any) -> Any:
        surface, given = SURFACES[self.case.system].surface, iter(arrays)
        surface.set_floatx("float64")
        args, kwargs = self._arguments(lambda value: next(given))
        function, *args = args if self.case.is_program else (getattr(surface, self.name), *args)
        return function(*args, **kwargs)

    def _arguments(self, hand: Hand) -> tuple[list[Any], dict[str, Any]]:
        names = self.case.callables(SURFACES[self.case.system].surface)
        args = [self.case.decode(value, hand, hand, names) for value in self.case.args]
        return args, {key: self.case.decode(value, hand, hand, names) for key, value in self.case.kwargs.items()}


def _calls() -> Iterator[Call]:
    for system in SURFACES:
        for case in read(system):
            plain = case.kind in ("value", "gradient") and not case.steps and "quirk" not in case.id
            able = not case.is_program or case.function in RECORDING
            if plain and able and case.tags() & {"array", "variable"} and case.function not in ABOUT_VARIABLES:
                yield Call(case)


def first_of_each(calls: Iterable[Call], key: Callable[[Call], Any] = lambda call: call.name) -> list[Call]:
    """One call of each function, one that is differentiated where there is one."""
    found: dict[Any, Call] = {}
    for call in sorted(calls, key=lambda call: not call.differentiable):
        found.setdefault(key(call), call)
    return list(found.values())


CALLS = list(_calls())
OF_ARRAYS = [call for call in CALLS if call.name not in ASK_FOR_VALUES | GIVE_NO_ARRAYS]
"""Those whose arrays may be lazy, and whose results are arrays."""
