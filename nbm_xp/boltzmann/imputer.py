"""Completion of rows with missing values by a machine, as a scikit-learn transformer."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from nbm_xp.machines import Array, Rows


class Imputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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

    n_features_in_ = property(attrgetter("estimator_.n_features_in_"))
    feature_names_in_ = property(attrgetter("estimator_.feature_names_in_"))

    def __init__(self, estimator: Any, *, n_chains: int = 10, n_sweeps: int = 100) -> None:
        self.estimator = estimator
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps

    def fit(self, X: Rows, y: object = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            Values as in the machine's `fit`, NaN where they are missing.
        y : optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator has no method `impute`.
        """
        if not hasattr(self.estimator, "impute"):
            raise TypeError(f"estimator must be an RBM or a DBM, got {type(self.estimator).__name__}")
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

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
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
