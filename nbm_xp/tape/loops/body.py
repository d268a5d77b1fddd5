"""The body of a loop: a step, recorded once, and what is known of it.

A step maps slices of sequences and carried values to new carried values and outputs. What it uses from outside is
captured: it is computed once, before the loop. A loop gives the final carried values, the number of steps taken, and
stacked over the steps its outputs and whatever else a step computes: residuals are values of each step that its
gradient turns out to need. What is not asked for is not kept, so that memory grows with the number of steps only where
it must.

What a loop and its reverse do to save time or memory alone has a switch, of which a gradient does not depend. Products
of a sequence with a matrix that stays the same are taken for all steps at once: one large product costs a fraction of
many small ones, where element-wise work costs less in the loop, on values that are still in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nbm_xp.namespace import is_lazy

from ..dtypes import as_dtype
from ..graph import reachable, recorded_paths
from ..lengths import Length, Size, axis_length, known, same_length
from ..node import OUTPUT, VARIABLE, Node, Spec, declare
from ..standard.manipulation import matrix_transpose
from ..tensor import Tensor, record, result
from ..variable import Variable

__all__ = [
    "LoopBody", "Shortcuts", "hoisted", "rows_times", "shortcuts", "sum_of_outer_products", "taken", "varying_in",
]  # fmt: skip


@dataclass(frozen=True)
class Shortcuts:
    """Which shortcuts are taken."""

    hoisting: bool = True
    recomputing: bool = True
    sums_after: bool = True


_taken: ContextVar[Shortcuts] = ContextVar("shortcuts", default=Shortcuts())  # noqa: B039  (it never changes)


def taken() -> Shortcuts:
    """Which shortcuts are taken by what is recorded here and now."""
    return _taken.get()


@contextmanager
def shortcuts(*, hoisting: bool = True, recomputing: bool = True, sums_after: bool = True) -> Iterator[None]:
    """Record loops and their gradients with these shortcuts alone, in this block of code.

    Parameters
    ----------
    hoisting : bool
        Whether products of a sequence with a matrix are taken for all steps at once, before the loop.
    recomputing : bool
        Whether the reverse step computes views, and large values that one pass gives, again; else they are kept.
    sums_after : bool
        Whether sums over the steps are taken after the loop, of the stacked factors of what each step adds; else each
        step adds its part.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, scan
    >>> from nbm_xp.tape import namespace as xp
    >>> w, rows = Variable([[2.0]]), Variable([[[1.0]], [[3.0]]])
    >>> with shortcuts(sums_after=False):
    ...     products, _ = scan(lambda x: x @ w, rows)
    ...     slope = gradients(xp.sum(products), w)
    >>> float(slope[0, 0])
    4.0
    """
    token = _taken.set(Shortcuts(hoisting, recomputing, sums_after))
    try:
        yield
    finally:
        _taken.reset(token)


def _as_rows(xp: Any, x: Any) -> Any:
    return x if x.ndim == 2 else xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _run_rows_times(xp: Any, x: Any, matrix: Any) -> Any:
    if is_lazy(xp):  # merging axes would move chunks
        return xp.matmul(x, matrix)
    found = xp.matmul(_as_rows(xp, x), matrix)
    return found if x.ndim == 2 else xp.reshape(found, (*x.shape[:-1], matrix.shape[1]))


def _run_sum_of_outer_products(xp: Any, x: Any, y: Any) -> Any:
    if is_lazy(xp):
        leading = tuple(range(x.ndim - 1))
        return xp.tensordot(x, y, axes=(leading, leading))
    return xp.matmul(_as_rows(xp, x).T, _as_rows(xp, y))


def _infer_rows(x: Node, matrix: Node) -> Spec:
    return (*x.shape[:-1], matrix.shape[1]), x.dtype


def _infer_outer(x: Node, y: Node) -> Spec:
    return (x.shape[-1], y.shape[-1]), x.dtype


_ROWS_TIMES = declare(
    "rows_times",
    _infer_rows,
    (
        lambda g, out, x, matrix: rows_times(g, matrix_transpose(matrix)),
        lambda g, out, x, matrix: sum_of_outer_products(x, g),
    ),
    run=_run_rows_times,
)
_SUM_OF_OUTER_PRODUCTS = declare(
    "sum_of_outer_products",
    _infer_outer,
    (
        lambda g, out, x, y: rows_times(y, matrix_transpose(g)),
        lambda g, out, x, y: rows_times(x, g),
    ),
    run=_run_sum_of_outer_products,
)


def rows_times(x: Tensor, matrix: Tensor) -> Tensor:
    """Each row of the last axis of `x`, of two axes or more, times a matrix."""
    return record(_ROWS_TIMES, x, matrix)


def sum_of_outer_products(x: Tensor, y: Tensor) -> Tensor:
    """The matrix that is the sum, over all leading axes, of the outer products of the rows of two arrays."""
    return record(_SUM_OF_OUTER_PRODUCTS, x, y)


_MOST_GROWTH = 4
"""How many times as much memory as the sequence its product may take."""


def varying_in(results: Sequence[Node], inner: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """What a step computes, inputs first, and what of it changes from step to step."""
    varying = set(inner)
    order = reachable(results, inner)
    for node in order:
        if any(parent in varying for parent in node.inputs):
            varying.add(node)
    return order, varying


def hoisted(
    results: Sequence[Node], inner: Sequence[Node], carries: Sequence[Node], sequences: Sequence[Tensor], count: Size
) -> tuple[list[Node], list[Tensor]]:
    """The sequences of a loop, and further ones in the place of what can be computed from them beforehand.

    Parameters
    ----------
    results
        What a step computes.
    inner
        The nodes that stand for a slice of each sequence.
    carries
        Those that stand for the carried values.
    sequences
        The sequences.
    count
        How many steps there are.
    """
    if not taken().hoisting:
        return list(inner), list(sequences)
    fed = dict(zip(inner, sequences, strict=True))
    order, varying = varying_in(results, [*inner, *carries])
    products = [node for node in order if node.op.name == "matmul" and _is_product_of_rows(node, fed, varying)]
    paths = recorded_paths(order, results) if products else {}
    found, made = list(inner), list(sequences)
    for node in products:
        if not paths or paths.get(node) == ():  # what is in a branch may not be computed
            row, matrix = node.args
            found.append(node)
            made.append(rows_times(_first(fed[row], count), Tensor(matrix)))
    return found, made


def _is_product_of_rows(node: Node, fed: dict[Node, Tensor], varying: set[Node]) -> bool:
    row, matrix = node.args
    if node in fed or row not in fed or matrix in varying or len(matrix.shape) != 2:
        return False
    before, after = known(matrix.shape[0]), known(matrix.shape[1])
    return before is None or after is None or after <= _MOST_GROWTH * before


def _first(sequence: Tensor, count: Size) -> Tensor:
    """The entries that the loop reads."""
    return sequence if same_length(sequence.node.shape[0], count) is True else sequence[:count]


@dataclass(eq=False)
class LoopBody:
    """The recorded step of a loop.

    Parameters
    ----------
    sequences, carries
        The nodes that stand for a slice of each sequence and for each carried value inside the step.
    following
        What each carried value becomes.
    outputs
        What each step puts out.
    stop
        A scalar that ends the loop after the step in which it is true.
    reverse
        Whether steps are taken from the last to the first; outputs are stacked in the order of the sequences.
    fed_back
        Which output is the new value of which carried one, by position.
    shifts
        Which carried value is only what another one was a step before, by position: an older tap of an output.
    truncate
        How many steps a gradient goes back; all of them for None.

    Attributes
    ----------
    captured
        What the step uses from outside.
    call
        The node of the loop.
    count
        How many steps are taken.
    runners
        The compiled loops, by library and by what is needed of the results.
    """

    sequences: list[Node]
    carries: list[Node]
    following: list[Node]
    outputs: list[Node]
    stop: Node | None = None
    reverse: bool = False
    fed_back: Mapping[int, int] = field(default_factory=dict)
    shifts: Mapping[int, int] = field(default_factory=dict)
    truncate: int | None = None
    name: str | None = None
    captured: list[Node] = field(default_factory=list, init=False)
    call: Node | None = field(default=None, init=False)
    count: Size = field(default=0, init=False)
    runners: dict[Hashable, Any] = field(default_factory=dict, init=False)
    _specs: dict[int, Spec] = field(default_factory=dict, init=False)

    def results(self) -> list[Node]:
        """What one run of the step computes."""
        return [*self.following, *self.outputs, *([] if self.stop is None else [self.stop])]

    @property
    def steps(self) -> int:
        """The index of the result that holds the number of steps taken."""
        return len(self.carries)

    @property
    def first_tap(self) -> int:
        """The index of the first result that is stacked: the first output."""
        return len(self.carries) + 1

    @cached_property
    def tapped(self) -> list[Node]:
        """What is stacked, as far as it is asked for: the outputs, then all else that changes from step to step."""
        order, varying = varying_in(self.results(), [*self.sequences, *self.carries])
        found = {_identity(node): node for node in order if node in varying and not node.is_call}
        for call in (node for node in order if node in varying and node.is_call):
            loop = call.payload
            count = loop.n_results() if loop is not None else len(call.op.infer(*call.args, **call.attributes))
            for index in range(count):
                if (call, index) not in found:  # which nothing has asked for before
                    found[call, index] = result(call, index).node
        for node in self.outputs:
            found.pop(_identity(node), None)
        return [*self.outputs, *found.values()]

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {_identity(node): place for place, node in reversed([*enumerate(self.tapped)])}

    def n_results(self) -> int:
        """How many results there are."""
        return self.first_tap + len(self.tapped)

    def tap(self, node: Node) -> int:
        """The index of the result that holds a value of each step."""
        if node in self.outputs:
            return self.first_tap + self.outputs.index(node)
        return self.first_tap + self._places[_identity(node)]

    def tapped_at(self, index: int) -> Node:
        """What a result holds of each step."""
        place = index - self.first_tap
        return self.outputs[place] if place < len(self.outputs) else self.tapped[place]

    def spec(self, index: int) -> Spec:
        """Shape and dtype of a result."""
        found = self._specs.get(index)
        return self._specs.setdefault(index, self._spec(index)) if found is None else found

    def _spec(self, index: int) -> Spec:
        """Of a stacked one, a length that only a step knows becomes its own: it is the same in all steps."""
        assert self.call is not None
        if index < self.steps:
            initial = self.call.args[2][index]
            return initial.shape, initial.dtype
        if index == self.steps:
            return (), as_dtype("int64")
        node = self.tapped_at(index)
        inner = frozenset((*self.sequences, *self.carries))
        own = [isinstance(size, Length) and not inner.isdisjoint(reachable(list(size.nodes()))) for size in node.shape]
        shape = (self.count, *node.shape)
        if any(own):
            stack = Node(OUTPUT, (self.call, index), {}, (), node.dtype)
            lengths = (axis_length(stack, axis) if one else node.shape[axis - 1] for axis, one in enumerate(own, 1))
            shape = stack.shape = (self.count, *lengths)
        return shape, node.dtype

    def within(self) -> tuple[list[Node], list[Node], list[Node], Hashable]:
        """What stands for the values of a step, what is captured, what a step computes, and the form of the loop.

        Two recordings for which these are alike run and differentiate alike.
        """
        back, shifts = tuple(self.fed_back.items()), tuple(self.shifts.items())
        form = (len(self.sequences), len(self.carries), len(self.outputs), self.stop is not None, self.reverse)
        settings = (*form, back, shifts, self.truncate, self.name)
        return [*self.sequences, *self.carries], self.captured, self.results(), settings

    def state_updates(self, call: Node) -> dict[Variable, Tensor]:
        """How the states of random draws among the carried values move on past the loop."""
        return {
            carry.payload: result(call, position)
            for position, carry in enumerate(self.carries)
            if carry.op is VARIABLE and carry.payload.default_update is not None
        }


def _identity(node: Node) -> Hashable:
    """Equal for nodes of one result of a call."""
    return node.args if node.op is OUTPUT else node
