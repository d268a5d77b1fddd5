"""Calls of functions of arrays with Tensors as arguments, the first step of all derivatives of functions.

Arrays are recorded as constants, so that a function may test values (`if x.max() > 1`), and are marked as arguments of
this derivative. Without other Tensors, the result is computed immediately, with a plan cached by the structure of the
graph. If an argument is a Tensor, or the function uses an argument of another derivative in progress, the result is
recorded, so that derivatives can be nested.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from nbm_xp.namespace import asarray, floatx, host_namespace, is_array

from ..dtypes import as_dtype
from ..evaluation import computed
from ..graph import ARGUMENT, IN_PROGRESS, PLACEHOLDER, VARIABLE, Node, reachable
from ..tensor import Tensor, as_tensor, is_tensor, record
from ..trees import leaves, mapped

Build: TypeAlias = "Callable[[], Sequence[Tensor]]"


def argument(value: Any) -> Tensor:
    """Create a new Tensor for an array or Tensor, distinct from those of all other recordings."""
    return record(ARGUMENT, as_tensor(value))


@dataclass
class Call:
    """The result of calling a function on Tensors.

    Parameters
    ----------
    value
        Tree returned by the function.
    targets
        For each argument to differentiate with respect to, its tree with a Tensor at each leaf.
    recorded
        Whether results are Tensors, because a recorded Tensor is involved.
    """

    value: Any
    targets: list[Any]
    recorded: bool

    @property
    def arguments(self) -> list[Tensor]:
        """All Tensors to differentiate with respect to."""
        return list(leaves(self.targets))

    def outputs(self) -> list[Tensor]:
        """Return the arrays and Tensors among the leaves of the value, as Tensors."""
        return [as_tensor(leaf) for leaf in leaves(self.value) if is_output(leaf)]

    def computed(
        self, kind: Hashable, roots: Sequence[Tensor], inputs: Sequence[Tensor], build: Build, given: Any = ()
    ) -> Sequence[Any]:
        """Return the Tensors that `build` records, or their values if no Tensor is involved, in `given` included."""
        recorded = self.recorded or any(map(is_tensor, leaves(given)))
        return build() if recorded else computed(kind, roots, inputs, build)

    def filled(self, values: Sequence[Any]) -> Any:
        """Return the value with its Tensors and arrays replaced by `values`."""
        rest = iter(values)
        return mapped(lambda leaf: next(rest) if is_output(leaf) else leaf, self.value)


def is_output(leaf: Any) -> bool:
    """Return whether a leaf of a tree is an array or a Tensor."""
    return is_tensor(leaf) or is_array(leaf)


@contextmanager
def called(
    fn: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], options: dict[str, Any]
) -> Iterator[Call]:
    """Call a function with Tensors in place of all arrays; the context lasts until the derivative has been taken.

    Raises
    ------
    TypeError
        If `fn` is not callable, or an argument to differentiate with respect to contains anything but floating arrays.
    """
    if not callable(fn):
        raise TypeError(f"fn must be a function, got {type(fn).__name__}: give the function, not what it returns")
    positions = _positions(argnums, args)
    args = [mapped(_array, value) if position in positions else value for position, value in enumerate(args)]
    for position in positions:
        for leaf in leaves(args[position]):
            _check_floating(leaf, position)
    recorded = any(is_tensor(leaf) for value in args for leaf in leaves(value))
    targets = {position: mapped(argument, args[position]) for position in positions}
    given = [mapped(_handle, targets.get(position, value)) for position, value in enumerate(args)]
    marked = [target.node for target in leaves(targets)]
    IN_PROGRESS.update(marked)
    try:
        value = fn(*given, **options)
        roots = [leaf.node for leaf in leaves(value) if is_tensor(leaf)]
        recorded = recorded or is_foreign(roots, frozenset(marked))
        yield Call(value, [targets[position] for position in positions], recorded)
    finally:
        IN_PROGRESS.difference_update(marked)


def _handle(leaf: Any) -> Any:
    """Convert a leaf to the function's argument: a new Tensor of the same node, whose elements the function may set."""
    if is_tensor(leaf):
        return Tensor(leaf.node)
    return as_tensor(leaf) if is_array(leaf) else leaf


def is_foreign(roots: Sequence[Node], own: frozenset[Node]) -> bool:
    """Return whether a graph contains a placeholder or an argument of another derivative in progress."""
    return any(
        node.op is PLACEHOLDER or (node.op is ARGUMENT and node not in own and node in IN_PROGRESS)
        for node in reachable(roots, own)
    )


def is_settled(results: Sequence[Tensor]) -> bool:
    """Return whether values depend on no placeholder, no variable and no argument of a derivative in progress."""
    nodes = reachable([result.node for result in results])
    return not any(node.op in (PLACEHOLDER, VARIABLE) or node in IN_PROGRESS for node in nodes)


def _positions(argnums: Sequence[int], args: Sequence[Any]) -> list[int]:
    """Return the non-negative positions of the arguments to differentiate with respect to."""
    positions = []
    for number in map(operator.index, argnums):
        if not -len(args) <= number < len(args):
            raise TypeError(f"argnums names argument {number}, but {len(args)} were given")
        positions.append(number % len(args))
    return positions


def _array(leaf: Any) -> Any:
    """Convert a Python float to a 0-d array of `floatx`; return other leaves unchanged."""
    return asarray(leaf, host_namespace(), dtype=floatx()) if type(leaf) is float else leaf


def _check_floating(leaf: Any, position: int) -> None:
    if type(leaf) is int:
        raise TypeError(f"argument {position} must be floating to differentiate in, got the integer {leaf}")
    if not is_output(leaf):
        raise TypeError(
            f"argument {position} must be an array to differentiate in, or a tuple, list or dict of arrays, "
            f"got {type(leaf).__name__}"
        )
    try:
        dtype = as_dtype(leaf)
    except TypeError as error:
        raise TypeError(f"argument {position} must be floating to differentiate in: {error}") from error
    if dtype.kind not in "fc":
        raise TypeError(f"argument {position} must be floating to differentiate in, got {dtype}")
