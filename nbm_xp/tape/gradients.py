"""Gradients: reverse-mode differentiation of a graph.

Each node passes its cotangent to its arguments once. The gradient rules are defined with the operations. This module
does everything that is common to all rules: it selects the nodes to visit, adds up contributions, sums gradients over
broadcast axes, casts gradients to the dtype of their inputs, restricts gradients from a branch of an `ifelse` to runs
in which that branch is taken, and keeps zeros that `where` put into a cotangent even where a derivative is infinite.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Literal, cast, overload

from .control import IFELSE, BranchPath, ifelse, recorded_paths
from .graph import OUTPUT, STOP, Node, SourceLocation, reachable, recording
from .lengths import same_length, same_shape
from .operations import ELEMENTWISE_TAG, Joint, Shape
from .printing import recorded_at
from .standard.creation import real, zeros_like
from .standard.data_types import astype, divisible, scalar
from .standard.elementwise import where
from .standard.manipulation import reshape
from .standard.sums import broadcast_to, sum_to
from .tensor import Tensor, as_tensor, is_tensor, record, result

# Conditions, outermost first, each with whether the zeros are where the condition is true.
_Zeros = list[tuple[Node, bool]]


def _before_zeros(cotangent: Tensor) -> tuple[Tensor, _Zeros]:
    """Return a cotangent before `where` put zeros into it, and the positions of the zeros."""
    zeros: _Zeros = []
    node = cotangent.node
    while node.op.name == "where":
        condition, *sides = node.args
        if all(side.op.name != "zeros" for side in sides):
            break
        zeros.append((condition, sides[0].op.name == "zeros"))
        node = sides[zeros[-1][1]]
    return (Tensor(node) if zeros else cotangent), zeros


def _with_zeros(gradient: Tensor, zeros: _Zeros) -> Tensor:
    """Put the zeros found by `_before_zeros` into the result of a gradient rule."""
    for condition, where_true in reversed(zeros):
        zero = zeros_like(gradient)
        sides = (zero, gradient) if where_true else (gradient, zero)
        gradient = where(Tensor(condition), *sides)
    return gradient


def differentiable(node: Node) -> bool:
    """Return whether a node can have a gradient: its dtype is floating or complex, or it has several results."""
    return node.dtype.kind in "fcV"


def _lets_through(node: Node) -> bool:
    """Return whether a gradient can flow through a node; True without a rule, which raises later if it is needed."""
    rule = node.op.gradient
    return not isinstance(rule, tuple) or any(one is not None for one in rule)


def pull_back(
    outputs: Sequence[Node],
    cotangents: Sequence[Tensor | None],
    targets: Sequence[Node],
    *,
    keep_dtype: builtins.bool = True,
    as_leaves: builtins.bool = False,
) -> list[Tensor | None]:
    """Return the gradients of the sum of `outputs` times `cotangents` in `targets`; None where no path exists.

    With `as_leaves`, targets are independent: none is differentiated with respect to another.
    """
    target_set = frozenset(targets)
    order = reachable(outputs, target_set if as_leaves else ())
    active: set[Node] = set()
    for node in order:
        reached = node in target_set or (_lets_through(node) and any(parent in active for parent in node.inputs))
        if reached and differentiable(node):
            active.add(node)
    paths = recorded_paths(order, outputs) if any(node.op is IFELSE for node in order) else {}
    backward = _Backward(active, paths, keep_dtype)
    for node, seed in zip(outputs, cotangents, strict=True):
        if seed is not None and node in active:
            backward.receive(node, seed, ())
    finished: dict[Node, Tensor] = {}
    outer = recording.source_location
    try:
        for node in reversed(order):
            cotangent = backward.take(node)
            if cotangent is None:
                continue
            recording.source_location = _gradient_location(node)
            if node in target_set or node.op is OUTPUT:
                cotangent = _full(cotangent, node)
            if node in target_set:
                finished[node] = backward.outside(node, cotangent)
            if as_leaves and node in target_set:
                continue
            if node.op is OUTPUT:
                backward.receive_output(node, cotangent)
            elif node.op is IFELSE:
                backward.into_branches(node, cotangent)
            elif node.args:
                backward.through_rule(node, cotangent)
    finally:
        recording.source_location = outer
    return [finished.get(target) for target in targets]


def _gradient_location(node: Node) -> SourceLocation | None:
    """Return the location of what the gradient rule of a node records: the location of the node."""
    location = node.source_location
    return None if location is None else (location[0], location[1], f"the gradient of {node.op.name}", location[3])


class _Backward:
    """Accumulated cotangents, and the propagation of the cotangent of one node to its arguments."""

    def __init__(self, active: set[Node], paths: dict[Node, BranchPath], keep_dtype: builtins.bool) -> None:
        self.active = active
        self.paths = paths
        self.keep_dtype = keep_dtype
        self.pending: dict[Node, Any] = {}
        self.by_condition: dict[Node, dict[Node, list[Tensor | None]]] = {}

    def receive(self, node: Node, gradient: Tensor, path: BranchPath) -> None:
        """Add a contribution from a branch, cast to the dtype of its node and broadcastable to the node's shape.

        Contributions from branches are stored by condition until all have arrived.
        """
        if not _broadcasts(gradient.node.shape, node.shape):
            gradient = sum_to(gradient, node.shape)
        if gradient.node.dtype != node.dtype:
            if gradient.dtype.kind == "c" and node.dtype.kind != "c":
                gradient = real(gradient)  # the imaginary part does not affect a real value
            if self.keep_dtype and gradient.dtype != node.dtype:
                gradient = astype(gradient, node.dtype)
        left = path[len(self.paths.get(node, ())) :]
        if not left:
            before = self.pending.get(node)
            self.pending[node] = gradient if before is None else before + gradient
            return
        (condition, branch), *inner = left
        gradient = _only_in(tuple(inner), _full(gradient, node))
        sides = self.by_condition.setdefault(node, {}).setdefault(condition, [None, None])
        kept = sides[branch]
        sides[branch] = gradient if kept is None else kept + gradient

    def take(self, node: Node) -> Any:
        """Remove and return the accumulated cotangent of a node; None if there is none."""
        total = self.pending.pop(node, None)
        for condition, sides in self.by_condition.pop(node, {}).items():
            chosen = _chosen(condition, sides)
            total = chosen if total is None else total + chosen
        return total

    def outside(self, node: Node, cotangent: Tensor) -> Tensor:
        """Return a gradient as seen outside the branches that the node is in: zero where they are not taken."""
        return _only_in(self.paths.get(node, ()), cotangent)

    def receive_output(self, node: Node, gradient: Tensor) -> None:
        """Add the cotangent of one result of a call that has several."""
        call, index = node.args
        received = self.pending.setdefault(call, {})
        received[index] = received[index] + gradient if index in received else gradient

    def into_branches(self, call: Node, cotangents: dict[int, Tensor]) -> None:
        """Pass the cotangents of an `ifelse` to the values of each branch."""
        condition, *branches = call.args
        for branch, values in enumerate(branches):
            path = (*self.paths[call], (condition, branch))
            for index, cotangent in cotangents.items():
                if values[index] in self.active:
                    self.receive(values[index], cotangent, path)

    def through_rule(self, node: Node, cotangent: Any) -> None:
        """Apply the gradient rule of a node's operation."""
        rule = node.op.gradient
        if rule is None and self.active.isdisjoint(node.array_args()):
            return
        if rule is None:
            raise NotImplementedError(
                f"{node.op.name} has no gradient rule; give it one with register_gradient({node.op.name!r}, …) "
                f"or cut the path with stop_gradient{recorded_at(node.source_location)}"
            )
        if isinstance(cotangent, Tensor) and ELEMENTWISE_TAG not in node.op.tags:
            cotangent = _full(cotangent, node)
        args = [_wrapped(arg) for arg in node.args]
        attributes = dict(node.attributes) if node.payload is None else {**node.attributes, "payload": node.payload}
        out: Any = _Outputs(node) if isinstance(cotangent, dict) else Tensor(node)
        path = self.paths.get(node, ())
        if isinstance(rule, Joint):
            for arg, part in zip(node.args, rule.rule(cotangent, out, *args, **attributes), strict=True):
                self.distribute(arg, part, path)
            return
        for position, arg in enumerate(node.args):
            one = rule[position] if position < len(rule) else None
            if one is not None and isinstance(arg, Node) and arg in self.active:
                self.distribute(arg, self.contribution(one, cotangent, node, arg, (out, *args), attributes), path)

    def contribution(
        self, rule: Any, cotangent: Any, node: Node, arg: Node, values: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        """Return the contribution to one argument; element-wise rules use the cotangent before it is broadcast."""
        elementwise = ELEMENTWISE_TAG in node.op.tags
        before, zeros = _before_zeros(cotangent) if elementwise and node.op.name != "where" else (cotangent, [])
        found = rule(before, *values, **attributes)
        if found is None or not elementwise:
            return found
        if zeros:
            found = cotangent if found is before else _with_zeros(as_tensor(found), zeros)
        else:
            found = as_tensor(found)
        narrow = (arg.shape == node.shape or same_shape(arg.shape, node.shape)) and _broadcasts(
            found.node.shape, node.shape
        )
        return found if narrow else _full(found, node)

    def distribute(self, arg: Any, contribution: Any, path: BranchPath) -> None:
        """Pass a contribution to an argument, or one contribution to each of a sequence of arguments."""
        if contribution is None:
            return
        if isinstance(arg, tuple):
            for item, part in zip(arg, contribution, strict=True):
                self.distribute(item, part, path)
        elif isinstance(arg, Node) and arg in self.active:
            self.receive(arg, contribution if isinstance(contribution, Tensor) else as_tensor(contribution), path)


def _broadcasts(narrow: Shape, shape: Shape) -> bool:
    """Return whether a cotangent may stay unbroadcast: it is a scalar, or has length 1 along some axes."""
    if not narrow or narrow == shape:
        return True
    pairs = zip(narrow, shape, strict=False)
    return len(narrow) == len(shape) and all((type(a) is int and a == 1) or same_length(a, b) is True for a, b in pairs)


def _full(cotangent: Tensor, node: Node) -> Tensor:
    """Broadcast a cotangent to the shape of its node."""
    shape = cotangent.node.shape
    return cotangent if shape == node.shape or same_shape(shape, node.shape) else broadcast_to(cotangent, node.shape)


def _chosen(condition: Node, sides: Sequence[Tensor | None]) -> Tensor:
    """Select one of two contributions by a condition; a missing contribution counts as zeros."""
    zero = zeros_like(next(side for side in sides if side is not None))
    chosen: Tensor = ifelse(Tensor(condition), *(zero if side is None else side for side in sides))
    return chosen


def _only_in(path: BranchPath, gradient: Tensor) -> Tensor:
    """Return a gradient if all branches of a path are taken, else zeros."""
    for condition, branch in reversed(path):
        gradient = _chosen(condition, (gradient, None) if branch == 0 else (None, gradient))
    return gradient


class _Outputs:
    """The results of a call, as passed to its gradient rule."""

    def __init__(self, call: Node) -> None:
        self.call = call

    def __getitem__(self, index: int) -> Tensor:
        return result(self.call, index)


def _wrapped(arg: Any) -> Any:
    if isinstance(arg, Node):
        return Tensor(arg)
    return tuple(map(_wrapped, arg)) if isinstance(arg, tuple) else arg


Disconnected = Literal["raise", "zero", "none"]


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
    """Return the gradients of a scalar with respect to Tensors from which it was computed.

    Parameters
    ----------
    loss : Tensor
        Scalar to differentiate: a Tensor with one element.
    variables : Tensor or sequence of Tensor
        Variables, placeholders or any recorded values.
    disconnected : {"raise", "zero", "none"}
        Result for a variable on which the loss does not depend: an error (the default), zeros or None.
    keep_dtype : bool
        Whether to cast each gradient to the dtype of its variable. If False, a gradient of an expression with mixed
        dtypes keeps the wider dtype in which it was computed.

    Returns
    -------
    Tensor or list of Tensor
        Gradients with the shapes and dtypes of `variables`; a single Tensor if `variables` is a Tensor.

    Raises
    ------
    TypeError
        If `loss` is not a Tensor, has several elements, or is complex.
    ValueError
        If the loss does not depend on a variable, and `disconnected` is ``"raise"``.
    NotImplementedError
        If an operation between a variable and the loss has no gradient rule; the message names the operation.

    Notes
    -----
    The gradient of a real loss u with respect to a complex variable z = x + iy is du/dx - i du/dy, as in JAX: a small
    step dz changes the loss by the real part of the gradient times dz, and rules multiply by the derivative of a
    holomorphic function without conjugating it. The direction of steepest descent is minus the conjugate of the
    gradient. The gradient of a real variable through complex values is the real part.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients
    >>> x = Variable(3.0)
    >>> float(gradients(x * x, x))
    6.0
    """
    if is_tensor(loss) and loss.node.shape and loss.size == 1:
        loss = reshape(loss, ())
    if not is_tensor(loss) or loss.node.shape:
        raise TypeError(f"loss must be a Tensor without axes, or of one element, got {loss!r}")
    if loss.node.dtype.kind == "c":
        raise TypeError(
            f"loss must be real, got {loss.dtype}: differentiate its real part, its imaginary part or its size"
        )
    single = isinstance(variables, Tensor)
    targets = [variables] if isinstance(variables, Tensor) else list(variables)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"variables must be Tensors, got {type(target).__name__}")
    one = scalar(1.0, loss.node.dtype)
    found = pull_back([loss.node], [one], [target.node for target in targets], keep_dtype=keep_dtype)
    results = []
    for target, gradient in zip(targets, found, strict=True):
        if gradient is None and disconnected == "raise" and not _depends(loss.node, target.node):
            raise ValueError(f"loss does not depend on {target.name or target!r}, so it has no gradient there")
        if gradient is None and disconnected != "none":
            gradient = zeros_like(divisible(target))
        results.append(gradient)
    return cast("Tensor", results[0]) if single else cast("list[Tensor]", results)


def _depends(loss: Node, target: Node) -> bool:
    """Return whether a path without `stop_gradient` leads from the target to the loss."""
    reached = {target}
    for node in reachable([loss]):
        if (node.op is not STOP and any(parent in reached for parent in node.array_args())) or (
            node.op is IFELSE and any(parent in reached for parent in node.inputs)
        ):
            reached.add(node)
    return loss in reached


def stop_gradient(x: Any) -> Any:
    """Return the same value as a constant for differentiation: no gradient flows through it.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensors
        Values to treat as constants.

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
    if isinstance(x, (list, tuple)):
        return [stop_gradient(item) for item in x]
    return record(STOP, as_tensor(x))
