"""Convolution of 32 images of 64 × 64 × 32 with 64 kernels of 3 × 3, its gradients, and pooling in windows of 2 × 2."""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp.functions.convolution import conv
from nbm_xp.functions.pooling import pool
from nbm_xp.tape import function, gradients, placeholder, vjp
from nbm_xp.tape import namespace as recorded

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

IMAGES, KERNEL = (32, 64, 64, 32), (3, 3, 32, 64)
FORWARD_OVER_TORCH, GRADIENTS_OVER_TORCH = 1.0, 1.3


def rows(library: Library) -> Iterator[Row]:
    generator = np.random.default_rng(2026)
    x, kernel, weights = (
        generator.standard_normal(shape, dtype=np.float32) for shape in (IMAGES, KERNEL, (*IMAGES[:3], KERNEL[3]))
    )
    kernel = kernel * np.float32(0.06)
    given = library.array(x), library.array(kernel), library.array(weights)
    single = library.threads == 1 or not library.on_host

    yield Row(
        "conv2d",
        Contender("nbm_xp", library.finished(lambda x, k: conv(x, k, padding="same")), given[:2]),
        list(torch(library, "forward", (x, kernel, weights), FORWARD_OVER_TORCH if single else None)),
    )
    yield Row(
        "conv2d and both gradients",
        Contender("nbm_xp vjp", library.finished(convolved), given),
        list(torch(library, "gradients", (x, kernel, weights), GRADIENTS_OVER_TORCH if single else None)),
    )
    yield Row(
        "max pooling",
        Contender("nbm_xp", library.finished(lambda x: pool(x, (2, 2), (2, 2))), given[:1]),
        list(torch(library, "pooling", (x, kernel, weights), None)),
    )
    yield Row(
        "max pooling and its gradient",
        Contender("nbm_xp function", library.finished(pooled()), given[:1]),
        list(torch(library, "pooling gradient", (x, kernel, weights), None)),
    )


def convolved(x, kernel, weights):
    """The result, and the gradients of its inner product with weights."""
    result, pullback = vjp(lambda x, kernel: conv(x, kernel, padding="same"), x, kernel)
    return result, pullback(weights)


def pooled():
    x = placeholder(ndim=4, dtype="float32")
    result = pool(x, (2, 2), (2, 2), ties="first")
    return function([x], [result, gradients(recorded.sum(result), x)])


def torch(library, what, arrays, at_most):
    """PyTorch's functions, on images that lie as its own default is and as ours are."""
    names = "PyTorch, channels first", "PyTorch, channels last"
    if gone := absent(names[0], "torch"):
        yield gone
        return
    pt = importlib.import_module("torch")
    device = "cpu" if library.on_host else "cuda"
    if device == "cuda" and not pt.cuda.is_available():
        yield elsewhere(names[0], library)
        return
    orders = (0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)
    for name, kept in zip(names, (pt.contiguous_format, pt.channels_last), strict=True):
        x, kernel, weights = (
            pt.tensor(array, device=device).permute(order).contiguous(memory_format=kept)
            for array, order in zip(arrays, orders, strict=True)
        )
        yield Contender(name, calls(pt, what), (x, kernel, weights), at_most=at_most)


def calls(pt, what):
    functional = pt.nn.functional

    def gradients_of(call, inputs, seed):
        inputs = [some.detach().requires_grad_() for some in inputs]
        result = call(*inputs)
        return result, pt.autograd.grad(result, inputs, seed if seed is not None else pt.ones_like(result))

    def convolve(x, kernel):
        return functional.conv2d(x, kernel, padding=1)

    def pool(x):
        return functional.max_pool2d(x, 2)

    return {
        "forward": lambda x, kernel, weights: convolve(x, kernel),
        "gradients": lambda x, kernel, weights: gradients_of(convolve, (x, kernel), weights),
        "pooling": lambda x, kernel, weights: pool(x),
        "pooling gradient": lambda x, kernel, weights: gradients_of(pool, (x,), None),
    }[what]
