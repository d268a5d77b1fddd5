"""Plans: graphs compiled to Python functions for one array library, and found again when the same is asked twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from ..graph import Result
from ..node import LEAVES, Node
from .writer import PlanWriter, link_plan

__all__ = ["Exclusive", "compile_plan", "described_plan", "may_share"]

_LOCKS = tuple(threading.RLock() for _ in range(61))


class Exclusive:
    """Holds the locks of some variables while a block runs, always taken in the same order.

    Variables share a few locks, so that none has to carry one along when it is copied or sent.
    """

    def __init__(self, variables: Iterable[Node]) -> None:
        self._places = sorted({node.serial % len(_LOCKS) for node in variables})

    def __enter__(self) -> None:
        for place in self._places:
            _LOCKS[place].acquire()

    def __exit__(self, *error: object) -> None:
        for place in self._places:
            _LOCKS[place].release()


def may_share(results: Sequence[Result], givens: Mapping[Node, Node] | None = None) -> list[int]:
    """Which of the results may lie in the memory of arguments, variables or constants, or be one of the others."""
    nodes = [(givens or {}).get(result, result) if isinstance(result, Node) else None for result in results]
    alike = Counter((node.op, node.dtype, len(node.shape)) for node in nodes if node is not None)
    return [
        position
        for position, node in enumerate(nodes)
        if node is not None
        and (node.op in LEAVES or node.call.op.may_overlap or alike[node.op, node.dtype, len(node.shape)] > 1)
    ]


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


def described_plan(plan: Any) -> str:
    """How many statements a plan has, in words."""
    count = sum(bool(calls) for calls in plan.__kwdefaults__["lines"].lines)
    return f"a plan of {count} statement{'s' * (count != 1)}"
