"""A chain of a plan as data for the library, and the source that calls it where arrays are large."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from nbm_xp.namespace import chains as library

from ..dtypes import DType
from ..lengths import Length, known
from ..node import Node
from ..operators import is_number
from .chains import Chain

__all__ = ["as_program", "call_lines"]

_MOST_ASKED = 3


def as_program(
    chain: Chain, resolve: Callable[[Node], Node], written: Callable[[Any], str]
) -> tuple[library.Program, list[str], str]:
    """A chain as data, the source of what it is called with, and of whether its arrays are large.

    Parameters
    ----------
    chain
        The chain.
    resolve
        Gives the node that is computed in the place of another.
    written
        Gives the source of an argument.
    """
    return _Describing(chain, resolve, written).described()


class _Describing:
    def __init__(self, chain: Chain, resolve: Callable[[Node], Node], written: Callable[[Any], str]) -> None:
        self.chain = chain
        self.resolve = resolve
        self.written = written
        self.given: dict[str, int] = {}
        self.arrays: dict[Node, str] = {}
        self.steps: list[library.Step] = []
        self.step_of: dict[Node, int] = {}
        self.full: dict[Hashable, int | tuple[int, ...]] = {}

    def described(self) -> tuple[library.Program, list[str], str]:
        values = [node for node in self.chain.members if not node.op.adds_up]
        for node in values:
            self._add(node)
        results = tuple(map(self._result, self.chain.outputs))
        program = library.Program(
            len(values[0].shape), tuple(self.steps), results, tuple(dict.fromkeys(self.full.values()))
        )
        return program, list(self.given), self._size(values[0])

    def _size(self, value: Node) -> str:
        """Source of whether the values have many elements: one of the arrays has as many, or they broadcast to it."""
        shape = tuple(map(known, value.shape))
        sizes = {
            node.shape: f"{name}.size" for node, name in self.arrays.items() if tuple(map(known, node.shape)) == shape
        }
        found = list(sizes.values())[:_MOST_ASKED] or [" * ".join(f"{name}.size" for name in self.arrays.values())]
        large = " or ".join(f"{size} >= {library.LARGE}" for size in found)
        return f"({large})" if len(found) > 1 else large

    def _place(self, value: Any) -> int:
        """The place of an argument among those that the chain is called with."""
        return self.given.setdefault(self.written(value), len(self.given))

    def _add(self, node: Node) -> None:
        step = None if node.op.chain_step is None else node.op.chain_step(node)
        name, args = (node.op.name, node.args) if step is None else step[:2]
        if step is not None:
            self._require_shape(step.shape)
        if name == "same" and self.resolve(args[0]) not in self.step_of:
            self.full[self.resolve(args[0]).shape] = (self._place(args[0]),)
        taken = tuple(self._argument(arg) for arg in args)
        if step is None and node.shape not in self.full:
            nodes = [self.resolve(arg) for arg in args if isinstance(arg, Node)]
            if not any(one in self.step_of for one in nodes):
                self.full[node.shape] = tuple(self._place(one) for one in nodes if one.shape)
        self.step_of[node] = len(self.steps)
        self.steps.append(library.Step("same" if name == "broadcast" else name, taken))

    def _require_shape(self, shape: Any) -> None:
        self.full["shape", self.written(shape)] = self._place(shape)

    def _argument(self, arg: Any) -> tuple[str, Any]:
        if isinstance(arg, DType):
            return "is", str(arg)
        if isinstance(arg, Length):
            return "given", self._place(arg)
        if not isinstance(arg, Node):
            return "is", arg
        node = self.resolve(arg)
        if node in self.step_of:
            return "step", self.step_of[node]
        if node.op.name == "scalar" and is_number(node.args[0]) and not isinstance(node.args[0], Length):
            self.steps.append(library.Step("fill", (("is", node.args[0]), ("is", str(node.dtype)))))
            return "step", len(self.steps) - 1
        place = self._place(node)
        if node.shape:
            self.arrays[node] = self.written(node)
        return "given", place

    def _result(self, node: Node) -> library.Result:
        if not node.op.adds_up:
            return library.Result(self.step_of[node])
        step = self.step_of[self.resolve(node.args[0])]
        options = node.attributes
        return library.Result(step, node.op.name, tuple(options["axis"]), bool(options["keepdims"]))


def call_lines(large: str, call: str, results: str) -> list[str]:
    """The head of a chain: the call, where it applies; the statements that take its place follow, indented."""
    return [f"if {large} and (blocks := {call}) is not None:", f"    ({results}), blocks = blocks, None", "else:"]
