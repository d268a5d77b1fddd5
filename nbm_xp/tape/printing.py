"""Printed forms of values, and notes on errors raised when a plan runs.

A recorded value is printed as its expression, a leaf by a description; nothing is computed. Length and depth are
bounded, and only small arrays in host memory are shown with their elements. A note has the failed call, its arguments,
and the line that recorded it; source lines are looked up only when a note is created.
"""

from __future__ import annotations

import itertools
import linecache
import os
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, cast

from nbm_xp.namespace import array_namespace, errors, host_namespace, library_name

from .dtypes import DTYPE_CLASSES, DType
from .graph import CONSTANT, OUTPUT, PLACEHOLDER, VARIABLE, Node, SourceLocation
from .lengths import Length, Size, known
from .operations import SUBGRAPH_TAG, Shape
from .trees import leaves

_RECORDED_BY = {"loop": "scan"}
_DEEPEST = 6
_MOST_CALLS = 16
_MOST_ARGUMENTS = 6
_MOST_ELEMENTS = 6
_LONGEST = 120
_LONGEST_LINE = 160
_MORE = "…"


def described(node: Node, kind: str) -> str:
    """Describe a value in one line, such as ``<Tensor 'h' = tanh((x @ W) + b): float32[?, 500]>``."""
    label = f"{kind} {node.name!r}" if node.name else kind
    what = described_kind(node.dtype, node.shape)
    if node.op is PLACEHOLDER:
        return f"<{label} placeholder: {what}>"
    if node.op is VARIABLE:
        library = library_name(node.payload.value)
        values = _held_values(node.payload.value)
        return f"<{label}{f' = {values}' if values else ''}: {what} in {library}>"
    if node.op is CONSTANT:
        return f"<{label} {f'= {_held_values(node.payload)}' if _held_values(node.payload) else 'constant'}: {what}>"
    text = expression(node)
    return f"<{label} = {text if len(text) <= _LONGEST else text[: _LONGEST - 1] + _MORE}: {what}>"


def described_kind(dtype: DType, shape: Shape) -> str:
    """Format a dtype and shape, with unknown lengths as question marks: ``float32[?, 500]``."""
    return f"{dtype}[{', '.join(map(_length, shape))}]"


def _length(size: Size) -> str:
    number = known(size)
    return "?" if number is None else str(number)


def call_name(node: Node) -> str:
    """Return the user's name for a node's operation: of a loop, its own name or the function that recorded it."""
    if SUBGRAPH_TAG not in node.op.tags:
        return node.op.name
    return node.name or _RECORDED_BY.get(node.op.name, node.op.name)


def _held_values(array: Any) -> str:
    """Format the elements of a small array in host memory; return an empty string for other arrays."""
    if array_namespace(array) is not host_namespace() or array.size > _MOST_ELEMENTS:
        return ""
    return str(array.tolist())


def expression(node: Node, depth: int = _DEEPEST) -> str:
    """Format the expression of a node, with the names of named values and calls nested up to `depth`."""
    return _Printer().call(node, depth)[0]


class _Printer:
    """Formatter of expressions with a bounded number of calls."""

    def __init__(self) -> None:
        self.calls = 0

    def text(self, value: Any, depth: int, *, beside_operator: bool = False) -> str:
        """Return the source of a value."""
        if isinstance(value, Node):
            text, is_loose = self.node(value, depth)
            return f"({text})" if is_loose and beside_operator else text
        if isinstance(value, (tuple, list)):
            return f"({self.listed(value, depth)}{',' if len(value) == 1 else ''})"
        if isinstance(value, slice):
            start, stop, step = (
                "" if v is None else self.text(v, depth) for v in (value.start, value.stop, value.step)
            )
            return f"{start}:{stop}:{step}" if step and step != "1" else f"{start}:{stop}"
        if isinstance(value, Length):
            return _length(value)
        text = "..." if value is Ellipsis else str(value) if type(value) in DTYPE_CLASSES else repr(value)
        return text if len(text) <= _LONGEST // 4 else _MORE

    def listed(self, values: Sequence[Any], depth: int) -> str:
        """Return the sources of values, separated by commas; further ones are abbreviated."""
        shown = [self.text(value, depth) for value in values[:_MOST_ARGUMENTS]]
        return ", ".join([*shown, *[_MORE] * (len(values) > _MOST_ARGUMENTS)])

    def node(self, node: Node, depth: int) -> tuple[str, bool]:
        """Return the source of a node, and whether it needs parentheses next to an operator."""
        if node.name:
            return node.name, False
        if node.op is CONSTANT:
            return _held_values(node.payload) or described_kind(node.dtype, node.shape), False
        if node.op in (PLACEHOLDER, VARIABLE):
            return f"{node.op.name} {described_kind(node.dtype, node.shape)}", True
        if node.op.name == "scalar":
            return self.text(node.args[0], depth), False
        return self.call(node, depth - 1)

    def call(self, node: Node, depth: int) -> tuple[str, bool]:
        """Return the source of a node's call, and whether it needs parentheses next to an operator."""
        self.calls += 1
        if depth <= 0 or self.calls > _MOST_CALLS:
            return _MORE, False
        name, args, symbol = node.op.name, node.args, node.op.symbol
        if node.op is OUTPUT:
            return f"{self.text(args[0], depth)}[{args[1]}]", False
        if symbol:
            operands = [self.text(arg, depth, beside_operator=True) for arg in args]
            return (f" {symbol} " if len(args) == 2 else symbol).join(
                operands if len(args) == 2 else ["", *operands]
            ), True
        if name == "getitem" and len(args) == 2:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            return f"{self.text(args[0], depth, beside_operator=True)}[{self.listed(index, depth)}]", False
        if SUBGRAPH_TAG in node.op.tags:
            return f"{call_name(node)}({_MORE})", False
        options = [f"{key}={self.option(value)}" for key, value in node.attributes.items() if _tells(value, node)]
        return f"{name}({', '.join(filter(None, [self.listed(args, depth), *options]))})", False

    def option(self, value: Any) -> str:
        """Return the source of an option; a single axis without parentheses."""
        return self.text(value[0] if isinstance(value, tuple) and len(value) == 1 else value, 2)


