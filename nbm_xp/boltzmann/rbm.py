"""The restricted Boltzmann machine as a scikit-learn estimator: hyperparameters, and what it computes row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.machines.randomness import stream
from nbm_xp.machines.rows import known_length, positive_int
from nbm_xp.machines.units import kind_of
from nbm_xp.namespace import array_namespace, asarray, to_numpy
from nbm_xp.namespace.errors import name_methods
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Function

from .energy import Parameters, expectation, free_energy
from .model import Model
from .recording import compile_sweep, pseudo_likelihood, rows_placeholder
from .state import transposed

__all__ = ["RBM"]


@name_methods
@dataclass(eq=False, repr=False)
class RBM(Model):
    """A restricted Boltzmann machine: a visible and a hidden layer, of units of any kind.

    Parameters
    ----------
    n_components : int, optional
        The number of hidden units.
    learning_rate : float, optional
        How far a step goes up the gradient of the mean log-likelihood.
    batch_size : int, optional
        Rows in a minibatch, and persistent chains: at most as many as the rows of `fit`, or of the first call of
        `partial_fit`.
    n_iter : int, optional
        How often `fit` goes through the data.
    verbose : int, optional
        Whether `fit` writes a line after each pass.
    random_state : int, None, or generator, optional
        The seed: the same one gives the same model and the same chains. None gives others each time.
    training : {"pcd", "cd", "ptt"} or TrainingMethod, optional
        Where the model's own states come from: chains that go on from step to step (persistent contrastive
        divergence), that start at the minibatch in each (contrastive divergence), or that go on, on a ladder of the
        machines met along the way, and exchange their states (parallel trajectory tempering), which find their way
        between states far apart and estimate log Z besides. `PCD`, `CD` and `PTT` objects have parameters of their own.
    n_gibbs : int, optional
        Sweeps of the chains in each step.
    optimizer : {"sgd", "adam"} or SGD or Adam, optional
        Steps along the gradient, or Adam's, which are of the size of `learning_rate` in each parameter. The objects
        have a momentum and a weight decay.
    schedule : {"auto", "constant", "linear", "quadratic", "exponential", "step"} or callable, optional
        Whether `fit` keeps the learning rate or lowers it, epoch by epoch: to 0, evenly or ever more slowly, to a
        hundredth, or to a tenth after half and a hundredth after three quarters of the epochs. A callable gets the
        number of epochs done and of all, and gives the factor. Persistent chains follow the model the better, the less
        it moves: ``"linear"`` ends closer to the maximum. ``"auto"`` means ``"quadratic"`` with ``"ptt"``, else
        ``"constant"``.
    shuffle : bool, optional
        Whether each epoch of `fit` takes the rows in another order, within windows of 16,384 rows.
    visible : str, optional
        The kind of visible units: "binary", 0 or 1; "spin", -1 or 1, rows then having values in [-1, 1]; "gaussian",
        real numbers with variance 1 given the hidden units (standardise the data, so that each feature has variance
        1); "normal", real numbers whose variances are learned, to be standardised too; "categorical:Q", features with
        one of Q states each, which rows tell by whole numbers from 0 to Q - 1; or columns of several kinds,
        "3*normal+2*categorical:5".
    hidden : str, optional
        The kind of hidden units: one of these, or "relu", real numbers of at least 0. Of categorical ones,
        `n_components` counts the sites, which have Q units each.
    diagnostics : bool or "auto", optional
        Whether `fit` now and then estimates the log-likelihood by a short annealing, sends off chains from rows far
        apart, and warns if learning goes astray. ``"auto"`` spends a fiftieth of the steps on it, some per cent of the
        time, and so leaves alone what is learned in fewer than 2,500 steps; True does it after each epoch, whatever it
        costs. The model becomes the same. ``"ptt"`` estimates the log-likelihood after each epoch in any case.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features_in_)
        The weights.
    intercept_hidden_, intercept_visible_ : array
        The biases.
    h_samples_ : array of shape (min(batch_size, rows), n_components)
        The hidden units of the persistent chains.
    base_rate_ : array of shape (n_features_in_,)
        How often each visible unit is 1 in the data, smoothed, or the mean of Gaussian ones: where `sample` and `ais`
        start.
    n_features_in_, n_iter_, n_samples_seen_ : int
        Visible units; passes of `fit` that are done; rows learned from.
    feature_names_in_ : numpy.ndarray of str objects
        The names of the columns, if rows came in a table with names.
    diagnostics_ : list of Diagnostics
        What was found of the machine in training, with ``"ptt"`` after each epoch.
    log_likelihoods_ : list of tuple
        The same in short: the number of passes, the mean log-likelihood of rows (of tempered training 10,000 at most),
        and its standard error.

    Notes
    -----
    The model has the dtype of the rows it first learns from if that is float32 or float64; whole numbers make it
    float64, as in scikit-learn, bool and float16 ``floatx``. Other rows are cast to it. Finite values outside of those
    that binary units and spins can have are clipped to [0, 1] or [-1, 1], with a warning, by all methods that take
    rows. Visible biases start at the log-odds of the base rate (Hinton 2010, section 8.1), weights normally
    distributed with standard deviation 0.01, hidden biases at 0.

    The uniforms behind every draw follow from the seed and the order of the calls alone, to the last bit, on every
    library and for every chunking. Whether a unit is 1 follows from comparing one with a probability, whose last bits
    may differ between libraries; so chains agree except where the two are as close as rounding.

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
        """A model with given parameters.

        Parameters
        ----------
        components : array of shape (hidden units, visible units)
            The weights. The model takes their library and, if it is float32 or float64, their dtype. A Dask array stays
            one: weights larger than memory are opened with `nbm_xp.storage.chunked.open_array`, or with
            ``dask.array.from_zarr``.
        intercept_hidden, intercept_visible : array
            The biases.
        base_rate : array of shape (visible units,), optional
            How often each visible unit is 1 in the data, or the mean of Gaussian ones, where chains and annealing
            start: one half, or 0, by default.
        **params
            Hyperparameters.

        Raises
        ------
        ValueError
            If the shapes do not fit together, or values are not finite. Dask arrays are not looked into.

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
        neutral = topology.units[0].neutral_rates(topology.sizes[0])
        arrays = {
            "weights.0-1": transposed(components),
            "biases.0": intercept_visible,
            "biases.1": intercept_hidden,
            "base_rate": neutral if base_rate is None else base_rate,
        }
        labels = dict(zip(arrays, ("components", "intercept_visible", "intercept_hidden", "base_rate"), strict=True))
        return model._adopt(topology, arrays, labels)

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
        self._set_parameters(self.state_.parameters.biases[1:], [value], ["intercept_hidden_"])

    @property
    def intercept_visible_(self) -> Array:
        """The biases of the visible units, an array."""
        return self.state_.parameters.biases[0].value

    @intercept_visible_.setter
    def intercept_visible_(self, value: Array) -> None:
        self._set_parameters(self.state_.parameters.biases[:1], [value], ["intercept_visible_"])

    @property
    def h_samples_(self) -> Array:
        """The hidden units of the persistent chains, an array of shape (chains, hidden units)."""
        variables = self.state_.variables
        if "chain.1" not in variables:
            raise AttributeError("h_samples_: there are no persistent chains yet")
        return variables["chain.1"].value

    def _of_rows(self, X: Array, name: str, formula: Callable[[Parameters, Sequence[Array]], Array]) -> Array:
        """A formula of rows of visible units."""

        def build() -> Function:
            given, visible = rows_placeholder(self.state_.parameters, None)
            return B.function([given], formula(self.state_.parameters, (visible, None)), name=name)

        return self.state_.function(name, build)(X)

    def _represent(self, X: Rows) -> Array:
        return self._of_rows(X, "transform", lambda parameters, state: expectation(parameters, 1, state))

    def free_energy(self, X: Rows) -> Array:
        """F(v) of each row: exp(-F(v)) / Z is its probability.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows,)
        """
        return self._of_rows(self.state_.checked_rows(X), "free_energy", free_energy)

    def _has_listed_states(self) -> bool:
        visible = kind_of(self.visible, "visible", hidden=False)
        if visible.radices(visible.size(visible.fewest)) is None:
            raise AttributeError(
                "score_samples needs visible units with a list of states: compare free_energy of others"
            )
        return True

    @available_if(_has_listed_states)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Rows) -> Array:
        """An estimate of each row's log-pseudo-likelihood: how well each unit is told by the others.

        One unit of each row, chosen at random, is flipped; the logarithm of the probability of the row against the
        flipped one, times the number of units, has the pseudo-likelihood for its mean. The choice is the same in
        every call, and disturbs no other random numbers of the model.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows,)
        """
        X = self.state_.checked_rows(X)
        rows = known_length(X)
        score, rng = self.state_.function(("score", rows), lambda: self._compile_score(rows))
        rng.seed()
        return score(X)

    def _compile_score(self, rows: int) -> tuple[Function, RandomStreams]:
        rng = stream(self.state_.seed, "score")
        given, visible = rows_placeholder(self.state_.parameters, rows)
        found = pseudo_likelihood(self.state_.parameters, visible, rows, rng)
        return B.function([given], found, name="score"), rng

    def gibbs(self, v: Rows) -> Array:
        """One sweep of Gibbs sampling: hidden units given the rows, then visible units given those.

        Parameters
        ----------
        v : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows, n_features_in_)
            New visible states, 0 and 1, in the model's dtype. Each call draws anew.
        """
        v = self.state_.checked_rows(v, "v")
        rows = known_length(v, "v")
        build = partial(compile_sweep, self.state_.parameters, rows, self.state_.rng)
        return self.state_.function(("gibbs", rows), build)(v)[0]

    def _layers(self) -> tuple[list[Any], None]:
        return [None, positive_int(self.n_components, "n_components")], None

    def measure(self, X: Rows) -> tuple[str, float]:
        """What `verbose` reports about the model's fit to some rows."""
        if self.state_.topology.radices(0) is None:
            return super().measure(X)
        return "pseudo-likelihood", float(to_numpy(B.mean(self.score_samples(X))))
