"""Reverse-mode differentiation of a graph: one pass over it, backwards, that records the gradients as new nodes.

The rules stand with the operations. Here is what no rule has to know: which nodes matter, how contributions add up, how
an argument that was broadcast gets its gradient summed back, and that a gradient has the dtype of its input. Gradients
are Tensors, so gradients of gradients come from the same pass.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast, overload

from nbm_xp.namespace import floatx

from .lengths import same_length
from .node import ELEMENTWISE_TAG, IDENTITY_TAG, IFELSE_NAME, OUTPUT, Joint, Node, Operation, Rule, Shape
from .operators import FUNCTIONS
from .tensor import Tensor, as_tensor, is_tensor
from .traversal import reachable

__all__ = ["OPERATIONS", "declare", "gradients", "register_gradient", "stop_gradient", "vjp"]

OPERATIONS: dict[str, Operation] = {}
"""Every declared operation by name."""

Disconnected = Literal["raise", "zero", "none"]


def declare(op: Operation) -> Operation:
    """Enter an operation into the registry; a name is declared once."""
    if op.name in OPERATIONS:
        raise ValueError(f"operation {op.name!r} is declared already")
    OPERATIONS[op.name] = op
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
    ValueError
        If there is no such operation, or both or neither of `rules` and `joint` are given.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, operation
    >>> half = operation("doctest_half", infer=lambda x: (x.shape, x.dtype), run=lambda xp, x: x / 2)
    >>> register_gradient("doctest_half", lambda g, out, x: g / 2)
    >>> x = Variable(3.0)
    >>> float(gradients(half(x), x))
    0.5
    """
    if name not in OPERATIONS:
        raise ValueError(f"name must be a declared operation, got {name!r}")
    if builtins.bool(rules) == (joint is not None):
        raise ValueError("register_gradient takes either rules or joint=")
    OPERATIONS[name].gradient = rules if joint is None else Joint(joint)


@overload
def gradients(
    loss: Tensor, variables: Tensor, disconnected: Disconnected = ..., *, keep_dtype: builtins.bool = ...
) -> Tensor: ...
@overload
def gradients(
    loss: Tensor, variables: Sequence[Tensor], disconnected: Disconnected = ..., *, keep_dtype: builtins.bool = ...
) -> list[Tensor]: ...
def gradients(
    loss: Tensor,
    variables: Tensor | Sequence[Tensor],
    disconnected: Disconnected = "raise",
    *,
    keep_dtype: builtins.bool = True,
) -> Tensor | list[Tensor]:
    """Differentiate a scalar with respect to Tensors it was computed from.

    Parameters
    ----------
    loss : Tensor
        A Tensor without axes.
    variables : Tensor or sequence of Tensor
        Variables, placeholders or any recorded values.
    disconnected : {"raise", "zero", "none"}
        What to do for one that the loss does not depend on.
    keep_dtype : bool
        Whether a gradient is cast to the dtype of its variable. If not, it stays in the wider dtype in which it was
        computed, where the expression mixed dtypes.

    Returns
    -------
    Tensor or list of Tensor
        Gradients with the shapes and dtypes of `variables`; one for one.

    Raises
    ------
    TypeError
        If `loss` is no Tensor without axes.
    ValueError
        If the loss does not depend on a variable, and `disconnected` is ``"raise"``.
    NotImplementedError
        If an operation on the way has no gradient rule; the message names it.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients
    >>> x = Variable(3.0)
    >>> float(gradients(x * x, x))
    6.0
    """
    if not is_tensor(loss) or loss.ndim:
        raise TypeError(f"loss must be a Tensor without axes, got {loss!r}")
    single = isinstance(variables, Tensor)
    targets = [variables] if isinstance(variables, Tensor) else list(variables)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"variables must be Tensors, got {type(target).__name__}")
    found = vjp(
        [loss.node],
        [FUNCTIONS["asarray"](1.0, dtype=_real(loss))],
        [target.node for target in targets],
        keep_dtype=keep_dtype,
    )
    results = []
    for target, gradient in zip(targets, found, strict=True):
        if gradient is None and disconnected == "raise" and not _depends(loss.node, target.node):
            raise ValueError(f"loss does not depend on {target.name or target!r}, so it has no gradient there")
        if gradient is None and disconnected != "none":
            gradient = FUNCTIONS["zeros_like"](target, dtype=target.dtype if _differentiable(target.node) else floatx())
        results.append(gradient)
    return cast("Tensor", results[0]) if single else cast("list[Tensor]", results)


