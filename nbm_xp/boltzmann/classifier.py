"""A restricted Boltzmann machine of features and labels, as a scikit-learn classifier.

Features and label are the visible units of one machine: the label is a categorical site with a state for each class.
The probability of each class given the features has a closed form, without Z.

References
----------
H. Larochelle and Y. Bengio, "Classification using discriminative restricted Boltzmann machines", ICML 2008.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.machines.estimators import check_names, column_names, describe_rows
from nbm_xp.machines.minibatches import is_missing
from nbm_xp.machines.rows import checked_rows
from nbm_xp.machines.units import Mixed, kind_of
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_array, to_numpy
from nbm_xp.namespace.errors import checked_number
from nbm_xp.tape import Function

from .energy import Parameters, marginalised_layer
from .negative_phase import TrainingMethod
from .optimizers import SGD, Schedule
from .rbm import RBM
from .state import MachineState, float_dtype
from .trainer import Trainer
from .training_methods import from_plain, plain_params

_OWN = ("visible", "generative")  # hyperparameters that are not passed to the machine


@dataclass(eq=False, repr=False)
class RBMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier: a restricted Boltzmann machine that learns features and labels together.

    Parameters
    ----------
    n_components, learning_rate, batch_size, n_iter, verbose, random_state
        As for `RBM`.
    training, n_gibbs, optimizer, schedule, shuffle, hidden
        As for `RBM`.
    visible : str, optional
        The kind of the features, or several kinds side by side, as for `RBM`.
    generative : float, optional
        Weight of the mean log-likelihood of features and labels in the objective, at least 0; the mean log-likelihood
        of labels given the features has weight 1. Small weights suit many rows; a large weight, with a proportionally
        smaller learning rate, gives a machine whose samples resemble the rows.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The sorted labels, in host memory.
    rbm_ : RBM
        The machine, whose last visible site is the index of the label in `classes_`.
    n_features_in_ : int

    References
    ----------
    H. Larochelle and Y. Bengio, "Classification using discriminative restricted Boltzmann machines", ICML 2008.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(3, 6, dtype="float32"), 40, axis=0)
    >>> labels = np.repeat(["first", "second", "third"], 40)
    >>> model = RBMClassifier(16, n_iter=60, random_state=0).fit(rows, labels)
    >>> model.predict(np.eye(3, 6)), model.score(rows, labels)
    (array(['first', 'second', 'third'], dtype='<U6'), 1.0)
    """

    n_components: int = 256
    learning_rate: float = 0.1
    batch_size: int = 10
    n_iter: int = 10
    verbose: int = 0
    random_state: RandomState = None
    _: KW_ONLY
    training: str | TrainingMethod = "pcd"
    n_gibbs: int = 1
    optimizer: str | SGD = "sgd"
    schedule: str | Schedule = "auto"
    shuffle: bool = True
    visible: str = "binary"
    hidden: str = "binary"
    generative: float = 0.01

    def fit(self, X: Rows, y: Rows, sample_weight: Rows = None) -> Self:
        """Train the classifier on rows and their labels.

        Parameters
        ----------
        X : array or table of shape (rows, features)
            Values in [0, 1], or in the range of the kind `visible`; NaN where a value is missing, which is drawn given
            the others and the label, anew for each step.
        y : array or list of shape (rows,)
            Labels, whole numbers or strings, of at least two classes.
        sample_weight : array of shape (rows,), optional
            Weights of the rows, at least 0 and not all 0: a row of weight 2 counts as two.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a hyperparameter, the rows or the labels are invalid; the classifier is then unchanged.
        """
        names, features = column_names(X), kind_of(self.visible, "visible", hidden=False)
        X = checked_rows(X, within=features.within, missing=True, owner=type(self).__name__)
        classes, numbers = host_namespace().unique_inverse(_labels(y, X.shape[0]))
        if len(classes) < 2:
            raise ValueError(f"y must have labels of at least two classes, got {len(classes)} class")
        parts = features.parts if isinstance(features, Mixed) else ((features, int(X.shape[1])),)
        machine = self._machine(Mixed([*parts, (kind_of(f"categorical:{len(classes)}"), 1)]).name)
        loss = partial(label_loss, n_classes=len(classes))
        trainer = Trainer(machine, likelihood=checked_number(self.generative, "generative"), also=loss)
        dtype = float_dtype(X)
        column = asarray(numbers[:, None], array_namespace(X), dtype)
        trainer.fit(B.concatenate([B.cast(X, dtype), column], axis=1), sample_weight)
        self._keep(machine, classes, names)
        return self

    def _machine(self, visible: str) -> RBM:
        """Return an unfitted machine of features and labels."""
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        return RBM(**settings, visible=visible, diagnostics=False)  # they assume another objective

    def _keep(self, machine: RBM, classes: Array, names: Sequence[str] | None) -> None:
        self.rbm_, self.classes_ = machine, classes
        self.n_features_in_ = machine.n_features_in_ - 1
        if names is not None:
            self.feature_names_in_ = host_namespace().asarray(list(names), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def predict_proba(self, X: Rows) -> Array:
        """Return the probability of each class given the features: exact, unless values are missing.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)
            Of rows with missing values, NaN, the result is an average along 10 Markov chains of 100 sweeps, which draw
            these values and the label; the random numbers are the same in each call.

        Returns
        -------
        array of shape (rows, classes)
            In the order of `classes_`.
        """
        return B.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Rows) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows, classes)
        """
        found = self._scores(X)
        return found - B.logsumexp(found, axis=1, keepdims=True)

    def predict(self, X: Rows) -> Array:
        """Return the most probable label of each row.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)

        Returns
        -------
        array of shape (rows,)
            In host memory, since labels can be strings.
        """
        found = to_numpy(B.argmax(self._scores(X), axis=1))
        return self.classes_[found]

    def _scores(self, X: Rows) -> Array:
        """Return the log-probability of rows and each class, up to a constant for each row."""
        check_is_fitted(self)
        check_names(getattr(self, "feature_names_in_", None), X)
        within = kind_of(self.visible, "visible", hidden=False).within
        X = checked_rows(X, self.n_features_in_, within=within, missing=True, owner=type(self).__name__)
        self.rbm_.state_.same_library(X)
        scores = self.rbm_.state_.function("classes", self._compile_scores)
        return self.rbm_._by_rows(X, scores, self._average_scores)[0]

    def _average_scores(self, X: Array, per_row: int) -> list[Array]:
        """Return the logarithms of average probabilities of classes: see `MissingValuesMixin._by_rows`."""
        xp, count = array_namespace(X), len(self.classes_)
        rows = B.concatenate([X, xp.full_like(X[:, :1], math.nan)], axis=1)
        means, errors, _ = self.rbm_._conditional_means(rows, 0, per_row, 100)
        lacking = B.cast(B.any(is_missing(X), axis=1, keepdims=True), B.dtype(means))
        return [B.log(means[:, -count:]), errors[:, -count:], lacking]

    def _compile_scores(self) -> Function:
        parameters = self.rbm_.state_.parameters
        inputs = B.placeholder(shape=(None, self.n_features_in_), dtype=parameters.dtype, name="features")
        units = kind_of(self.visible, "visible", hidden=False).encoded(inputs)
        return B.function([inputs], class_scores(parameters, units, len(self.classes_)), name="classes")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the classifier to a .safetensors file, completely or not at all, as `RBM.save` writes a machine.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        learned = {"classes": self.classes_.tolist(), "names": None if names is None else names.tolist()}
        self.rbm_.state_.save(path, plain_params(self) | learned, kind=type(self).__name__)

    @classmethod
    def load(cls, path: str | os.PathLike[str], library: str | None = None) -> Self:
        """Read a classifier that `save` wrote; no code of the file is executed.

        Parameters
        ----------
        path : path-like
        library : str, optional
            The library of its arrays; NumPy by default.

        Raises
        ------
        ValueError
            If the file holds no such classifier or is damaged.
        """
        state, params = MachineState.load(path, cls.__name__, library)
        try:
            classes, names = params.pop("classes"), params.pop("names")
            model = cls(**from_plain(params))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)} holds no {cls.__name__} of this release: {error}") from error
        machine = model._machine(state.topology.visible)
        machine.state_, state.kind = state, "RBM"
        model._keep(machine, host_namespace().asarray(classes), names)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = describe_rows(super().__sklearn_tags__(), self.visible)
        tags.input_tags.allow_nan = True
        return tags


def class_scores(parameters: Parameters, features: Array, n_classes: int) -> Array:
    """Return the logarithm of the joint weight of visible units and each class, up to a constant for each row.

    Parameters
    ----------
    parameters : Parameters
        Parameters of two layers; the last visible units are those of the classes.
    features : Tensor of shape (rows, units)
        The other visible units.
    n_classes : int
    """
    topology, weights, (visible, hidden) = parameters.topology, parameters.weights[0], parameters.biases
    first = topology.sizes[0] - n_classes
    fields = B.dot(features, weights[:first, :]) + hidden
    scores = [
        visible[at] + marginalised_layer(topology, 1, fields + weights[at, :]) for at in range(first, first + n_classes)
    ]
    return B.stack(scores, axis=1)


def label_loss(parameters: Parameters, rows: Array, weights: Array, n_classes: int) -> Array:
    """Return the weighted mean of the negative log-probability of labels given the features."""
    features = parameters.topology.sizes[0] - n_classes
    scores = class_scores(parameters, rows[:, :features], n_classes)
    of_label = B.sum(scores * rows[:, features:], axis=1)
    return B.sum(weights * (B.logsumexp(scores, axis=1) - of_label))


def _labels(y: Rows, rows: int) -> Array:
    """Return checked labels in host memory, one for each row."""
    if y is None:
        raise ValueError("y must be given: RBMClassifier requires y to be passed, but the target y is None")
    labels = column_or_1d(to_numpy(y) if is_array(y) else y, warn=True)
    if labels.shape[0] != rows:
        raise ValueError(f"y must have a label for each of {rows} rows, got {labels.shape[0]}")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels
