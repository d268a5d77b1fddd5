"""The compiled core gives the same bits at every level of vector instructions as the portable code.

Without it, or if it cannot be loaded, everything works.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import nbm_xp
from nbm_xp import keras2 as K
from nbm_xp.graphs import GraphMachine, edwards_anderson, lattice
from nbm_xp.namespace import core, elementary, exponentials, host_namespace
from nbm_xp.namespace.convolution import winograd
from nbm_xp.rng import Generator, bernoulli, substreams
from nbm_xp.rng.draws import binomial_of_sigmoid, normal
from nbm_xp.rng.uniforms import advance
from nbm_xp.tape import value_and_grad
from tests.helpers.promise import PROMISES, SEED, written

ROOT = pathlib.Path(__file__).parents[2]
SIZE = (101, 77)

DRAWS: dict[str, Callable[[Generator], Any]] = (
    PROMISES
    | {
        "long truncated_normal": lambda g: g.truncated_normal(0.5, 1.5, SIZE, "float64"),
        "long gamma": lambda g: g.gamma(2.5, 1.5, SIZE, "float64"),
        "long gamma, small shape": lambda g: g.gamma(0.2, 1.5, SIZE, "float64"),
        "long beta": lambda g: g.beta(0.5, 2.5, SIZE, "float64"),
        "long poisson, small": lambda g: g.poisson(3.5, SIZE),
        "long poisson, large": lambda g: g.poisson(60.5, SIZE),
        "long binomial, searched": lambda g: g.binomial(40, 0.1, SIZE),
        "long binomial, many": lambda g: g.binomial(10**6, 0.7, SIZE),
        "long integers": lambda g: g.integers(-3, 12, SIZE),
        "long integers, two outputs": lambda g: g.integers(0, 2**40, SIZE),
        "long integers, three outputs": lambda g: g.integers(-(2**63), 2**63, SIZE),
        "long choice": lambda g: g.choice(9, SIZE, p=[0.125, 0.25, 0.0, 0.125, 0.0, 0.25, 0.125, 0.0625, 0.0625]),
    }
    | {
        f"long {name}/{dtype}": partial(draw, dtype=dtype)
        for dtype in ("float16", "float32", "float64")
        for name, draw in {
            "random": lambda g, dtype: g.random(SIZE, dtype),
            "normal": lambda g, dtype: g.normal(0.5, 1.5, SIZE, dtype),
        }.items()
    }
)
"""Every draw whose bits are promised, and longer ones of draws with kernels, with all kinds of remainders."""


def digests() -> dict[str, Any]:
    """Digests of the bytes of each draw."""
    return {name: written(draw(Generator(SEED, "numpy"))) for name, draw in DRAWS.items()}


def fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process with warnings shown."""
    known = {name: value for name, value in os.environ.items() if name not in (core.VARIABLE, "PYTHONWARNINGS")}
    return subprocess.run(
        [sys.executable, "-c", code], env=known | environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the kernels called by a test; each call runs at all levels, and the results are compared."""
    if not core.levels:
        pytest.skip("installed without a compiler")
    tables = {level: core.compiled.functions(level) for level in core.levels}
    called: set[str] = set()

    def on_all_levels(name: str, *given: Any) -> Any:
        called.add(name)
        outcomes = {}
        for level in (*core.levels, core.level()):
            copies = {id(value): value.copy() for value in given if isinstance(value, np.ndarray)}  # keeps aliases
            copied = [copies.get(id(value), value) for value in given]
            outcomes[level] = tables[level][name](*copied), [array.tobytes() for array in copies.values()]
        different = [level for level in core.levels if outcomes[level] != outcomes[core.levels[0]]]
        assert not different, f"{name} gives other bits on {', '.join(different)} than on {core.levels[0]}"
        return tables[core.level()][name](*given)

    for name in core.functions:
        monkeypatch.setitem(core.functions, name, partial(on_all_levels, name))
    return called


def exercise() -> None:
    """Call every kernel."""
    core.functions["half_table"](np.empty(2**15, np.uint16))  # built once for the other calls
    digests()
    for dtype in ("float16", "float32", "float64"):
        Generator(4, "dask").random((300, 200), dtype, chunks=(70, 90)).compute()
    elementary.log(np.linspace(1e-300, 3.0, 1001))
    elementary.exp(np.linspace(-800.0, 709.0, 1001))
    for name, dtype in product(("exp", "expm1", "log1p", "sigmoid", "softplus", "tanh"), ("float32", "float64")):
        if function := core.functions.get(f"{name}_{dtype}"):
            spread = np.linspace(-0.9, 90.0, 1001), np.linspace(-760.0, -1.0, 101), [-1.0, 0.0, np.nan, np.inf]
            numbers = np.concatenate(spread).astype(dtype)
            function(numbers, np.empty_like(numbers))
            core.functions[f"where_{dtype}"](numbers > 0, numbers, np.zeros((), dtype), np.empty_like(numbers))
    glass = edwards_anderson((6, 23), "normal", random_state=1)
    GraphMachine(np.asarray([[0, 1], [1, 2], [2, 0]])).chains(2, 0.4, 1).step(2)
    GraphMachine(lattice((6, 64))).chains(2, 0.4, 1, rule="wolff").step(2)
    GraphMachine(lattice((6, 70))).chains(64, 0.4, 1, rule="multi_spin").step(3)
    alike = GraphMachine(lattice((6, 64))), GraphMachine(lattice((4, 4, 24)), "binary"), GraphMachine(glass, 5)
    for machine in (GraphMachine(glass), *alike):
        for chains, rule in ((1, "heat_bath"), (1, "metropolis"), (67, "heat_bath"), (67, "metropolis")):
            running = machine.chains(chains, 0.7, 5, rule=rule)
            running.step(2)
            running.energies()
    for machine in (GraphMachine(glass), *alike):
        for rule in ("heat_bath", "metropolis"):
            machine.sample(67, 2, rule=rule, shards=3, random_state=5).compute(scheduler="synchronous")
    even = edwards_anderson((6, 22), "normal", random_state=1)
    for machine, chunks in ((GraphMachine(even), (6, 22)), (GraphMachine(lattice((6, 70)), "binary"), (3, 70))):
        for rule in ("heat_bath", "metropolis"):
            machine.sample(1, 1, rule=rule, chunks=chunks, random_state=5).compute(scheduler="synchronous")
    rng = np.random.default_rng(0)
    xp, states = host_namespace(), substreams((SEED,) * 6, 770)
    advance(states, 12345)
    for dtype in ("float32", "float64"):
        normal(xp, states, (1001,), dtype)
    Generator(4).integers(0, 6, 1001, "int32")
    for precision in ("float32", "float64"):
        for kind in ("float32", "float64"):
            p = rng.random(SIZE).astype(kind)
            for sample in ("bool", "int8", "int32", "int64", "float32", "float64"):
                bernoulli(xp, states, p, SIZE, sample, precision)
                bernoulli(xp, states, p[0, 0], SIZE, sample, precision)
    odds = rng.normal(size=SIZE).astype("float32") * 9
    for sample in ("int8", "int32", "int64", "float32", "float64"):
        own = elementary.kernel("rng.bernoulli_of_sigmoid", "numpy")
        assert own is not None
        own(states, (odds,), SIZE, sample, lambda x: 1 / (1 + np.exp(-x)))
    for terms in ((odds,), (odds, odds[0]), (odds, odds[:, :1])):
        binomial_of_sigmoid(xp, states, *terms, size=SIZE, n=1, dtype="float32", precision="float32")
    for shape in ((70, 1000), (977, 9), (300, 33)):
        rows = (rng.normal(size=shape) * 30).astype("float32")
        rows[0], rows[1, :3], rows[2, 1], rows[3, 2] = -np.inf, -np.inf, 3e38, np.nan
        for function in (exponentials.softmax, exponentials.log_softmax, exponentials.logsumexp):
            assert function(rows, -1) is not None
    for dtype in ("float32", "float64"):
        for shape, axis in (((3, 5, 130), 1), ((130, 5), 1)):
            exponentials.softmax_states(rng.random(shape, dtype), rng.random(np.delete(shape, axis), dtype), axis)
        x, weights = rng.normal(size=(2, 9, 11, 5)).astype(dtype), rng.normal(size=(3, 3, 5, 7)).astype(dtype)
        y = winograd.correlate_winograd(x, weights, (-1, -1), (9, 11))
        assert winograd.correlate_outer_winograd(x, y, (-1, -1), (3, 3)) is not None
        images, kernel = rng.normal(size=(3, 21, 19, 8)).astype(dtype), rng.normal(size=(5, 4, 8, 9)).astype(dtype)
        value_and_grad(lambda x, w: K.sum(K.conv2d(x, w, strides=(2, 2), padding="same") ** 2), (0, 1))(images, kernel)
        for mode in ("max", "avg"):
            value_and_grad(partial(_of_pooled, mode))(images)


def _of_pooled(mode: Any, x: Any) -> Any:
    return K.sum(K.pool2d(x, (3, 2), (2, 2), padding="same", pool_mode=mode) ** 2)


@pytest.mark.skipif(not core.is_there(), reason="installed without a compiler")
def test_a_room_is_kept_for_the_next_and_never_had_twice() -> None:
    assert core.room is not None
    rooms = [np.frombuffer(core.room(), np.uint8) for _ in range(12)]  # more than are cached
    assert {room.size for room in rooms} == {core.ROOM}
    for k, room in enumerate(rooms):
        room[:] = k
    assert [set(room[[0, -1]].tolist()) for room in rooms] == [{k} for k in range(12)]
    address = rooms[-1].ctypes.data
    del room, rooms[-1]
    u = Generator(SEED).random(10**5, "float32")  # its kernel uses that work space, which is free
    assert np.frombuffer(core.room(), np.uint8).ctypes.data == address
    assert [set(room[[0, -1]].tolist()) for room in rooms] == [{k} for k in range(11)]
    np.testing.assert_array_equal(Generator(SEED).random(10**5, "float32"), u)


SAMPLED: dict[str, Callable[..., Any]] = {
    "truncated normal": lambda g, n, **how: g.truncated_normal(0.5, 1.5, n, "float64", **how),
    "gamma": lambda g, n, **how: g.gamma(0.5, 1.5, n, "float64", **how),
    "poisson": lambda g, n, **how: g.poisson(60.5, n, **how),
    "integers": lambda g, n, **how: g.integers(0, 2**30 + 5, n, **how),
    "integers of two outputs": lambda g, n, **how: g.integers(0, 2**61 + 11, n, **how),
    "integers of three": lambda g, n, **how: g.integers(-(2**63), 2**62 + 5, n, **how),
}


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("n", [127, 15_360, 3 * 15_360 - 1, 4 * 15_360 + 77])
def test_stepping_whole_draws_gives_what_each_element_is_made_of_alone(name: str, n: int) -> None:
    parts = SAMPLED[name](Generator(SEED, "dask"), n, chunks=613)
    np.testing.assert_array_equal(parts.compute(scheduler="sync"), SAMPLED[name](Generator(SEED, "numpy"), n))


def test_every_kernel_gives_the_same_bits_on_every_level(seen: set[str]) -> None:
    exercise()
    assert seen == set(core.functions)


def test_the_portable_forms_draw_the_same_bits() -> None:
    code = (
        "import json; from nbm_xp.namespace import core; from tests.namespace.test_core import digests\n"
        "assert not core.functions; print(json.dumps(digests()))"
    )
    done = fresh(code, NBM_XP_LEVEL="none")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == digests()


def test_where_there_is_a_compiler_there_is_a_core() -> None:
    """A compile error leaves the package without the core; the portable code must not hide this."""
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    if compiler is None or not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("there is no C compiler, or there are none of Python's headers")
    assert core.is_there(), f"{compiler} did not make the compiled core: pip install -v -e . says why"


@pytest.mark.parametrize("level", [*core.levels, "none"])
def test_a_level_is_picked_by_a_variable(level: str) -> None:
    done = fresh("from nbm_xp.namespace import core; print(core.level(), bool(core.functions))", NBM_XP_LEVEL=level)
    assert done.stdout.split() == [level, str(level != "none")], done.stderr


def test_a_level_that_is_not_there_is_refused() -> None:
    done = fresh("import nbm_xp", NBM_XP_LEVEL="x86-64-v9")
    allowed = ", ".join((*core.levels, "none"))
    want = f"ValueError: NBM_XP_LEVEL must be one of {allowed} on this machine, got 'x86-64-v9'"
    assert done.stderr.splitlines()[-1] == want
    before = dict(core.functions)
    for name in {"x86-64-v9", "none"} - {core.level()}:
        with pytest.raises(ValueError, match="must be one of"), core.using_level(name):
            pass
    assert core.functions == before


def test_info_tells_of_the_core() -> None:
    found = nbm_xp.info()["core"]
    assert found["level"] == core.level()
    assert found["levels"] == list(core.levels)
    assert (found["install"] is None) == core.is_there()
    assert core.level() in nbm_xp.format_info()
