"""Machines on graphs: Ising and Potts models on lattices, spin glasses, fully visible Boltzmann machines.

The same seed gives the same states on every array library and for every division into chains and sweeps.
"""

from __future__ import annotations

from nbm_xp.machines.diagnostics import MixingWarning, monte_carlo_error
from nbm_xp.namespace.kernels import register_core_kernels
from nbm_xp.package import public_names

from .energy_model import ClampWarning
from .exact import enumerated, onsager, strip_energy, strip_log_partition
from .families import (
    complete_graph,
    edwards_anderson,
    erdos_renyi,
    lattice,
    random_regular,
    read_gset,
    sherrington_kirkpatrick,
)
from .graph import Graph, as_graph
from .machine import GraphMachine, cut_value, max_cut
from .measures import autocorrelation_time, binder, diagnose, jackknife_error, specific_heat
from .tempering import placed_ladder

__all__ = [
    "ClampWarning", "Graph", "GraphMachine", "MixingWarning", "as_graph", "autocorrelation_time", "binder",
    "complete_graph", "cut_value", "diagnose", "edwards_anderson", "enumerated", "erdos_renyi", "jackknife_error",
    "lattice", "max_cut", "monte_carlo_error", "onsager", "placed_ladder", "random_regular", "read_gset",
    "sherrington_kirkpatrick", "specific_heat", "strip_energy", "strip_log_partition",
]  # fmt: skip

register_core_kernels("graphs", f"{__name__}.compiled")

public_names(globals())
