"""`evaluate`: values asked for one by one, without compiling anything where that would cost more than it saves.

A graph is computed node by node. One that is asked for again and again is compiled, unless it was computed from
constants alone: then its value is kept, in bounded memory. Graphs that draw random numbers, loop or branch are compiled
at once, and so is what has many nodes and large arrays: compiling takes as long as fifty runs of a node over a few
numbers.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any, NamedTuple, cast

from nbm_xp.namespace import array_namespace, brought, concrete_int, default_namespace, running_dtype, running_namespace

from .dtypes import DType
from .function import Function, function
from .graph import refuse_cut
from .lengths import Length, known, product, substituted
from .node import CONSTANT, IDENTITY_TAG, IFELSE_NAME, LEAVES, OUTPUT, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Memory, Node
from .operators import LATE
from .plans.plan import to_be_copied
from .printing import call_name
from .source_locations import explain, met
from .tensor import Tensor, as_tensor

__all__ = ["BUDGET", "Memo", "evaluate", "look", "memo_bytes", "remember"]

BUDGET = 32 * 2**20
"""Bytes that all kept values together may take."""

_LARGEST_ASKED = 4 * 2**20
_LARGEST_ON_THE_WAY = 64 * 2**10
_NEGLIGIBLE = 1024  # about what the node itself takes


class Memo(NamedTuple):
    """A value, the library it is of, and whether it could be of another: nothing but the configuration decided."""

    value: Any
    xp: Any
    free: bool


class _Ledger:
    """The nodes whose values count against the budget, the oldest first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: OrderedDict[int, tuple[weakref.ref[Node], int]] = OrderedDict()
        self.gone: deque[int] = deque()  # serials of nodes that died, which may happen anywhere, even in here
        self.total = 0

    def enter(self, node: Node, size: int) -> None:
        serial, gone = node.serial, self.gone
        reference = weakref.ref(node, lambda _: gone.append(serial))
        with self.lock:
            if serial in self.entries:
                return
            while gone:
                self._drop(gone.popleft())
            self.entries[serial] = reference, size
            self.total += size
            while self.total > BUDGET:
                oldest = self._drop(next(iter(self.entries)))
                if oldest is not None:
                    oldest.memo = None

    def _drop(self, serial: int) -> Node | None:
        reference, size = self.entries.pop(serial, (None, 0))
        self.total -= size
        return None if reference is None else reference()


_ledger = _Ledger()


def memo_bytes() -> int:
    """How much of the budget is taken."""
    with _ledger.lock:
        while _ledger.gone:
            _ledger._drop(_ledger.gone.popleft())
        return _ledger.total


def remember(node: Node, memo: Memo, *, asked: bool) -> None:
    """Keep the value of a node, if it is not too large."""
    size = _bytes(memo.value, node)
    if size > (_LARGEST_ASKED if asked else _LARGEST_ON_THE_WAY):
        return
    node.memo = memo
    if size > _NEGLIGIBLE:
        _ledger.enter(node, size)


def _bytes(value: Any, node: Node) -> int:
    """The memory of an array; of one whose length is not known, which holds no data, next to none."""
    elements = math.prod(value.shape) if hasattr(value, "shape") else 1
    return int(elements) * _itemsize(node) if elements == elements else 0


def _itemsize(node: Node) -> int:
    """The bytes of one element, from the dtype's name, which ends in its bits."""
    bits = "".join(character for character in str(node.dtype) if character.isdigit())
    return int(bits or 8) // 8


_MANY_NODES = 64
_LARGE = 2**16
"""Elements of an array from which a plan's chains in blocks pay."""
_LOOKS_BEFORE_COMPILING = 2


