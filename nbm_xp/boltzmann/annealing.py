"""Annealed importance sampling from the base-rate model to a machine, and in reverse.

A chain starts in the base-rate model, which has no weights, whose visible biases match the data, and whose Z is known.
It does a sweep in each of the intermediate models, at inverse temperatures from 0 to 1, up to the machine. Each chain
gives a weight; the mean weight is an unbiased estimate of the ratio of the two partition functions, so the expectation
of its logarithm is at most the logarithm of the ratio: too few chains or temperatures make log Z too small. In reverse,
from states of the machine, the mean weight estimates the inverse ratio, and log Z is too large on average. Together the
two bracket log Z.

References
----------
R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).
R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using reverse
annealing", AISTATS 2015.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, Streams
from nbm_xp.machines.randomness import ChainFunction, ChainStreams, compiled
from nbm_xp.machines.rows import shortened
from nbm_xp.namespace import asarray, host_namespace, library_name, to_numpy
from nbm_xp.namespace.errors import positive_int

from .chains import Chains, Machine, States, divided, in_order
from .energy import Parameters, decoded, energy_within, local_field, log_partition_without_weights, sweep
from .ladder import STEPS, LadderChains
from .recording import Form, Recorded, State

_MIXING = 1000  # default number of Gibbs sweeps to states of a machine

Fields: TypeAlias = tuple[Array, Array]


def inverse_temperatures(n_temperatures: Any, betas: Sequence[float] | None) -> list[float] | None:
    """Return inverse temperatures from 0 to 1: evenly spaced, or `betas`; None for adaptive ones.

    Raises
    ------
    ValueError
        If an argument is invalid.
    """
    if betas is None and isinstance(n_temperatures, str):
        if n_temperatures == "adaptive":
            return None
        raise ValueError(f"n_temperatures must be a whole number or 'adaptive', got {n_temperatures!r}")
    if betas is None:
        steps = positive_int(n_temperatures, "n_temperatures", 2) - 1
        return [step / steps for step in range(steps + 1)]
    try:
        ladder = [float(beta) for beta in betas]
    except (TypeError, ValueError):
        raise ValueError(f"betas must be numbers that rise from 0 to 1, got {shortened(repr(betas))}") from None
    rising = all(low <= high for low, high in itertools.pairwise(ladder))
    if len(ladder) < 2 or not rising or ladder[0] != 0.0 or ladder[-1] != 1.0:
        raise ValueError(f"betas must rise from 0 to 1, at least two of them, got {shortened(repr(ladder))}")
    return ladder


@dataclass(frozen=True)
class AISEstimate:
    """An estimate of log Z by annealed importance sampling.

    Attributes
    ----------
    log_z : float
        The logarithm of the estimate of Z.
    log_z_low, log_z_high : float
        The logarithms of that estimate minus and plus three standard errors. Reverse chains estimate 1 / Z, and the
        logarithms of the inverse bounds are given. If three standard errors exceed the estimate, the lower bound is
        -inf, or in reverse the upper bound is inf: then there are too few chains or temperatures.
    standard_error : float
        The relative standard error of the mean weight; if small, also the standard error of `log_z`.
    effective_runs : float
        Effective number of chains by the weights.
    log_weights : array of shape (chains,)
        The logarithms of the weights, each of which estimates Z, or in reverse 1 / Z.
    n_temperatures : int
        Number of intermediate models, both ends included.
    """

    log_z: float
    log_z_low: float
    log_z_high: float
    standard_error: float
    effective_runs: float
    log_weights: Array
    n_temperatures: int

    def __str__(self) -> str:
        """Return the estimate and its bounds as text."""
        return f"log Z = {self.log_z:.2f} (3 s.e.: {self.log_z_low:.2f} to {self.log_z_high:.2f})"


def estimate(log_weights: Array, n_temperatures: int, *, reverse: bool = False) -> AISEstimate:
    """Return log Z and its error bars from the log-weights of chains, which estimate Z, or in reverse 1 / Z."""
    count = log_weights.shape[0]
    top = float(B.max(log_weights))
    weights = B.exp(log_weights - top)
    mean = float(B.mean(weights))
    spread = float(B.sum(B.square(weights - mean))) / max(count - 1, 1)
    relative = math.sqrt(spread / count) / mean if count > 1 else math.inf
    log_z = -top - math.log(mean) if reverse else top + math.log(mean)
    less = math.log1p(-3 * relative) if 3 * relative < 1 else -math.inf
    more = math.log1p(3 * relative)
    return AISEstimate(
        log_z=log_z,
        log_z_low=log_z + (-more if reverse else less),
        log_z_high=log_z + (-less if reverse else more),
        standard_error=relative,
        effective_runs=(count * mean) ** 2 / float(B.sum(B.square(weights))),
        log_weights=log_weights,
        n_temperatures=n_temperatures,
    )


class BaseModel(NamedTuple):
    """The base-rate model: the model without weights whose visible means match the data; NumPy arrays.

    Attributes
    ----------
    rate : array of shape (visible units,)
        Means of the visible units, bounded such that every visible state has a positive probability, as importance
        sampling requires.
    bias : array of shape (visible units,)
        Visible biases; the other biases are 0.
    log_z : float
    """

    rate: Array
    bias: Array
    log_z: float


def base_model(machine: Machine) -> BaseModel:
    """Return the base-rate model of a machine."""
    host = library_name(host_namespace())
    (rate, bias, log_z), _ = compiled(host, _record_base, Form(machine.topology, machine.dtype, 1))(
        [to_numpy(machine.base_rate)], []
    )
    return BaseModel(rate, bias, float(log_z))


def _record_base(form: Form, streams: ChainStreams) -> Recorded:
    topology = form.topology
    given = B.placeholder(shape=(topology.sizes[0],), dtype=form.dtype)
    rate = topology.units[0].bounded_rate(given)
    bias = topology.units[0].bias(rate)
    others = [B.zeros((size,), dtype="float64") for size in topology.sizes[1:]]
    return [given], [rate, bias, log_partition_without_weights(topology, [B.cast(bias, "float64"), *others])]


@dataclass(frozen=True)
class Path:
    """The models between a base-rate model and a machine, whose energies are linear interpolations of the two.

    Attributes
    ----------
    base : Tensor of shape (visible units,)
        Visible biases of the base-rate model, whose other biases are 0.
    last : Parameters
        Parameters of the machine.
    excess : Parameters
        Parameters of the machine minus those of the base-rate model.
    """

    base: Array
    last: Parameters
    excess: Parameters = field(init=False)

    def __post_init__(self) -> None:
        visible, *others = self.last.biases
        object.__setattr__(self, "excess", replace(self.last, biases=(visible - self.base, *others)))

    def local_fields(self, layer: int, state: Sequence[Array]) -> Fields:
        """Return the local field of a layer in the base-rate model, None for 0, and its increase in the machine."""
        own = None if layer else self.last.for_each_state(self.base)
        return own, local_field(self.excess, layer, state)

    @staticmethod
    def mixed(beta: Array, parts: Fields) -> Array:
        """Return the local field of a layer at an inverse temperature."""
        own, more = parts
        return beta * more if own is None else own + beta * more

    def log_ratio(self, cold: Array, warm: Array, state: Sequence[Array]) -> tuple[Array, dict[int, Fields]]:
        """Return the log-ratio of the weights of states at two temperatures, and the marginalised layers' local fields.

        A state has the layers of ``topology.retained``; its weight is the sum over the states of the other layers.
        """
        topology, axis = self.last.topology, self.last.units_axis
        known = {layer: self.local_fields(layer, state) for layer in topology.marginalised}
        energy = energy_within(self.excess, state, topology.retained)
        apart = warm - cold
        gain = (apart[:, :, 0] if len(apart.shape) == 3 else apart) * energy
        for layer, parts in known.items():
            units = topology.units[layer]
            here, there = (units.log_normaliser(self.mixed(beta, parts), axis) for beta in (warm, cold))
            gain = gain + B.sum(there - here, axis=axis)
        return gain, known

    def sweep(
        self, beta: Array, state: Sequence[Array], rows: int, rng: Streams, known: Mapping[int, Fields], observed: Array
    ) -> State:
        """Do one Gibbs sweep at an inverse temperature; `known` are the local fields of marginalised layers."""

        def mixed_field(layer: int, states: Sequence[Array]) -> Array:
            return self.mixed(beta, known[layer] if layer in known else self.local_fields(layer, states))

        # The marginalised layers are drawn first, so their local fields are those of the given state.
        return sweep(self.last, state, rows, rng, field=mixed_field, observed=observed)[0]


class FromBaseModel(Chains):
    """Chains that start in the base-rate model of their machine, which is computed where it is first needed."""

    @functools.cached_property
    def base(self) -> BaseModel:
        """The base-rate model."""
        return base_model(self.machine)

    @property
    def base_rate(self) -> Array:
        """See `Chains`."""
        return self.base.rate


class AnnealedChains(FromBaseModel):
    """The chains of annealed importance sampling of a machine; each block of chains is computed independently.

    A sweep is a step from one inverse temperature to the next. The last array of the states is the log-weights of the
    chains, of shape (chains,) and dtype float64; `collect` returns it.

    Parameters
    ----------
    machine : Machine
    seed : int
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1.
    purpose : str, optional
        See `Chains`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> machine = Machine.of(RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.ones(3)).state_)
    >>> chains = AnnealedChains(machine, 1, [0.0, 0.5, 1.0])
    >>> *_, log_weights = chains.advance(chains.start(0, 4), 0, 0, 2)
    >>> log_weights.shape, bool(np.all(log_weights > 0))
    ((4,), True)
    """

    default_purpose = "annealing"
    result_dtype = "float64"
    is_reverse = False
    measures_energy = False  # whether each sweep measures the energy: see `_record_step`

    def __init__(self, machine: Machine, seed: int, betas: Sequence[float], *, purpose: str | None = None) -> None:
        super().__init__(machine, seed, layers=(), purpose=purpose)
        self.betas = tuple(betas)

    def start(self, offset: int, rows: int) -> States:
        """See `Chains.start`; `weighted` adds the weights."""
        return self.weighted(super().start(offset, rows))

    def weighted(self, states: Sequence[Array]) -> States:
        """Return states of ``topology.retained`` and initial log-weights: log Z of the base-rate model, or minus it."""
        xp, log_z = self.xp, -self.base.log_z if self.is_reverse else self.base.log_z
        return (*in_order(states), xp.full((int(states[0].shape[1]),), log_z, dtype=xp.float64))

    def log_partition(self, n_chains: int, library: str | None, chunks: Chunks) -> AISEstimate:
        """Return log Z estimated by `n_chains` chains; see `Chains.last`."""
        (found,) = self.computed(n_chains, len(self.betas) - 1, library, chunks)
        return estimate(found[:, 0], len(self.betas), reverse=self.is_reverse)

    def _placed(self, states: Sequence[Array]) -> States:
        return (*super()._placed(states[:-1]), asarray(states[-1], self.xp, "float64"))

    def _step(self, rows: int) -> ChainFunction:
        return self._compiled(_record_step, rows, self.measures_energy, self.is_observed)

    def _constants(self) -> Sequence[Array]:
        return (*self.machine.arrays, asarray(self.base.bias, self.xp, self.machine.dtype))

    def _schedule(self, number: int) -> Sequence[Any]:
        """Return the inverse temperatures after and before a step."""
        return self.betas[number + 1], self.betas[number]

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [1]

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`."""
        return self.advance(self.start(offset, rows), offset, 0, n_sweeps)[-1][:, None]

    def ratio(self, states: Sequence[Array], cold: float, warm: float) -> Array:
        """Return the log-ratios of the weights of states at two temperatures."""
        weigh = self._compiled(_record_ratio, int(states[0].shape[1]))
        return weigh([*states[:-1], *self._constants(), cold, warm], [])[0][0]


