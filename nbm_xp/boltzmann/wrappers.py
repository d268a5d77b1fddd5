"""Machines in other roles of scikit-learn: a detector of outliers, and a transformer that completes rows.

References
----------
S. Zhai, Y. Cheng, W. Lu and Z. Zhang, "Deep structured energy based models for anomaly detection", ICML 2016.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Rows
from nbm_xp.namespace import host_namespace, to_numpy
from nbm_xp.namespace.errors import checked_number


class _Wrapper(BaseEstimator):  # type: ignore[misc]
    """An estimator with a machine, `estimator`, which `fit` clones and trains."""

    estimator: Any
    n_features_in_ = property(attrgetter("estimator_.n_features_in_"))
    feature_names_in_ = property(attrgetter("estimator_.feature_names_in_"))

    def fit(self, X: Rows, y: object = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            As in the machine's `fit`.
        y : optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator is no machine.
        """
        if not hasattr(self.estimator, "free_energy"):
            raise TypeError(f"estimator must be an RBM or a DBM, got {type(self.estimator).__name__}")
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class OutlierDetector(OutlierMixin, _Wrapper):  # type: ignore[misc]
    """An outlier detector: rows to which a machine gives a low probability are outliers.

    Parameters
    ----------
    estimator : RBM or DBM
        The machine, which `fit` clones and trains. `sklearn.frozen.FrozenEstimator` holds one that is trained already.
    contamination : float, optional
        Share of outliers in the rows of `fit`, above 0 and at most 0.5, which determines the threshold.

    Attributes
    ----------
    estimator_ : RBM or DBM
        The trained machine.
    offset_ : float
        The threshold: outliers have scores below it.
    n_features_in_ : int
        Number of features of a row.
    feature_names_in_ : numpy.ndarray of str objects
        The names of the columns, if the rows were a table with names.

    Notes
    -----
    The score is minus the free energy, which is the log-likelihood up to the constant log Z. For deep machines it is
    the mean-field lower bound.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, OutlierDetector
    >>> rows = np.tile([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], (50, 1))
    >>> machine = RBM(8, n_iter=100, schedule="linear", random_state=0)
    >>> detector = OutlierDetector(machine, contamination=0.01).fit(rows)
    >>> detector.predict([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(self, estimator: Any, *, contamination: float = 0.1) -> None:
        self.estimator = estimator
        self.contamination = contamination

    def fit(self, X: Rows, y: object = None) -> Self:
        """Train the machine, and set the threshold to the quantile `contamination` of the scores of the rows.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            As in the machine's `fit`.
        y : optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator has no free energy.
        ValueError
            If `contamination`, a hyperparameter of the machine or the rows are invalid.
        """
        share = checked_number(self.contamination, "contamination", positive=True)
        if share > 0.5:
            raise ValueError(f"contamination must be at most 0.5, got {share}")
        super().fit(X, y)
        self.offset_ = float(host_namespace().quantile(to_numpy(self.score_samples(X)), share))
        return self

    def score_samples(self, X: Rows) -> Array:
        """Return minus the free energy of each row: the higher, the more normal.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows,)
        """
        check_is_fitted(self)
        return -self.estimator_.free_energy(X)

    def decision_function(self, X: Rows) -> Array:
        """Return the scores minus the threshold: negative for outliers.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Rows) -> Array:
        """Return -1 for each outlier and 1 for each other row.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows,)
        """
        return 2 * B.cast(B.greater_equal(self.decision_function(X), 0), "int64") - 1


class Imputer(OneToOneFeatureMixin, TransformerMixin, _Wrapper):  # type: ignore[misc]
    """A transformer that puts conditional means of a machine in place of missing values, NaN.

    Parameters
    ----------
    estimator : RBM or DBM
        The machine, which `fit` clones and trains on incomplete rows. `sklearn.frozen.FrozenEstimator` holds one that
        is trained already.
    n_chains, n_sweeps : int, optional
        Number of Markov chains for each row, and of their Gibbs sweeps: see `RBM.impute`.

    Attributes
    ----------
    estimator_ : RBM or DBM
        The trained machine.
    n_features_in_ : int
        Number of features of a row.
    feature_names_in_ : numpy.ndarray of str objects
        The names of the columns, if the rows were a table with names.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, Imputer
    >>> rows = np.tile([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, np.nan, 0.0, np.nan]], (50, 1))
    >>> imputer = Imputer(RBM(8, n_iter=100, schedule="linear", random_state=0)).fit(rows)
    >>> imputer.transform([[np.nan, 1.0, np.nan, 0.0]]).round()
    array([[1., 1., 0., 0.]])
    """

    def __init__(self, estimator: Any, *, n_chains: int = 10, n_sweeps: int = 100) -> None:
        self.estimator = estimator
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps

    def transform(self, X: Rows) -> Array:
        """Return rows with conditional means in place of missing values: see `RBM.impute`.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows, n_features_in_)
            Or a table, after `set_output`.
        """
        check_is_fitted(self)
        return self.estimator_.impute(X, n_chains=self.n_chains, n_sweeps=self.n_sweeps)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
