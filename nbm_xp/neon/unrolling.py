"""Forward and backward passes of recurrent layers through time, computed by `nbm_xp.functions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp.functions.compound import compound_product, recurrent_input
from nbm_xp.tape import as_tensor

from .buffers import Buffer
from .elementwise import Elementwise
from .engine import Engine
from .layers import Target, operand, whole
from .optrees import tree_of


def _weights(engine: Engine, W_recur: Buffer, nout: int) -> Any:
    """Return the values of recurrent weights."""
    shape = (whole(nout, "nout"),) * 2
    found = operand(engine, W_recur, "W_recur", shape)
    if tuple(W_recur.shape) != shape:
        raise ValueError(f"W_recur must have shape {shape}, got {W_recur.shape}")
    return found


def _steps(
    engine: Engine, lists: dict[str, Sequence[Buffer]], nout: int, num_steps: int, used: int | None, reverse: bool
) -> Sequence[tuple[Buffer, ...]]:
    """Return the buffers of each step, in the order of computation, after validating all of them."""
    count = whole(num_steps, "num_steps", 0)
    if used is not None:
        count = min(count, whole(used, "num_used_steps", 0))
    columns: int | None = None
    for name, buffers in lists.items():
        if not isinstance(buffers, Sequence):
            raise TypeError(f"{name} must be a sequence of buffers, got {type(buffers).__name__}")
        if len(buffers) < count:
            raise ValueError(f"{name} must have a buffer for each of {count} steps, got {len(buffers)}")
        for step, buffer in enumerate(buffers[:count]):
            columns = getattr(buffer, "shape", (0,))[-1] if columns is None else columns
            Target(engine, buffer, f"{name}[{step}]", (nout, columns))
    made = list(zip(*(buffers[:count] for buffers in lists.values()), strict=True))
    return made[::-1] if reverse else made


class Unrolling(Elementwise):
    """A Backend's recurrent layers."""

    def compound_rnn_unroll_fprop(
        self, W_recur: Buffer, h_prev_s: Sequence[Buffer], h_ff_s: Sequence[Buffer], h_s: Sequence[Buffer],
        bias: Buffer, nout: int, num_steps: int, num_used_steps: int | None, activation: Any, reverse: bool = False,
    ) -> None:  # fmt: skip
        """Compute the steps of a recurrent layer: set each h to ``activation(W_recur @ h_prev + h_ff + bias)``.

        Parameters
        ----------
        W_recur : buffer
            Recurrent weights, of shape (nout, nout).
        h_prev_s, h_ff_s, h_s : sequence of buffer
            For each step the previous units, the input from the layer below, and the destination of the units, of shape
            (nout, images). They may be views of the same memory: a step reads what earlier steps wrote. If `h_ff` is
            `h` itself, it is read before it is written.
        bias : buffer
            Bias, of shape (nout, 1).
        nout, num_steps : int
            Number of units, and number of steps in the sequences.
        num_used_steps : int, optional
            Number of steps to compute, starting with the first; all by default.
        activation : callable
            ``activation(x)`` returns the op-tree of the units.
        reverse : bool
            Whether to compute the steps in reverse order.

        Raises
        ------
        TypeError
            If an operand is not a buffer, or `activation` is not callable.
        ValueError
            If shapes or numbers of steps do not match. Nothing is written in that case.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> h, x = be.zeros((1, 3)), be.array([[1, 2]])
        >>> be.compound_rnn_unroll_fprop(
        ...     be.array([[10]]), [h[:, 0:1], h[:, 1:2]], [x[:, 0:1], x[:, 1:2]], [h[:, 1:2], h[:, 2:3]],
        ...     be.zeros((1, 1)), 1, 2, 2, lambda x: be.maximum(x, 0))
        >>> h.get()
        array([[ 0.,  1., 12.]], dtype=float32)
        """
        weights, offset = _weights(self, W_recur, nout), operand(self, bias, "bias", (nout, 1))
        if not callable(activation):
            raise TypeError(f"activation must be callable, got {activation!r}")
        lists = {"h_prev_s": h_prev_s, "h_ff_s": h_ff_s, "h_s": h_s}
        for previous, forward, h in _steps(self, lists, nout, num_steps, num_used_steps, reverse):
            given = recurrent_input(weights, previous.array, offset, forward.array)
            h.assign(activation(tree_of(as_tensor(given), h.backend)))

    def compound_rnn_unroll_bprop(
        self, W_recur: Buffer, delta_prev_s: Sequence[Buffer], delta_s: Sequence[Buffer], h_s: Sequence[Buffer],
        nout: int, num_steps: int, num_used_steps: int | None, activation: Any, reverse: bool = True,
    ) -> None:  # fmt: skip
        """Backpropagate through the steps of a recurrent layer.

        Each delta is set to ``activation.bprop(h) · delta``, the gradient with respect to the activation's argument,
        and ``W_recur @ delta`` is added to the delta of the previous step.

        Parameters
        ----------
        W_recur : buffer
            Recurrent weights, transposed by the caller, of shape (nout, nout).
        delta_prev_s, delta_s : sequence of buffer
            For each step the gradient with respect to the previous units, which is added to, and to the step's own
            units, which is replaced by the gradient with respect to the activation's argument; of shape (nout, images).
            They may be views of the same memory.
        h_s : sequence of buffer
            The units of each step.
        nout, num_steps, num_used_steps
            See `compound_rnn_unroll_fprop`.
        activation : object
            ``activation.bprop(h)`` returns the derivative of the activation, as an op-tree of its value `h` or as a
            number.
        reverse : bool
            Whether the last step comes first, as usual unless the layer ran in reverse order.

        Raises
        ------
        TypeError, ValueError
            See `compound_rnn_unroll_fprop`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> class Rectified:
        ...     def bprop(self, h):
        ...         return be.greater(h, 0)
        >>> be = Backend(library="cpu")
        >>> d, h = be.array([[0, 1, 1]]), be.array([[1, 12]])
        >>> be.compound_rnn_unroll_bprop(
        ...     be.array([[10]]), [d[:, 0:1], d[:, 1:2]], [d[:, 1:2], d[:, 2:3]], [h[:, 0:1], h[:, 1:2]], 1, 2, 2,
        ...     Rectified())
        >>> d.get()
        array([[110.,  11.,   1.]], dtype=float32)
        """
        weights = _weights(self, W_recur, nout)
        if not callable(getattr(activation, "bprop", None)):
            raise TypeError(f"activation must have a method bprop, got {activation!r}")
        lists = {"delta_prev_s": delta_prev_s, "delta_s": delta_s, "h_s": h_s}
        for previous, delta, h in _steps(self, lists, nout, num_steps, num_used_steps, reverse):
            self.multiply(activation.bprop(h), delta, out=delta)
            previous.write(compound_product(weights, delta.array, previous.array, beta=1.0))
