"""How a Boltzmann machine learns from rows, as a scikit-learn estimator does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ..hyperparameters import Settings
from ..model import Model
from ..topology import Topology
from ..trainer import Trainer

__all__ = ["Learning"]


class Learning(Model):
    """A Boltzmann machine that learns; `RBM` and `DBM` say which layers it has.

    Attributes
    ----------
    learning_rate, batch_size, n_iter, verbose, random_state, training, n_gibbs, centred, momentum,
    weight_decay, schedule, shuffle, watch, optimizer, average
        Hyperparameters, as `RBM` explains them.
    """

    learning_rate: float
    batch_size: int
    n_iter: int
    verbose: int
    random_state: Any
    training: str
    n_gibbs: int
    centred: bool | str
    momentum: float | str
    weight_decay: float
    schedule: Any
    shuffle: bool
    watch: bool | str
    optimizer: str
    average: bool | str

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        held_out: Any = None,
        callback: Callable[[Self], object] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from rows, from the beginning or from where an earlier `fit` was left.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            Values in [0, 1], those between 0 and 1 being taken for probabilities; for Gaussian units any numbers, for
            spins values in [-1, 1], taken for means. A Dask array is computed window by window, in each pass anew;
            rows of a sparse one of SciPy's become dense minibatch by minibatch.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion: a row of weight 2 counts as two. At least 0, and not all 0.
        held_out : array of shape (rows, features), optional
            Rows that the model does not learn from, whose log-likelihood the looks of `watch` follow too.
        callback : callable, optional
            Called with the model after each pass. It may save the model, and may set `n_iter`, which then says how
            many passes there will be in all; where it says that this one was the last, the mean of parameters that
            `average` asks for is taken after it.
        resume : bool, optional
            Whether to go on after the `n_iter_` passes that are done, in this process or before the model was saved.
            With the same rows and hyperparameters, the model ends as it would have ended without a break, to the
            last bit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a hyperparameter or the data is not what it must be; nothing has changed then.

        Warns
        -----
        TrainingWarning
            If the parameters grew beyond all bounds; or, once, if a look finds that the machine grows away from the
            data: its log-likelihood falls, or its chains do not mix and it gives places other shares than the data.
        """
        Trainer(self).fit(X, sample_weight, held_out=held_out, callback=callback, resume=resume)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows as one minibatch, going on from where the model is.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1].
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion.

        Returns
        -------
        self
        """
        Trainer(self).partial_fit(X, sample_weight)
        return self

    def _layers(self, n_visible: int | None = None) -> Topology:
        """The layers that the hyperparameters tell of, for rows of so many units; refuses what makes no machine."""
        raise NotImplementedError

    def _measure(self, X: Any) -> tuple[str, float]:
        """What `verbose` reports about the model's fit to some rows: its name and value."""
        raise NotImplementedError

    def _check_hyperparameters(self) -> None:
        """Refuse, before any work, what learning could not go on with."""
        Settings(self).check()

    @property
    def _way(self) -> str:
        """How the model is trained."""
        return Settings(self).way

    def _objective(self) -> dict[str, Any]:
        """What a step of learning follows otherwise than `Learner` says, by its names."""
        return {}

    @property
    def _of_objective(self) -> tuple[Any, ...]:
        """What tells the compiled steps of one objective from those of others."""
        return tuple(self._objective().values())
