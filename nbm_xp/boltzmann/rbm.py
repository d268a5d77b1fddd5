"""The restricted Boltzmann machine as a scikit-learn estimator: hyperparameters and methods of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.machines.randomness import stream
from nbm_xp.machines.rows import known_length
from nbm_xp.machines.units import kind_of
from nbm_xp.machines.units.base import RAREST
from nbm_xp.namespace import array_namespace, asarray, host_namespace, library_name, to_numpy
from nbm_xp.namespace.errors import name_methods, positive_int
from nbm_xp.rng import Generator, RandomStreams
from nbm_xp.tape import Function

from .energy import Parameters, expectation, free_energy
from .formats import FormatsMixin
from .model import Model
from .recording import compile_sweep, pseudo_likelihood, rows_placeholder
from .state import MachineState, set_values, transposed


@name_methods
@dataclass(eq=False, repr=False)
class RBM(FormatsMixin, Model):
    """A restricted Boltzmann machine: a visible and a hidden layer, of units of any kind.

    Parameters
    ----------
    n_components : int, optional
        Number of hidden units.
    learning_rate : float, optional
        Learning rate of gradient ascent on the mean log-likelihood.
    batch_size : int, optional
        Number of rows in a minibatch, and of persistent chains: at most the number of rows of `fit`, or of the first
        call of `partial_fit`. `fit` computes a minibatch of more than 500 rows in blocks: see `nbm_xp.runs.train`.
    n_iter : int, optional
        Number of epochs of `fit`.
    verbose : int, optional
        Whether `fit` writes a line after each epoch.
    random_state : int, None, or generator, optional
        The seed: the same seed gives the same model and the same chains. None draws a new seed for each training.
    training : str or TrainingMethod, optional
        The training method: a name in `nbm_xp.boltzmann.training_methods.METHODS`, or an object of one of its classes,
        which describe the chains of their negative phases and have parameters of their own. ``"pcd"`` is `PCD`,
        ``"cd"`` is `CD`; ``"ptt"``, `PTT`, crosses between modes and also estimates log Z.
    n_gibbs : int, optional
        Number of Gibbs sweeps in each step: k of CD-k and PCD-k.
    optimizer : {"sgd", "adam"} or SGD or Adam, optional
        Gradient ascent, or Adam. The objects have a momentum and a weight decay.
    schedule : {"auto", "constant", "linear", "quadratic", "exponential", "step"} or callable, optional
        Decay of the learning rate over the epochs of `fit`: none; linear or quadratic to 0; exponential to a hundredth;
        or to a tenth after half and a hundredth after three quarters of the epochs. A callable takes the numbers of
        epochs done and in all, and returns the factor. With persistent chains, ``"linear"`` ends closer to the maximum
        than ``"constant"``. ``"auto"`` is ``"quadratic"`` with ``"ptt"``, else ``"constant"``.
    shuffle : bool, optional
        Whether each epoch of `fit` takes the rows in a new order, shuffled within windows of 16,384 rows.
    visible : str, optional
        The kind of visible units: "binary", 0 or 1; "spin", -1 or 1, rows then having values in [-1, 1]; "gaussian",
        real numbers with variance 1 given the hidden units (standardise each feature to variance 1); "normal", real
        numbers with learned variances (standardise them too); "categorical:Q", features with one of Q states each,
        whole numbers from 0 to Q - 1 in rows; or columns of several kinds, "3*normal+2*categorical:5".
    hidden : str, optional
        The kind of hidden units: one of these, or "relu", real numbers of at least 0, or "drelu", real numbers with a
        learned distribution. Of categorical and "drelu" units, `n_components` is the number of sites, which have Q
        units and three units each.
    diagnostics : bool or "auto", optional
        Whether `fit` estimates the log-likelihood from time to time by annealed importance sampling, measures the
        mixing of chains from distant rows, and warns if training fails. ``"auto"`` spends a fiftieth of the steps on
        it, and none in trainings of fewer than 2,500 steps; True diagnoses each epoch. The parameters of the model do
        not depend on it. ``"ptt"`` estimates the log-likelihood after each epoch in any case.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features_in_)
        The weights.
    intercept_hidden_, intercept_visible_ : array
        The biases.
    h_samples_ : array of shape (min(batch_size, rows), n_components)
        The hidden units of the persistent chains.
    base_rate_ : array of shape (n_features_in_,)
        The smoothed means of the visible units in the data, from which `sample` and `ais` start.
    n_features_in_, n_iter_, n_samples_seen_ : int
        Numbers of visible sites, of epochs done, and of rows seen.
    feature_names_in_ : numpy.ndarray of str objects
        The names of the columns, if the rows were a table with names.
    diagnostics_ : list of Diagnostics
        The diagnostics of the training.
    log_likelihoods_ : list of tuple
        For each of them the number of epochs, the mean log-likelihood of rows, and its standard error.

    Notes
    -----
    The model has the dtype of the first rows if that is float32 or float64; whole numbers give float64, as in
    scikit-learn, bool and float16 give ``floatx``. Other rows are cast to it. All methods clip finite values of binary
    units to [0, 1], and of spins to [-1, 1], with a warning. Visible biases start at the log-odds of the base rate
    (Hinton 2010, section 8.1), weights at normal numbers with standard deviation 0.01, hidden biases at 0.

    The uniform numbers of a draw depend on the seed and the order of the calls alone, to the last bit, on every library
    and for every chunking. A unit is drawn by comparing one with a probability, whose last bits may differ between
    libraries; so chains agree except where the two are equal up to rounding.

    References
    ----------
    T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
    G. E. Hinton, "A practical guide to training restricted Boltzmann machines", UTML TR 2010-003.
    J. Melchior, A. Fischer and L. Wiskott, "How to center deep Boltzmann machines", JMLR 17 (2016).
    N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
    machines", ICLR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], dtype="float32")
    >>> rows = np.tile(pairs, (25, 1))
    >>> rbm = RBM(8, learning_rate=0.5, n_iter=200, schedule="linear", random_state=0).fit(rows)
    >>> bool(rbm.log_likelihood(rows).mean() > -1.7)  # -2 log 2 = -1.39 at best; -4 log 2 = -2.77 for single units
    True
    >>> rbm.transform(rows).shape, rbm.gibbs(rows).shape
    ((100, 8), (100, 4))
    """

    n_components: int = 256
    learning_rate: float = 0.1
    batch_size: int = 10
    n_iter: int = 10
    verbose: int = 0
    random_state: RandomState = None
    _: KW_ONLY
    hidden: str = "binary"

    @classmethod
    def from_parameters(
        cls,
        components: Array,
        intercept_hidden: Array,
        intercept_visible: Array,
        *,
        base_rate: Rows = None,
        **params: Any,
    ) -> Self:
        """Create a model with given parameters.

        Parameters
        ----------
        components : array of shape (hidden units, visible units)
            The weights. The model takes their library and, if it is float32 or float64, their dtype. A Dask array stays
            lazy: `nbm_xp.storage.chunked.open_array` or ``dask.array.from_zarr`` opens weights larger than memory.
        intercept_hidden, intercept_visible : array
            The biases.
        base_rate : array of shape (visible units,), optional
            The means of the visible units in the data, from which chains and annealing start: one half by default, or 0
            for real numbers.
        **params
            Hyperparameters.

        Raises
        ------
        ValueError
            If the shapes do not match, or values are not finite. Values of Dask arrays are not checked.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
        >>> round(rbm.log_partition(), 4)  # 32 states, each of weight 1
        3.4657
        """
        if getattr(components, "ndim", None) != 2:
            raise ValueError("components must be an array of shape (hidden units, visible units)")
        n_hidden, n_visible = components.shape
        model = cls(**params)
        low, high = kind_of(model.visible, "visible", hidden=False), kind_of(model.hidden, "hidden")
        sites = high.sites(int(n_hidden))
        if params.get("n_components", sites) != sites:
            raise ValueError(f"n_components must be the {sites} rows of components, got {model.n_components!r}")
        model.n_components = sites
        topology = model.layers_for(low.sites(int(n_visible)))
        given = {"components": transposed(components), "intercept_visible": intercept_visible}
        given["intercept_hidden"] = intercept_hidden
        model.state_ = MachineState.of_parameters(cls.__name__, topology, given, base_rate, model.random_state)
        return model

    @property
    def components_(self) -> Array:
        """The weights, an array of shape (hidden units, visible units)."""
        return self.state_.parameters.weights[0].value.T

    @components_.setter
    def components_(self, value: Array) -> None:
        now = self.components_
        value = asarray(value, array_namespace(now), now.dtype)
        if value.shape != now.shape:
            raise ValueError(f"components_ must have shape {tuple(now.shape)}, got {tuple(value.shape)}")
        self.state_.parameters.weights[0].set_value(transposed(value))

    @property
    def intercept_hidden_(self) -> Array:
        """The biases of the hidden units, an array."""
        return self.state_.parameters.biases[1].value

    @intercept_hidden_.setter
    def intercept_hidden_(self, value: Array) -> None:
        set_values(self.state_.parameters.biases[1:], [value], ["intercept_hidden_"])

    @property
    def intercept_visible_(self) -> Array:
        """The biases of the visible units, an array."""
        return self.state_.parameters.biases[0].value

    @intercept_visible_.setter
    def intercept_visible_(self, value: Array) -> None:
        set_values(self.state_.parameters.biases[:1], [value], ["intercept_visible_"])

    @property
    def h_samples_(self) -> Array:
        """The hidden units of the persistent chains, an array of shape (chains, hidden units)."""
        variables = self.state_.variables
        if "chain.1" not in variables:
            raise AttributeError("h_samples_: there are no persistent chains yet")
        return variables["chain.1"].value

    def _of_rows(self, X: Array, name: str, formula: Callable[[Parameters, Sequence[Array]], Array]) -> Array:
        """Return the values of a formula for rows of visible units."""

        def build() -> Function:
            given, visible = rows_placeholder(self.state_.parameters, None)
            return B.function([given], formula(self.state_.parameters, (visible, None)), name=name)

        return self.state_.function(name, build)(X)

    def _hidden_means(self, X: Array) -> Array:
        return self._of_rows(X, "transform", lambda parameters, state: expectation(parameters, 1, state))

    def _free_energy(self, X: Array) -> Array:
        return self._of_rows(X, "free_energy", free_energy)

    def _has_listed_states(self) -> bool:
        visible = kind_of(self.visible, "visible", hidden=False)
        if visible.radices(visible.size(visible.fewest)) is None:
            raise AttributeError(
                "score_samples needs visible units with a list of states: compare free_energy of others"
            )
        return True

    @available_if(_has_listed_states)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Rows, *, n_chains: int | None = None) -> Array:
        """Return an unbiased estimate of the log-pseudo-likelihood of each row.

        It is the number of sites times the log-probability of one site, chosen at random, given the others. The choice
        is the same in each call, and the random streams of the model do not advance.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1]. In rows with missing values, NaN, only the others count, and the probability of one given
            these is an average along chains, as in `transform`.
        n_chains : int, optional
            See `log_likelihood`.

        Returns
        -------
        array of shape (rows,)
        """
        X = self.state_.checked_rows(X, missing=True, all_drawn=n_chains is not None)
        known_length(X)
        return self._by_rows(X, self._scores, self._average_scores, n_chains)[0]

    def _scores(self, X: Array) -> Array:
        rows = int(X.shape[0])
        score, rng = self.state_.function(("score", rows), lambda: self._compile_score(rows))
        rng.seed()
        return score(X)

    def _average_scores(self, X: Array, per_row: int) -> list[Array]:
        """Return the result of `score_samples` for rows with missing values: see `MissingValuesMixin._by_rows`."""
        xp, units, there = array_namespace(X), self.state_.topology.units[0], B.equal(X, X)
        uniforms = Generator(self.state_.seed, library=library_name(host_namespace())).random(tuple(map(int, X.shape)))
        place = B.argmax(xp.where(there, 1 + asarray(uniforms, xp), 0), axis=1)
        chosen = there & (place[:, None] == xp.arange(X.shape[1])[None, :])
        means, errors, _ = self._conditional_means(xp.where(chosen, math.nan, X), 0, per_row, 100)
        at, none = B.cast(units.per_unit(chosen), B.dtype(means)), xp.zeros_like(X[:1, :])
        apart = at * B.abs(units.encoded(xp.where(there, X, none)) - means)
        whole = at * B.abs(units.of_indices(none + 1) - units.of_indices(none))  # between two states of a site
        shares = 1 - B.sum(apart, axis=1) / B.maximum(B.sum(whole, axis=1), 1.0)
        found = B.log(B.maximum(shares, RAREST)) * B.sum(B.cast(there, B.dtype(means)), axis=1)
        return [found, errors[:, 0], B.cast(B.any(~there, axis=1), B.dtype(means))]

    def _compile_score(self, rows: int) -> tuple[Function, RandomStreams]:
        rng = stream(self.state_.seed, "score")
        given, visible = rows_placeholder(self.state_.parameters, rows)
        found = pseudo_likelihood(self.state_.parameters, visible, rows, rng)
        return B.function([given], found, name="score"), rng

    def gibbs(self, v: Rows) -> Array:
        """Do one sweep of Gibbs sampling: draw hidden units given the rows, then visible units given the hidden ones.

        Parameters
        ----------
        v : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows, n_features_in_)
            New visible states in the model's dtype; each call draws new ones.
        """
        v = self.state_.checked_rows(v, "v")
        rows = known_length(v, "v")
        build = partial(compile_sweep, self.state_.parameters, rows, self.state_.rng)
        return self.state_.function(("gibbs", rows), build)(v)[0]

    def _layers(self) -> tuple[list[Any], None]:
        return [None, positive_int(self.n_components, "n_components")], None

    def measure(self, X: Rows) -> tuple[str, float]:
        """Return the name and the value of the measure of fit that `verbose` reports for rows."""
        if self.state_.topology.radices(0) is None:
            return super().measure(X)
        return "pseudo-likelihood", float(to_numpy(B.mean(self.score_samples(X))))