def evaluate(value: Any, inputs: Mapping[Tensor, Any] | None = None) -> Any:
    """Compute Tensors now.

    Parameters
    ----------
    value : Tensor, or list or tuple of Tensors
        What to compute.
    inputs : mapping of Tensor to array, optional
        Values for placeholders, or for any other Tensors.

    Returns
    -------
    array, or list of arrays
        In the library that the computation ran on; yours to write to.

    Raises
    ------
    TypeError
        If a derivative that is being taken goes through a Tensor, which as an array would count as a constant.

    Notes
    -----
    An array that was recorded is a constant: it must not be written to afterwards, for values computed from constants
    alone are computed once and kept, as far as they are small.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, evaluate, placeholder
    >>> x, y = Variable(2.0), placeholder(())
    >>> float(evaluate(x * x)), float(evaluate(x * y, {y: 10.0}))
    (4.0, 20.0)
    """
    if inputs:
        keys = list(inputs)
        return function(keys, list(value) if isinstance(value, tuple) else value)(*(inputs[key] for key in keys))
    if isinstance(value, (list, tuple)):
        tensors = list(map(_uncut, value))
        found = _Steps.of([tensor.node for tensor in tensors])
        if found is None:
            return function([], tensors)()
        return found.run([tensor.node for tensor in tensors], own=True)
    return _value(_uncut(value).node, own=True)


def _uncut(value: Any) -> Tensor:
    """The value as a Tensor, unless it is being differentiated."""
    tensor = as_tensor(value)
    refuse_cut(tensor.node, repr(tensor))
    return tensor


def look(tensor: Tensor) -> Any:
    """The value of a Tensor to be read and not to be written to."""
    return _value(tensor.node, own=False)


def _value(node: Node, *, own: bool) -> Any:
    memo = node.memo
    if memo is not None and (not memo.free or memo.xp is default_namespace()):
        return memo.xp.asarray(memo.value, copy=True) if own else memo.value
    if node.evaluator is None:
        steps = _Steps.of([node]) if node.looks < _LOOKS_BEFORE_COMPILING else None
        if steps is not None:
            node.looks += 1
            return steps.run([node], own=own)[0]
        compiled = function([], Tensor(node))
        if compiled.is_free:  # compiled for the configuration of now
            return compiled()
        node.evaluator = compiled
    return node.evaluator()


class _Steps:
    """The nodes to compute, inputs first, and what they start from."""

    __slots__ = ("order", "started")

    def __init__(self, order: list[Node], started: list[Node]) -> None:
        self.order = order
        self.started = started

    @classmethod
    def of(cls, roots: Sequence[Node]) -> _Steps | None:
        """What the roots need, as far as it is not kept; None where a plan must be compiled."""
        order: dict[Node, None] = {}
        started: list[Node] = []
        opened: set[Node] = set()
        large = False
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node in opened:  # what it needs stands before it
                order[node] = None
                continue
            opened.add(node)
            op = node.op
            if node.memo is not None or op is CONSTANT:
                started.append(node)
            elif op is VARIABLE:
                if node.payload.is_state or node.payload.default_update is not None:
                    return None
                started.append(node)
            elif op is PLACEHOLDER or op.name == IFELSE_NAME or SUBGRAPH_TAG in op.tags:
                return None
            elif not (node.evaluator is None or isinstance(node.evaluator, Function) or node in roots):
                return None  # such as the state of a random generator, which says itself how it is looked at
            else:
                stack.append(node)
                stack += node.inputs
                large = large or _is_large(node)
                if large and len(opened) > _MANY_NODES:
                    return None
        known = {*started}  # to ask whether a value is large may itself have found and kept some
        return cls([node for node in order if node not in known and node.op not in LEAVES], started)

    def run(self, roots: Sequence[Node], *, own: bool) -> list[Any]:
        """The values of the roots; with `own`, arrays that share no memory with variables, constants or kept values."""
        values, xp, free = self._start()
        fixed = {node for node in self.started if node.op is not VARIABLE}
        left: dict[Node, int] = dict.fromkeys(roots, len(self.order) + 1)
        for node in self.order:
            for other in node.inputs:
                left[other] = left.get(other, 0) + 1
        for node in self.order:
            inputs = node.inputs
            values[node] = _computed(node, values, xp)
            if all(other in fixed for other in inputs):
                fixed.add(node)
                if not node.is_call:
                    value = values[node]
                    if node.shape and node.op.memory is not Memory.OWN:
                        value = xp.asarray(value, copy=True)
                    remember(node, Memo(value, xp, free), asked=node in roots or node.looks > 0)
                    node.looks += 1  # what is needed a second time is as good as asked for
            for other in inputs:
                left[other] -= 1
                if not left[other]:
                    del values[other]
        results = [values[root] if root.shape or not own else xp.asarray(values[root]) for root in roots]
        if own:
            shared = {*to_be_copied(list(roots), len(roots), (), {})}
            for position, root in enumerate(roots):
                if position in shared or root.memo is not None:
                    results[position] = xp.asarray(results[position], copy=True)
        return results

    def _start(self) -> tuple[dict[Node, Any], ModuleType, bool]:
        """The arrays to start from, the library to run on, and whether nothing but the configuration decides it."""
        default = default_namespace()
        values: dict[Node, Any] = {}
        free: list[Node] = []
        for node in self.started:
            if node.memo is None:
                values[node] = node.payload.value if node.op is VARIABLE else node.payload
            elif node.memo.free:
                free.append(node)
            else:
                values[node] = node.memo.value
        if not values:
            xp = default
        elif len(values) == 1:
            xp = array_namespace(*values.values())
        else:
            xp = running_namespace(values.values(), default)
        for node, value in values.items():
            if array_namespace(value) is not xp:
                values[node] = brought(value, xp)
        for node in free:
            memo = node.memo
            values[node] = memo.value if memo.xp is xp else brought(memo.value, xp)
        return values, xp, len(free) == len(self.started)


