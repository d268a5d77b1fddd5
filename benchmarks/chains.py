"""A chain of twelve elementwise operations on 10⁷ float32 numbers: its value, and the sum of it with its gradient.

Exponential, tanh, square root, log1p, products, sums, a comparison; and the same with tanh in the place of log1p. A
cheaper chain, of sums and products alone, shows what memory costs.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbm_xp.tape import function, gradients, placeholder, threads
from nbm_xp.tape import namespace as recorded

from .harness import Contender, Row, power
from .libraries import Library, absent, elsewhere, start_jax

SIZE, BLOCK = 10**7, 1 << 14
OVER_COMPILED, OVER_COMPILED_GRADIENT = 1.10, 1.20
TANH = "twelve operations, tanh twice"


def rows(library: Library) -> Iterator[Row]:
    random = np.random.default_rng(0)
    size = library.sized(SIZE)
    host, numbers = [random.standard_normal(size, dtype="float32") for _ in range(2)], f"{power(size)} numbers"
    for name, chain in (("twelve operations", twelve), (TANH, tanh_twice), ("four sums and products", four)):
        yield Row(
            f"{name}, {numbers}",
            ours(library, chain, host),
            [
                whole(library, chain, host),
                in_blocks(library, chain, host),
                jitted(library, chain, host, at_most=None if chain is four else OVER_COMPILED),
                pytensor(library, chain, host),
            ],
            per=size,
            unit="number",
        )
    for name, chain in (("twelve operations", twelve), (TANH, tanh_twice)):
        yield Row(
            f"{name}, their sum and its gradient, {numbers}",
            ours(library, chain, host, with_gradient=True),
            [
                jitted(library, chain, host, with_gradient=True, at_most=OVER_COMPILED_GRADIENT),
                pytensor(library, chain, host, with_gradient=True),
            ],
            per=size,
            unit="number",
        )
    if library.name == "numpy":
        yield Row(
            f"twelve operations on two threads, {numbers}",
            ours(library, twelve, host, count=2),
            [ours(library, twelve, host, count=1, label="on one thread")],
            per=size,
            unit="number",
        )
    for few in (10, 10**5):
        some = [array[:few].copy() for array in host]
        yield Row(f"twelve operations, {few:,} numbers", ours(library, twelve, some), [whole(library, twelve, some)])


def twelve(xp: Any, x: Any, y: Any) -> Any:
    return _chain(xp, x, y, xp.log1p)


def tanh_twice(xp: Any, x: Any, y: Any) -> Any:
    return _chain(xp, x, y, xp.tanh)


def _chain(xp: Any, x: Any, y: Any, last: Callable[[Any], Any]) -> Any:
    a = xp.exp(-x * x)
    b = xp.tanh(y * a)
    c = xp.sqrt(b * b + 1.0)
    d = last(c * a)
    return xp.where(d > 0.5, d * b + c, c)


def four(xp: Any, x: Any, y: Any) -> Any:
    return (x + y) * x - 0.5 * y


def ours(library, chain, host, *, with_gradient=False, count=None, label="nbm_xp function"):
    x, y = placeholder((None,), dtype="float32"), placeholder((None,), dtype="float32")
    value = chain(recorded, x, y)
    if with_gradient:
        loss = recorded.sum(value)
        run = function([x, y], [loss, *gradients(loss, [x, y])])
    else:
        run = function([x, y], value)

    count = library.threads if count is None else count

    def on_threads(*arrays):
        with threads(count):
            return run(*arrays)

    call = run if count == 1 else on_threads
    return Contender(label, library.finished(call), tuple(map(library.array, host)))


def whole(library, chain, host):
    """The library's functions one after the other."""
    call = library.finished(lambda *arrays: chain(library.xp, *arrays))
    return Contender("by hand, whole", call, tuple(map(library.array, host)))


def in_blocks(library, chain, host):
    """NumPy's functions on blocks, one after the other, written to the result."""
    if library.name != "numpy":
        return elsewhere("by hand, in blocks", library)

    def call(x, y):
        out = np.empty_like(x)
        for start in range(0, x.size, BLOCK):
            part = slice(start, start + BLOCK)
            out[part] = chain(np, x[part], y[part])
        return out

    return Contender("by hand, in blocks", call, tuple(host))


def jitted(library, chain, host, *, with_gradient=False, at_most=None):
    if missing := absent("jax.jit", "jax"):
        return missing
    if library.name != "numpy":
        return elsewhere("jax.jit", library)
    start_jax(library.threads)
    jax = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")

    def value(x, y):
        return chain(jnp, x, y)

    def total(x, y):
        return jnp.sum(value(x, y))

    run = jax.jit(jax.value_and_grad(total, argnums=(0, 1)) if with_gradient else value)
    arrays = tuple(map(jnp.asarray, host))
    return Contender("jax.jit", lambda *given: jax.block_until_ready(run(*given)), arrays, at_most=at_most)


def pytensor(library, chain, host, *, with_gradient=False):
    name = "PyTensor, numba"
    if missing := absent(name, "pytensor") or absent(name, "numba"):
        return missing
    if library.name != "numpy":
        return elsewhere(name, library)
    tensor = importlib.import_module("pytensor.tensor")
    compile_function: Callable[..., Any] = importlib.import_module("pytensor").function
    x, y = tensor.fvector("x"), tensor.fvector("y")
    value = chain(_Switching(tensor), x, y)
    results = value.astype("float32")
    if with_gradient:
        loss = value.astype("float32").sum()
        results = [loss, *tensor.grad(loss, [x, y])]
    return Contender(name, compile_function([x, y], results, mode="NUMBA"), tuple(host))


class _Switching:
    """PyTensor's functions under the standard's names."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.where = tensor.switch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)
