"""What scikit-learn's pipelines and searches call: rows transformed, and a score.

`score` draws with a seed of its own: looking at a model changes nothing, and two looks agree.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nbm_xp import natural_bm as B
from nbm_xp.machines.rows import checked_weights, known_length, sparse_rows
from nbm_xp.machines.sparse import is_sparse
from nbm_xp.namespace import array_namespace, to_numpy

from ..bridging import LadderEstimate
from ..evaluator import Evaluator
from ..model import Model
from ..partition import AISEstimate, log_z_of

__all__ = ["Transforming"]

_SEED = 0
_AT_ONCE = 4096  # rows of a sparse matrix


class Transforming(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """A Boltzmann machine in a pipeline."""

    def free_energy(self, X: Any) -> Any:
        """F of each row, or a bound on it."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Any:
        """How well a model fits each row."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """The means of the units of the last hidden layer given rows of visible units.

        Of a restricted machine that is the probability that each hidden unit is 1; of a deep one, that in mean-field
        approximation.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)
            Values in [0, 1], or what the visible units have in its place; others are clipped, with a warning.

        Returns
        -------
        array of shape (rows, units of the last layer)
            Or a table, if `set_output` says so.
        """
        if not is_sparse(X):
            return self._in_container(self._represent(self._rows(X)))
        within, owner = self._topology.units[0].within, type(self).__name__
        rows = sparse_rows(X, self.n_features_in_, within=within, owner=owner)
        self._same_library(rows[:1, :])
        parts = [slice(start, start + _AT_ONCE) for start in range(0, max(rows.shape[0], 1), _AT_ONCE)]
        found = [self._represent(rows[part, :]) for part in parts]
        return self._in_container(array_namespace(found[0]).concat(found, axis=0))

    def _in_container(self, values: Any) -> Any:
        """Values as scikit-learn can make a table of them, where it is to make one."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        return values if chosen == "default" else to_numpy(values)

    def _represent(self, X: Any) -> Any:
        """What `transform` gives of rows that have been checked."""
        raise NotImplementedError

    def log_likelihood(self, X: Any, log_z: float | AISEstimate | LadderEstimate | None = None) -> Any:
        """The log-probability of each row; where hidden layers are connected with one another, a lower bound on it.

        The bound is that of the mean-field approximation.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1], or what the visible units have in its place.
        log_z : float or AISEstimate or LadderEstimate, optional
            The logarithm of the partition function. Without it, it is found exactly, for models small enough.

        Returns
        -------
        array of shape (rows,)
        """
        X = self._rows(X)
        known = Evaluator(self).exact() if log_z is None else log_z_of(log_z)
        return -self.free_energy(X) - known

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of rows where it is known; else the pseudo-likelihood: the higher, the better.

        It is known where `log_partition` can tell Z exactly, and where the model was trained with
        ``training="ptt"``, whose ladder tells Z (`ladder_log_partition`). Of other models with visible units that
        have a list of states, it is the mean of `score_samples`, an estimate of the log-pseudo-likelihood. Of all
        others, as deep ones and those with Gaussian units, annealed importance sampling estimates Z (`ais`). Deep
        machines have a bound in place of the likelihood.

        A likelihood and a pseudo-likelihood are not to be compared: where a search has models of both kinds, use
        tempered training for all of them, or give it `log_likelihood` with an estimate of Z as the scorer.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)
            Values in [0, 1], or what the visible units have in its place; others are clipped, with a warning.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion.

        Returns
        -------
        float
            In nats. The same in every call: it disturbs no random numbers of the model.

        Raises
        ------
        ValueError
            If the rows are not what they must be, or there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rows = np.asarray([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
        >>> round(rbm.score(rows), 4), round(float(np.log(1 / 8)), 4)  # all of eight rows are as likely
        (-2.0794, -2.0794)
        """
        X = self._rows(X)
        known_length(X)
        weights = checked_weights(sample_weight, X)
        evaluator = Evaluator(self, random_state=_SEED)
        log_z: Any = evaluator.known()
        if log_z is None and self._topology.is_factorial and self._topology.radices(0) is not None:
            return _mean(self.score_samples(X), weights)
        if log_z is None:
            log_z = evaluator.annealed()
        return _mean(self.log_likelihood(X, log_z), weights)

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives."""
        return self._topology.sizes[-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mean(found: Any, weights: Any) -> float:
    """The mean of a number for each row, as the rows count; their mean weight is 1."""
    return float(to_numpy(B.mean(found))) if weights is None else float(B.mean(weights * to_numpy(found)))
