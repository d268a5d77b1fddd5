"""`NbmSampler`, a sampler of D-Wave's dimod: simulated annealing of binary quadratic models by `GraphMachine`.

Contract: a read follows from the model, the schedule, the seed and the number of the read, with the same bits on every
machine and array library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.elementary import exp, log
from nbm_xp.namespace.errors import check_choice, positive_int
from nbm_xp.package import need

from .graph import Graph, finite
from .machine import GraphMachine

dimod: Any = need("dimod")

TOGETHER: Final = 64  # reads that run together, as many as the compiled loops take side by side
_RULES: Final = {"Metropolis": "metropolis", "Gibbs": "heat_bath"}
_SCHEDULES: Final = ("linear", "geometric", "custom")
_SURE, _LEFT_OUT = 0.01, 10


class NbmSampler(dimod.Sampler, dimod.Initialized):  # type: ignore[misc]
    """Simulated annealing of binary quadratic models.

    Parameters
    ----------
    library : str or namespace, optional
        Array library of the states; by default the configured one.

    Attributes
    ----------
    parameters : dict
        Names of the arguments of `sample`, each with the names of the properties that concern it.
    properties : dict
        The allowed values of ``beta_schedule_type`` and ``proposal_acceptance_criteria``.

    Examples
    --------
    >>> sampler = NbmSampler()
    >>> found = sampler.sample_ising({"a": 0.5}, {("a", "b"): 1.0, ("b", "c"): 1.0, ("a", "c"): 1.0}, seed=1)
    >>> float(found.first.energy)
    -1.5
    """

    parameters: Any = None  # abstract in dimod
    properties: Any = None

    def __init__(self, library: Any = None) -> None:
        self.library = library
        schedule, criteria = "beta_schedule_options", "proposal_acceptance_criteria_options"
        self.properties = {schedule: _SCHEDULES, criteria: tuple(_RULES)}
        self.parameters = {
            "beta_range": [], "num_reads": [], "num_sweeps": [], "num_sweeps_per_beta": [],
            "beta_schedule_type": [schedule], "seed": [], "interrupt_function": [], "beta_schedule": [],
            "initial_states": [], "initial_states_generator": [], "proposal_acceptance_criteria": [criteria],
        }  # fmt: skip

    def sample(
        self, bqm: Any, beta_range: Any = None, num_reads: int | None = None, num_sweeps: int | None = None,
        num_sweeps_per_beta: int = 1, beta_schedule_type: str = "geometric", seed: int | None = None,
        interrupt_function: Callable[[], bool] | None = None, beta_schedule: Any = None, initial_states: Any = None,
        initial_states_generator: str = "random", proposal_acceptance_criteria: str = "Metropolis", **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Search for states of low energy by simulated annealing.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
        beta_range : two floats, optional
            Inverse temperatures of the first and the last sweep. See the notes for the default.
        num_reads : int, optional
            Number of reads; by default that of the initial states, or 1. They run in groups of 64, a full one of which
            takes little longer than a few reads.
        num_sweeps : int, optional
            Number of sweeps of each read, a multiple of `num_sweeps_per_beta`; by default 1000, or those of
            `beta_schedule`.
        num_sweeps_per_beta : int, optional
            Number of sweeps at each inverse temperature.
        beta_schedule_type : {"geometric", "linear", "custom"}, optional
            Interpolation of the inverse temperatures between those of `beta_range`; "custom" takes `beta_schedule`.
        seed : int, optional
            Seed, from 0 to 2**32 - 1. By default it is drawn.
        interrupt_function : callable, optional
            Function without arguments, called before each group of reads but the first; if it returns True, the reads
            made so far are returned.
        beta_schedule : array, optional
            Inverse temperatures of a "custom" schedule.
        initial_states : samples-like, optional
            Initial states; random by default.
        initial_states_generator : {"random", "tile", "none"}, optional
            How `initial_states` that are fewer than the reads are complemented.
        proposal_acceptance_criteria : {"Metropolis", "Gibbs"}, optional
            Update rule of a sweep.
        **kwargs
            Other arguments are ignored with a warning, as dimod requires.

        Returns
        -------
        dimod.SampleSet
            The last state of each read and its energy; ``info`` has the seed and the range of inverse temperatures.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid.

        Notes
        -----
        The default range depends on the model in spins. At its begin the largest change of energy that one flip can
        make is accepted with probability 1/2. At its end about 0.01 flips of a sweep raise the energy, if the least
        change of energy by a spin's flip is twice its smallest coupling or field. These are the rules of D-Wave's
        ``SimulatedAnnealingSampler``, except that the smallest tenth of these changes is left out: a few weak couplings
        would otherwise make the larger part of the schedule useless.
        """
        self.remove_unknown_kwargs(**kwargs)
        if not isinstance(bqm, dimod.BinaryQuadraticModel):
            raise TypeError(f"bqm must be a dimod.BinaryQuadraticModel, got {type(bqm).__name__}")
        check_choice("proposal_acceptance_criteria", proposal_acceptance_criteria, tuple(_RULES))
        if interrupt_function is not None and not callable(interrupt_function):
            raise TypeError(f"interrupt_function must be callable, got {type(interrupt_function).__name__}")
        host, spins = host_namespace(), bqm.change_vartype(dimod.SPIN, inplace=False)
        seed = entropy_of(None) >> 96 if seed is None else positive_int(seed, "seed", 0)
        start, _, n_reads, _ = self.parse_initial_states(
            spins, initial_states, initial_states_generator, num_reads, seed
        )
        fields, (first, second, couplings), _ = spins.to_numpy_vectors(start.variables)
        states, rule, per_beta = start.record.sample, _RULES[proposal_acceptance_criteria], num_sweeps_per_beta
        ends = default_beta_range(fields, first, second, couplings) if beta_range is None else beta_range
        betas = _schedule(beta_schedule_type, ends, num_sweeps, per_beta, beta_schedule).tolist()
        if fields.shape[0] and betas:
            machine, groups = GraphMachine(Graph(len(fields), first, second), fields=-fields, couplings=-couplings), []
            for begin in range(0, n_reads, TOGETHER):
                if begin and interrupt_function is not None and interrupt_function():
                    break
                some = states[begin : begin + TOGETHER]
                chains = machine.chains(
                    len(some), betas[0], seed, initial=None if initial_states is None else some, rule=rule,
                    first_chain=begin, library=self.library,
                )  # fmt: skip
                for beta in betas:
                    chains.set_betas(host.full((len(some),), beta))
                    chains.step(per_beta)
                groups.append(chains.rows())
            states = host.concat(groups)
        found = dimod.SampleSet.from_samples_bqm((states, start.variables), spins)
        used = (betas[0], betas[-1]) if betas else None
        found.info.update(beta_range=used, beta_schedule_type=beta_schedule_type, seed=seed)
        return found.change_vartype(bqm.vartype)