def _real(loss: Tensor) -> Any:
    return loss.dtype if loss.dtype[0] in "fc" else floatx()


def _depends(loss: Node, target: Node) -> bool:
    """Whether a path leads from target to loss that no `stop_gradient` cuts."""
    reached = {target}
    for node in reachable([loss]):
        if (node.op is not STOP and any(parent in reached for parent in node.array_args())) or (
            node.op.name == IFELSE_NAME and any(parent in reached for parent in node.inputs)
        ):
            reached.add(node)
    return loss in reached


def _differentiable(node: Node) -> bool:
    return node.dtype[0] in "fc" or node.dtype == "void"


def _lets_through(node: Node) -> bool:
    """Whether a gradient may flow through a node; one without a rule does, and is an error if it must."""
    rule = node.op.gradient
    return not isinstance(rule, tuple) or any(one is not None for one in rule)


def vjp(
    outputs: Sequence[Node],
    cotangents: Sequence[Tensor | None],
    targets: Sequence[Node],
    *,
    keep_dtype: builtins.bool = True,
    as_leaves: builtins.bool = False,
) -> list[Tensor | None]:
    """Gradients in `targets` of the sum of `outputs` times `cotangents`; None where nothing flows.

    With `as_leaves`, no target is seen as computed from another.
    """
    target_set = frozenset(targets)
    order = reachable(outputs, target_set if as_leaves else ())
    active: set[Node] = set()
    for node in order:
        reached = node in target_set or (_lets_through(node) and any(parent in active for parent in node.inputs))
        if reached and _differentiable(node):
            active.add(node)
    backward = _Backward(active, keep_dtype)
    for node, seed in zip(outputs, cotangents, strict=True):
        if seed is not None and node in active:
            backward.receive(node, seed)
    finished: dict[Node, Tensor] = {}
    for node in reversed(order):
        if node not in backward.pending:
            continue
        cotangent: Any = backward.pending.pop(node)
        if node in target_set or node.op is OUTPUT:
            cotangent = _full(cotangent, node)
        if node in target_set:
            finished[node] = finished[node] + cotangent if node in finished else cotangent
        if as_leaves and node in target_set:
            continue
        if node.op is OUTPUT:
            backward.receive_output(node, cotangent)
        elif node.op.name == IFELSE_NAME:
            for target, gradient in _through_branches(node, cotangent, targets, keep_dtype, as_leaves):
                finished[target] = finished[target] + gradient if target in finished else gradient
        elif node.args and any(parent in active for parent in node.array_args()):
            backward.through_rule(node, cotangent)
    return [finished.get(target) for target in targets]