def _is_large(node: Node) -> bool:
    elements = known(product(node.shape))
    return elements is None or elements >= _LARGE


def _computed(node: Node, values: dict[Node, Any], xp: ModuleType) -> Any:
    op = node.op
    if op is OUTPUT:
        return values[node.args[0]][node.args[1]]
    if IDENTITY_TAG in op.tags:
        return values[node.args[0]]
    args = [values[arg] if type(arg) is Node else _plain(arg, values, xp) for arg in node.args]
    attributes = {key: _plain(value, values, xp) for key, value in node.attributes.items()} if node.attributes else {}
    try:
        return _callable(node, xp)(*args, **attributes)
    except Exception as error:
        explain(error, call_name(node), met(args), node.source_location)
        raise


_callables: dict[Hashable, Callable[..., Any]] = {}


def _callable(node: Node, xp: ModuleType) -> Callable[..., Any]:
    """What computes a node from the values of its arguments."""
    op = node.op
    if node.payload is not None:
        return partial(cast("Callable[..., Any]", op.run), xp, node.payload)
    key = (op, xp) if op.emit is None else (op, len(node.args), *node.attributes)
    found: Any = _callables.get(key)
    if found is None:
        if op.emit is not None:
            names = [f"a{position}" for position in range(len(node.args))]
            source = op.emit(*names, **{name: name for name in node.attributes})
            found = eval(f"lambda {', '.join([*names, *node.attributes])}: {source}")
        elif op.run is not None:
            found = partial(op.run, xp)
        else:
            found = attrgetter(op.name)(xp)
        _callables[key] = found
    return cast("Callable[..., Any]", found)


_SELF_EVIDENT = frozenset({bool, int, float, complex, str, type(None), type(Ellipsis)})


def _plain(value: Any, values: dict[Node, Any], xp: ModuleType) -> Any:
    """An argument as the library takes it."""
    kind = type(value)
    if kind in _SELF_EVIDENT:
        return value
    if kind is Node:
        return values[value]
    if isinstance(value, DType):
        return running_dtype(xp, value)
    if isinstance(value, Length):
        return substituted(value, lambda atom: _atom(atom, values))
    if isinstance(value, (tuple, list)):
        return tuple(_plain(item, values, xp) for item in value)
    if kind is slice:
        return slice(*(_plain(part, values, xp) for part in (value.start, value.stop, value.step)))
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else value


def _atom(atom: tuple[Any, ...], values: dict[Node, Any]) -> int:
    value = values[atom[1]]
    return value.shape[atom[2]] if atom[0] == "axis" else concrete_int(value)


LATE["evaluate"] = evaluate
LATE["look"] = look
