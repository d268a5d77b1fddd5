"""The negative phase: where the model's own states come from in a step of learning.

`NegativePhase` says what a training method decides: what it keeps from step to step, as Variables by name, how it draws
states, and what each of them counts. `learning_step` puts these states beside those of the data.

References
----------
G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from sklearn.base import BaseEstimator

from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import array_namespace

from .bridging import LadderEstimate
from .energy import Parameters, draw_layer, local_field, mean_of, sample_layer, shape_of, sweep
from .optimizers import check_flag
from .recording import State, repeated
from .state import MachineState
from .topology import Topology

__all__ = ["ContrastiveDivergence", "NegativePhase", "PersistentChains", "TrainingMethod", "chain_layers"]


class NegativePhase:
    """Where a model's own states come from.

    Parameters
    ----------
    state : MachineState
        Its `variables` hold what is kept from step to step, and in files.
    method : TrainingMethod
    n_gibbs : int
        Sweeps of a chain in each step.
    """

    needs_rows = False
    """Whether a compiled step is for one number of rows: what is drawn is drawn for each of them."""

    pace: Array = 1.0
    """What the learning rate is multiplied by, a Tensor; or 1."""

    def __init__(self, state: MachineState, method: TrainingMethod, n_gibbs: int) -> None:
        self.state, self.method, self.n_gibbs = state, method, n_gibbs

    @property
    def parameters(self) -> Parameters:
        """Those of the model."""
        return self.state.parameters

    @property
    def key(self) -> Hashable:
        """What tells its compiled steps, and the random streams in them, from others of the same model."""
        return self.method.name

    def begin(self, count: int) -> None:
        """Make what is kept, for so many chains, where it is not there."""

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """States of ``topology.retained`` that the model draws, given those of rows; and updates of streams."""
        raise NotImplementedError

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """What is kept for the next step: `states` are those drawn, with those of the data after them."""
        return []

    def count(self, rows: int) -> int:
        """How many states are drawn beside so many rows."""
        raise NotImplementedError

    def follow(self, number: int) -> bool:
        """After a step of an epoch, adapt what is kept to the model; whether steps are to be compiled anew."""
        return False

    def estimate(self, steps: int) -> LadderEstimate | None:
        """Log Z of the model after an epoch of so many steps, if the phase can tell it."""
        return None


@dataclass(eq=False, repr=False)
class TrainingMethod(BaseEstimator):  # type: ignore[misc]
    """A way to train a machine.

    Parameters
    ----------
    centred : bool, optional
        Whether to use centred gradients, those of units minus their sliding means: the model is the same, and training
        is invariant to flipped data. By default for deep machines and `PTT`, whose offsets differ from the means.
    average : bool, optional
        Whether `fit` ends with the weighted mean of the parameters over the last quarter of its steps, which removes
        the noise of minibatches and chains at a constant learning rate. By default for `PTT`.
    positive : {"mean_field", "gibbs"}, optional
        The positive phase of deep machines: means of hidden layers in mean-field approximation, or states drawn along
        short chains.
    n_positive : int, optional
        Number of sweeps of the positive phase.

    Attributes
    ----------
    name : str
    schedule : str
        The schedule of the learning rate by default.
    momentum : float
        The momentum of `SGD` by default.

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
        """Whether hidden layers of the data that are not summed out are means."""
        return self.positive == "mean_field"

    def negative_phase(self, state: MachineState, n_gibbs: int) -> NegativePhase:
        """Where the machine's own states come from."""
        return self.phase(state, self, n_gibbs)

    def check(self) -> None:
        """Raise `ValueError` for parameters that training could not go on with."""
        for name in ("centred", "average"):
            check_flag(getattr(self, name), name, None)
        positive_int(self.n_positive, "n_positive")
        if self.positive not in ("mean_field", "gibbs"):
            raise ValueError(f"positive must be 'mean_field' or 'gibbs', got {self.positive!r}")


class ContrastiveDivergence(NegativePhase):
    """Chains that start at the rows in each step."""

    needs_rows = True

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """States at the ends of the chains."""
        if rows is None:
            raise ValueError("contrastive divergence needs to know the number of rows")
        parameters, topology, rng = self.parameters, self.parameters.topology, self.state.rng
        state: State = [None] * len(topology.sizes)
        for layer in topology.retained:
            drawn = layer and self.method.hidden_means  # means, to draw the first states with
            state[layer] = draw_layer(parameters, layer, given[layer], rows, rng) if drawn else given[layer]
        for layer in topology.marginalised:
            state[layer], _ = sample_layer(parameters, layer, local_field(parameters, layer, state), rows, rng)
        return swept(parameters, state, rows, self.n_gibbs, rng)

    def count(self, rows: int) -> int:
        """One for each row."""
        return rows


class PersistentChains(NegativePhase):
    """Chains that go on from step to step; their states are kept in the layers of `chain_layers`."""

    @property
    def chains(self) -> dict[int, Array]:
        """The states that the chains have come to, Variables of shape (chains, units)."""
        return {layer: self.state.variables[f"chain.{layer}"] for layer in chain_layers(self.parameters.topology)}

    def begin(self, count: int) -> None:
        """Chains begin with zeros."""
        topology, like = self.parameters.topology, self.state.like
        for layer in chain_layers(topology):
            zeros = array_namespace(like).zeros((count, topology.sizes[layer]), dtype=like.dtype)
            self.state.stored(f"chain.{layer}", zeros)

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """States further along the chains."""
        state: State = [self.chains.get(layer) for layer in self.parameters.topology.layers]
        return swept(self.parameters, state, self.count(0), self.n_gibbs, self.state.rng)

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """A step ends with drawing the group that is summed out, whose means the gradient needs as well."""
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
        """How many chains there are."""
        return shape_of(next(iter(self.chains.values())))[0]


def chain_layers(topology: Topology) -> list[int]:
    """The layers whose states a persistent chain keeps between two steps.

    A step ends with drawing the group that is summed out, so these are all layers but those drawn next.

    Examples
    --------
    >>> chain_layers(Topology([6, 5])), chain_layers(Topology([6, 5, 4, 3]))
    ([1], [1, 3])
    """
    following = topology.sweep[1]
    return [layer for layer in topology.layers if layer not in following]


def swept(parameters: Parameters, state: State, rows: int, n_gibbs: int, rng: Streams) -> tuple[State, Updates]:
    """A state after so many sweeps, the first of which finds the group that is summed out drawn already."""
    topology = parameters.topology
    state, _ = sweep(parameters, state, rows, rng, clamped=topology.marginalised)
    if n_gibbs == 1:
        return state, []
    return repeated(lambda now: sweep(parameters, now, rows, rng)[0], state, topology.retained, n_gibbs - 1)
