"""Operations: what nodes of the graph do, the rules that they are declared with, and the registry of all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .dtypes import DType
from .lengths import Size

__all__ = [
    "ALONG_AXES_TAG", "COMPOSITE_TAG", "ELEMENTWISE_TAG", "FLAT", "IDENTITY_TAG", "Joint", "LINEAR_TAG",
    "MATRICES_TAG", "OPERATIONS", "Operation", "Rule", "SUBGRAPH_TAG", "Shape", "Spec", "declare",
    "register_gradient", "rules_version", "same_as_first",
]  # fmt: skip

Shape: TypeAlias = tuple[Size, ...]
Spec: TypeAlias = tuple[Shape, DType]
Rule: TypeAlias = "Callable[..., Any] | None"


class Joint:
    """A gradient rule that answers for all arguments at once: ``rule(g, out, *args, **attributes)``, one entry each."""

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[..., Sequence[Any]]) -> None:
        self.rule = rule


FLAT = Joint(lambda g, out, *args, **attributes: [None] * len(args))
"""The gradient rule of a function that is constant almost everywhere: nothing flows back."""


@dataclass(eq=False, slots=True)
class Operation:
    """What a node does.

    Parameters
    ----------
    name
        Name in the array API standard, dotted for its extensions (``"linalg.solve"``), or a name of its own.
    infer
        ``infer(*args, **attributes)`` gives shape and dtype, or a list of these where there are several results.
    gradient
        One rule for each array argument, ``rule(g, out, *args, **attributes)``; a `Joint` rule; or None where no
        rule has been given.
    run
        ``run(xp, *arrays, **attributes)``; by default the library's function of that name. Of an operation that holds
        a graph (`SUBGRAPH_TAG`), ``run(xp, payload, needed, unstacked)`` gives what computes the needed ones of its
        results, of which the unstacked may stay lists of steps.
    emit
        ``emit(call, *sources)``: an expression in place of a call, for operators and indexing.
    fused
        What runs in place of several operations: by position of an argument and the names of the operations that
        compute it, one within another, for this one alone. Like `run`, with what the innermost is given in place of
        the argument, then what else the outer ones are given. Of two that fit, the first is taken.
    may_overlap
        Whether the result may lie in the memory of an argument, or be for reading only: before such a result is handed
        out or becomes a variable's value, it is copied where it does.
    is_view
        Whether the result shows the first argument or a part of it, which `standard.assignment` may write through.
    symbol
        How Python writes a call, before its operand or between the two.
    chain_step
        ``chain_step(node)``: what a call that is no elementwise function does in a chain of them (`plans.chains`), or
        None where it has to stay outside.
    adds_up
        Whether it adds up along axes, as chains can on the way.
    """

    name: str
    infer: Callable[..., Any]
    gradient: tuple[Rule, ...] | Joint | None = None
    run: Callable[..., Any] | None = None
    emit: Callable[..., str] | None = None
    tags: frozenset[str] = field(default_factory=frozenset)
    fused: dict[tuple[int, *tuple[str, ...]], Callable[..., Any]] = field(default_factory=dict)
    may_overlap: bool = False
    is_view: bool = False
    symbol: str | None = None
    chain_step: Callable[[Any], Any] | None = None
    adds_up: bool = False

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


SUBGRAPH_TAG = "subgraph"
"""Holds a graph as its payload, and gives several results, of which only the needed ones are computed.

The payload tells by `within` what the graph is, by `n_results` and `spec` what it gives, and by `state_updates` how the
states of random draws in it move on.
"""
IDENTITY_TAG = "identity"
COMPOSITE_TAG = "made-of-parts"
ELEMENTWISE_TAG = "elementwise"
ALONG_AXES_TAG = "along-axes"
"""Goes along the axes that its option `axis` or `axes` names, for each place in the others by itself."""
MATRICES_TAG = "of-matrices"
"""Of the matrices in the last two axes, for each of them by itself."""
LINEAR_TAG = "linear"
"""Linear in the first argument, whatever the others are."""


OPERATIONS: dict[str, Operation] = {}
"""Every declared operation by name."""

_rule_changes = itertools.count()
_rules_version = next(_rule_changes)


def declare(
    name: str,
    infer: Callable[..., Any],
    gradient: tuple[Rule, ...] | Joint | None = None,
    run: Callable[..., Any] | None = None,
    **facts: Any,
) -> Operation:
    """Make an operation of what `Operation` takes, and enter it into the registry; a name is declared once."""
    if name in OPERATIONS:
        raise ValueError(f"operation {name!r} is declared already")
    OPERATIONS[name] = op = Operation(name, infer, gradient, run, **facts)
    return op


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
    global _rules_version
    _rules_version = next(_rule_changes)


def rules_version() -> int:
    """A number that changes whenever a rule does: what was compiled with another is out of date."""
    return _rules_version


def same_as_first(x: Any, *others: Any, **attributes: Any) -> Spec:
    """The shape and dtype rule of a function whose result is as its first array."""
    return x.shape, x.dtype