class ReverseChains(AnnealedChains):
    """The chains of reverse annealed importance sampling, from states of the machine to the base-rate model.

    Parameters
    ----------
    machine, seed
        See `Chains`.
    betas : sequence of float
        Inverse temperatures, falling from 1 to 0.
    n_sweeps : int, optional
        Number of sweeps of the `mixing` chains, which draw states of the machine.
    initial : mapping of int to array of shape (chains, sites), optional
        States of the machine for the layers of ``topology.retained``.
    """

    default_purpose = "reverse annealing"
    is_reverse = True

    def __init__(
        self,
        machine: Machine,
        seed: int,
        betas: Sequence[float],
        *,
        n_sweeps: int | None = None,
        initial: Mapping[int, Array] | None = None,
    ) -> None:
        super().__init__(machine, seed, betas)
        self.n_sweeps, self.given = n_sweeps, dict(initial or {})

    @property
    def mixing(self) -> Chains:
        """Chains that draw states of the machine: on its ladder if it has one."""
        if self.machine.ladder and self.n_sweeps != 0:
            return LadderChains(self.machine, self.seed, layers=self.topology.retained)
        return Chains(self.machine, self.seed, layers=self.topology.retained, purpose=self.purpose)

    def start(self, offset: int, rows: int) -> States:
        """See `AnnealedChains.start`."""
        if self.given:
            return self.weighted([self._columns(part, offset, rows) for part in self.given.values()])
        mixing = self.mixing
        mixing.chunks = self.chunks
        usual = STEPS if isinstance(mixing, LadderChains) else _MIXING
        n_sweeps = usual if self.n_sweeps is None else self.n_sweeps
        parts = divided(mixing.collect(offset, rows, n_sweeps), mixing.widths(n_sweeps))
        return self.weighted([self.xp.matrix_transpose(part) for part in parts])