def _tells(value: Any, node: Node) -> bool:
    """Return whether an option differs from its default."""
    if value is None or value is False or (type(value) in DTYPE_CLASSES and value == node.dtype):
        return False
    first = node.args[0] if node.args else None
    every = isinstance(first, Node) and isinstance(value, tuple) and value == tuple(range(len(first.shape)))
    return not every


def described_location(location: SourceLocation) -> str:
    """Format a location: ``model.py:12 in energy: y = xp.matmul(x, w)``."""
    code, position, _, _ = location
    line = next(itertools.islice(code.co_positions(), position // 2, None), (None,))[0] or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]}…"
    where = f"{_short(code.co_filename)}:{line}"
    if code.co_name != "<module>":
        where += f" in {code.co_qualname.rpartition('<locals>.')[2]}"
    return f"{where}: {text}" if text else where


def _short(filename: str) -> str:
    """Return a file name relative to the current directory if the file is in it."""
    here = os.getcwd() + os.sep
    return filename[len(here) :] if filename.startswith(here) else filename


def recorded_at(location: SourceLocation | None) -> str:
    """Return the suffix ``, recorded at model.py:12 in energy: …``; an empty string for None."""
    return "" if location is None else f", recorded at {described_location(location)}"


def recorded_in(location: SourceLocation | str | None) -> str:
    """Return the part of a note about a location: the operation whose gradient it is, if any, and the line."""
    if location is None or isinstance(location, str):
        return location or ""
    return f"{(location[2] and f', in {location[2]}') or ''}{recorded_at(location)}"


def explain(error: Exception, name: str, args: Sequence[Any], location: SourceLocation | str | None) -> None:
    """Add a note about the failed call to an error: ``take of float64[3] and int64[1] in gather, recorded at …``."""
    arrays = [value for value in leaves(list(args)) if hasattr(value, "shape") and hasattr(value, "dtype")]
    operands = list(map(errors.described, arrays))
    listed = " and ".join(operands) if len(operands) < 3 else f"{', '.join(operands[:-1])} and {operands[-1]}"
    is_named = isinstance(location, tuple) and not location[3].startswith(("_", "<"))
    caller = location[3] if location and is_named else name
    call = (f"{name} of {listed}" if operands else name) + ("" if caller == name else f" in {caller}")
    add_note(error, f"{call}{recorded_in(location)}")
    if location:
        setattr(error, errors.NOTED, True)
    errors.say_lack(error, caller)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error unless it has it already."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


class Call(NamedTuple):
    """One call of a plan: its name, its location, its source and the sources of its arguments."""

    name: str
    location: SourceLocation | str | None
    source: str
    args: tuple[str, ...]


class LineTable:
    """The calls on each line of a plan (lines start at 1), arguments before the calls that use them."""

    __slots__ = ("lines",)

    def __init__(self, lines: Sequence[Sequence[Call]]) -> None:
        self.lines = lines

    def explain(self, error: Exception) -> None:
        """Add a note to an error of the plan: the failed call, its arguments and its location."""
        traceback = cast("TracebackType", error.__traceback__)
        calls = self.lines[traceback.tb_lineno]
        scope = traceback.tb_frame.f_globals, traceback.tb_frame.f_locals
        if calls:
            failed = next((one for one in calls[:-1] if not _values([one.source], *scope)), calls[-1])
            explain(error, failed.name, _values(failed.args, *scope), failed.location)

    def __reduce__(self) -> tuple[Any, ...]:
        named = [[call._replace(location=recorded_in(call.location)) for call in line] for line in self.lines]
        return LineTable, (named,)


def _values(sources: Sequence[str], *scope: Any) -> list[Any]:
    """Evaluate expressions; skip those that raise."""
    found: list[Any] = []
    for source in sources:
        with suppress(Exception):
            found.append(eval(source, *scope))
    return found
