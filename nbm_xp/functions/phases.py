"""The learning phase (training or testing), set globally or an input of the graph, and branches by it.

The phase and the counters of names are Keras's session: one for the process, shared by the Keras backends. Reading and
setting are thread-safe.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from nbm_xp import tape
from nbm_xp.namespace import array_namespace

from ._arguments import Array, is_truth, is_value, pair
from .control import ifelse
from .variables import get_variable_shape

__all__ = [
    "clear_session", "get_uid", "in_test_phase", "in_train_phase", "learning_phase", "reset_uids",
    "set_learning_phase", "switch",
]  # fmt: skip


class _Session:
    """The state that `clear_session` resets."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.phase: int | None = None
        self.phases = {dtype: tape.placeholder((), dtype=dtype, name="learning_phase") for dtype in ("bool", "uint8")}
        self.uids: Counter[str] = Counter()


_session = _Session()


def learning_phase(*, dtype: Literal["bool", "uint8"] = "bool") -> int | tape.Tensor:
    """Return the learning phase: 1 for training or 0 for testing if it was set, else a placeholder for an input.

    Parameters
    ----------
    dtype : {"bool", "uint8"}
        Dtype of the placeholder: bool as in Keras 2.0, or uint8 as in Keras 1.0.

    Returns
    -------
    int or Tensor
        The Tensor is a scalar, and the same object until `clear_session`.

    Examples
    --------
    >>> clear_session()
    >>> learning_phase().dtype == "bool"
    True
    """
    return _session.phases[dtype] if _session.phase is None else _session.phase


def set_learning_phase(value: int) -> None:
    """Set the learning phase for all graphs recorded from now on.

    Parameters
    ----------
    value : {0, 1}
        0 for testing, 1 for training.

    Raises
    ------
    ValueError
        If `value` is neither 0 nor 1.

    Examples
    --------
    >>> set_learning_phase(1)
    >>> learning_phase()
    1
    >>> clear_session()
    """
    if value not in (0, 1):
        raise ValueError(f"value must be 0 (testing) or 1 (training), got {value!r}")
    with _session.lock:
        _session.phase = int(value)


def get_uid(prefix: str = "") -> int:
    """Return a unique number for a prefix.

    Parameters
    ----------
    prefix : str
        Prefix, with a counter of its own.

    Returns
    -------
    int
        1 on the first call with `prefix`, then 2, and so on.

    Examples
    --------
    >>> reset_uids()
    >>> get_uid("dense"), get_uid("dense"), get_uid("conv")
    (1, 2, 1)
    """
    with _session.lock:
        _session.uids[prefix] += 1
        return _session.uids[prefix]


def reset_uids() -> None:
    """Reset the counters of `get_uid`.

    Examples
    --------
    >>> reset_uids()
    >>> get_uid()
    1
    """
    with _session.lock:
        _session.uids.clear()


def clear_session() -> None:
    """Reset the learning phase and the counters of names. Variables and graphs are not changed.

    Examples
    --------
    >>> clear_session()
    """
    with _session.lock:
        _session.clear()


def switch(condition: Any, then_expression: Any, else_expression: Any, *, broadcast: bool = False) -> Any:
    """Select one of two values by a condition.

    Parameters
    ----------
    condition : array, Tensor or number
        Scalar; any value except 0 is true.
    then_expression, else_expression : array, Tensor or callable
        Values of one shape, or callables that return them.
    broadcast : bool
        Whether, as in Theano, the shapes of the values may differ and `condition` may have axes. All three are then
        broadcast, and both sides are computed if shapes differ.

    Returns
    -------
    array
        Recorded if any argument is a Tensor: then only the side taken is computed.

    Examples
    --------
    >>> import numpy as np
    >>> switch(np.asarray(0), np.asarray([1.0]), lambda: np.asarray([2.0]))
    array([2.])
    """
    taken, other = _value(then_expression), _value(else_expression)
    if broadcast:
        xp, taken, other = pair(taken, other)
        condition = condition if is_value(condition) else xp.asarray(condition)
        if condition.ndim or not _of_one_shape(taken, other):
            truth = condition if is_truth(condition) else condition != 0
            return array_namespace(truth, taken, other).where(truth, taken, other)
    return ifelse(condition, taken, other)


def _of_one_shape(x: Any, y: Any) -> bool:
    """Whether both are arrays with shapes that are not known to differ."""
    if not (is_value(x) and is_value(y) and x.ndim == y.ndim):
        return False
    lengths = zip(get_variable_shape(x), get_variable_shape(y), strict=True)
    return all(m == n or m is None or n is None for m, n in lengths)


def _value(expression: Any) -> Any:
    return expression() if callable(expression) and not tape.is_tensor(expression) else expression


def in_train_phase(
    x: Array | Callable[[], Array], alt: Array | Callable[[], Array], training: Any = None, *, broadcast: bool = False
) -> Any:
    """Select one value in training, another in testing.

    Parameters
    ----------
    x : array, Tensor or callable
        Value in training, or a callable that returns it.
    alt : array, Tensor or callable
        Value in testing, of the same shape, or a callable that returns it.
    training : Tensor, bool or int, optional
        Phase. Defaults to `learning_phase`.
    broadcast : bool
        Whether shapes may differ, as in `switch`.

    Returns
    -------
    array
        One of the two if the phase is known while recording; else a Tensor, whose attribute ``_uses_learning_phase``
        tells that it depends on `learning_phase`.

    Examples
    --------
    >>> import numpy as np
    >>> in_train_phase(np.asarray(1.0), np.asarray(0.0), training=True)
    array(1.)
    """
    phase = learning_phase() if training is None else training
    if isinstance(phase, int):
        return _value(x if phase else alt)
    chosen = switch(phase, x, alt, broadcast=broadcast)
    if tape.is_tensor(chosen) and any(phase is placeholder for placeholder in _session.phases.values()):
        chosen._uses_learning_phase = True
    return chosen


def in_test_phase(
    x: Array | Callable[[], Array], alt: Array | Callable[[], Array], training: Any = None, *, broadcast: bool = False
) -> Any:
    """Select one value in testing, another in training.

    Parameters
    ----------
    x : array, Tensor or callable
        Value in testing, or a callable that returns it.
    alt : array, Tensor or callable
        Value in training, of the same shape, or a callable that returns it.
    training : Tensor, bool or int, optional
        Phase. Defaults to `learning_phase`.
    broadcast : bool
        Whether shapes may differ, as in `switch`.

    Returns
    -------
    array
        See `in_train_phase`.

    Examples
    --------
    >>> import numpy as np
    >>> in_test_phase(np.asarray(1.0), np.asarray(0.0), training=True)
    array(0.)
    """
    return in_train_phase(alt, x, training=training, broadcast=broadcast)