class _Backward:
    """The cotangents that have arrived so far, and how one node passes its own on."""

    def __init__(self, active: set[Node], keep_dtype: builtins.bool) -> None:
        self.active = active
        self.keep_dtype = keep_dtype
        self.pending: dict[Node, Any] = {}

    def receive(self, node: Node, gradient: Tensor) -> None:
        """Add a contribution, brought to the dtype of its value and to a shape that broadcasts to that of its value."""
        if not _broadcasts(gradient.node.shape, node.shape):
            gradient = FUNCTIONS["sum_to"](gradient, node.shape)
        if self.keep_dtype and gradient.dtype != node.dtype:
            gradient = FUNCTIONS["astype"](gradient, node.dtype)
        before = self.pending.get(node)
        self.pending[node] = gradient if before is None else before + gradient

    def receive_output(self, output: Node, gradient: Tensor) -> None:
        """Add the cotangent of one result of a call that has several."""
        call, index = output.args
        received = self.pending.setdefault(call, {})
        received[index] = received[index] + gradient if index in received else gradient

    def through_rule(self, node: Node, cotangent: Any) -> None:
        """Apply the gradient rule of a node's operation."""
        rule = node.op.gradient
        if rule is None:
            raise NotImplementedError(
                f"{node.op.name} has no gradient rule; give it one with register_gradient({node.op.name!r}, …) "
                "or cut the path with stop_gradient"
            )
        narrow = cotangent
        if isinstance(cotangent, Tensor) and ELEMENTWISE_TAG not in node.op.tags:
            narrow = cotangent = _full(cotangent, node)
        args = [_wrapped(arg) for arg in node.args]
        attributes = dict(node.attributes) if node.payload is None else {**node.attributes, "payload": node.payload}
        out: Any = _Outputs(node) if node.dtype == "void" else Tensor(node)
        if isinstance(rule, Joint):
            for arg, part in zip(node.args, rule.rule(cotangent, out, *args, **attributes), strict=True):
                self.distribute(arg, part)
            return
        for position, arg in enumerate(node.args):
            one = rule[position] if position < len(rule) else None
            if one is not None and isinstance(arg, Node) and arg in self.active:
                self.distribute(arg, self.contribution(one, narrow, node, arg, (out, *args), attributes))

    def contribution(
        self, rule: Any, cotangent: Any, node: Node, arg: Node, values: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        """What one argument gets; of an element-wise operation, worked out on the cotangent as narrow as it came."""
        result = rule(cotangent, *values, **attributes)
        if result is None or ELEMENTWISE_TAG not in node.op.tags or _same_shape(arg.shape, node.shape):
            return result
        return _full(as_tensor(result), node)

    def distribute(self, arg: Any, contribution: Any) -> None:
        """Hand a contribution to an argument, or one each to a sequence of arguments."""
        if contribution is None:
            return
        if isinstance(arg, tuple):
            for item, part in zip(arg, contribution, strict=True):
                self.distribute(item, part)
        elif isinstance(arg, Node) and arg in self.active:
            self.receive(arg, as_tensor(contribution))


def _same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(same_length(m, n) is True for m, n in zip(a, b, strict=True))


def _broadcasts(narrow: Shape, shape: Shape) -> bool:
    """Whether a cotangent may stay as narrow as it is: a scalar, or with 1 in the place of some lengths."""
    if not narrow:
        return True
    return len(narrow) == len(shape) and all(
        (type(a) is int and a == 1) or same_length(a, b) is True for a, b in zip(narrow, shape, strict=True)
    )


def _full(cotangent: Tensor, node: Node) -> Tensor:
    """A cotangent in the whole shape of its value."""
    return (
        cotangent if _same_shape(cotangent.node.shape, node.shape) else FUNCTIONS["broadcast_to"](cotangent, node.shape)
    )


class _Outputs:
    """The results of a call, for its gradient rule."""

    def __init__(self, call: Node) -> None:
        self.call = call

    def __getitem__(self, index: int) -> Tensor:
        from .tensor import output

        spec = self.call.op.infer(*self.call.args, **self._attributes())
        return Tensor(output(self.call, index, *spec[index]))

    def _attributes(self) -> dict[str, Any]:
        call = self.call
        return call.attributes if call.payload is None else {**call.attributes, "payload": call.payload}


def _wrapped(arg: Any) -> Any:
    if isinstance(arg, Node):
        return Tensor(arg)
    return tuple(map(_wrapped, arg)) if isinstance(arg, tuple) else arg


def _through_branches(
    node: Node,
    cotangents: dict[int, Tensor],
    targets: Sequence[Node],
    keep_dtype: builtins.bool,
    as_leaves: builtins.bool,
) -> Iterator[tuple[Node, Tensor]]:
    """Each branch is differentiated by itself, so that the one not taken is neither computed nor felt."""
    condition, *branches = node.args
    sides = []
    for values in branches:
        reached = [(values[index], g) for index, g in cotangents.items() if isinstance(values[index], Node)]
        roots, seeds = [value for value, _ in reached], [g for _, g in reached]
        sides.append(vjp(roots, seeds, targets, keep_dtype=keep_dtype, as_leaves=as_leaves))
    for target, taken, otherwise in zip(targets, *sides, strict=True):
        if taken is None and otherwise is None:
            continue
        zero = FUNCTIONS["zeros_like"](Tensor(target))
        parts = [zero if part is None else part for part in (taken, otherwise)]
        yield target, FUNCTIONS["ifelse"](Tensor(condition), *parts)


STOP = declare(
    Operation("stop_gradient", lambda x: (x.shape, x.dtype), gradient=(None,), tags=frozenset({IDENTITY_TAG}))
)


def stop_gradient(x: Any) -> Any:
    """The same value, through which no gradient flows.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensors
        What to hold constant.

    Returns
    -------
    Tensor, or list of Tensor

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, stop_gradient
    >>> x = Variable(3.0)
    >>> float(gradients(x * stop_gradient(x), x))
    3.0
    """
    from .tensor import record

    if isinstance(x, (list, tuple)):
        return [stop_gradient(item) for item in x]
    return record(STOP, as_tensor(x))
