"""Deep Boltzmann machines as scikit-learn estimators: hyperparameters and methods of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.namespace import array_namespace, is_lazy
from nbm_xp.namespace.errors import checked_number, name_methods, positive_int

from .model import Model
from .posterior import compile_mean_field
from .recording import compile_sweep
from .state import MachineState, set_values

_TOLERANCE, _SWEEPS = 1e-4, 100


@name_methods
@dataclass(eq=False, repr=False)
class DBM(Model):
    """A deep Boltzmann machine: a visible layer and any number of hidden ones.

    Parameters
    ----------
    layers : sequence of int, or None and int
        Number of units of each layer, the visible layer first; of categorical layers, of sites. None for the visible
        layer is the number of features of the rows.
    learning_rate : float, optional
        Learning rate of gradient ascent on the lower bound of the mean log-likelihood.
    batch_size, n_iter, verbose, random_state
        As for `RBM`.
    connections : iterable of pairs of int, optional
        Pairs of connected layers; by default each layer and the next. In ``[(0, 1), (1, 2), (0, 2)]`` one connection
        skips a layer.
    visible : str, optional
        The kind of visible units, as for `RBM`.
    hidden : str, or sequence of str, optional
        The kind of hidden units, or a list with the kind of each hidden layer, as for `RBM`; "relu" and "drelu" only in
        layers that a sweep draws first, such as the first and the third hidden layer of a plain stack.
    training : str or TrainingMethod, optional
        As for `RBM`. All methods use centred gradients unless the object says otherwise, so that all layers learn
        together. The object also chooses between mean-field and Gibbs sampling in the positive phase.
    n_gibbs, optimizer, schedule, shuffle, diagnostics
        As for `RBM`.

    Attributes
    ----------
    coefs_ : list of array
        The weights of each connection, of shape (units of the lower layer, units of the higher layer).
    intercepts_ : list of array
        The biases of each layer.
    base_rate_ : array of shape (n_features_in_,)
        The smoothed means of the visible units in the data.
    n_features_in_, n_iter_, n_samples_seen_ : int
        Numbers of visible sites, of epochs done, and of rows seen.
    feature_names_in_ : numpy.ndarray of str objects
        The names of the columns, if the rows were a table with names.

    References
    ----------
    R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
    G. Montavon and K.-R. Müller, "Deep Boltzmann machines and the centering trick", in Neural Networks: Tricks of the
    Trade, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], dtype="float32")
    >>> rows = np.tile(pairs, (25, 1))
    >>> dbm = DBM([4, 6, 3], 0.5, batch_size=20, n_iter=150, n_gibbs=3, schedule="linear", random_state=0).fit(rows)
    >>> bool(dbm.log_likelihood(rows).mean() > -2.0)  # a bound; -2 log 2 = -1.39 at best, -4 log 2 = -2.77 for units
    True
    >>> dbm.transform(rows).shape, dbm.sample(5, 10).shape
    ((100, 3), (5, 4))
    """

    is_centred = True

    layers: Sequence[int | None]
    learning_rate: float = 0.05
    batch_size: int = 100
    n_iter: int = 10
    verbose: int = 0
    random_state: RandomState = None
    _: KW_ONLY
    connections: Iterable[Sequence[int]] | None = None
    hidden: str | Sequence[str] = "binary"

    @property
    def coefs_(self) -> list[Array]:
        """The weights of each connection."""
        return [weights.value for weights in self.state_.parameters.weights]

    @coefs_.setter
    def coefs_(self, values: Sequence[Array]) -> None:
        self._set_all(self.state_.parameters.weights, values, "coefs_")

    @property
    def intercepts_(self) -> list[Array]:
        """The biases of each layer."""
        return [biases.value for biases in self.state_.parameters.biases]

    @intercepts_.setter
    def intercepts_(self, values: Sequence[Array]) -> None:
        self._set_all(self.state_.parameters.biases, values, "intercepts_")

    def _set_all(self, variables: Sequence[Array], values: Sequence[Array], name: str) -> None:
        if len(values) != len(variables):
            raise ValueError(f"{name} must be {len(variables)} arrays, got {len(values)}")
        set_values(variables, values, [f"{name}[{place}]" for place in range(len(values))])

    @classmethod
    def from_parameters(
        cls, coefs: Sequence[Array], intercepts: Sequence[Array], *, base_rate: Rows = None, **params: Any
    ) -> Self:
        """Create a model with given parameters.

        Parameters
        ----------
        coefs : sequence of array
            The weights, one for each connection in the order of ``Topology.connections``, of shape (units of the lower
            layer, units of the higher layer). The model takes the library of the first and, if it is float32 or
            float64, its dtype.
        intercepts : sequence of array
            The biases, one for each layer.
        base_rate : array of shape (visible units,), optional
            The means of the visible units in the data: one half by default, or 0 for real numbers.
        **params
            Hyperparameters; `layers` follow from the biases.

        Raises
        ------
        ValueError
            If the numbers of arrays or their shapes do not match, or values are not finite. Values of Dask arrays are
            not checked.

        Examples
        --------
        >>> import numpy as np
        >>> weights, biases = [np.zeros((2, 3)), np.zeros((3, 2))], [np.zeros(2), np.zeros(3), np.zeros(2)]
        >>> round(DBM.from_parameters(weights, biases).log_partition(), 4)  # 128 states, each of weight 1
        4.852
        """
        for bias in intercepts:
            if getattr(bias, "ndim", None) != 1:
                raise ValueError("intercepts must be arrays with one axis, one for each layer")
        model = cls(**{"layers": [0] * len(intercepts)} | params)
        if "layers" not in params:
            pairs = zip(model._kinds(len(intercepts)), intercepts, strict=True)
            model.layers = [kind.sites(int(bias.shape[0])) for kind, bias in pairs]
        topology = model.layers_for()
        if len(coefs) != len(topology.connections):
            raise ValueError(f"coefs must be {len(topology.connections)} arrays, one for each connection of {topology}")
        given = {f"coefs[{place}]": weights for place, weights in enumerate(coefs)}
        given |= {f"intercepts[{place}]": biases for place, biases in enumerate(intercepts)}
        model.state_ = MachineState.of_parameters(cls.__name__, topology, given, base_rate, model.random_state)
        return model

    def mean_field(self, X: Rows, *, tolerance: float = _TOLERANCE, max_iterations: int = _SWEEPS) -> list[Array]:
        """Return the means of all hidden units given rows of visible units, in mean-field approximation.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
        tolerance : float, optional
            A row has converged when no mean changes by more than this in a sweep.
        max_iterations : int, optional
            Largest number of sweeps. On Dask each block of rows is one task, which does all of them.

        Returns
        -------
        list of array
            For each hidden layer, of shape (rows, units).

        Examples
        --------
        >>> import numpy as np
        >>> weights, biases = [np.ones((2, 1)), np.zeros((1, 1))], [np.zeros(2), np.zeros(1), np.zeros(1)]
        >>> DBM.from_parameters(weights, biases).mean_field([[0, 0], [1, 1]])
        [array([[0.5       ], [0.88079708]]), array([[0.5], [0.5]])]
        """
        return self._converge(self.state_.checked_rows(X), tolerance, max_iterations)[:-1]

    def _hidden_means(self, X: Array) -> Array:
        return self._converge(X, _TOLERANCE, _SWEEPS)[-2]

    def _free_energy(self, X: Array) -> Array:
        return self._converge(X, _TOLERANCE, _SWEEPS)[-1]

    def score_samples(self, X: Rows) -> Array:
        """Return the negative of `free_energy`: comparable between rows, not between models.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows,)
        """
        return -self.free_energy(X)

    def gibbs(self, states: Sequence[Array]) -> list[Array]:
        """Do one sweep of Gibbs sampling: draw each group of unconnected layers given all the others.

        Parameters
        ----------
        states : sequence of array
            A state of shape (rows, units) for each layer; layers that a sweep draws first may be None.

        Returns
        -------
        list of array
            The new states of all layers; each call draws new ones.
        """
        given = self.state_.checked_whole(states, "states")
        rows = int(given[0].shape[0])
        build = partial(compile_sweep, self.state_.parameters, rows, self.state_.rng)
        return list(self.state_.function(("gibbs", rows), build)(*given.values()))

    def _converge(self, X: Rows, tolerance: float, max_iterations: int) -> list[Array]:
        sweeps = positive_int(max_iterations, "max_iterations")
        lazy, near = is_lazy(array_namespace(X)), checked_number(tolerance, "tolerance", 1)
        build = partial(compile_mean_field, self.state_.parameters, near, sweeps, in_blocks=lazy)
        return list(self.state_.function(("mean_field", near, sweeps, lazy), build)(X))

    def _layers(self) -> tuple[list[Any], Iterable[Sequence[int]] | None]:
        return list(self.layers), self.connections
