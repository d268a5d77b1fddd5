"""Plans: graphs compiled to Python functions for one array library, and found again when the same is asked twice."""

from __future__ import annotations

import itertools
import linecache
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar

from ..graph import Result
from ..node import CONSTANT, LEAVES, OUTPUT, VARIABLE, Memory, Node
from .writer import LineTable, PlanWriter

__all__ = ["Exclusive", "compile_plan", "described_plan", "keep", "link_plan", "to_be_copied"]

_LOCKS = tuple(threading.RLock() for _ in range(61))


class Exclusive:
    """Holds the locks of some variables while a block runs, always taken in the same order.

    Variables share a few locks, so that none has to carry one along when it is copied or sent.
    """

    __slots__ = ("places",)

    def __init__(self, variables: Iterable[Node]) -> None:
        self.places = sorted({node.serial % len(_LOCKS) for node in variables})

    def __enter__(self) -> None:
        for place in self.places:
            _LOCKS[place].acquire()

    def __exit__(self, *error: object) -> None:
        for place in reversed(self.places):
            _LOCKS[place].release()


def to_be_copied(
    results: Sequence[Result], count: int, inputs: Sequence[Node], givens: Mapping[Node, Node]
) -> list[int]:
    """Which of the results, `count` outputs and then the updates, share memory that is not theirs to share.

    An output must not be a view of a variable, old or new, nor of another output, nor be read-only; a variable none of
    the caller's arrays.
    """
    viewed: list[tuple[Node | None, bool]] = []
    for result in results:
        node, unsafe, part = givens.get(result, result) if isinstance(result, Node) else None, False, False
        while node is not None and node not in inputs and node.op not in LEAVES:
            memory = node.op.memory
            unsafe = unsafe or memory is Memory.SPREAD or _may_be_anything(node, part)
            if node.op is OUTPUT or memory in (Memory.OWN, Memory.ANY):
                break
            part = part or memory is Memory.FIRST
            node = givens.get(node.args[0], node.args[0])
        viewed.append((node, unsafe))
    kept = {_likeness(node) for node, _ in viewed[count:] if node is not None}
    first = {node: position for position, (node, _) in reversed([*enumerate(viewed)])}
    return [
        position
        for position, (node, unsafe) in enumerate(viewed)
        if node is not None
        and (
            unsafe
            or node.op is CONSTANT
            or node.op.name == "argument"  # the caller's array
            or ((node.op is VARIABLE or _likeness(node) in kept) if position < count else node in inputs)
            or (first[node] < position < count)
        )
    ]


def _likeness(node: Node) -> Hashable:
    """Equal for values that a plan may find to be the same and compute once."""
    return node.op, node.dtype, len(node.shape)


def _may_be_anything(node: Node, part: bool) -> bool:
    """Whether a result, or a part of it, may be an array that the call was given: a branch, or a carried value."""
    if node.op is not OUTPUT:
        return node.op.memory is Memory.ANY
    call, index = node.args
    if call.op.name == "loop":  # the last of the stacked values may be taken before they are stacked
        return part or index < call.payload.first_tap
    return call.op.memory is Memory.ANY


T = TypeVar("T")

_CACHE_SIZE = 512
_keeping = threading.Lock()
_Linked: TypeAlias = tuple[CodeType, dict[str, Any]]
_compiled: dict[Hashable, _Linked] = {}
_numbers = itertools.count()


def compile_plan(
    inputs: Sequence[Node],
    outputs: Sequence[Result],
    xp: ModuleType,
    *,
    givens: Mapping[Node, Node] | None = None,
    lazy: bool = False,
) -> Callable[..., tuple[Any, ...]]:
    """Make the function that computes `outputs` from arrays of library `xp` for `inputs`.

    Parameters
    ----------
    inputs : sequence of Node
        What the function is called with, leaves or any other nodes.
    outputs : sequence of Node, Length or None
        What it returns, in a tuple.
    xp : module
        The namespace of the library that the plan runs on.
    givens : mapping of Node to Node, optional
        Nodes to be replaced by others wherever they are used.
    lazy : bool
        Whether values of this library cannot be looked at while the plan runs; both branches of an `ifelse` are
        computed then and one is selected.
    """
    return link_plan(PlanWriter(inputs, outputs, xp, dict(givens or {}), lazy))


def link_plan(writer: PlanWriter) -> Callable[..., tuple[Any, ...]]:
    """Make a function of what a writer writes."""
    source, xp = writer.source(), writer.xp
    key = (source, xp, tuple(writer.bound.values()))
    try:
        found = _compiled.get(key)
    except TypeError:  # a bound object that cannot be hashed makes the plan unique
        found = _link(source, writer.bound)
    if found is None:
        found = keep(_compiled, key, _link(source, writer.bound), _CACHE_SIZE)
    plan = FunctionType(*found, "plan")
    plan.__kwdefaults__ = {"lines": writer.lines}  # equal plans may have been recorded at different lines
    return plan


def described_plan(plan: Any) -> str:
    """What a plan consists of, in words: its statements, its chains, and how its loops ran last."""
    lines = plan.__kwdefaults__["lines"]
    if not isinstance(lines, LineTable):  # sent here from another process, without its graph
        return "a plan"
    count = len({node for node in lines.nodes if node is not None})
    parts = [f"a plan of {count} statement{'s' * (count != 1)}"]
    if chains := len({id(chain) for chain in lines.writer.arranged.chain_of.values()}):
        parts.append(f"{chains} chain{'s' * (chains != 1)} of them block by block where arrays are large")
    loops = [bound.executor for bound in lines.writer.bound.values() if hasattr(bound, "executor")]
    return ", ".join([*parts, *(f"a loop: {executor}" for executor in loops)])


def keep(cache: dict[Hashable, T], key: Hashable, value: T, size: int) -> T:
    """Enter a value into a cache that threads share, the oldest making room; what is there already stays."""
    with _keeping:
        while len(cache) >= size:
            del cache[next(iter(cache))]
        return cache.setdefault(key, value)


def _link(source: str, bound: dict[str, Any]) -> _Linked:
    """The code of a plan, whose source tracebacks show as long as it lives, and the names it uses."""
    filename = f"<plan {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = dict(bound)
    exec(compile(source, filename, "exec"), scope)
    code = scope.pop("plan").__code__
    weakref.finalize(code, linecache.cache.pop, filename, None)
    return code, scope
