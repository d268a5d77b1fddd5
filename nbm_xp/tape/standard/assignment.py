"""Assignment to a part of an array, recorded as a new array: the gradient flows to the new elements, not to the old.

Indices of integers and slices are assigned directly. An integer array selects positions along an axis; any other index
is converted to positions in the flattened array. A mask with a number as value becomes a `where`, so that the mask need
not be known while recording. If all elements are replaced, the old array gets no gradient rather than zeros: zero times
an infinite derivative, as of a quotient 0 / 0 that a mask replaces, would be NaN.

NumPy's `asarray` of a Tensor returns a new array to which compiled code may write, and such writes change the Tensor.
When the Tensor's node is used next, the changed elements are assigned to the Tensor and its base, and the array becomes
read-only. If the Tensor cannot be assigned to, for example a variable, the array is read-only from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any

from nbm_xp.namespace import array_namespace, asarray
from nbm_xp.namespace import put as library_put
from nbm_xp.namespace import replaced as library_replaced

from ..graph import PLACEHOLDER, Node
from ..lengths import Length, Size, is_number, known, product, same_length
from ..operations import Operation, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .creation import arange, full
from .data_types import cast
from .elementwise import where
from .indexing import expanded, getitem, infer_getitem, is_mask, without_masks
from .manipulation import flip, matrix_transpose, permute_dims, reshape
from .shapes import broadcast, written
from .sums import broadcast_to

__all__ = ["assign", "is_writable", "node_of", "setitem", "share", "shown_now", "updated"]

_FULL = slice(None)


def _names_all(index: tuple[Any, ...]) -> bool:
    """Return whether an index in normal form selects all elements."""
    return all(isinstance(item, slice) and item == _FULL for item in index)


_REPLACE: Operation = declare(
    "setitem",
    same_as_first,
    (
        lambda g, out, x, values, index: None if _names_all(index) else record(_REPLACE, g, 0.0, index),
        lambda g, out, x, values, index: getitem(g, index),
    ),
    run=lambda xp, x, values, index: library_replaced(x, index, values),
)
_PUT: Operation = declare(
    "put",
    same_as_first,
    (
        lambda g, out, x, places, values, *, axis: record(_PUT, g, places, 0.0, axis=axis),
        None,
        lambda g, out, x, places, values, *, axis: _from_places(g, places, axis),
    ),
    run=lambda xp, x, places, values, *, axis: library_put(x, places, values, axis),
)


def _from_places(g: Tensor, places: Tensor, axis: int) -> Tensor:
    """Return the gradient in the values; of several values for one position, only the assigned one has a gradient."""
    count = places.node.shape[0]
    numbers = arange(count)
    chosen = record(_PUT, full((g.node.shape[axis],), -1, dtype="int64"), places, numbers, axis=0)
    taken = reshape(getitem(chosen, places) == numbers, (count, *(1,) * (g.ndim - axis - 1)))
    return where(taken, getitem(g, (_FULL,) * axis + (places,)), 0.0)


def setitem(x: Tensor, key: Any, value: Any) -> Tensor:
    """Record the array that `x` becomes by ``x[key] = value``.

    Raises
    ------
    IndexError
        If the index does not match the array.
    TypeError
        If the value has a higher kind of dtype than the array: floating in integers, complex in real.
    ValueError
        If the value does not broadcast to the selected part, or a mask is unknown and must be known.
    """
    value = _of_dtype(value, x)
    items = expanded(key, x.ndim)
    if _only_a_mask(items) and not getattr(value, "ndim", 0):
        return _where_masked(x, items, value)
    merged, plain = without_masks(x, items)
    part = getitem(merged, tuple(plain))
    _check_fits(value, part)
    if isinstance(value, Tensor) and _choose_all(items, plain, merged):
        value, plain = reshape(broadcast_to(value, part.node.shape), x.node.shape), [_FULL] * x.ndim
    arrays = [place for place, item in enumerate(plain) if isinstance(item, Tensor)]
    if _names_all(tuple(plain)) and isinstance(value, Tensor) and _has_shape_of(value, x) and not _is_input(value):
        return value
    if not arrays and all(_is_plain(item) for item in plain):
        return record(_REPLACE, x, value, tuple(plain))
    if isinstance(value, Tensor):
        value = broadcast_to(value, part.node.shape)
    if len(arrays) == 1 and _names_all((*plain[: arrays[0]], *plain[arrays[0] + 1 :])):
        return reshape(_at_places(merged, plain[arrays[0]], value, arrays[0]), x.node.shape)
    size = product(x.node.shape)
    numbers = reshape(arange(size), merged.node.shape)
    flat = _at_places(reshape(x, (size,)), getitem(numbers, tuple(plain)), value, 0)
    return reshape(flat, x.node.shape)


def _written_getitem(part: Tensor, x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """Replace a part of an array; new axes in the index belong to the part only."""
    plain = tuple(item for item in index if item is not None)
    if len(plain) != len(index):
        part = reshape(part, infer_getitem(x.node, plain)[0])
    return setitem(x, plain, part)


# Functions that return the base of a view after a write to the view; other views are read-only.
_WRITTEN: dict[str, Callable[..., Tensor]] = {
    "getitem": _written_getitem,
    "reshape": lambda part, x, shape: reshape(part, x.node.shape),
    "permute_dims": lambda part, x, axes: permute_dims(part, tuple(axes.index(i) for i in range(len(axes)))),
    "transpose": lambda part, x: matrix_transpose(part),
    "flip": lambda part, x, *, axis: flip(part, axis=axis),
}


def assign(x: Tensor, key: Any, value: Any) -> Tensor:
    """Assign ``x[key] = value`` in `x` and in the bases of which it is a view, as with NumPy's views.

    If an error is raised, nothing is changed.

    Raises
    ------
    TypeError
        If `x` is a variable or placeholder, or a view of one; these are set as a whole.
    ValueError
        If `x` is a read-only view (of `broadcast_to`, `real`, `imag` or `linalg.diagonal`), or a `reshape` of a
        non-contiguous array without ``copy=True`` or ``copy=False``, which may be a view or a copy.
    """
    root = x
    while root.viewed is not None:
        if root.viewed.may_be_copy:
            raise ValueError(
                f"{x!r} is reshaped from a part or a transpose, and the library decides whether that is a copy: "
                "reshape what is written to with copy=True or copy=False"
            )
        root = root.viewed.base
    if root.holds_array or root.node.op is PLACEHOLDER:
        what = repr(root) if root is x else f"{x!r} shows {root!r}, which"
        raise TypeError(
            f"{what} is assigned to as a whole: a part of it is set in a copy, asarray(x, copy=True), and what comes "
            "of that is a variable's new value by set_value or an update"
        )
    shown = setitem(shown_now(x), key, value)
    found = [(x, shown.node)]
    one = x
    while one.viewed is not None:
        base, call = one.viewed.base, one.viewed.call
        if call.op.name not in _WRITTEN:
            raise ValueError(
                f"a view of {base!r} that is for reading only is not assigned to: copy it, asarray(…, copy=True)"
            )
        shown = _WRITTEN[call.op.name](shown, shown_now(base), *call.args[1:], **call.attributes)
        found.append((base, shown.node))
        one = base
    for tensor, node in reversed(found):  # bases first
        tensor.node = node
        if tensor.viewed is not None:
            tensor.viewed.seen = tensor.viewed.base.node
    return x


def updated(x: Tensor, result: Tensor) -> Tensor:
    """Return the new value of the name `x` after ``x += y`` with the sum `result`; a writable view is written to.

    If `x` is not writable, or the sum has another shape or a higher kind of dtype, `x` is unchanged.
    """
    if not is_writable(x) or not _has_shape_of(result, x) or _RANK[result.dtype.kind] > _RANK[x.dtype.kind]:
        return result
    return assign(x, Ellipsis, result)


def is_writable(x: Tensor) -> bool:
    """Return whether `x` and all its bases can be assigned to."""
    while x.viewed is not None:
        if x.viewed.may_be_copy or x.viewed.call.op.name not in _WRITTEN:
            return False
        x = x.viewed.base
    return not (x.holds_array or _is_input(x))


def _is_input(x: Tensor) -> bool:
    return node_of(x).op is PLACEHOLDER


# Stored node of a Tensor, without pending writes of NumPy arrays that share its value.
node_of: Callable[[Tensor], Node] = Tensor.node.__get__  # type: ignore[attr-defined]


def _has_shape_of(value: Tensor, x: Tensor) -> bool:
    return value.ndim == x.ndim and all(map(same_length, value.node.shape, x.node.shape))


def shown_now(x: Tensor) -> Tensor:
    """Return the current value of `x`, including writes to its bases since it was created."""
    view = x.viewed
    if view is None:
        return Tensor(x.node)
    base = shown_now(view.base)
    if base.node is view.seen:
        return Tensor(x.node)
    return record(view.call.op, base, *view.call.args[1:], **view.call.attributes)


def _choose_all(items: list[Any], plain: list[Any], merged: Tensor) -> bool:
    """Return whether masks are present and, with the other entries of the index, select all elements."""
    if None in map(known, merged.node.shape) or len(plain) != merged.ndim or not any(map(is_mask, items)):
        return False
    return all(
        known(places.node.shape[0]) == known(length) if is_mask(item) else _names_all((item,))
        for item, places, length in zip(items, plain, merged.node.shape, strict=True)
    )


def _only_a_mask(items: list[Any]) -> bool:
    others = tuple(item for item in items if not is_mask(item))
    return len(others) == len(items) - 1 and _names_all(others)


def _where_masked(x: Tensor, items: list[Any], value: Any) -> Tensor:
    place = next(place for place, item in enumerate(items) if is_mask(item))
    mask = items[place]
    if 0 in map(known, mask.node.shape):
        return x
    for length, own in zip(x.node.shape[place:], mask.node.shape, strict=False):
        if same_length(length, own) is False:
            raise IndexError(f"a mask must fit the array, got shapes {written(mask.node.shape)} and {x.shape}")
    spread: tuple[Size, ...] = (*mask.node.shape, *(1,) * (x.ndim - place - mask.ndim))
    return where(reshape(mask, spread), value, x)


def _is_plain(item: Any) -> bool:
    """Return whether libraries accept an entry in an assignment: an integer, or a slice with a positive step."""
    if isinstance(item, slice):
        return item.step is None or (isinstance(item.step, int) and item.step > 0)
    return isinstance(item, (int, Length))


def _at_places(x: Tensor, places: Tensor, value: Any, axis: int) -> Tensor:
    shape = x.node.shape
    count = product(places.node.shape)
    if isinstance(value, Tensor):
        value = reshape(value, (*shape[:axis], count, *shape[axis + 1 :]))
    return record(_PUT, x, places if places.ndim == 1 else reshape(places, (count,)), value, axis=axis)


_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _of_dtype(value: Any, x: Tensor) -> Any:
    """Convert a value to the dtype of the array."""
    number = is_number(value) and not isinstance(value, Length)
    given = value if number else as_tensor(value)
    kind = next(k for k in "bifc" if isinstance(given, _PYTHON[k])) if number else given.dtype.kind
    if _RANK[kind] > _RANK[x.dtype.kind]:
        what = repr(value) if number else given.dtype
        raise TypeError(f"value must be what an array of {x.dtype} can hold, got {what}: cast it openly with astype")
    return _PYTHON[x.dtype.kind](given) if number else cast(given, x.dtype)


def _check_fits(value: Any, part: Tensor) -> None:
    if not isinstance(value, Tensor):
        return
    wanted = part.node.shape
    whole = broadcast(value.node.shape, wanted)
    if len(whole) != len(wanted) or any(same_length(a, b) is False for a, b in zip(whole, wanted, strict=True)):
        raise ValueError(f"value must broadcast to shape {part.shape}, which the index names, got {value.shape}")


_KEY = "_shared_memory"
_LOCK = RLock()


class _Memory:
    """A NumPy array that shares the value of a Tensor: its initial elements, the node and the library of the value."""

    __slots__ = ("array", "before", "library", "node", "view")

    def __init__(self, x: Tensor, array: Any, library: Any) -> None:
        self.array = array
        self.before = array.copy()
        self.library = library
        self.node = node_of(x)
        self.view = None if x.viewed is None else x  # no reference cycle

    def settle(self, x: Tensor) -> None:
        """Assign the changed elements to `x`."""
        self.array.flags.writeable = False
        written = (_bits(self.array) != _bits(self.before)).any(axis=-1)
        if not written.any():
            return
        mask, array = (asarray(part, self.library) for part in (written, self.array))
        now = shown_now(x)
        is_alone = now.node is self.node and not now.node.inputs  # a leaf, whose old value is not needed
        assign(x, Ellipsis, array if is_alone else where(mask, array, now))


class _Sharing(Tensor):
    """A Tensor while NumPy arrays share its value or that of its views."""

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
    """View elements as integers along a new axis, so that NaN equals itself and 0.0 differs from -0.0."""
    return array[..., None].view(f"u{min(array.itemsize, 8)}")


def _shown(x: Tensor) -> Iterator[Tensor]:
    """Yield a Tensor and its bases."""
    yield x
    while x.viewed is not None:
        x = x.viewed.base
        yield x


def share(x: Tensor, value: Any, array: Any) -> Any:
    """Return a NumPy array, an unshared copy of the value, made to share the value of `x`; read-only if impossible."""
    with _LOCK:
        if not is_writable(x) or not all(type(tensor) in (Tensor, _Sharing) for tensor in _shown(x)):
            array.flags.writeable = False
            return array
        memory = _Memory(x, array, array_namespace(value))
        for tensor in _shown(x):
            vars(tensor).setdefault(_KEY, []).append(memory)
            tensor.__class__ = _Sharing
        return array
