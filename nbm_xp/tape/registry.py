"""The registry: every operation that has been declared, by name, and a way to give one another gradient rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from .node import Joint, Operation, Rule

__all__ = ["OPERATIONS", "declare", "register_gradient", "rules_version"]

OPERATIONS: dict[str, Operation] = {}
"""Every declared operation by name."""

P = ParamSpec("P")

_changes = itertools.count()
_version = next(_changes)


def _entering(make: Callable[P, Operation]) -> Callable[P, Operation]:
    def declare(*args: P.args, **facts: P.kwargs) -> Operation:
        """Make an operation of what `Operation` takes, and enter it into the registry; a name is declared once."""
        op = make(*args, **facts)
        if op.name in OPERATIONS:
            raise ValueError(f"operation {op.name!r} is declared already")
        OPERATIONS[op.name] = op
        return op

    return declare


declare = _entering(Operation)


def register_gradient(name: str, *rules: Rule, joint: Callable[..., Sequence[Any]] | None = None) -> None:
    """Give an operation its gradient rule, or another one.

    Parameters
    ----------
    name : str
        The operation's name, as in the standard (``"exp"``, ``"linalg.solve"``) or as declared.
    *rules : callable or None
        One for each array argument: ``rule(g, out, *args, **attributes)``, where `g` is the gradient of the loss in
        the result `out`, gives the gradient in that argument. None says that nothing flows back.
    joint : callable, optional
        Instead of `rules`, one rule that returns all of them in a sequence.

    Raises
    ------
    TypeError
        If a rule is neither callable nor None.
    ValueError
        If there is no such operation, too few rules are given, or both or neither of `rules` and `joint`.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, operation
    >>> half = operation("doctest_half", infer=lambda x: (x.shape, x.dtype), run=lambda xp, x: x / 2)
    >>> register_gradient("doctest_half", lambda g, out, x: g / 2)
    >>> x = Variable(3.0)
    >>> float(gradients(half(x), x))
    0.5
    """
    given: Any = name
    if not isinstance(given, str) or name not in OPERATIONS:
        raise ValueError(f"name must be a declared operation, got {name!r}")
    if bool(rules) == (joint is not None):
        raise ValueError("register_gradient takes either rules or joint=")
    for rule in rules if joint is None else (joint,):
        if rule is not None and not callable(rule):
            raise TypeError(f"rules must be callable or None, got {rule!r}")
    before = OPERATIONS[name].gradient
    if rules and isinstance(before, tuple) and len(rules) < len(before):
        raise ValueError(f"rules of {name} must be one for each of its {len(before)} array arguments, got {len(rules)}")
    OPERATIONS[name].gradient = rules if joint is None else Joint(joint)
    global _version
    _version = next(_changes)


def rules_version() -> int:
    """A number that changes whenever a rule does: what was compiled with another is out of date."""
    return _version