def path_of(form: Form) -> tuple[list[Array], Path]:
    """Return placeholders for a machine and the biases of the base-rate model, and the path between the two."""
    weights, parameters = form.parameters()
    base = B.placeholder(shape=(form.topology.sizes[0],), dtype=form.dtype)
    return [*weights, base], Path(base, parameters)


def _record_step(form: Form, streams: ChainStreams, measured: bool, missing: bool) -> Recorded:
    """Record a step: multiply weights by the ratio at the two temperatures, then sweep at the temperature `cold`.

    If `measured`, the last output is the energy of the new states of all layers, minus that of the base-rate model.
    With `missing`, the last input besides temperatures is visible states whose missing values alone are drawn.
    """
    machine, path = path_of(form)
    inputs, state = form.states(path.last, form.topology.retained)
    weights = B.placeholder(shape=(form.n_chains,), dtype="float64")
    cold, warm = (B.placeholder(shape=(), dtype=form.dtype) for _ in range(2))
    gain, known = path.log_ratio(cold, warm, state)
    observed, _ = form.states(path.last, (0,) if missing else ())
    moved = path.sweep(cold, state, form.n_chains, streams, known, next(iter(observed), None))
    found = [decoded(path.last, layer, moved[layer]) for layer in form.topology.retained]
    found.append(weights + B.cast(gain, "float64"))
    if measured:
        found.append(B.cast(energy_within(path.excess, moved, form.topology.layers), "float64"))
    return [*inputs, weights, *machine, *observed, cold, warm], found


def _record_ratio(form: Form, streams: ChainStreams) -> Recorded:
    machine, path = path_of(form)
    inputs, state = form.states(path.last, form.topology.retained)
    cold, warm = (B.placeholder(shape=(), dtype=form.dtype) for _ in range(2))
    return [*inputs, *machine, cold, warm], [path.log_ratio(cold, warm, state)[0]]
