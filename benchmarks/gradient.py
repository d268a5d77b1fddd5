"""The gradient of an RBM's mean free energy in its three parameters: 784 × 500, a batch of 100, float32.

On a device, where such a batch is too small to tell anything but what starting kernels costs, also 4,096 × 4,096 with a
batch of 4,096.
"""

import importlib
from collections.abc import Iterator

from nbm_xp import natural_bm as B
from nbm_xp.tape import value_and_grad

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere
from .rbm import Parameters, binary, free_energy, parameters

SHAPE, BATCH = (784, 500), 100
DEVICE_SHAPE, DEVICE_BATCH = (4096, 4096), 4096
OVER_HAND_WRITTEN, OVER_AUTOGRAD, OVER_TORCH = 1.10, 1 / 2.5, 1.0


def rows(library: Library) -> Iterator[Row]:
    yield from rows_of(library, SHAPE, BATCH)
    if not library.on_host:
        yield from rows_of(library, DEVICE_SHAPE, DEVICE_BATCH)


def rows_of(library: Library, shape: tuple[int, int], batch: int) -> Iterator[Row]:
    host = parameters(*shape), binary(batch, shape[0])
    values, v = Parameters(*map(library.array, host[0])), library.array(host[1])
    size = "" if shape == SHAPE else f", {shape[0]} × {shape[1]}, a batch of {batch}"

    yield Row(
        f"compiled gradient{size}",
        Contender("nbm_xp function", library.finished(compiled(values)), (v,)),
        [
            hand_written(library, values, v, with_value=False, at_most=OVER_HAND_WRITTEN),
            autograd(library, *host, with_value=False, at_most=OVER_AUTOGRAD),
            autograd(library, *host, with_value=False, by_parts=True),
            torch(library, *host, at_most=OVER_TORCH),
        ],
    )
    eager = value_and_grad(free_energy, argnums=(1, 2, 3))
    yield Row(
        f"value and gradient at once{size}",
        Contender("nbm_xp value_and_grad", library.finished(eager), (v, *values)),
        [
            hand_written(library, values, v, with_value=True),
            autograd(library, *host, with_value=True),
            torch(library, *host),
        ],
    )


def compiled(values):
    """The gradient as a function of the batch, its parameters being variables."""
    batch = B.placeholder(ndim=2, dtype="float32")
    variables = [B.variable(value, dtype="float32") for value in values]
    return B.function([batch], B.gradients(free_energy(batch, *variables), variables))


def hand_written(library, values, v, *, with_value, at_most=None):
    """The same in the library's own functions, derived by hand."""
    xp, (weights, visible, hidden) = library.xp, values

    def gradient(v):
        rate = 0.5 + 0.5 * xp.tanh(0.5 * (v @ weights + hidden))
        return -(v.T @ rate) / BATCH, -xp.mean(v, axis=0), -xp.mean(rate, axis=0)

    def value_and_gradient(v):
        activation = v @ weights + hidden
        softplus = xp.maximum(activation, 0) + xp.log1p(xp.exp(-xp.abs(activation)))
        value = -xp.mean(v @ visible + xp.sum(softplus, axis=1))
        rate = 0.5 + 0.5 * xp.tanh(0.5 * activation)
        return value, (-(v.T @ rate) / BATCH, -xp.mean(v, axis=0), -xp.mean(rate, axis=0))

    call = library.finished(value_and_gradient if with_value else gradient)
    return Contender("by hand", call, (v,), at_most=at_most)


def autograd(library, values, v, *, with_value, by_parts=False, at_most=None):
    """Autograd's own, with its stable logaddexp, or with the same taken apart into what it runs faster."""
    name = "autograd, softplus by parts" if by_parts else "autograd"
    if library.name != "numpy":
        return elsewhere(name, library)
    if gone := absent(name, "autograd"):
        return gone
    derive = importlib.import_module("autograd")
    anp = importlib.import_module("autograd.numpy")

    def softplus(x):
        return anp.maximum(x, 0) + anp.log1p(anp.exp(-anp.abs(x))) if by_parts else anp.logaddexp(0, x)

    def mean_free_energy(parameters, v):
        weights, visible, hidden = parameters
        return -anp.mean(anp.dot(v, visible) + anp.sum(softplus(anp.dot(v, weights) + hidden), axis=1))

    call = derive.value_and_grad(mean_free_energy) if with_value else derive.grad(mean_free_energy)
    return Contender(name, call, (tuple(values), v), at_most=at_most)


def torch(library, values, v, *, at_most=None):
    if gone := absent("PyTorch", "torch"):
        return gone
    pt = importlib.import_module("torch")
    if library.on_host:
        device = "cpu"
    elif pt.cuda.is_available():
        device = "cuda"
    else:
        return elsewhere("PyTorch", library)
    softplus = pt.nn.functional.softplus
    weights, visible, hidden = leaves = [pt.tensor(value, device=device, requires_grad=True) for value in values]

    def gradient(v):
        energy = -(v @ visible + softplus(v @ weights + hidden).sum(dim=1)).mean()
        return energy, pt.autograd.grad(energy, leaves)

    return Contender("PyTorch", gradient, (pt.tensor(v, device=device),), at_most=at_most)
