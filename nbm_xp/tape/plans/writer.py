"""Generation of Python source from a graph.

The source calls the library's functions and operators, so that a plan is as fast as handwritten code: each value is
computed once (equal calls are merged), a value used once is inlined into the expression that uses it, a local variable
is deleted after its last use, and values needed by only one branch of an `ifelse` are computed inside that branch. The
calls of each line are recorded for error messages.
"""

from __future__ import annotations

import itertools
import linecache
import math
import threading
import weakref
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar

from nbm_xp.namespace import chains as library
from nbm_xp.namespace import concrete_int, kernel, running_dtype
from nbm_xp.namespace.errors import say_lack

from ..control import IFELSE, BranchPath
from ..dtypes import DTYPE_CLASSES
from ..graph import LEAVES, OUTPUT, Node, Result, walk
from ..lengths import Length, known
from ..operations import SUBGRAPH_TAG
from ..printing import Call, LineTable, call_name
from .arrangement import Arrangement
from .chains import Block, Chain, block_of


class BoundRun(partial[Any]):
    """A `run` function bound to its library, compared by both, so that equal plans are found in the cache."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundRun) and self.func is other.func and self.args[0] is other.args[0]

    def __hash__(self) -> int:
        return hash((self.func, id(self.args[0])))


class BoundBlock:
    """A chain that runs block by block; compared by its code."""

    __slots__ = ("plan", "reductions")

    def __init__(self, plan: FunctionType, reductions: Sequence[library.Reduction | None]) -> None:
        self.plan = plan
        self.reductions = tuple(reductions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundBlock) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Hashable:
        return self.plan.__code__, id(self.plan.__globals__), self.reductions

    def __call__(self, given: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any] | None:
        """Return the results of the chain; None if whole arrays must be computed."""
        return library.in_blocks(self.plan, given, shapes, self.reductions)


Line: TypeAlias = tuple[str, Sequence[Call]]
# The indentation and the lines of one step.
Group: TypeAlias = tuple[str, list[Line]]


class PlanWriter:
    """Generator of the source of one plan."""

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Result],
        xp: ModuleType,
        givens: dict[Node, Node],
        lazy: bool,
        *,
        is_block: bool = False,
    ) -> None:
        self.xp = xp
        self.lazy = lazy
        self.is_block = is_block
        self.block_functions = library.block_functions(xp)
        self.branch = kernel("compiling.branch", xp)
        self._calls: list[Call] = []
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.names: dict[Node, str] = {}
        self.bound: dict[str, Any] = {}
        self._bound_names: dict[Hashable, str] = {}
        self._called: dict[Hashable, str] = {}
        chained = self.block_functions is not None and not is_block
        self.arranged = Arrangement(inputs, outputs, givens, lazy, chained)
        self.resolve = self.arranged.resolve
        self.operands = self.arranged.operands
        self.inlined = self.arranged.inlined
        self._step = 0
        self._last: dict[str, int] = {}

    def source(self) -> str:
        """Return the source of the function."""
        for index, node in enumerate(self.inputs):
            self.names[node] = f"a{index}"
        self.results: dict[Node, dict[int, Node]] = defaultdict(dict)
        for node in self.arranged.order:
            if node.op is OUTPUT and node not in self.names:  # inputs are not computed
                self.results[self.resolve(node.args[0])][node.args[1]] = node
        self.place = {node: place for place, node in enumerate(self.arranged.order)}
        groups: list[Group] = []
        for node in self.arranged.order:
            chain = self.arranged.chain_of.get(node)
            if chain is None and not self.arranged.paths[node]:
                groups += self._groups((node,))
            elif chain is not None and node is chain.members[0]:
                groups += self._chain_groups(chain)
        results = "".join(f"{self.written(result)}, " for result in self.outputs)
        body = [*self._with_deletions(groups), self._line(f"return ({results})")]
        parameters = ", ".join([*(f"a{index}" for index in range(len(self.inputs))), "*", "lines"])
        head: list[Line] = [(f"def plan({parameters}):", ()), ("    try:", ())]
        tail: list[Line] = [(f"    {text}", ()) for text in _ON_ERROR]
        lines = [*head, *((f"        {text}", calls) for text, calls in body), *tail]
        self.lines = LineTable([(), *(calls for _, calls in lines)])
        return "".join(f"{text}\n" for text, _ in lines)

    def _line(self, text: str) -> Line:
        """Return a line with the calls written since the previous line."""
        calls, self._calls = self._calls, []
        return text, calls

    def _with_deletions(self, groups: Sequence[Group]) -> Iterator[Line]:
        """Yield the statements, with the deletion of each local variable after its last use."""
        dead: dict[int, list[str]] = defaultdict(list)
        for name, step in self._last.items():
            dead[step].append(name)
        for step, (indent, group) in enumerate(groups):
            yield from ((f"{indent}{text}", calls) for text, calls in group)
            if dead[step] and len(group) > 1:
                yield f"{indent}{' = '.join(dead[step])} = None", ()  # some exist in one branch only
            elif dead[step]:
                yield f"{indent}del {', '.join(dead[step])}", ()

    def _groups(self, nodes: Iterable[Node], indent: str = "") -> list[Group]:
        """Return the statements that compute these values outside of branches, one step for each value."""
        groups: list[Group] = []
        for node in nodes:
            if group := self._lines((node,)):
                groups.append((indent, group))
                self._step += 1
        return groups

    def _chain_groups(self, chain: Chain) -> list[Group]:
        """Return the statements of a chain: block by block for large arrays, else as without chains."""
        shape = chain.members[0].shape
        if all(type(size) is int for size in shape) and math.prod(shape) < library.LARGE:
            return self._groups(chain.members)
        self._step += 1
        whole = self._groups(chain.members, "    ")
        block = block_of(chain, self.resolve)
        writer = PlanWriter(block.given, block.values, self.xp, block.replaced, False, is_block=True)
        run = self._bind("chain", chain, BoundBlock(link_plan(writer), block.reductions))
        given, shapes = self.written(block.given), self.written(block.shapes)
        results = "".join(f"{self.names[node]}, " for node in chain.outputs)
        head = f"if {self._is_large(chain, block)} and (blocks := {run}({given}, {shapes})) is not None:"
        self._step += 1
        lines = [self._line(head), self._line(f"    ({results}), blocks = blocks, None"), self._line("else:")]
        return [("", lines), *whole, ("", [])]

    def _is_large(self, chain: Chain, block: Block) -> str:
        """Return source that tests whether the values of a chain have many elements."""
        arrays = [node for node in block.given if node.shape]
        shape = tuple(map(known, chain.members[0].shape))
        same_shape = {node.shape: node for node in arrays if tuple(map(known, node.shape)) == shape}.values()
        sizes = [f"{self.written(node)}.size" for node in same_shape] or [
            " * ".join(f"{self.written(node)}.size" for node in arrays)
        ]
        return f"({' or '.join(f'{size} >= {library.LARGE}' for size in sizes)})"

    def _name(self, node: Node) -> str:
        """Return the name of a value, and record its use in this step."""
        name = self.names[node]
        if name[0] == "t":
            self._last[name] = self._step
        return name

    def _new_name(self, node: Node) -> str:
        name = self.names[node] = f"t{len(self.names)}"
        self._last[name] = self._step
        return name

    def _lines(self, nodes: Iterable[Node]) -> list[Line]:
        """Return the statements that compute the values of one branch that have not been computed yet."""
        lines: list[Line] = []
        for node in nodes:
            if node in self.inlined or node in self.names or node.op is OUTPUT:
                continue
            if node.op in LEAVES:
                raise AssertionError(f"{node!r} is neither an input nor captured")
            if node.op is IFELSE and not self.lazy:
                lines += self._ifelse_lines(node)
            elif node.is_call:
                source = self.expression(node)
                names = self._targets(node)
                part = "" if SUBGRAPH_TAG in node.op.tags else f"[:{len(names)}]"
                lines.append(self._line(f"({''.join(f'{name}, ' for name in names)}) = {source}{part}"))
            else:
                source = self.expression(node)
                lines.append(self._line(f"{self._new_name(node)} = {source}"))
        return lines

    def _targets(self, call: Node) -> list[str]:
        """Return names for the used results of a call, `_` for the others."""
        by_index = self.results[call]
        if SUBGRAPH_TAG in call.op.tags:  # returns only the needed results
            indices: Iterable[int] = sorted(self.arranged.needed[call])
        else:
            indices = range(max(by_index, default=-1) + 1)
        return [self._new_name(by_index[index]) if index in by_index else "_" for index in indices]

    def _ifelse_lines(self, node: Node) -> list[Line]:
        """Return the statements of an `ifelse`: an ``if``, or the library's conditional of two separate functions."""
        condition, *branches = node.args
        targets, apart = self.results[node], self.branch is not None
        names = [] if apart else list(map(self._new_name, targets.values()))
        chosen = self.written(condition)
        heads = [f"def branch_{len(self.names)}_{branch}():" for branch in range(2)] if apart else _IF
        lines: list[Line] = []
        for branch, (head, values) in enumerate(zip(heads, branches, strict=True)):
            outside = dict(self.names)
            path = (*self.arranged.paths[node], (self.resolve(condition), branch))
            lines.append(self._line(head.format(chosen)))
            inner = self._lines(self._inside(path, [values[index] for index in targets]))
            results = [self.written(values[index]) for index in targets]
            if apart:
                inner.append(self._line(f"return ({''.join(f'{result}, ' for result in results)})"))
                self.names = outside
            else:
                _, calls = self._line("")
                inner += [(f"{name} = {result}", calls) for name, result in zip(names, results, strict=True)]
            lines += [(f"    {text}", calls) for text, calls in inner]
        if apart:
            choose = self._bind("branch", "branch", self.branch)
            functions = ", ".join(head[4:-3] for head in heads)
            names = list(map(self._new_name, targets.values()))
            lines.append(self._line(f"({''.join(f'{name}, ' for name in names)}) = {choose}({chosen}, {functions})"))
        return lines

    def _inside(self, path: BranchPath, values: Sequence[Any]) -> list[Node]:
        """Return the nodes of a branch that `values` need and that are not computed yet, inputs first."""
        paths = self.arranged.paths

        def inside(node: Node) -> bool:
            return node not in self.names and paths[node][: len(path)] == path

        roots = [self.resolve(value) for value in values if isinstance(value, Node)]
        found = walk(roots, lambda node: self.operands[node] if inside(node) else ())
        return sorted((n for n in found if inside(n) and paths[n] == path), key=self.place.__getitem__)

    def expression(self, node: Node) -> str:
        """Return source that computes a node from named values."""
        args, text = self._fused(node) or self._plain(node)
        self._calls.append(Call(call_name(node), node.source_location, text, tuple(args)))
        return text

    def _plain(self, node: Node) -> tuple[list[str], str]:
        args = [self.written(arg) for arg in node.args]
        if node.op.emit is None:
            return args, self._call(self._function_name(node), args, node)
        return args, node.op.emit(*args, **{key: self.written(value) for key, value in node.attributes.items()})

    def _call(self, function: str, args: list[str], node: Node) -> str:
        options = [f"{key}={self.written(value)}" for key, value in node.attributes.items()]
        return f"{function}({', '.join([*args, *options])})"

    def _fused(self, node: Node) -> tuple[list[str], str] | None:
        """Return the arguments and source of a fused call for a node and one of its arguments, or None."""
        for (position, *names), run in node.op.fused.items():
            given = self.arranged.given_to(names, node.args[position])
            if given is not None:
                taken = [*node.args[:position], *given, *node.args[position + 1 :]]
                args = list(map(self.written, taken))
                label = "_of_".join([node.op.name, *names])
                function = self._bind(label, (node.op, *names), BoundRun(run, self.xp))
                return args, self._call(function, args, node)
        return None

    def _function_name(self, node: Node) -> str:
        op = node.op
        key: Hashable = op if node.payload is None else (op, id(node.payload))
        name = self._called.get(key)
        if name is None:
            label = op.name.replace(".", "_")
            if SUBGRAPH_TAG in op.tags:
                unstacked = self.arranged.unstacked.get(node, frozenset())
                assert op.run is not None
                needed = frozenset(self.arranged.needed[node])
                name = self._bind(label, key, op.run(self.xp, node.payload, needed, unstacked))
            elif op.run is None:
                name = self._bind(label, key, self._library_function(op.name))
            elif node.payload is not None:
                name = self._bind(label, key, partial(op.run, self.xp, node.payload))
            else:
                name = self._bind(label, op, BoundRun(op.run, self.xp))
            self._called[key] = name
        return name

    def _library_function(self, name: str) -> Any:
        if self.is_block and self.block_functions and name in self.block_functions:
            return self.block_functions[name]
        try:
            return attrgetter(name)(self.xp)
        except AttributeError as error:
            say_lack(error, name)
            raise

    def _bind(self, label: str, key: Hashable, value: Any) -> str:
        name = self._bound_names.get(key)
        if name is None:
            name = label if label not in self.bound and label.isidentifier() else f"{label}_{len(self.bound)}"
            name = f"{name}_" if name in _OWN_NAMES or name in _PYTHON_WORDS else name
            self._bound_names[key] = name
            self.bound[name] = value
        return name

    def written(self, value: Any) -> str:
        """Return the source of an argument: a name, an inlined expression or a literal."""
        if isinstance(value, Node):
            node = self.resolve(value)
            return self.expression(node) if node in self.inlined else self._name(node)
        if type(value) in DTYPE_CLASSES:
            return self._bind(str(value) + "_", ("dtype", value), running_dtype(self.xp, value))
        if isinstance(value, Length):
            return value.source(self._atom_source)
        if isinstance(value, tuple):
            return f"({''.join(self.written(item) + ', ' for item in value)})"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.written, (value.start, value.stop, value.step)))})"
        if isinstance(value, (bool, str)) or value is None or value is Ellipsis:
            return repr(value)
        if isinstance(value, int):
            return repr(int(value)) if value >= 0 else f"({int(value)!r})"
        if isinstance(value, float) and math.isfinite(value):
            return f"({float(value)!r})"
        return self._bind("constant", ("constant", repr(value)), value)

    def _atom_source(self, atom: tuple[Any, ...]) -> str:
        if atom[0] == "axis":
            return f"{self.written(atom[1])}.shape[{atom[2]}]"
        return f"{self._bind('concrete_int', 'concrete_int', concrete_int)}({self.written(atom[1])})"


