"""What layers are made of, beside PyTorch: softmax, logsumexp, batched products, an LSTM over 100 steps, CTC."""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp import keras2 as K
from nbm_xp.tape import Variable, function, gradients, placeholder

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

SMALL_OVER_TORCH, CTC_OVER_TORCH = 1.3, 4.0
STEPS, BATCH, INPUTS, UNITS = 100, 32, 64, 128
SAMPLES, FRAMES, CLASSES, LABELS = 32, 100, 30, 20


def rows(library: Library) -> Iterator[Row]:
    random = np.random.default_rng(2026)

    def drawn(*shape, scale=1.0):
        return (scale * random.standard_normal(shape)).astype("float32")

    logits = drawn(4096, 1000)
    left, right = drawn(64, 128, 64), drawn(64, 64, 128)
    yield row(library, "softmax, 4096 × 1000", K.softmax, (logits,), "softmax", SMALL_OVER_TORCH)
    yield row(
        library, "logsumexp, 4096 × 1000", lambda x: K.logsumexp(x, axis=1), (logits,), "logsumexp", SMALL_OVER_TORCH
    )
    yield row(library, "batch_dot, 64 × 128 × 64", K.batch_dot, (left, right), "batch_dot", SMALL_OVER_TORCH)

    sequence = drawn(BATCH, STEPS, INPUTS)
    weights = [drawn(INPUTS, 4 * UNITS, scale=0.1), drawn(UNITS, 4 * UNITS, scale=0.1), drawn(4 * UNITS, scale=0.1)]
    yield Row(
        "LSTM, value and gradient",
        Contender("nbm_xp rnn", library.finished(lstm(library, weights)), (library.array(sequence),)),
        list(torch(library, "lstm", (sequence, *weights), None)),
        per=STEPS,
        unit="step",
    )
    frames = np.exp(drawn(SAMPLES, FRAMES, CLASSES))
    frames = frames / frames.sum(axis=-1, keepdims=True)
    labels = random.integers(0, CLASSES - 1, (SAMPLES, LABELS))
    yield Row(
        "CTC, value and gradient",
        Contender("nbm_xp", library.finished(ctc(library, labels)), (library.array(frames),)),
        list(torch(library, "ctc", (frames, labels), CTC_OVER_TORCH)),
    )


def row(library, name, ours, arrays, peer, at_most):
    given = tuple(map(library.array, arrays))
    contender = Contender("nbm_xp", library.finished(ours), given)
    return Row(name, contender, list(torch(library, peer, arrays, at_most)))


def lstm(library, weights):
    """The loss and its gradients in the weights, as a function of the sequence."""
    x = placeholder((BATCH, STEPS, INPUTS), dtype="float32")
    variables = [Variable(library.array(value)) for value in weights]
    w, u, b = variables

    def step(now, states):
        h, c = states
        z = K.dot(now, w) + K.dot(h, u) + b
        i, f, g, o = (z[:, UNITS * k : UNITS * (k + 1)] for k in range(4))
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(g)
        h = K.sigmoid(o) * K.tanh(c)
        return h, [h, c]

    start = Variable(library.array(np.zeros((BATCH, UNITS), dtype="float32")))
    _, outputs, _ = K.rnn(step, x, [start, start])
    loss = K.sum(K.square(outputs))
    return function([x], [loss, *gradients(loss, variables)])


def ctc(library, labels):
    """The summed cost and its gradient, as a function of the frames' probabilities."""
    frames = placeholder((SAMPLES, FRAMES, CLASSES), dtype="float32")
    lengths = (library.array(np.full((SAMPLES, 1), length)) for length in (FRAMES, LABELS))
    loss = K.sum(K.ctc_batch_cost(library.array(labels), frames, *lengths))
    return function([frames], [loss, gradients(loss, frames)])


def torch(library, what, arrays, at_most):
    if gone := absent("PyTorch", "torch"):
        yield gone
        return
    pt = importlib.import_module("torch")
    device = "cpu" if library.on_host else "cuda"
    if device == "cuda" and not pt.cuda.is_available():
        yield elsewhere("PyTorch", library)
        return
    single = library.threads == 1 or not library.on_host
    given = tuple(pt.tensor(array, device=device) for array in arrays)
    yield Contender("PyTorch", calls(pt, what, given), given, at_most=at_most if single else None)


def calls(pt, what, given):
    def lstm(sequence, w, u, b):
        """A loop over the steps, as ours is, not the fused layer."""
        w, u, b = (value.detach().requires_grad_() for value in (w, u, b))
        h = c = sequence.new_zeros((BATCH, UNITS))
        loss = 0.0
        for now in sequence.unbind(1):
            i, f, g, o = (now @ w + h @ u + b).chunk(4, dim=1)
            c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
            h = pt.sigmoid(o) * pt.tanh(c)
            loss = loss + (h * h).sum()
        return loss, pt.autograd.grad(loss, (w, u, b))

    def ctc(frames, labels):
        frames = frames.detach().requires_grad_()
        scores = pt.log_softmax(pt.log(frames + 1e-8), dim=-1).transpose(0, 1)
        counts = pt.full((SAMPLES,), FRAMES), pt.full((SAMPLES,), LABELS)
        loss = pt.nn.functional.ctc_loss(scores, labels, *counts, blank=CLASSES - 1, reduction="sum")
        return loss, pt.autograd.grad(loss, frames)

    return {
        "softmax": lambda x: pt.softmax(x, dim=1),
        "logsumexp": lambda x: pt.logsumexp(x, dim=1),
        "batch_dot": pt.bmm,
        "lstm": lstm,
        "ctc": ctc,
    }[what]
