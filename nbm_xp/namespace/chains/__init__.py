"""Chains of elementwise functions, run block by block: each block goes through the whole chain while it is in cache.

Called one after another on large arrays, elementwise functions wait for memory: each reads what the one before has
written, and new arrays are the system's to hand out. In blocks the values on the way stay in a few buffers, and memory
holds nothing of them. A chain is given as data, so that plans know no library: `Program` says what is computed, the
library's kernel runs it, or answers None where whole arrays are as good, which the plan then computes. Elements have
the same bits either way, and so have sums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from nbm_xp.namespace.kernels import kernel, register_kernel

__all__ = ["BLOCK", "LARGE", "Program", "Result", "Step", "chain_steps", "library_chain", "threads", "threads_asked"]

BLOCK = 1 << 17
"""How many elements a block has, as long as the chain has few values at a time."""

LARGE = 1 << 18
"""From how many elements on arrays are taken in blocks; below, nothing is won."""

register_kernel("chains.chain", "numpy", f"{__name__}.numpy_chain:Chain")
register_kernel("chains.steps", "numpy", f"{__name__}.numpy_steps:steps")


@dataclass(frozen=True)
class Step:
    """One function of a chain.

    An argument is ``("given", i)`` for the chain's i-th argument, ``("step", i)`` for what an earlier step gave, or
    ``("is", value)`` for a number or the name of a dtype.
    """

    name: str
    args: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Result:
    """What a chain gives: the value of a step, whole or added up over axes.

    `reduction` is None, ``"sum"`` or ``"mean"``.
    """

    step: int
    reduction: str | None = None
    axis: tuple[int, ...] = ()
    keepdims: bool = False


@dataclass(frozen=True)
class Program:
    """A chain.

    Parameters
    ----------
    ndim
        How many axes its values have.
    steps
        Its functions, each after those whose values it takes.
    results
        What it gives.
    full
        What must have the shape of all values, or the chain does not apply: a tuple of the places of arguments that
        broadcast to it, or the place of an argument that is a shape.
    """

    ndim: int
    steps: tuple[Step, ...]
    results: tuple[Result, ...]
    full: tuple[int | tuple[int, ...], ...]


def library_chain(program: Program, xp: Any) -> Callable[..., tuple[Any, ...] | None]:
    """The function of a library's arrays that runs a program, of steps that the library has (see `chain_steps`).

    It gives a tuple of results, or None where the chain is better computed on whole arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import array_namespace
    >>> x = np.ones(300_000)
    >>> exp, double = Step("exp", (("given", 0),)), Step("add", (("step", 0), ("step", 0)))
    >>> program = Program(1, (exp, double), (Result(1), Result(1, "sum", (0,))), ())
    >>> xp = array_namespace(x)
    >>> doubled, total = library_chain(program, xp)(x)
    >>> bool((doubled == 2.0 * xp.exp(x)).all()), bool(total == xp.sum(2.0 * xp.exp(x)))
    (True, True)
    """
    make = kernel("chains.chain", xp)
    if make is None:
        raise NotImplementedError(f"{xp.__name__} runs no chains in blocks")
    return cast("Callable[..., tuple[Any, ...] | None]", make(program))


def chain_steps(xp: Any) -> frozenset[str]:
    """The names of the functions that a library's chains are made of; none where it has no chains.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> "tanh" in chain_steps(host_namespace()), "sort" in chain_steps(host_namespace())
    (True, False)
    """
    found = kernel("chains.steps", xp)
    return frozenset() if found is None else found()


_threads: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Let chains of large arrays run on several threads, in this block of code.

    Parameters
    ----------
    count : int or None
        How many threads; None for as many as there are cores. Results have the same bits for any number.

    Raises
    ------
    ValueError
        If `count` is no int of 1 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.tape import namespace as xp, threads, value_and_grad
    >>> x = np.linspace(0.0, 1.0, 300_000)
    >>> with threads(2):
    ...     value, gradient = value_and_grad(lambda x: xp.sum(xp.exp(xp.sin(x))))(x)
    >>> bool(value == value_and_grad(lambda x: xp.sum(xp.exp(xp.sin(x))))(x)[0])
    True
    """
    if count is not None and (type(count) is not int or count < 1):
        raise ValueError(f"count must be an int of 1 or more, or None for as many as there are cores; got {count!r}")
    token = _threads.set((os.cpu_count() or 1) if count is None else count)
    try:
        yield
    finally:
        _threads.reset(token)


def threads_asked() -> int:
    """How many threads `threads` allows here.

    Examples
    --------
    >>> with threads(3):
    ...     threads_asked()
    3
    """
    return _threads.get()
