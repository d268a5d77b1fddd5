"""Recorded draws in plans that run block by block: each block makes its own elements of the undivided draw.

Contract: the numbers are those of the whole batch, whatever the blocks; and the state of the
streams moves on by the whole draw, once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import convert, dtype_name, dtype_of, library_name
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.tape.blockwise.frame import SPLIT, WHOLE, Value
from nbm_xp.tape.blockwise.translation import Translator
from nbm_xp.tape.dtypes import as_dtype
from nbm_xp.tape.lengths import Size, value_length
from nbm_xp.tape.node import Memory, Node, Shape, Spec
from nbm_xp.tape.registry import OPERATIONS, declare
from nbm_xp.tape.stable import sigmoid

from .. import draws
from ..tasks import Draw

__all__ = ["counted", "drawn", "of_rows"]

_TASKS = {"uniform": draws.uniforms, "normal": draws.normals}
_WORTH_MOVING = 10  # elements of each stream from which on moving it to its first one costs less than finding each


def _run_block(
    xp: Any, states: Any, *, kind: str, size: Shape, whole: Shape, axis: int, offset: Any, dtype: str, trial: int = 0
) -> Any:
    """The elements of one block."""
    begins = tuple(int(offset) if i == axis else 0 for i in range(len(size)))
    options = () if kind == "normal" else (("trial", trial),)
    task = Draw(_TASKS[kind], None, _numbers(whole), dtype, library_name(xp), options=options)
    return task(begins, _numbers(size), states)


def _numbers(shape: Shape) -> tuple[int, ...]:
    return tuple(map(int, shape))


def _states_at(xp: Any, states: Any, *, size: Shape, whole: Shape, axis: int, offset: Any) -> Any:
    """The streams as the elements of one block take them in turn, from its first on.

    None where the elements do not lie together, or are too few for moving all streams to the block: then each is
    found where it is.
    """
    shape, count, streams = _numbers(whole), math.prod(_numbers(size)), states.shape[0]
    apart = math.prod(shape[:axis]) != 1
    if apart or count < _WORTH_MOVING * streams or kernel("rng.bernoulli", xp) is None:
        return None
    begin = int(offset) * math.prod(shape[axis + 1 :])
    return xp.roll(draws.after(convert(states, xp), begin), -(begin % streams), axis=0)


def _block_spec(states: Node, *, size: Shape, dtype: str, **attributes: Any) -> Spec:
    return size, as_dtype(dtype)


def _run_block_of_counts(xp: Any, states: Any, p: Any, *, n: int, dtype: str, precision: str, **where: Any) -> Any:
    """The successes of `n` trials for the elements of one block."""
    if n == 1 and (ahead := _states_at(xp, states, **where)) is not None:
        sample: Any = draws.binomial(xp, ahead, n, p, _numbers(where["size"]), dtype, precision)[0]
        return sample
    kind = "int64" if dtype == "bool" and n > 1 else dtype
    total = None
    for trial in range(n):
        u = _run_block(xp, states, kind="uniform", dtype=precision, trial=trial, **where)
        sample = draws.less(xp, u, p, kind)
        total = sample if total is None else total + sample
    return total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))


def _run_block_by_log_odds(xp: Any, states: Any, x: Any, *, n: int, dtype: str, precision: str, **where: Any) -> Any:
    """What `_run_block_of_counts` gives by the sigmoids of `x`."""
    if n == 1 and dtype == dtype_name(x) and (ahead := _states_at(xp, states, **where)) is not None:
        return draws.bernoulli_of_sigmoid(xp, ahead, x, _numbers(where["size"]), precision)[0]
    return _run_block_of_counts(xp, states, sigmoid(x), n=n, dtype=dtype, precision=precision, **where)


def _run_block_by_affine_log_odds(
    xp: Any, states: Any, a: Any, b: Any, bias: Any, *, n: int, dtype: str, precision: str, **where: Any
) -> Any:
    """What `_run_block_by_log_odds` gives by ``a @ b + bias``."""
    if n == 1 and dtype == dtype_name(a) and (ahead := _states_at(xp, states, **where)) is not None:
        return draws.bernoulli_of_affine(xp, ahead, a, b, bias, _numbers(where["size"]), precision)[0]
    x = xp.matmul(a, b) + bias
    return _run_block_of_counts(xp, states, sigmoid(x), n=n, dtype=dtype, precision=precision, **where)


def _run_after(xp: Any, states: Any, *, size: Shape, kind: str, times: int) -> Any:
    """The states after draws of a size, without drawing."""
    count = math.prod(map(int, size))
    for _ in range(times):
        states = draws.after(states, count + count % 2 if kind == "normal" else count)
    return states


_BLOCK = declare("random_block", _block_spec, run=_run_block, memory=Memory.OWN)
_BLOCK_OF_COUNTS = declare(
    "random_block_of_counts",
    lambda states, p, **where: _block_spec(states, **where),
    run=_run_block_of_counts,
    fused={
        (1, "sigmoid", "add", "matmul"): _run_block_by_affine_log_odds,
        (1, "sigmoid"): _run_block_by_log_odds,
    },
    memory=Memory.OWN,
)
_AFTER = declare(
    "random_states_after", lambda states, **draw: (states.shape, states.dtype), run=_run_after, memory=Memory.OWN
)


def _where(t: Translator, node: Node) -> dict[str, Any] | None:
    """Which block of which whole a draw is; None where it does not have the batch."""
    size = t.shape(node.attributes["size"])
    axis = t.batch_axis_of(node, size)
    if axis is None:
        return None
    multiple = t.frame.multiple(size[axis])
    assert multiple is not None
    offset: Size = value_length(t.frame.offset) * multiple
    whole = tuple(map(t.total, node.attributes["size"]))
    return {"size": size, "whole": whole, "axis": axis, "offset": offset}


def _after(t: Translator, states: Value, where: dict[str, Any], kind: str, times: int) -> Value:
    return t.emit(_AFTER, (states,), {"size": where["whole"], "kind": kind, "times": times}, kind=WHOLE)


def drawn(t: Translator, node: Node, states: Value) -> Sequence[Value] | None:
    """A uniform or normal number for each element."""
    where, kind = _where(t, node), node.op.name.removeprefix("random_")
    if where is None:
        return None
    attributes = {**where, "kind": kind, "dtype": node.attributes["dtype"]}
    return [
        t.emit(_BLOCK, (states,), attributes, kind=SPLIT, axis=where["axis"]),
        _after(t, states, where, kind, 1),
    ]


def counted(t: Translator, node: Node, states: Value, p: Any) -> Sequence[Value] | None:
    """The successes of some trials for each element."""
    where, rest = _where(t, node), {name: node.attributes[name] for name in ("n", "dtype", "precision")}
    if where is None:
        if isinstance(p, Value) and p.kind == SPLIT:
            t.refuse(node, "draws without the batch by probabilities that have it")
        return None
    if t.aligned(node, [p, _like(t, where)], len(where["size"])) != where["axis"]:
        t.refuse(node, "draws by probabilities whose batch is another axis")
    return [
        t.emit(_BLOCK_OF_COUNTS, (states, p), {**where, **rest}, kind=SPLIT, axis=where["axis"]),
        _after(t, states, where, "uniform", rest["n"]),
    ]


def _like(t: Translator, where: dict[str, Any]) -> Value:
    """A value of the shape of a draw."""
    spread = OPERATIONS["zeros"]
    return t.emit(spread, (where["size"],), {"dtype": as_dtype("int64")}, kind=SPLIT, axis=where["axis"])


def of_rows(t: Translator, node: Node, p: Value, u: Value) -> int:
    """One uniform for each row; of several, those for one row do not lie together."""
    count = node.attributes["n" if node.op.name == "random_multinomial" else "size"]
    if p.kind != SPLIT or u.kind != SPLIT or p.axis != 0 or p.ndim == 1 or count != 1:
        t.refuse(node, "takes more than one uniform for each example, which lie in other blocks")
    return 0
