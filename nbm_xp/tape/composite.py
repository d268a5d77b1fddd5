"""Composites: functions made of standard ones that are one node on the tape, with a gradient rule of their own.

For what is unstable or slow when differentiated through its parts, such as `sigmoid` and `softplus`, which the tape
itself records for ``log(1 + exp(x))``. The parts stay at hand as ``function.body``, so that the rule can be tested
against them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from nbm_xp.namespace import array_namespace, dtype_name
from nbm_xp.namespace.exponentials import sigmoid_for, softplus_for

from .graph import Node
from .operations import (
    ALONG_AXES_TAG,
    COMPOSITE_TAG,
    ELEMENTWISE_TAG,
    OPERATIONS,
    Joint,
    Rule,
    Spec,
    declare,
    same_as_first,
)
from .tensor import Tensor, record, record_several

__all__ = ["composite", "operation", "same_as_first", "sigmoid", "softplus"]

F = TypeVar("F", bound=Callable[..., Any])


def composite(
    *,
    gradient: Rule | tuple[Rule, ...] | Joint,
    arrays: int = 1,
    infer: Callable[..., Any] | None = None,
    elementwise: bool = False,
    along_axes: bool = False,
    name: str | None = None,
    may_overlap: bool = True,
) -> Callable[[F], F]:
    """Make a function over ``xp`` one node on the tape.

    Parameters
    ----------
    gradient : callable, tuple of callables, or Joint
        ``rule(g, out, *arrays, **options)`` for each array argument; None where nothing flows.
    arrays : int
        How many leading parameters are arrays; the others are options.
    infer : callable, optional
        The shape and dtype rule; by default the body is traced to see, or, for an element-wise function of one array,
        the result is as that.
    elementwise : bool
        Whether each element of the result comes of the elements in its place alone, as the arrays broadcast. Of such a
        function the rule may be given a `g` that broadcasts to the result, and `vmap` records it once for all examples.
    along_axes : bool
        Whether it goes along the axes that its option `axis` or `axes` names, for each place in the others by itself.
        `vmap` records such a function, too, once for all examples.
    name : str, optional
        The operation's name; by default the function's.
    may_overlap : bool
        Whether the result may lie in the memory of an argument. Unless it is said not to, a result that is handed out
        or becomes the value of a variable is copied where it does.

    Examples
    --------
    >>> from nbm_xp.namespace import array_namespace
    >>> from nbm_xp.tape import Variable, composite, gradients
    >>> @composite(gradient=lambda g, out, x: g * 3.0, name="doctest_triple")
    ... def triple(x):
    ...     return x * 3.0
    >>> x = Variable(2.0)
    >>> float(triple(x)), float(gradients(triple(x), x))
    (6.0, 3.0)
    """
    rules = gradient if isinstance(gradient, (tuple, Joint)) else (gradient,)
    tags = [COMPOSITE_TAG, *[ELEMENTWISE_TAG][: int(elementwise)], *[ALONG_AXES_TAG][: int(along_axes)]]

    def decorate(body: F) -> F:
        parameters = list(inspect.signature(body).parameters.values())
        options = parameters[arrays:]
        keys = [parameter.name for parameter in options]

        def traced(*nodes: Any, **attributes: Any) -> Spec:
            result = body(*(Tensor(n) if isinstance(n, Node) else n for n in nodes), **attributes)
            return result.node.shape, result.node.dtype

        key = name or body.__name__
        if key in OPERATIONS and COMPOSITE_TAG in OPERATIONS[key].tags:
            del OPERATIONS[key]  # defined anew, as by a cell that is run again
        inferred = infer or (same_as_first if elementwise and arrays == 1 else traced)
        op = declare(
            key,
            inferred,
            rules,
            run=lambda xp, *args, **attributes: body(*args, **attributes),
            tags=frozenset(tags),
            may_overlap=may_overlap,
        )

        @wraps(body)
        def function(*args: Any, **keywords: Any) -> Any:
            if not (isinstance(args[0], Tensor) if arrays == 1 and args else _any_tensor(args[:arrays])):
                return body(*args, **keywords)
            given = dict(zip(keys, args[arrays:], strict=False))
            settings = {p.name: p.default for p in options} | given | keywords
            missing = [key for key, value in settings.items() if value is inspect.Parameter.empty]
            if missing or set(settings) - set(keys) or len(args) != arrays + len(given):
                return body(*args, **keywords)  # Python's own complaint about the call
            return record(op, *args[:arrays], **settings)

        function.body = body  # type: ignore[attr-defined]
        function.operation = op  # type: ignore[attr-defined]
        return function  # type: ignore[return-value]

    return decorate


def _any_tensor(values: tuple[Any, ...]) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def operation(
    name: str,
    *,
    infer: Callable[..., Any],
    run: Callable[..., Any],
    gradient: Rule | tuple[Rule, ...] | Joint | None = None,
    several: bool = False,
    fused: dict[tuple[int, *tuple[str, ...]], Callable[..., Any]] | None = None,
    may_overlap: bool = True,
) -> Callable[..., Any]:
    """Declare a primitive of one's own.

    Parameters
    ----------
    name : str
        A name that no other operation has.
    infer : callable
        ``infer(*args, **attributes)``: the shape and dtype of the result, or a list of these for several results;
        arguments that are arrays have ``.shape`` and ``.dtype``.
    run : callable
        ``run(xp, *arrays, **attributes)``: the computation on arrays of library `xp`; a tuple for several results.
    gradient : callable, tuple of callables, or Joint, optional
        The gradient rule; of several results it gets the cotangents as a dict by position.
    several : bool
        Whether there are several results.
    fused : mapping, optional
        By position of an argument and the names of operations, what plans run where these, one within another,
        compute that argument for this one alone: ``run(xp, *arrays, **attributes)``, with what the innermost is given
        in its place, then what else the outer ones are given. It must give the same as all in turn. Of two that fit,
        the first is taken.
    may_overlap : bool
        As for `composite`; for several results, that of any of them.

    Returns
    -------
    callable
        Called with Tensors (arrays, numbers), it records the operation and returns its Tensor or Tensors.
    """
    rules = gradient if isinstance(gradient, (tuple, Joint)) or gradient is None else (gradient,)
    op = declare(name, infer, rules, run=run, fused=fused or {}, may_overlap=may_overlap)

    def _recorded(*args: Any, **attributes: Any) -> Any:
        return (record_several if several else record)(op, *args, **attributes)

    _recorded.__name__ = _recorded.__qualname__ = name
    return _recorded


@composite(gradient=lambda g, out, x: g * (out * (1 - out)), elementwise=True)
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of a floating array, with a small relative error in both tails.

    One exponential, no overflow, no branch. Half of ``1 + tanh(x / 2)`` is faster, but all of its digits cancel below
    -17 in float32, and with them the logarithm of the result and the gradient.
    """
    return sigmoid_for(array_namespace(x), dtype_name(x))(x)


@composite(gradient=lambda g, out, x: g * sigmoid(x), elementwise=True)
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` of a floating array, without overflow and exact in both tails."""
    return softplus_for(array_namespace(x), dtype_name(x))(x)
