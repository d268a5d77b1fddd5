"""A recurrent layer over 200 steps, forward and gradient: 64 × 64 recurrent matrix, a batch of 16, float32.

The state is ``h = tanh(x[t] @ w + h @ u + b)``, the loss the sum of the squares of all states; the gradient is in the
three parameters and in the first state.
"""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp.tape import Variable, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as recorded

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

STEPS, BATCH, WIDTH = 200, 16, 64
OVER_TORCH, OVER_HAND_WRITTEN, OVER_COMPILED_SCAN = 1.0, 2.0, 1.15


def rows(library: Library) -> Iterator[Row]:
    x, *parameters = host_values()
    ours = function_of(library, parameters)
    yield Row(
        "recurrent layer, value and gradient",
        Contender("nbm_xp function", library.finished(ours), (library.array(x),)),
        [
            hand_written(library, x, parameters, at_most=OVER_HAND_WRITTEN),
            products_of_all_steps(library, x, parameters),
            torch(library, x, parameters, at_most=OVER_TORCH),
            compiled_scan(library, x, parameters, at_most=OVER_COMPILED_SCAN),
        ],
        per=STEPS,
        unit="step",
    )


def host_values():
    """The sequence, the two matrices, the bias and the first state."""
    random = np.random.default_rng(0)
    shapes = (STEPS, BATCH, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH,), (BATCH, WIDTH)
    scales = 1.0, WIDTH**-0.5, WIDTH**-0.5, 0.1, 0.1
    drawn = zip(shapes, scales, strict=True)
    return [(scale * random.standard_normal(shape)).astype("float32") for shape, scale in drawn]


def function_of(library, parameters):
    """Loss and gradients as a function of the sequence, its parameters being variables."""
    x = placeholder((STEPS, BATCH, WIDTH), dtype="float32")
    w, u, b, start = variables = [Variable(library.array(value)) for value in parameters]
    states, _ = scan(lambda row, h: recorded.tanh(row @ w + h @ u + b), x, start)
    loss = recorded.sum(states * states)
    return function([x], [loss, *gradients(loss, variables)])


def hand_written(library, x, parameters, *, at_most=None):
    """A loop that keeps its states, and a loop backwards that adds up the gradients step by step."""
    if library.name != "numpy":
        return elsewhere("by hand, NumPy", library)
    w, u, b, start = parameters

    def value_and_gradient(x):
        h, states, value = start, [], 0.0
        for row in x:
            h = np.tanh(row @ w + h @ u + b)
            states.append(h)
            value += np.sum(h * h)
        by_w, by_u, by_b = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
        back = np.zeros_like(start)
        for t in range(STEPS - 1, -1, -1):
            h = states[t]
            slope = (back + 2.0 * h) * (1.0 - h * h)
            by_w += x[t].T @ slope
            by_u += (states[t - 1] if t else start).T @ slope
            by_b += np.sum(slope, axis=0)
            back = slope @ u.T
        return value, by_w, by_u, by_b, back

    return Contender("by hand, NumPy", value_and_gradient, (x,), at_most=at_most)


def products_of_all_steps(library, x, parameters):
    """The same, with one product of the sequence before the loop, and one for each gradient after it."""
    name = "by hand, products of all steps"
    if library.name != "numpy":
        return elsewhere(name, library)
    w, u, b, start = parameters

    def value_and_gradient(x):
        h, states = start, []
        for row in np.matmul(x.reshape(-1, WIDTH), w).reshape(STEPS, BATCH, WIDTH):
            h = np.tanh(row + h @ u + b)
            states.append(h)
        back, slopes = np.zeros_like(start), []
        for h in reversed(states):
            slope = (back + 2.0 * h) * (1.0 - h * h)
            slopes.append(slope)
            back = slope @ u.T
        before = np.concatenate([start, *states[:-1]])
        slopes, states = np.concatenate(slopes[::-1]), np.concatenate(states)
        return np.sum(states * states), x.reshape(-1, WIDTH).T @ slopes, before.T @ slopes, slopes.sum(axis=0), back

    return Contender(name, value_and_gradient, (x,))


def torch(library, x, parameters, *, at_most=None):
    """PyTorch's own loop and gradient, as it stands."""
    if not library.on_host:
        return elsewhere("PyTorch", library)
    if gone := absent("PyTorch", "torch"):
        return gone
    pt = importlib.import_module("torch")
    w, u, b, start = leaves = [pt.tensor(value, requires_grad=True) for value in parameters]

    def value_and_gradient(x):
        h, states = start, []
        for row in x:
            h = pt.tanh(row @ w + h @ u + b)
            states.append(h)
        stacked = pt.stack(states)
        value = (stacked * stacked).sum()
        return value, pt.autograd.grad(value, leaves)

    return Contender("PyTorch", value_and_gradient, (pt.tensor(x),), at_most=at_most)


def compiled_scan(library, x, parameters, *, at_most=None):
    """JAX's own loop, differentiated and compiled whole."""
    name = "jax.jit of lax.scan"
    if library.name != "jax":
        return elsewhere(name, library)
    jax = importlib.import_module("jax")
    jnp = jax.numpy

    def value(parameters, x):
        w, u, b, start = parameters

        def step(h, row):
            h = jnp.tanh(row @ w + h @ u + b)
            return h, h

        _, states = jax.lax.scan(step, start, x)
        return jnp.sum(states * states)

    call = library.finished(jax.jit(jax.value_and_grad(value)))
    return Contender(name, call, (list(map(library.array, parameters)), library.array(x)), at_most=at_most)
