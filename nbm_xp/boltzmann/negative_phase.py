"""The negative phase: the states of the model in a training step.

A `NegativePhase` defines the Variables that a training method stores from step to step, and how it draws states.
`learning_step` combines these states with those of the data.

References
----------
G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from sklearn.base import BaseEstimator

from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.errors import positive_int

from .bridging import LadderEstimate
from .energy import Parameters, draw_layer, local_field, mean_of, sample_layer, sweep
from .optimizers import check_flag
from .recording import State, repeated
from .state import MachineState
from .topology import Topology


class NegativePhase:
    """The source of a model's states in training steps.

    Parameters
    ----------
    state : MachineState
        Its `variables` are stored from step to step, and in files.
    method : TrainingMethod
    n_gibbs : int
        Number of Gibbs sweeps in each step.
    """

    needs_rows = False  # whether states are drawn for each row, so that a compiled step is for one number of rows

    is_block = False  # whether the chains are a block of those of the training, after `prepare`

    def __init__(self, state: MachineState, method: TrainingMethod, n_gibbs: int) -> None:
        self.state, self.method, self.n_gibbs = state, method, n_gibbs

    @property
    def parameters(self) -> Parameters:
        """The parameters of the model."""
        return self.state.parameters

    @property
    def key(self) -> Hashable:
        """Key of the compiled steps and their random streams, unique among those of the model."""
        return self.method.name

    def begin(self, count: int) -> None:
        """Create the stored Variables for `count` chains, unless they exist."""

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """Draw states of ``topology.retained``, given those of rows; return them and updates."""
        raise NotImplementedError

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """Return updates for the next step: `states` are those drawn, followed by those of the data."""
        return []

    def paced(self, moved: Callable[[Array], Sequence[Array]]) -> tuple[Array, Updates]:
        """Return the factor of a step, and updates; `moved` returns the parameters after a step with a factor."""
        return 1.0, []

    def count(self, rows: int) -> int:
        """Return the number of states that are drawn for a minibatch of `rows` rows."""
        raise NotImplementedError

    @property
    def chain_axes(self) -> dict[str, int]:
        """The names of the stored Variables with an axis of chains, and this axis."""
        return {}

    @property
    def changing(self) -> set[str]:
        """The names of the stored Variables that a step changes."""
        return set(self.chain_axes)

    def prepare(self) -> None:
        """Do what a step begins with and what needs all chains; the chains are then divided into blocks."""

    def join(self, blocks: Sequence[Mapping[str, Array]]) -> None:
        """Store the Variables after a step, given those of each block of chains, in order."""
        for name, axis in self.chain_axes.items():
            parts = [block[name] for block in blocks]
            self.state.variables[name].set_value(array_namespace(*parts).concat(parts, axis=axis))

    def follow(self, number: int) -> bool:
        """Adapt the stored Variables after a step; return whether steps must be compiled again."""
        return False

    def estimate(self, steps: int) -> LadderEstimate | None:
        """Return log Z of the model after an epoch of `steps` steps, or None if the phase does not estimate it."""
        return None


@dataclass(eq=False, repr=False)
class TrainingMethod(BaseEstimator):  # type: ignore[misc]
    """A training method.

    Parameters
    ----------
    centred : bool, optional
        Whether to use centred gradients, with respect to units minus their sliding means: the model is the same, and
        training is invariant to flipped data. By default True for deep machines and `PTT`, whose offsets differ from
        the means, else False.
    average : bool, optional
        Whether `fit` ends with the weighted mean of the parameters over the last quarter of its steps, which removes
        the noise of minibatches and chains at a constant learning rate. By default True for `PTT`, else False.
    positive : {"mean_field", "gibbs"}, optional
        The positive phase of deep machines: means of hidden layers in mean-field approximation, or states drawn along
        short chains.
    n_positive : int, optional
        Number of sweeps of the positive phase of deep machines, and of those that draw the missing values of rows.

    Attributes
    ----------
    name : str
    schedule : str
        Default schedule of the learning rate.
    momentum : float
        Default momentum of `SGD`.

    Examples
    --------
    >>> from nbm_xp.boltzmann import PTT, RBM
    >>> RBM(16, training=PTT(average=False)).get_params()["training__average"]
    False
    """

    _: KW_ONLY
    centred: bool | None = None
    average: bool | None = None
    positive: str = "mean_field"
    n_positive: int = 10

    name: ClassVar[str]
    phase: ClassVar[type[NegativePhase]]
    schedule: ClassVar[str] = "constant"
    momentum: ClassVar[float] = 0.0
    is_centred: ClassVar[bool] = False
    is_averaged: ClassVar[bool] = False

    @property
    def hidden_means(self) -> bool:
        """Whether hidden layers of the data that are not summed out are means, not drawn states."""
        return self.positive == "mean_field"

    def check(self) -> None:
        """Raise `ValueError` for invalid parameters."""
        for name in ("centred", "average"):
            check_flag(getattr(self, name), name, None)
        positive_int(self.n_positive, "n_positive")
        if self.positive not in ("mean_field", "gibbs"):
            raise ValueError(f"positive must be 'mean_field' or 'gibbs', got {self.positive!r}")


class ContrastiveDivergence(NegativePhase):
    """Chains that start at the rows of the minibatch in each step."""

    needs_rows = True

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """Return the states at the ends of the chains."""
        if rows is None:
            raise ValueError("contrastive divergence needs to know the number of rows")
        parameters, topology, rng = self.parameters, self.parameters.topology, self.state.rng
        state: State = [None] * len(topology.sizes)
        for layer in topology.retained:
            drawn = layer and self.method.hidden_means  # whether these are means to draw the first states with
            state[layer] = draw_layer(parameters, layer, given[layer], rows, rng) if drawn else given[layer]
        for layer in topology.marginalised:
            state[layer], _ = sample_layer(parameters, layer, local_field(parameters, layer, state), rows, rng)
        return swept(parameters, state, rows, self.n_gibbs, rng)

    def count(self, rows: int) -> int:
        """Return the number of rows: one chain for each."""
        return rows


class PersistentChains(NegativePhase):
    """Chains that continue from step to step; the states of the layers of `chain_layers` are stored."""

    @property
    def chains(self) -> dict[int, Array]:
        """Current states of the chains, Variables of shape (chains, units)."""
        return {layer: self.state.variables[f"chain.{layer}"] for layer in chain_layers(self.parameters.topology)}

    @property
    def chain_axes(self) -> dict[str, int]:
        """See `NegativePhase`."""
        return {f"chain.{layer}": 0 for layer in chain_layers(self.parameters.topology)}

    def begin(self, count: int) -> None:
        """Create chains of zeros, unless they exist."""
        topology, like = self.parameters.topology, self.state.like
        for layer in chain_layers(topology):
            zeros = array_namespace(like).zeros((count, topology.sizes[layer]), dtype=like.dtype)
            self.state.stored(f"chain.{layer}", zeros)

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """Return the next states of the chains."""
        state: State = [self.chains.get(layer) for layer in self.parameters.topology.layers]
        return swept(self.parameters, state, self.count(0), self.n_gibbs, self.state.rng)

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """Return updates of the chains: the group that is summed out is drawn last, with the means of the gradient."""
        parameters, length, updates = self.parameters, self.count(0), []
        for layer, chain in self.chains.items():
            new = drawn[layer]
            if layer in parameters.topology.marginalised:
                inputs = local_field(parameters, layer, states)
                means = mean_of(parameters, layer, inputs)[:length]
                new = draw_layer(parameters, layer, means, length, self.state.rng, inputs[:length])
            updates.append((chain, new))
        return updates

    def count(self, rows: int) -> int:
        """Return the number of chains."""
        return int(next(iter(self.chains.values())).value.shape[0])


def chain_layers(topology: Topology) -> list[int]:
    """Return the layers whose states a persistent chain stores between two steps.

    A step ends with drawing the group that is summed out, so these are all layers except those that are drawn next.

    Examples
    --------
    >>> chain_layers(Topology([6, 5])), chain_layers(Topology([6, 5, 4, 3]))
    ([1], [1, 3])
    """
    following = topology.sweep[1]
    return [layer for layer in topology.layers if layer not in following]


def swept(parameters: Parameters, state: State, rows: int, n_gibbs: int, rng: Streams) -> tuple[State, Updates]:
    """Do `n_gibbs` sweeps, of which the first does not draw the group that is summed out: its state is given."""
    topology = parameters.topology
    state, _ = sweep(parameters, state, rows, rng, clamped=topology.marginalised)
    if n_gibbs == 1:
        return state, []
    return repeated(lambda now: sweep(parameters, now, rows, rng)[0], state, topology.retained, n_gibbs - 1)


def tree_sums(parts: Iterable[Sequence[Array]]) -> list[Array]:
    """Return the sums of several arrays over blocks: of neighbours first, then of neighbouring sums.

    The sums over groups of `2**n` blocks give the same, in every bit. Few sums are in memory at once.

    Examples
    --------
    >>> tree_sums([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    [6.0, 60.0]
    """
    stack: list[tuple[int, list[Array]]] = []  # of how many blocks, as powers of two, and their sums
    for part in parts:
        power, sums = 0, list(part)
        while stack and stack[-1][0] == power:
            power, sums = power + 1, _added(stack.pop()[1], sums)
        stack.append((power, sums))
    return functools.reduce(lambda right, left: _added(left[1], right), reversed(stack[:-1]), stack[-1][1])


def _added(left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
    return [one + other for one, other in zip(left, right, strict=True)]
