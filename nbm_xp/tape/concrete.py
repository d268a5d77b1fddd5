"""Values that are looked at while recording, for functions whose result has a shape that depends on data.

Variables and constants may be looked at. Inputs have no value yet, arrays of a lazy library are computed only when the
user says so, and random draws are drawn anew at every run: where one of these is involved, an error is raised.

An integer that is given as a length is known for good where numbers and constants alone decide it. Where variables
do, it is known now, and looked up again whenever it is asked for, as far as that takes little: a few numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbm_xp.namespace import (
    default_namespace,
    host_namespace,
    is_lazy,
    library_name,
    recording_namespace,
    running_namespace,
    to_numpy,
    use_backend,
)

from .graph import is_differentiated
from .lengths import Length, Size, as_length, known, product, value_length
from .node import CONSTANT, IFELSE_NAME, LEAVES, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Node
from .tensor import Tensor

__all__ = ["concrete", "integer_length", "is_lasting", "lasting_number", "recorded_length", "what_is_unknown"]

_MOST_NODES = 64
_MOST_ELEMENTS = 64


def what_is_unknown(x: Tensor) -> str | None:
    """Why a Tensor has no value yet, in words; None if it has one."""
    arrays = []
    for node, _ in _needed(x.node, past_memo=False):
        if node.op is PLACEHOLDER:
            return f"it depends on the input {node.name or repr(node)}"
        if node.memo is not None:
            arrays.append(node.memo)
        elif node.op is CONSTANT:
            arrays.append(node.payload)
        elif node.op is VARIABLE:
            if node.payload.is_state or node.payload.default_update is not None:
                return "it depends on random draws, which are drawn anew at every run"
            arrays.append(node.payload.value)
    if is_lazy(running_namespace(arrays, default_namespace())):
        return "it depends on lazy arrays, which are never computed unasked"
    return None


def concrete(x: Tensor, function: str) -> Any:
    """The array that a Tensor is, looked at now for a function whose result's length depends on it.

    Raises
    ------
    ValueError
        If the value is not known yet; the message names the function and says why.
    """
    reason = what_is_unknown(x)
    if reason is not None:
        raise ValueError(
            f"the length of what {function} gives depends on data, which must be known while recording; {reason}"
        )
    return recording_namespace().look(x)


def is_lasting(x: Tensor) -> bool:
    """Whether constants alone decide a value, which is there for the asking: what is differentiated is none."""
    if is_differentiated(x.node) or what_is_unknown(x) is not None:
        return False
    return all(node.op is not VARIABLE for node, _ in _needed(x.node, past_memo=False))


def lasting_number(node: Node) -> Any:
    """The value of a scalar that nothing can change; None where inputs, variables or lazy arrays decide it."""
    arrays = []
    for needed, _ in _needed(node):
        if needed.op in (PLACEHOLDER, VARIABLE):  # also of the lengths of a variable
            return None
        if needed.op is CONSTANT:
            arrays.append(needed.payload)
    return _read(node, arrays)


def present_integer(node: Node) -> int | None:
    """The value that an integer scalar has now, if no more than a few numbers decide it and none of them is open."""
    arrays = []
    for count, (needed, for_its_value) in enumerate(_needed(node)):
        op = needed.op
        if op is VARIABLE and not for_its_value:
            continue
        if op is PLACEHOLDER or op.name == IFELSE_NAME or SUBGRAPH_TAG in op.tags or count == _MOST_NODES:
            return None
        size = known(product(needed.shape))
        if size is None or size > _MOST_ELEMENTS:
            return None
        if op is VARIABLE:
            if needed.payload.is_state or needed.payload.default_update is not None:
                return None
            arrays.append(needed.payload.value)
        elif op is CONSTANT:
            arrays.append(needed.payload)
    found: int | None = _read(node, arrays)
    return found


def _needed(node: Node, *, past_memo: bool = True) -> Iterator[tuple[Node, bool]]:
    """What a node is computed from, itself first, and whether by its value or by its lengths alone.

    What has kept its value has it from constants alone: whoever asks for no more need not look past it.
    """
    seen = {(node, True)}
    stack = [(node, True)]
    while stack:
        found = stack.pop()
        yield found
        if found[0].memo is not None and not past_memo:
            continue
        arrays = set(found[0].array_args())
        for other in found[0].inputs:
            entry = other, other in arrays or other.op not in LEAVES
            if entry not in seen:
                seen.add(entry)
                stack.append(entry)


def _read(node: Node, arrays: list[Any]) -> Any:
    """The number that a node computes from these arrays, unless they are lazy."""
    if arrays and is_lazy(running_namespace(arrays, default_namespace())):
        return None
    if arrays:
        return to_numpy(recording_namespace().look(Tensor(node))).item()
    with use_backend(library_name(host_namespace())):  # of numbers alone: the same in every library
        return to_numpy(recording_namespace().look(Tensor(node))).item()


def integer_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes; an int where nothing can change it."""
    length = recorded_length(value)
    if isinstance(value, Tensor) and isinstance(length, Length):
        lasting = lasting_number(value.node)
        return length if lasting is None else lasting
    return length


def recorded_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes, as it was recorded: nothing is looked at."""
    if not isinstance(value, Tensor):
        return as_length(value)
    if value.ndim or value.dtype.kind not in "iu":
        raise TypeError(f"a length must be an integer Tensor without axes, got {value!r}")
    return _recorded_length(value.node)


def _recorded_length(node: Node) -> Size:
    """The length that a scalar was made of (``shape(x)[0]``), or the scalar's value."""
    if node.op.name == "getitem" and node.args[0].op.name == "concat" and type(node.args[1][0]) is int:
        parts = node.args[0].args[0]
        if all(part.op.name == "reshape" and part.shape == (1,) for part in parts):
            node = parts[node.args[1][0]].args[0]
    if node.op.name == "scalar" and isinstance(node.args[0], (int, Length)):
        return node.args[0]
    return value_length(node)
