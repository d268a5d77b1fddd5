"""Operations of the graph's nodes, their rules, and the registry of all operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .dtypes import DType
from .lengths import Size

Shape: TypeAlias = tuple[Size, ...]
Spec: TypeAlias = tuple[Shape, DType]
Rule: TypeAlias = "Callable[..., Any] | None"


class Joint:
    """A gradient rule for all arguments at once: ``rule(g, out, *args, **attributes)`` returns one entry for each."""

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[..., Sequence[Any]]) -> None:
        self.rule = rule


# Gradient rule of a function that is constant almost everywhere: the gradient is zero.
FLAT = Joint(lambda g, out, *args, **attributes: [None] * len(args))


@dataclass(eq=False, slots=True)
class Operation:
    """An operation of the graph.

    Parameters
    ----------
    name
        Name in the array API standard, dotted for its extensions (``"linalg.solve"``), or any other unique name.
    infer
        ``infer(*args, **attributes)`` returns shape and dtype, or a list of these for several results.
    gradient
        One rule for each array argument, ``rule(g, out, *args, **attributes)``; a `Joint` rule; or None if the
        operation has no rule.
    run
        ``run(xp, *arrays, **attributes)``; defaults to the library's function of this name. For an operation with a
        subgraph (`SUBGRAPH_TAG`), ``run(xp, payload, needed, unstacked)`` returns the function that computes the needed
        results; the unstacked ones may be lists of steps.
    emit
        ``emit(call, *sources)`` returns an expression that replaces the call, for operators and indexing.
    fused
        Functions that replace several nested operations. Keys are the position of an argument and the names of the
        nested operations that compute it for this operation only. The functions are called as `run`, with the arguments
        of the innermost operation in place of the argument, followed by the remaining arguments of the outer ones. The
        first match is used.
    may_overlap
        Whether the result may share memory with an argument or be read-only; such a result is copied before it is
        returned to the user or set as the value of a variable.
    is_view
        Whether the result is a view of the first argument, through which `standard.assignment` may write.
    symbol
        Python operator, written before its operand or between the two.
    chain_step
        ``chain_step(node)`` returns the `ChainStep` of a call that is not elementwise in a chain of elementwise
        functions (`plans.chains`), or None if it cannot be part of a chain.
    adds_up
        Whether the operation sums along axes, which chains can compute block by block.
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


# The payload is a graph with several results, of which only the needed ones are computed.
#
# The payload's method `within` returns the graph, `n_results` and `spec` describe its results, and `state_updates`
# returns the new states of random generators used in it.
SUBGRAPH_TAG = "subgraph"
IDENTITY_TAG = "identity"
COMPOSITE_TAG = "made-of-parts"
ELEMENTWISE_TAG = "elementwise"
# Works along the axes in its option `axis` or `axes`, independently for each index of the other axes.
ALONG_AXES_TAG = "along-axes"
# Works on the matrices in the last two axes, independently for each matrix.
MATRICES_TAG = "of-matrices"
# Linear in the first argument.
LINEAR_TAG = "linear"


# All declared operations by name.
OPERATIONS: dict[str, Operation] = {}

_rule_changes = itertools.count()
_rules_version = next(_rule_changes)


def declare(
    name: str,
    infer: Callable[..., Any],
    gradient: tuple[Rule, ...] | Joint | None = None,
    run: Callable[..., Any] | None = None,
    **facts: Any,
) -> Operation:
    """Create an `Operation` with these parameters and register it; its name must be new."""
    if name in OPERATIONS:
        raise ValueError(f"operation {name!r} is declared already")
    OPERATIONS[name] = op = Operation(name, infer, gradient, run, **facts)
    return op


def register_gradient(name: str, *rules: Rule, joint: Callable[..., Sequence[Any]] | None = None) -> None:
    """Set or replace the gradient rule of an operation.

    Parameters
    ----------
    name : str
        Name of the operation, as in the standard (``"exp"``, ``"linalg.solve"``) or as declared.
    *rules : callable or None
        One rule for each array argument: ``rule(g, out, *args, **attributes)``, where `g` is the gradient of the loss
        with respect to the result `out`, returns the gradient with respect to that argument. None means no gradient.
    joint : callable, optional
        A single rule, instead of `rules`, that returns the gradients of all arguments in a sequence.

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
    """Return a number that changes with every registered rule; plans compiled with another number are outdated."""
    return _rules_version


def same_as_first(x: Any, *others: Any, **attributes: Any) -> Spec:
    """Return the shape and dtype of the first argument: the `infer` rule of functions whose result has both."""
    return x.shape, x.dtype
