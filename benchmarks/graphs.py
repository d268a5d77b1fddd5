"""Sweeps of machines on graphs beside thrml under `jax.jit`, as many flips each; and building one of ten million edges.

thrml runs one chain where it is said so, else as many as ours, mapped over. The graph of 10⁶ units takes it a minute to
build. The Pegasus graph with normal fields and couplings is that of thrml's published benchmark. dwave-samplers anneals
the same model, in as many reads and sweeps, between the same temperatures.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.graphs import GraphMachine, edwards_anderson, erdos_renyi, random_regular

from .harness import Contender, Row, power
from .libraries import Library, absent, elsewhere, start_jax

SIDE, REGULAR, EDGES = 256, 10**6, 10**7
OVER_THRML, OVER_THRML_IN_WORDS, OVER_THRML_REGULAR = 1 / 10, 1 / 100, 1 / 5
OVER_THRML_PEGASUS, OVER_DWAVE = 1 / 3, 1 / 2
BETA = 0.44


def rows(library: Library) -> Iterator[Row]:
    normal = GraphMachine(edwards_anderson((SIDE, SIDE), "normal", random_state=1))
    signs = GraphMachine(edwards_anderson((SIDE, SIDE), random_state=1))
    units = normal.n_units
    yield Row(
        f"{SIDE}² lattice, normal couplings, one chain, 64 sweeps",
        ours(library, normal, 1, 64),
        [thrml(library, normal, 1, 64, OVER_THRML)],
        per=64 * units,
        unit="flip",
    )
    if library.name == "numpy":
        yield Row(
            f"{SIDE}² lattice, couplings of either sign, 64 chains in words, 16 sweeps",
            ours(library, signs, 64, 16, "multi_spin"),
            [thrml(library, signs, 1, 64 * 16, OVER_THRML_IN_WORDS), thrml(library, signs, 64, 16)],
            per=64 * 16 * units,
            unit="flip",
        )
    regular, edges = library.sized(REGULAR), library.sized(EDGES)
    graph = random_regular(regular, 3, 1)
    couplings = np.random.default_rng(0).normal(size=graph.edges)
    for name, machine in (
        ("normal couplings", GraphMachine(graph, couplings=couplings)),
        ("alike", GraphMachine(graph)),
    ):
        yield Row(
            f"random graph of {power(regular)} units with three neighbours each, {name}, 64 chains, two sweeps",
            ours(library, machine, 64, 2),
            [thrml(library, machine, 64, 2, OVER_THRML_REGULAR)],
            per=64 * 2 * regular,
            unit="flip",
        )
    if not absent("", "dwave", "dwave-graphs"):
        pegasus, normals = importlib.import_module("dwave.graphs").pegasus_graph(14), np.random.default_rng(0).normal
        machine = GraphMachine(
            pegasus, couplings=normals(size=pegasus.number_of_edges()), fields=normals(size=len(pegasus))
        )
        yield Row(
            f"Pegasus graph of {machine.n_units} units, normal fields and couplings, 64 chains, 100 sweeps",
            ours(library, machine, 64, 100),
            [thrml(library, machine, 64, 100, OVER_THRML_PEGASUS)],
            per=64 * 100 * machine.n_units,
            unit="flip",
        )
    if library.name == "numpy" and not absent("", "dimod"):
        yield annealed()
    pairs = np.random.default_rng(0).integers(0, edges // 5, (edges + 1000, 2), dtype=np.int32)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)[:edges]
    pairs = np.random.default_rng(1).permutation(pairs)
    yield Row(
        f"a machine of {pairs.shape[0]:,} edges", Contender("GraphMachine and its layout", lambda: laid_out(pairs))
    )


def ours(library: Library, machine: GraphMachine, chains: int, sweeps: int, rule: str = "heat_bath") -> Contender:
    running = machine.chains(chains, BETA, 1, rule=rule, library=library.xp)
    return Contender(f"nbm_xp, {rule}", library.finished(lambda: (running.step(sweeps), running.states)[1]))


def annealed() -> Row:
    """A maximum cut, by the sampler of dimod's and by that of D-Wave."""
    dimod, mine = importlib.import_module("dimod"), importlib.import_module("nbm_xp.graphs.dimod")
    graph, name = erdos_renyi(800, 0.06, 1), "dwave-samplers, SimulatedAnnealingSampler"
    bqm = dimod.BQM.from_numpy_vectors(np.zeros(800), (graph.first, graph.second, np.ones(graph.edges)), 0.0, "SPIN")
    options = {"num_reads": 64, "num_sweeps": 500, "beta_range": (0.05, 2.0), "seed": 1}
    peer = absent(name, "dwave.samplers", "dwave-samplers") or Contender(
        name,
        lambda: importlib.import_module("dwave.samplers").SimulatedAnnealingSampler().sample(bqm, **options),
        at_most=OVER_DWAVE,
    )
    call = Contender("NbmSampler", lambda: mine.NbmSampler().sample(bqm, **options))
    return Row(
        f"maximum cut of 800 units and {graph.edges} edges, annealed", call, [peer], per=64 * 500 * 800, unit="flip"
    )


def laid_out(pairs: Any) -> Any:
    """A machine whose colours and rows are made too."""
    machine = GraphMachine(pairs)
    return machine.layout


def thrml(library: Library, machine: GraphMachine, chains: int, sweeps: int, at_most: float | None = None) -> Contender:
    """The machine as thrml's, colour after colour."""
    name = f"thrml, {'one chain' if chains == 1 else f'{chains} chains'}, jax.jit"
    if not library.on_host:
        return elsewhere(name, library)
    if gone := absent(name, "thrml"):
        return gone
    start_jax(library.threads)
    jax, peer, models = (importlib.import_module(module) for module in ("jax", "thrml", "thrml.models"))
    jnp, layout = jax.numpy, machine.layout
    nodes = [peer.SpinNode() for _ in range(machine.n_units)]
    slots = [nodes[unit] for unit in layout.order.tolist()]
    edges = [(slots[a], slots[b]) for a, b in zip(layout.first.tolist(), layout.second.tolist(), strict=True)]
    weights = jnp.asarray(layout.weights, jnp.float32)
    energy = models.IsingEBM(nodes, edges, jnp.asarray(machine.unit_fields), weights, jnp.asarray(BETA))
    blocks = [peer.Block(slots[a:b]) for a, b in zip((0, *layout.ends), layout.ends, strict=False)]
    program = models.IsingSamplingProgram(energy, blocks, [])
    schedule = peer.SamplingSchedule(n_warmup=sweeps, n_samples=1, steps_per_sample=1)
    start = models.hinton_init(jax.random.key(0), energy, blocks, (chains,))
    watched = [peer.Block(nodes[:1])]
    run = jax.jit(jax.vmap(lambda key, states: peer.sample_states(key, program, schedule, states, [], watched)))
    keys = jax.random.split(jax.random.key(1), chains)
    return Contender(name, lambda: jax.block_until_ready(run(keys, start)), at_most=at_most)