def default_beta_range(fields: Array, first: Array, second: Array, couplings: Array) -> tuple[float, float]:
    """Return the default range of inverse temperatures of a model of spins: see `NbmSampler.sample`.

    Examples
    --------
    >>> import numpy as np
    >>> default_beta_range(np.zeros(2), np.asarray([0]), np.asarray([1]), np.asarray([-1.0]))
    (0.34657359027997264, 2.649158683274018)
    """
    host = host_namespace()
    each, sizes = host.abs(fields), host.abs(host.concat([couplings, couplings]))
    units = host.concat([first, second])
    least = host.where(each > 0, each, math.inf)
    host.minimum.at(least, units[sizes > 0], sizes[sizes > 0])
    least = host.sort(least[least < math.inf])
    if not least.shape[0]:
        return 0.1, 1.0
    most = host.max(each + host.bincount(units, sizes, each.shape[0]))
    gaps = 2.0 * host.stack([most, least[least.shape[0] // _LEFT_OUT]])
    low, high = (log(host.asarray([2.0, least.shape[0] / _SURE])) / gaps).tolist()
    return low, high


def _schedule(kind: str, ends: Any, n_sweeps: int | None, per_beta: int, given: Any) -> Array:
    """Validate the arguments of a schedule; return its inverse temperatures."""
    host, per_beta = host_namespace(), positive_int(per_beta, "num_sweeps_per_beta")
    check_choice("beta_schedule_type", kind, _SCHEDULES)
    if (given is None) == (kind == "custom"):
        raise ValueError(f"beta_schedule must be given if and only if beta_schedule_type is 'custom', got {kind!r}")
    if given is not None:
        betas = finite(given, "beta_schedule", (host.asarray(given).size,))
        n_sweeps = betas.shape[0] * per_beta if n_sweeps is None else n_sweeps
    total = positive_int(1000 if n_sweeps is None else n_sweeps, "num_sweeps", 0)
    if total % per_beta or (given is not None and total != betas.shape[0] * per_beta):
        raise ValueError(f"num_sweeps must be {per_beta} for each inverse temperature, got {total}")
    if given is None:
        low, high = finite(ends, "beta_range", (2,)).tolist()
        if kind == "geometric" and min(low, high) <= 0:
            raise ValueError(f"beta_range must be positive for a geometric schedule, got {(low, high)}")
        low, high = log(host.asarray([low, high])).tolist() if kind == "geometric" else (low, high)
        betas = host.linspace(high if total == per_beta else low, high, total // per_beta)
        betas = exp(betas) if kind == "geometric" else betas
    if host.any(betas < 0):
        raise ValueError(f"inverse temperatures must not be negative, got {float(host.min(betas))}")
    return betas
