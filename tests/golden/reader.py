"""Recorded cases, read and decoded; no opinion here about what passes.

A folder holds `cases.json` and `arrays.npz`; the README beside them says what a case means. Decoding is one function,
`decode`, which is told how an array and a variable are to be handed over: that is all in which two ways of running the
same case differ.
"""

import functools
import json
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Hand = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Step:
    """One call of a stateful case."""

    function: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True)
class Case:
    """One recorded call, its arguments and result still encoded."""

    system: str
    id: str
    function: str
    kind: str
    floatx: str
    args: list[Any]
    kwargs: dict[str, Any]
    result: Any
    arrays: Mapping[str, np.ndarray] = field(repr=False)
    rtol: float = 0.0
    atol: float = 0.0
    note: str = ""
    wrt: tuple[int, ...] = ()
    cotangent: Any = None
    steps: tuple[Step, ...] = ()

    @property
    def is_program(self) -> bool:
        """Whether the first argument is a function to be called on the others."""
        return bool(self.args) and str(dict_or_empty(self.args[0]).get("callable", "")).startswith("program_")

    def __str__(self) -> str:
        return self.id

    @property
    def dtype_kinds(self) -> str:
        """The kinds of the arrays' dtypes, as in ``ff``."""
        return "".join(self.arrays[name].dtype.kind for _, name in _named([*self.args, *self.kwargs.values()]))

    def tags(self) -> set[str]:
        """The encodings that the arguments use."""
        return {tag for value in (*self.args, *self.kwargs.values()) for tag in _tags(value)}

    def is_about(self, **kinds: str) -> bool:
        """Whether an array is handed over in an encoding with a dtype of these kinds, as in ``array="f"``."""
        values = [*self.args, *self.kwargs.values()]
        return any(self.arrays[name].dtype.kind in kinds.get(tag, "") for tag, name in _named(values))

    def decode(self, value: Any, array: Hand, variable: Hand, names: Mapping[str, Any] | None = None) -> Any:
        """An argument as the Python value it stands for; every array is a fresh copy."""
        if not isinstance(value, dict):
            return value
        ((tag, body),) = value.items()
        match tag:
            case "array":
                return array(self.arrays[body].copy())
            case "variable":
                return variable(self.arrays[body].copy())
            case "tuple":
                return tuple(self.decode(part, array, variable, names) for part in body)
            case "list":
                return [self.decode(part, array, variable, names) for part in body]
            case "float":
                return float(body)
            case "callable":
                return (names or {})[body]
        raise ValueError(f"case {self.id}: unknown encoding {tag!r}")

    def expected(self, value: Any) -> Any:
        """A recorded result as arrays, numbers, strings and sequences of them."""
        if isinstance(value, list):
            return [self.expected(part) for part in value]
        return self.decode(value, np.asarray, np.asarray)

    def callables(self, surface: Any) -> dict[str, Any]:
        """The functions whose source the note carries."""
        if "source (" not in self.note:
            return {}
        source = self.note.split("source (", 1)[1].split("\n", 1)[1]
        names: dict[str, Any] = {"B": surface, "K": surface, "be": surface, "np": np}
        exec(compile(source, f"<{self.id}>", "exec"), names)
        return names


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tags(value: Any) -> Iterator[str]:
    for tag, body in dict_or_empty(value).items():
        yield tag
        if isinstance(body, list):
            for part in body:
                yield from _tags(part)


def _named(values: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for value in values:
        for tag, body in dict_or_empty(value).items():
            if isinstance(body, list):
                yield from _named(body)
            elif tag in ("array", "variable"):
                yield tag, body


@functools.cache
def read(system: str) -> tuple[Case, ...]:
    """All cases of one system, in the order in which they were recorded."""
    folder = pathlib.Path(__file__).parent / system
    with np.load(folder / "arrays.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    cases = []
    for row in json.loads((folder / "cases.json").read_text(encoding="utf-8"))["cases"]:
        steps = tuple(Step(**step) for step in row.pop("steps", ()))
        wrt = tuple(row.pop("wrt", ()))
        row.setdefault("result")  # of steps, the results stand with them
        cases.append(Case(system, **row, wrt=wrt, steps=steps, arrays=arrays))
    return tuple(cases)
