"""The memo of a node: its value, kept on it, because nothing can change it: what was computed from constants alone.

Code that looks at values while it records asks for the same history again and again. What such a look computes on the
way is kept where it is small, and what was asked for where it is not large, so that the next look starts from there.
All that is kept together is bounded: the oldest goes first, and is computed again if it should be needed.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict, deque
from typing import Any, NamedTuple

from .node import Node

__all__ = ["BUDGET", "Memo", "remember", "memo_bytes"]

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