_IF = ["if {}:", "else:"]
_ON_ERROR = ("except Exception as error:", "    lines.explain(error)", "    raise")
_OWN_NAMES = frozenset({"blocks", "plan", "lines", "error", "min", "max", "Exception"})
_PYTHON_WORDS = frozenset({"slice", "abs", "all", "any", "sum", "pow", "round", "bool", "int", "float"})


T = TypeVar("T")

_CACHE_SIZE = 512
_keeping = threading.Lock()
_Linked: TypeAlias = tuple[CodeType, dict[str, Any]]
_compiled: dict[Hashable, _Linked] = {}
_numbers = itertools.count()


def link_plan(writer: PlanWriter) -> FunctionType:
    """Compile the source of a writer to a function, with a cache."""
    source, xp = writer.source(), writer.xp
    key = (source, xp, tuple(writer.bound.values()))
    try:
        found = _compiled.get(key)
    except TypeError:  # plans with unhashable bound objects are not cached
        found = _link(source, writer.bound)
    if found is None:
        found = keep(_compiled, key, _link(source, writer.bound), _CACHE_SIZE)
    plan = FunctionType(*found, "plan")
    plan.__kwdefaults__ = {"lines": writer.lines}  # equal plans may have different source locations
    return plan


def keep(cache: dict[Hashable, T], key: Hashable, value: T, size: int) -> T:
    """Add a value to a cache shared by threads, evicting the oldest; an existing entry is kept and returned."""
    with _keeping:
        while len(cache) >= size:
            del cache[next(iter(cache))]
        return cache.setdefault(key, value)


def _link(source: str, bound: dict[str, Any]) -> _Linked:
    """Compile source to the code of a plan, whose source is shown in tracebacks, and return it with its globals."""
    filename = f"<plan {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = dict(bound)
    exec(compile(source, filename, "exec"), scope)
    code = scope.pop("plan").__code__
    weakref.finalize(code, linecache.cache.pop, filename, None)
    return code, scope
