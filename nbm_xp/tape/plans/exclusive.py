"""One update at a time: functions that update the same variables wait for each other, those that do not need not.

A compiled function computes new values from the old ones. Were two of them to read the same old value, one update would
be lost, and two random draws would be the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ..node import Node

__all__ = ["Exclusive"]

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
