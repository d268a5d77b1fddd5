"""Peak memory of a chain of 61 operations on arrays of 4 MB.

The chain is twenty times a multiplication, an addition and a tanh, then the sum. What is counted is everything
allocated while the call runs, the results included, the inputs not.
"""

import gc
import importlib
import importlib.util
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from nbm_xp.tape import function, gradients, placeholder
from nbm_xp.tape import namespace as recorded

from .harness import Peak
from .libraries import Library

SHAPE, LINKS = (1000, 1000), 20
FORWARD, WITH_GRADIENT = 12e6, 140e6


def peaks(library: Library) -> Iterator[Peak]:
    if library.name != "numpy":
        missing = f"the memory of {library.name} is not Python's to count"
        yield Peak("memory", "chain of 61 operations", "nbm_xp function", missing=missing)
        return
    x = np.full(SHAPE, 0.5, dtype="float32")
    forward, backward = ours()
    yield from measured("forward", [("nbm_xp function", forward, FORWARD), ("by hand", by_hand, None)], x)
    contenders = [("nbm_xp function", backward, WITH_GRADIENT), ("by hand", by_hand_with_gradient, None)]
    if importlib.util.find_spec("autograd"):
        contenders.append(("autograd", autograd(), None))
    yield from measured("value and gradient", contenders, x)


def measured(row: str, contenders: list[tuple[str, Callable, float | None]], x: np.ndarray) -> Iterator[Peak]:
    for name, call, at_most in contenders:
        yield Peak("memory", f"chain of 61 operations on 4 MB, {row}", name, peak(call, x), at_most)


def peak(call: Callable, x: np.ndarray) -> int:
    """Bytes allocated at once by a call, after one that compiles and fills caches."""
    call(x)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        call(x)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def ours() -> tuple[Callable, Callable]:
    x = placeholder((None, None), dtype="float32")
    loss = recorded.sum(chain(recorded, x))
    return function([x], loss), function([x], [loss, gradients(loss, x)])


def chain(xp, y):
    for _ in range(LINKS):
        y = xp.tanh(y * 0.9 + 0.1)
    return y


def by_hand(x):
    return np.sum(chain(np, x))


def by_hand_with_gradient(x):
    kept = [x]
    for _ in range(LINKS):
        kept.append(np.tanh(kept[-1] * 0.9 + 0.1))
    total, slope = np.sum(kept[-1]), np.ones_like(x)
    while len(kept) > 1:
        y = kept.pop()
        slope = slope * (1 - y * y) * 0.9
    return total, slope


def autograd():
    derive, anp = importlib.import_module("autograd"), importlib.import_module("autograd.numpy")
    return derive.value_and_grad(lambda x: anp.sum(chain(anp, x)))
