"""The negative phase: where the model's own states come from in a step of learning.

A way of training is a class here: what it keeps from step to step, as Variables by name, how it makes states up, and
what each of them counts. `training` puts its states beside those of the data, and knows no more of it.

References
----------
G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.namespace import array_namespace

from .bridging import LadderEstimate
from .energy import Parameters, draw_layer, local_field, mean_of, shape_of, sweep, variable
from .recording import State, repeated
from .topology import Topology

__all__ = ["ContrastiveDivergence", "NegativePhase", "PersistentChains", "chain_layers"]


class NegativePhase(Protocol):
    """One way to make states up, for one model.

    Attributes
    ----------
    arrays : dict of str to Variable
        What it keeps from step to step, and in files.
    needs_rows : bool
        Whether a compiled step is for one number of rows: what is drawn is drawn for each of them.
    """

    arrays: dict[str, Array]
    needs_rows: bool

    @property
    def pace(self) -> Any:
        """What the learning rate is multiplied by, a Tensor; or 1."""
        ...

    @property
    def key(self) -> Hashable:
        """What tells its compiled steps, and the random streams in them, from others of the same model."""
        ...

    def begin(self, count: int, base: Callable[[], Any]) -> None:
        """Make what it keeps, where that is not there: so many chains, and the base-rate model's visible biases."""
        ...

    def draw(self, given: Sequence[Array], rows: int | None, rng: Streams) -> tuple[State, Updates]:
        """States of ``topology.retained`` that the model makes up, given those of rows; and updates of streams."""
        ...

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array], rng: Streams) -> Updates:
        """What is kept for the next step: `states` are those drawn, with those of the data after them."""
        ...

    def weights(self, rows: int) -> list[float]:
        """What each state made up counts beside so many rows; -1 in all."""
        ...

    def follow(self, number: int) -> bool:
        """Look, after a step of a pass, whether the model has outgrown what is kept; compiled steps are void then."""
        ...

    def weighed(self, compiled: Callable[..., Any], steps: int, rng: Streams) -> LadderEstimate | None:
        """Log Z of the model as it is after a pass of so many steps, if it comes along.

        `compiled` gives the compiled function of a key, as `Model._function` does.
        """
        ...


class ContrastiveDivergence:
    """Chains that start at the rows in each step.

    Parameters
    ----------
    parameters : Parameters
    n_gibbs : int
        Sweeps of a chain.
    means : bool
        Whether hidden layers come with the rows as means, to draw the first states with.
    """

    needs_rows = True
    pace: Any = 1.0
    key: Hashable = "cd"

    def __init__(self, parameters: Parameters, n_gibbs: int, means: bool = True) -> None:
        self.parameters = parameters
        self.n_gibbs = n_gibbs
        self.means = means
        self.arrays: dict[str, Array] = {}

    def begin(self, count: int, base: Callable[[], Any]) -> None:
        """Nothing is kept."""

    def draw(self, given: Sequence[Array], rows: int | None, rng: Streams) -> tuple[State, Updates]:
        """States at the ends of the chains."""
        if rows is None:
            raise ValueError("contrastive divergence needs to know the number of rows")
        parameters, topology = self.parameters, self.parameters.topology
        state: State = [None] * len(topology.sizes)
        for layer in topology.retained:
            drawn = layer and self.means
            state[layer] = draw_layer(parameters, layer, given[layer], rows, rng) if drawn else given[layer]
        for layer in topology.marginalised:
            inputs = local_field(parameters, layer, state)
            state[layer] = draw_layer(parameters, layer, mean_of(parameters, layer, inputs), rows, rng, inputs)
        return swept(parameters, state, rows, self.n_gibbs, rng)

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array], rng: Streams) -> Updates:
        """Nothing goes on."""
        return []

    def weights(self, rows: int) -> list[float]:
        """The same for each; there is one for each row.

        Examples
        --------
        >>> ContrastiveDivergence(None, 1).weights(2)
        [-0.5, -0.5]
        """
        return [-1.0 / rows] * rows

    def follow(self, number: int) -> bool:
        """There is nothing to outgrow."""
        return False

    def weighed(self, compiled: Callable[..., Any], steps: int, rng: Streams) -> LadderEstimate | None:
        """Nothing is known of it."""
        return None


class PersistentChains:
    """Chains that go on from step to step.

    Parameters
    ----------
    parameters : Parameters
    n_gibbs : int
        Sweeps of a chain in each step.
    arrays : dict of str to Variable
        The states that the chains have come to, in the layers of `chain_layers`, of shape (chains, units).
    """

    needs_rows = False
    pace: Any = 1.0
    key: Hashable = "pcd"

    def __init__(self, parameters: Parameters, n_gibbs: int, arrays: dict[str, Array]) -> None:
        self.parameters = parameters
        self.n_gibbs = n_gibbs
        self.arrays = arrays
        self._names = {layer: f"chain.{layer}" for layer in chain_layers(parameters.topology)}

    @property
    def _chains(self) -> dict[int, Any]:
        return {layer: self.arrays[name] for layer, name in self._names.items()}

    def begin(self, count: int, base: Callable[[], Any]) -> None:
        """Chains begin with zeros."""
        for layer, name in self._names.items():
            if name not in self.arrays:
                self.arrays[name] = variable(zeros_of(self.parameters, count, layer), name)

    def draw(self, given: Sequence[Array], rows: int | None, rng: Streams) -> tuple[State, Updates]:
        """States further along the chains."""
        state: State = [None] * len(self.parameters.topology.sizes)
        length = 0
        for layer, chain in self._chains.items():
            state[layer], length = chain, shape_of(chain)[0]
        return swept(self.parameters, state, length, self.n_gibbs, rng)

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array], rng: Streams) -> Updates:
        """A step ends with drawing the group that is summed out, whose means the gradient needs as well."""
        updates = []
        for layer, chain in self._chains.items():
            length = shape_of(chain)[0]
            if layer in self.parameters.topology.marginalised:
                inputs = local_field(self.parameters, layer, states)
                means = mean_of(self.parameters, layer, inputs)[:length]
                updates.append((chain, draw_layer(self.parameters, layer, means, length, rng, inputs[:length])))
            else:
                updates.append((chain, drawn[layer]))
        return updates

    def weights(self, rows: int) -> list[float]:
        """The same for each chain."""
        count = shape_of(next(iter(self._chains.values())))[0]
        return [-1.0 / count] * count

    def follow(self, number: int) -> bool:
        """Chains follow the model by themselves, or they do not."""
        return False

    def weighed(self, compiled: Callable[..., Any], steps: int, rng: Streams) -> LadderEstimate | None:
        """Nothing is known of it."""
        return None


def chain_layers(topology: Topology) -> list[int]:
    """The layers that tell a persistent chain between two steps.

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


def zeros_of(parameters: Parameters, rows: int, layer: int) -> Any:
    """So many states of a layer, zeros, of the library and dtype of the model."""
    like = parameters.biases[0].value
    return array_namespace(like).zeros((rows, parameters.topology.sizes[layer]), dtype=like.dtype)
