"""Composites: functions of standard functions that are one node of the graph, with their own gradient rule.

They serve for functions whose automatic derivative is unstable or slow, such as `sigmoid` and `softplus`, which the
tape records for ``log(1 + exp(x))``. The original function is ``function.body``, against which the rule can be tested.
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
from .tensor import Tensor, is_tensor, record, record_several

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
    """Decorate a function of arrays so that it is recorded as one node with its own gradient rule.

    Parameters
    ----------
    gradient : callable, tuple of callables, or Joint
        Gradient rule ``rule(g, out, *arrays, **options)`` of each array argument; None for no gradient.
    arrays : int
        Number of leading parameters that are arrays; the others are options. Defaults to 1.
    infer : callable, optional
        Shape and dtype rule. By default the function is traced; an element-wise function of one array has the shape and
        dtype of its argument.
    elementwise : bool
        Whether each element of the result depends only on the corresponding elements of the broadcast arrays. The rule
        may then be called with a `g` that broadcasts to the result, and `vmap` records the function once for all
        examples.
    along_axes : bool
        Whether the function works along the axes in its option `axis` or `axes`, independently for each index of the
        other axes. `vmap` then records it once for all examples.
    name : str, optional
        Name of the operation. Defaults to the name of the function.
    may_overlap : bool
        Whether the result may share memory with an argument. If True, the default, such a result is copied before it
        is returned to the user or set as the value of a variable.

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
            del OPERATIONS[key]  # redefined, for example by a notebook cell
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
            if not (isinstance(args[0], Tensor) if arrays == 1 and args else any(map(is_tensor, args[:arrays]))):
                return body(*args, **keywords)
            given = dict(zip(keys, args[arrays:], strict=False))
            settings = {p.name: p.default for p in options} | given | keywords
            missing = [key for key, value in settings.items() if value is inspect.Parameter.empty]
            if missing or set(settings) - set(keys) or len(args) != arrays + len(given):
                return body(*args, **keywords)  # raises Python's error for the call
            return record(op, *args[:arrays], **settings)

        function.body = body  # type: ignore[attr-defined]
        function.operation = op  # type: ignore[attr-defined]
        return function  # type: ignore[return-value]

    return decorate


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
    """Declare a new primitive operation.

    Parameters
    ----------
    name : str
        Unique name of the operation.
    infer : callable
        ``infer(*args, **attributes)`` returns the shape and dtype of the result, or a list of these for several
        results; arguments that are arrays have ``.shape`` and ``.dtype``.
    run : callable
        ``run(xp, *arrays, **attributes)`` computes the result, or a tuple of results, on arrays of library `xp`.
    gradient : callable, tuple of callables, or Joint, optional
        Gradient rule or rules; for several results, the cotangents are a dict by position.
    several : bool
        Whether the operation has several results.
    fused : mapping, optional
        Functions that replace this operation and operations nested in one of its arguments. Keys are the position of
        the argument and the names of the nested operations; values are functions ``run(xp, *arrays, **attributes)``,
        called with the arguments of the innermost operation in place of the argument, followed by the remaining
        arguments of the outer ones. The result must equal that of the separate operations. The first match is used.
    may_overlap : bool
        See `composite`; for several results, whether any of them may share memory with an argument.

    Returns
    -------
    callable
        Function of Tensors, arrays and numbers that records the operation and returns its Tensor or Tensors.
    """
    rules = gradient if isinstance(gradient, (tuple, Joint)) or gradient is None else (gradient,)
    op = declare(name, infer, rules, run=run, fused=fused or {}, may_overlap=may_overlap)

    def _recorded(*args: Any, **attributes: Any) -> Any:
        return (record_several if several else record)(op, *args, **attributes)

    _recorded.__name__ = _recorded.__qualname__ = name
    return _recorded


@composite(gradient=lambda g, out, x: g * (out * (1 - out)), elementwise=True)
def sigmoid(x: Any) -> Any:
    """Compute ``1 / (1 + exp(-x))`` of a floating array, with a small relative error in both tails.

    It needs one exponential, does not overflow and has no branch. ``(1 + tanh(x / 2)) / 2`` is faster, but loses all
    digits below -17 in float32, and so do its logarithm and gradient.
    """
    return sigmoid_for(array_namespace(x), dtype_name(x))(x)


@composite(gradient=lambda g, out, x: g * sigmoid(x), elementwise=True)
def softplus(x: Any) -> Any:
    """Compute ``log(1 + exp(x))`` of a floating array, without overflow and accurately in both tails."""
    return softplus_for(array_namespace(x), dtype_name(x))(x)
