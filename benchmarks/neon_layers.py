"""neon's layers: 64 images of 32 × 32 × 32 convolved with 64 filters of 3 × 3, there and back, and pooled by 2 × 2."""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp.neon import Backend

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

IMAGES, CHANNELS, SIDE, FILTERS = 64, 32, 32, 64


def rows(library: Library) -> Iterator[Row]:
    be = Backend(library=library.name)
    layer = be.conv_layer("float32", IMAGES, CHANNELS, FILTERS, H=SIDE, W=SIDE, R=3, S=3, pad_h=1, pad_w=1)
    pooling = be.pool_layer("float32", "max", IMAGES, CHANNELS, H=SIDE, W=SIDE, R=2, S=2)
    random = np.random.default_rng(2026)

    def drawn(shape, scale=1.0):
        return (scale * random.standard_normal(shape)).astype("float32")

    x, filters, errors, pooled = (
        drawn(shape, scale)
        for shape, scale in ((layer.dimI, 1.0), (layer.dimF, 0.06), (layer.dimO, 1.0), (pooling.dimO, 1.0))
    )
    inputs, weights, deltas, pooled_deltas = (
        be.array(values.reshape(-1, values.shape[-1])) for values in (x, filters, errors, pooled)
    )
    outputs, to_inputs, to_filters, halved = map(be.empty, (layer.dimO2, layer.dimI2, layer.dimF2, pooling.dimO2))
    images = (x, (4, 0, 2, 3)), (filters, (4, 0, 2, 3)), (errors, (4, 0, 2, 3)), (pooled, (4, 0, 2, 3))
    calls = {
        "fprop_conv": (be.fprop_conv, (layer, inputs, weights, outputs), outputs),
        "bprop_conv": (be.bprop_conv, (layer, weights, deltas, to_inputs), to_inputs),
        "update_conv": (be.update_conv, (layer, inputs, deltas, to_filters), to_filters),
        "fprop_pool": (be.fprop_pool, (pooling, inputs, halved), halved),
        "bprop_pool": (be.bprop_pool, (pooling, inputs, pooled_deltas, to_inputs), to_inputs),
    }
    for name, (method, arguments, written) in calls.items():
        call = library.finished(lambda *given, method=method, written=written: (method(*given), written.array)[1])
        yield Row(name, Contender("nbm_xp", call, arguments), list(torch(library, name, images)))


def torch(library, name, images):
    """PyTorch's functions, on images that lie as its own default is, and with their channels last."""
    if gone := absent("PyTorch, channels first", "torch"):
        yield gone
        return
    pt = importlib.import_module("torch")
    device = "cpu" if library.on_host else "cuda"
    if device == "cuda" and not pt.cuda.is_available():
        yield elsewhere("PyTorch, channels first", library)
        return
    for label, kept in (("first", pt.contiguous_format), ("last", pt.channels_last)):
        given = [
            pt.tensor(np.ascontiguousarray(array.transpose(*order, 1).squeeze(-1)), device=device).contiguous(
                memory_format=kept
            )
            for array, order in images
        ]
        yield Contender(f"PyTorch, channels {label}", calls(pt)[name], tuple(given))


def calls(pt):
    functional, grad = pt.nn.functional, pt.nn.grad

    def pooled_back(x, weights, errors, pooled):
        x = x.detach().requires_grad_()
        return pt.autograd.grad(functional.max_pool2d(x, 2), x, pooled)

    return {
        "fprop_conv": lambda x, weights, errors, pooled: functional.conv2d(x, weights, padding=1),
        "bprop_conv": lambda x, weights, errors, pooled: grad.conv2d_input(x.shape, weights, errors, padding=1),
        "update_conv": lambda x, weights, errors, pooled: grad.conv2d_weight(x, weights.shape, errors, padding=1),
        "fprop_pool": lambda x, weights, errors, pooled: functional.max_pool2d(x, 2),
        "bprop_pool": pooled_back,
    }
