"""From a graph to straight-line Python source.

The source calls the library's own functions, with operators where the library has them, so that a plan costs no more
than the same lines written by hand: each value is computed once (equal calls are merged), a value used once stands
inside the expression that uses it, a local is deleted after its last use, and what only one branch of an `ifelse` needs
is computed inside that branch.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from nbm_xp.namespace import concrete_int, dtype_of

from .branches import Block, common_block
from .dtypes import DType
from .lengths import Length
from .node import IDENTITY_TAG, IFELSE_NAME, LEAVES, LOOP_TAG, OUTPUT, Node, nodes_in
from .traversal import Result, reachable

__all__ = ["PlanWriter"]

_DEEPEST_EXPRESSION = 12


class PlanWriter:
    """Writes the source of one plan."""

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Result], xp: ModuleType, givens: dict[Node, Node], lazy: bool
    ) -> None:
        self.xp = xp
        self.lazy = lazy
        self.givens = givens
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.names: dict[Node, str] = {}
        self.bound: dict[str, Any] = {}
        self._bound_names: dict[Hashable, str] = {}
        self.order = reachable(outputs, inputs, givens)
        self.same: dict[Node, Node] = {}
        self._merge_equal_calls()
        self.order = [node for node in self.order if self.same[node] is node]
        self.needed: dict[Node, set[int]] = defaultdict(set)
        self.block: dict[Node, Block] = {}
        self._place_in_blocks()
        self.order = [node for node in self.order if node in self.block]
        self.inlined = self._choose_inlined()

    def _resolve(self, node: Node) -> Node:
        node = self.givens.get(node, node)
        return self.same.get(node, node)

    def _merge_equal_calls(self) -> None:
        inputs = set(self.inputs)
        by_key: dict[Hashable, Node] = {}
        for node in self.order:
            self.same[node] = node
            if node in inputs or node.op in LEAVES:
                continue
            if IDENTITY_TAG in node.op.tags:
                self.same[node] = self._resolve(node.args[0])
                continue
            try:
                key = (node.op, self._freeze(node.args), self._freeze(node.attributes), id(node.payload))
                self.same[node] = by_key.setdefault(key, node)
            except TypeError:
                continue

    def _freeze(self, value: Any) -> Hashable:
        if isinstance(value, Node):
            return self._resolve(value)
        if isinstance(value, (tuple, list)):
            return tuple(map(self._freeze, value))
        if isinstance(value, dict):
            return tuple((key, self._freeze(item)) for key, item in value.items())
        if isinstance(value, slice):
            return ("slice", self._freeze((value.start, value.stop, value.step)))
        return (type(value), repr(value)) if isinstance(value, (bool, int, float, complex)) else value

    def _uses(self, node: Node) -> Iterator[tuple[Node, Block]]:
        """Each use that a node makes of another, with the block in which it is needed."""
        block = self.block[node]
        if node.op.name == IFELSE_NAME and not self.lazy:
            condition, *branches = node.args
            yield self._resolve(condition), block
            for branch, values in enumerate(branches):
                for index, value in enumerate(values):
                    if index in self.needed[node] and isinstance(value, Node):
                        yield self._resolve(value), (*block, (self._resolve(condition), branch))
            return
        for other in node.inputs:
            yield self._resolve(other), block

    def _place_in_blocks(self) -> None:
        """Find the block of each value; one that nothing needs, such as an unused value of a branch, has none."""
        pending: dict[Node, Block] = {}

        def need(node: Node, block: Block) -> None:
            before = pending.get(node)
            pending[node] = block if before is None else common_block(before, block)

        for result in self.outputs:
            for node in nodes_in(result):
                need(self._resolve(node), ())
        inputs = set(self.inputs)
        for node in reversed(self.order):
            if node not in pending:
                continue
            self.block[node] = pending[node]
            if node not in inputs:
                if node.op is OUTPUT:
                    self.needed[self._resolve(node.args[0])].add(node.args[1])
                for other, block in self._uses(node):
                    need(other, block)

    def _choose_inlined(self) -> set[Node]:
        """Nodes that are used exactly once, as an argument, in the block where they are computed."""
        uses: Counter[Node] = Counter()
        fixed: set[Node] = set()
        for result in self.outputs:
            for node in nodes_in(result):
                fixed.add(self._resolve(node))
        inputs = set(self.inputs)
        for node in self.order:
            if node in inputs:
                continue
            for value in (*node.args, *node.attributes.values()):
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, Node):
                        uses[self._resolve(item)] += 1
                    else:
                        fixed.update(self._resolve(other) for other in nodes_in(item))
            if node.op is OUTPUT or node.op.name == IFELSE_NAME:
                fixed.update(self._resolve(other) for other in node.inputs)
            elif self.block[node]:
                fixed.update(o for o in map(self._resolve, node.inputs) if self.block[o] != self.block[node])
        chosen: set[Node] = set()
        depth: dict[Node, int] = {}
        for node in self.order:
            operands = [self._resolve(other) for other in node.inputs] if node not in inputs else []
            depth[node] = 1 + max((depth[other] for other in operands if other in chosen), default=0)
            simple = node.op not in LEAVES and node.op is not OUTPUT and not self._is_call(node) and node not in inputs
            if simple and uses[node] == 1 and node not in fixed and depth[node] < _DEEPEST_EXPRESSION:
                chosen.add(node)
        return chosen

    def _is_call(self, node: Node) -> bool:
        return node.dtype == "void"

    def source(self) -> str:
        """The whole function as text."""
        for index, node in enumerate(self.inputs):
            self.names[node] = f"a{index}"
        self.results: dict[Node, dict[int, Node]] = defaultdict(dict)
        for node in self.order:
            if node.op is OUTPUT:
                self.results[self._resolve(node.args[0])][node.args[1]] = node
        self.place = {node: place for place, node in enumerate(self.order)}
        lines = self._lines(node for node in self.order if not self.block[node])
        results = [self._result_source(result) for result in self.outputs]
        lines = _with_deletions(lines, results, {f"a{index}" for index in range(len(self.inputs))})
        parameters = ", ".join(f"a{index}" for index in range(len(self.inputs)))
        body = "".join(f"    {line}\n" for line in lines)
        return f"def plan({parameters}):\n{body}    return ({''.join(result + ', ' for result in results)})\n"

    def _result_source(self, result: Result) -> str:
        if result is None:
            return "None"
        if isinstance(result, Length):
            return self._value_source(result)
        return self.names[self._resolve(result)]

    def _lines(self, nodes: Iterable[Node]) -> list[str]:
        """Statements that compute these values, all of one block, as far as they are not computed yet."""
        lines: list[str] = []
        for node in nodes:
            if node in self.inlined or self._resolve(node) in self.names or node.op is OUTPUT:
                continue
            if node.op in LEAVES:
                raise AssertionError(f"{node!r} is neither an input nor captured")
            if node.op.name == IFELSE_NAME and not self.lazy:
                lines += self._ifelse_lines(node)
            elif self._is_call(node):
                lines.append(f"({self._targets(node)}) = {self._call_source(node)}")
            else:
                self.names[node] = f"t{len(self.names)}"
                lines.append(f"{self.names[node]} = {self._call_source(node)}")
        return lines

    def _targets(self, call: Node) -> str:
        """Names for the results of a call that are used, `_` for the others."""
        by_index = self.results[call]
        names = []
        for index in range(max(by_index, default=-1) + 1):
            if index in by_index:
                self.names[by_index[index]] = f"t{len(self.names)}"
            names.append(self.names.get(by_index.get(index, call), "_"))
        return "".join(f"{name}, " for name in [*names, "*_"])

    def _ifelse_lines(self, node: Node) -> list[str]:
        condition, *branches = node.args
        targets = self.results[node]
        for target in targets.values():
            self.names[target] = f"t{len(self.names)}"
        lines = []
        for branch, (head, values) in enumerate(
            zip((f"if {self._arg_source(condition)}:", "else:"), branches, strict=True)
        ):
            block = (*self.block[node], (self._resolve(condition), branch))
            inner = self._lines(self._inside(block, [values[index] for index in targets]))
            inner += [f"{self.names[target]} = {self._arg_source(values[index])}" for index, target in targets.items()]
            lines += [head, *(f"    {line}" for line in inner or ["pass"])]
        return lines

    def _inside(self, block: Block, values: Sequence[Any]) -> list[Node]:
        """The values of a block that these need, inputs first; another choice may have computed some of them."""
        found: set[Node] = set()
        stack = [self._resolve(value) for value in values if isinstance(value, Node)]
        while stack:
            node = stack.pop()
            if node in found or node in self.names or self.block[node][: len(block)] != block:
                continue
            found.add(node)
            stack += map(self._resolve, node.inputs)
        return sorted((node for node in found if self.block[node] == block), key=self.place.__getitem__)

    def _call_source(self, node: Node) -> str:
        op = node.op
        args = [self._arg_source(arg) for arg in node.args]
        attributes = {key: self._value_source(value) for key, value in node.attributes.items()}
        if op.emit is not None:
            return op.emit(*args, **attributes)
        if LOOP_TAG in op.tags:
            attributes["needed"] = repr(frozenset(self.needed[node]))
        keywords = [f"{key}={value}" for key, value in attributes.items()]
        return f"{self._function_name(node)}({', '.join(args + keywords)})"

    def _function_name(self, node: Node) -> str:
        op = node.op
        label = op.name.replace(".", "_")
        if op.run is None:
            target: Any = self.xp
            for step in op.name.split("."):
                target = getattr(target, step)
            return self._bind(label, op, target)
        if node.payload is not None:
            return self._bind(label, (op, id(node.payload)), partial(op.run, self.xp, node.payload))
        return self._bind(label, op, _BoundRun(op.run, self.xp))

    def _bind(self, label: str, key: Hashable, value: Any) -> str:
        name = self._bound_names.get(key)
        if name is None:
            name = label if label not in self.bound and label.isidentifier() else f"{label}_{len(self.bound)}"
            name = f"{name}_" if name in ("plan", "min", "max") or name in _PYTHON_WORDS else name
            self._bound_names[key] = name
            self.bound[name] = value
        return name

    def _arg_source(self, arg: Any) -> str:
        if isinstance(arg, Node):
            node = self._resolve(arg)
            if node in self.inlined:
                return self._call_source(node)
            return self.names[node]
        return self._value_source(arg)

    def _value_source(self, value: Any) -> str:
        if isinstance(value, Node):
            return self._arg_source(value)
        if isinstance(value, DType):
            return self._bind(str(value) + "_", ("dtype", value), dtype_of(self.xp, value))
        if isinstance(value, Length):
            return value.source(self._atom_source)
        if isinstance(value, tuple):
            return f"({''.join(self._value_source(item) + ', ' for item in value)})"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._value_source, (value.start, value.stop, value.step)))})"
        if isinstance(value, (bool, str)) or value is None or value is Ellipsis:
            return repr(value)
        if isinstance(value, int):
            return repr(int(value)) if value >= 0 else f"({int(value)!r})"
        if isinstance(value, float) and math.isfinite(value):
            return f"({float(value)!r})"
        return self._bind("constant", ("constant", repr(value)), value)

    def _atom_source(self, atom: tuple[Any, ...]) -> str:
        if atom[0] == "axis":
            return f"{self._arg_source(atom[1])}.shape[{atom[2]}]"
        return f"{self._bind('concrete_int', 'concrete_int', concrete_int)}({self._arg_source(atom[1])})"


class _BoundRun:
    """A `run` bound to its library, equal to another of the same, so that equal plans are found again."""

    __slots__ = ("run", "xp")

    def __init__(self, run: Callable[..., Any], xp: ModuleType) -> None:
        self.run = run
        self.xp = xp

    def __call__(self, *args: Any, **attributes: Any) -> Any:
        return self.run(self.xp, *args, **attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BoundRun) and self.run is other.run and self.xp is other.xp

    def __hash__(self) -> int:
        return hash((self.run, id(self.xp)))


_PYTHON_WORDS = frozenset({"slice", "abs", "all", "any", "sum", "pow", "round", "bool", "int", "float"})


def _with_deletions(lines: list[str], results: list[str], parameters: set[str]) -> list[str]:
    """Delete each local after the last top-level statement that names it."""
    word = re.compile(r"\bt\d+\b")
    last: dict[str, int] = {}
    groups: list[list[str]] = []
    for line in lines:
        if line.startswith((" ", "else:")):
            groups[-1].append(line)
        else:
            groups.append([line])
    for index, group in enumerate(groups):
        for line in group:
            for name in word.findall(line):
                last[name] = index
    kept = {name for result in results for name in word.findall(result)}
    dead: dict[int, list[str]] = defaultdict(list)
    for name, index in last.items():
        if name not in kept:
            dead[index].append(name)
    written: list[str] = []
    for index, group in enumerate(groups):
        written += group
        branched = len(group) > 1
        if dead[index] and branched:
            written.append(f"{' = '.join(dead[index])} = None")  # some exist in one branch only
        elif dead[index]:
            written.append(f"del {', '.join(dead[index])}")
    return written
