"""What NumPy's `asarray` gives for a Tensor: an array to which compiled code may write, and the write arrives.

A Tensor has no memory, so the array is new. As long as nobody asks the Tensor for its node, the two count as one, as an
array and what `asarray` gives for it do elsewhere. When somebody does, the elements that were written are assigned to
the Tensor and to what it is a view of, and the array is for reading only from then on: what is recorded does not
change. Where an assignment could not arrive, as in a variable, the array is for reading only from the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock
from typing import Any

from nbm_xp.namespace import array_namespace, asarray
from nbm_xp.tape.node import Node
from nbm_xp.tape.operators import LATE
from nbm_xp.tape.tensor import Tensor

from .assignment import assign, is_writable, node_of, shown_now
from .choices import where

__all__ = ["share"]

_KEY = "_shared_memory"
_LOCK = RLock()


class _Memory:
    """An array that stands for a Tensor: what it held, of which node, and the library of the value."""

    __slots__ = ("array", "before", "library", "node", "view")

    def __init__(self, x: Tensor, array: Any, library: Any) -> None:
        self.array = array
        self.before = array.copy()
        self.library = library
        self.node = node_of(x)
        self.view = None if x.viewed is None else x  # what holds this is not to be kept alive by it

    def settle(self, x: Tensor) -> None:
        """Assign to `x` what was written."""
        self.array.flags.writeable = False
        written = (_bits(self.array) != _bits(self.before)).any(axis=-1)
        if not written.any():
            return
        mask, array = (asarray(part, self.library) for part in (written, self.array))
        now = shown_now(x)
        is_alone = now.node is self.node and not now.node.inputs  # a leaf, which need not be kept
        assign(x, Ellipsis, array if is_alone else where(mask, array, now))


class _Sharing(Tensor):
    """A Tensor while arrays stand for it or for parts of it."""

    __slots__ = ()

    @property
    def node(self) -> Node:  # type: ignore[override]
        with _LOCK:
            while memories := vars(self).get(_KEY):
                memory = memories[0]
                x = self if memory.view is None else memory.view
                for tensor in _shown(x):
                    kept = vars(tensor)[_KEY]
                    kept.remove(memory)
                    if not kept:
                        del vars(tensor)[_KEY]
                        tensor.__class__ = Tensor
                memory.settle(x)
        return node_of(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        for memory in vars(self).get(_KEY, ()):
            if (memory.view is self or (self.viewed is None and memory.view is None)) and copy is not False:
                return memory.array.astype(memory.array.dtype if dtype is None else dtype, copy=bool(copy))
        return super().__array__(dtype, copy)


def _bits(array: Any) -> Any:
    """Each element as whole numbers, along another axis: NaN is equal to itself, and 0.0 is not -0.0."""
    return array[..., None].view(f"u{min(array.itemsize, 8)}")


def _shown(x: Tensor) -> Iterator[Tensor]:
    """A Tensor and those that it shows."""
    yield x
    while x.viewed is not None:
        x = x.viewed.base
        yield x


def share(x: Tensor, value: Any, array: Any) -> Any:
    """The array of NumPy that is to stand for `x`, whose value it holds and which nobody else has."""
    with _LOCK:
        if not is_writable(x) or not all(type(tensor) in (Tensor, _Sharing) for tensor in _shown(x)):
            array.flags.writeable = False
            return array
        memory = _Memory(x, array, array_namespace(value))
        for tensor in _shown(x):
            vars(tensor).setdefault(_KEY, []).append(memory)
            tensor.__class__ = _Sharing
        return array


LATE["share"] = share
