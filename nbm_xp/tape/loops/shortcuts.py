"""Shortcuts: what a loop and its reverse do to save time or memory alone, each with a switch.

A gradient does not depend on them. Where one looks wrong, the loop is recorded again with one shortcut less at a time,
until it is right: that is the one at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Shortcuts", "shortcuts", "taken"]


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
