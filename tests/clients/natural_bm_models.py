"""Small Boltzmann machines of natural_bm: chains of its samplers, steps of its trainers, and partition functions.

The same file runs in both environments: in the tests, with natural_bm on this package; and, as a program, with
natural_bm on Theano, as in 2017 (Python 3.6, NumPy 1.16.6, Theano 1.0.5). It then writes the tests' reference results::

    THEANO_FLAGS=floatX=float32 python natural_bm_models.py > natural_bm_recorded.json

Weights and data are sines. Random numbers come from seeds that natural_bm draws with ``numpy.random``, for which each
program sets a seed.
"""

import json
import sys

import numpy as np

MACHINES = {
    "rbm": ([12, 7], {0: {1}}),
    "dbm": ([12, 7, 5], {0: {1}, 1: {2}}),
    "skipping": ([12, 7, 5, 3], {0: {1, 3}, 1: {2}, 2: {3}}),
}
"""Sizes of the layers, and whether they are connected."""

CHAINS, STEPS, BETA = 5, 4, 0.8
BATCH, EPOCHS = 8, 3
RUNS, TEMPERATURES = 6, 25

CHAIN_PROGRAMS = [
    (machine, sampler, clamped)
    for machine in MACHINES
    for sampler, clamped in (("Meanfield", [0]), ("Gibbs", []), ("Gibbs", [1]), ("GibbsProb", []), ("GibbsProb", [0]))
]

OPTIMIZERS = {
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "decay": 0.01}), "plain": ("SGD", {"lr": 0.2}),
    "clipped norm": ("SGD", {"lr": 0.3, "momentum": 0.5, "clipnorm": 0.4}),
    "clipped values": ("SGD", {"lr": 0.3, "clipvalue": 0.05}), "Adam": ("Adam", {"lr": 0.02, "decay": 0.01}),
    "Nadam": ("Nadam", {"lr": 0.02}),
}  # fmt: skip

TRAINING_PROGRAMS = [
    ("rbm", "CD", "momentum"), ("rbm", "PCD", "momentum"), ("dbm", "CD", "plain"), ("dbm", "PCD", "momentum"),
    ("skipping", "PCD", "Adam"), ("rbm", "PCD", "plain"), ("rbm", "PCD", "clipped norm"),
    ("rbm", "CD", "clipped values"), ("rbm", "CD", "Adam"), ("rbm", "PCD", "Nadam"),
]  # fmt: skip


def waves(*shape):
    """Numbers from -1 to 1 without a simple pattern."""
    count = int(np.prod(shape))
    return np.sin(np.arange(1, count + 1) ** 1.3 * 0.7).reshape(shape).astype("float32")


def digits(rows, columns=12):
    """Binary rows of four kinds, with some noise."""
    kinds = waves(4, columns) > 0
    return (kinds[np.arange(rows) % 4] ^ (waves(columns, rows).T > 0.8)).astype("float32")


def start_of_weights(shape):
    """Initial value of weights or biases of a given shape."""
    return waves(*shape) * (1.2 if len(shape) == 2 else 0.5)


def machine_of(natural_bm, name, **options):
    """A machine with weights that training can improve."""
    sizes, topology = MACHINES[name]
    machine = natural_bm.dbm.DBM(sizes, topology, **options)
    for weight in machine.trainable_weights:
        weight.set_value(start_of_weights(weight.get_value().shape))
    return machine


def listed(array):
    """Nested lists of Python numbers."""
    return np.asarray(array, "float64").tolist()


def chain(natural_bm, name, sampler, clamped):
    """The states of a machine after two runs of a sampler from the same initial states."""
    B = natural_bm.backend
    np.random.seed(31)  # noqa: NPY002 - natural_bm draws its seeds there
    machine = machine_of(natural_bm, name)
    layers = [B.placeholder(shape=(None, size)) for size in MACHINES[name][0]]
    after, updates = getattr(natural_bm.samplers, sampler)(machine, STEPS).run_chain(layers, BETA, clamped)
    step = B.function(layers, after, updates=updates)
    start = [(waves(CHAINS, size) + 1) / 2 for size in MACHINES[name][0]]
    return {"first": list(map(listed, step(*start))), "second": list(map(listed, step(*start)))}


def training(natural_bm, name, trainer, optimizer):
    """The costs of some epochs, and the weights afterwards."""
    B = natural_bm.backend
    np.random.seed(53)  # noqa: NPY002 - natural_bm draws its seeds there
    machine = machine_of(natural_bm, name, W_regularizer=natural_bm.regularizers.l2(0.002))
    kind, options = OPTIMIZERS[optimizer]
    persistent = {"batch_size": BATCH} if trainer == "PCD" else {}
    trained = getattr(natural_bm.training, trainer)(machine, nb_pos_steps=6, nb_neg_steps=3, **persistent)
    model = natural_bm.models.Model(machine, getattr(natural_bm.optimizers, kind)(**options), trained)
    data, held_back = B.variable(digits(4 * BATCH)), B.variable(digits(6 * BATCH)[4 * BATCH :])
    history = model.fit(data, batch_size=BATCH, n_epoch=EPOCHS, validation_data=held_back).history
    batch = B.variable(digits(BATCH))
    return {
        "costs": listed(history["cost"]),
        "held back": listed(history["val_cost"]),
        "one batch": [float(model.predict_on_batch(batch)), float(model.train_on_batch(batch))],
        "weights": [listed(weight) for weight in machine.get_weights()],
        "chains": [listed(layer.get_value()) for layer in getattr(trained, "persist_chain", [])],
    }


def partition(natural_bm, name):
    """Estimates of a machine's partition function, and free energies."""
    B = natural_bm.backend
    np.random.seed(71)  # noqa: NPY002 - natural_bm draws its seeds there
    machine = machine_of(natural_bm, name)
    data = digits(16)
    annealed = natural_bm.estimators.AIS(machine, data, RUNS, n_betas=TEMPERATURES)
    annealed.run_logZ()
    x = B.placeholder(shape=(None, data.shape[1]))
    energies = B.function([x], machine.free_energy(x))(data)
    exact = [float(natural_bm.estimators.exact_logZ(machine))] if name == "rbm" else []
    return {
        "base": float(annealed.logZa), "runs": listed(annealed.logZ).pop(),
        "estimate": list(annealed.estimate_log_error_Z()), "free energies": listed(energies), "exact": exact,
    }  # fmt: skip


def title(*words):
    return " ".join(map(str, words))


def shortened(value):
    """Results rounded to float32's digits; ones and zeros as integers."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(shortened, value))
    return int(value) if value in (0, 1) else float(format(value, ".9g"))


def written(versions, programs):
    """The text of the file of results, with a line for each program."""
    lines = ['"versions": ' + json.dumps(versions, sort_keys=True)]
    for name, found in sorted(programs.items()):
        lines.append(json.dumps(name) + ": " + json.dumps(shortened(found), sort_keys=True))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    import natural_bm
    import theano

    found = {}
    tables = ((chain, CHAIN_PROGRAMS), (training, TRAINING_PROGRAMS), (partition, [(n,) for n in MACHINES]))
    for kind, programs in tables:
        for program in programs:
            found[title(kind.__name__, *program)] = kind(natural_bm, *program)
            sys.stderr.write(title(kind.__name__, *program) + "\n")
    sys.stdout.write(written({"theano": theano.__version__, "numpy": np.__version__}, found))
