"""What all machines of layers have in common as scikit-learn estimators: learning, transforming, scoring, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self

from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.machines.estimators import NotFittedError, describe_rows
from nbm_xp.machines.minibatches import in_memory, is_sparse, minibatches
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import checked_values, numbers, sparse_rows
from nbm_xp.machines.units import Units, kind_of
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_array, is_complex, is_lazy, to_numpy

from . import storage
from .negative_phase import TrainingMethod
from .optimizers import SGD, Schedule
from .state import MachineState, float_dtype
from .topology import Topology, hidden_kinds
from .trainer import Trainer, check_hyperparameters
from .training_methods import from_plain, plain_params

__all__ = ["BoltzmannEstimator"]

_AT_ONCE = 4096  # rows of a sparse matrix that are transformed at a time


class _NotFitted:
    """The state of a machine that has none: what `fit` stores in the instance takes its place."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NotFittedError(f"this {owner.__name__} instance is not fitted yet: call fit first")


class _Hyperparameters:
    """Hyperparameters that all machines have, as `RBM` explains them, but whose places or defaults differ."""

    state_: MachineState = _NotFitted()  # type: ignore[assignment]
    learning_rate: float
    batch_size: int
    n_iter: int
    verbose: int
    random_state: RandomState
    hidden: str | Sequence[str]


@dataclass(eq=False, repr=False)
class BoltzmannEstimator(_Hyperparameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Boltzmann machine of layers; `RBM` and `DBM` say which layers it has.

    Attributes
    ----------
    state_ : MachineState
        What has been learned: topology, parameters, random streams, and what training goes on with.
    """

    _: KW_ONLY
    training: str | TrainingMethod = "pcd"
    n_gibbs: int = 1
    optimizer: str | SGD = "sgd"
    schedule: str | Schedule = "auto"
    shuffle: bool = True
    visible: str = "binary"
    diagnostics: bool | str = "auto"

    is_centred: ClassVar[bool] = False
    """Whether learning follows the gradient of centred units, unless `training` says otherwise."""

    def fit(
        self,
        X: Rows,
        y: object = None,
        sample_weight: Rows = None,
        *,
        held_out: Rows = None,
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
            Rows that the model does not learn from, whose log-likelihood the diagnostics follow too.
        callback : callable, optional
            Called with the model after each pass. It may save the model, and may set `n_iter`, which then says how
            many passes there will be in all; where it says that this one was the last, the mean of parameters
            (see `PTT`) is taken after it.
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
            If the parameters grew beyond all bounds; or, once, if diagnostics find that the machine grows away from
            the data: its log-likelihood falls, or its chains do not mix and it gives places other shares than the data.
        """
        Trainer(self).fit(X, sample_weight, held_out=held_out, callback=callback, resume=resume)
        return self

    def partial_fit(self, X: Rows, y: object = None, sample_weight: Rows = None) -> Self:
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

    def layers_for(self, n_visible: int | None = None) -> Topology:
        """The layers that the hyperparameters describe, for rows of so many features.

        Raises
        ------
        ValueError
            If they describe none.
        """
        layers, connections = self._layers()
        kinds = self._kinds(len(layers))
        if layers and layers[0] is None:
            layers[0] = kinds[0].fewest if n_visible is None else n_visible
        sites = Topology(layers, connections).sizes
        if n_visible is not None and n_visible != sites[0]:
            raise ValueError(f"X has {n_visible} features, but layers begin with {sites[0]} visible units")
        sizes = [kind.size(count) for kind, count in zip(kinds, sites, strict=True)]
        return Topology(sizes, connections, self.visible, self.hidden)

    def _layers(self) -> tuple[list[Any], Iterable[Sequence[int]] | None]:
        """The sites of each layer, None for the features of the rows, and the connections."""
        raise NotImplementedError

    def _kinds(self, n_layers: int) -> list[Units]:
        """The kind of units of each layer."""
        hidden = hidden_kinds(self.hidden, n_layers - 1)
        return [kind_of(self.visible, "visible", hidden=False), *(kind_of(name, "hidden") for name in hidden)]

    def measure(self, X: Rows) -> tuple[str, float]:
        """What `verbose` reports about the model's fit to some rows: its name and value."""
        return "free energy", float(to_numpy(B.mean(self.free_energy(X))))

    def check_hyperparameters(self) -> None:
        """Raise `ValueError`, before any work, for hyperparameters that learning could not go on with."""
        check_hyperparameters(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "state_" in vars(self)

    base_rate_ = property(attrgetter("state_.base_rate"), doc="The smoothed means of the visible units in the data.")
    n_features_in_ = property(attrgetter("state_.n_features"), doc="How many features a row has.")
    n_iter_ = property(attrgetter("state_.n_iter"), doc="Epochs of `fit` that are done.")
    n_samples_seen_ = property(attrgetter("state_.n_samples"), doc="Rows that were learned from.")
    diagnostics_ = property(attrgetter("state_.diagnostics"), doc="What was found in training, epoch by epoch.")

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, where rows came in a table with names."""
        names = self.state_.feature_names
        if names is None:
            raise AttributeError("feature_names_in_: the rows had no names of columns")
        return host_namespace().asarray(names, dtype=object)

    @property
    def log_likelihoods_(self) -> list[tuple[int, float, float]]:
        """Of each of the diagnostics: the epoch, the mean log-likelihood of rows, its standard error."""
        return [(found.epoch, found.log_likelihood, found.standard_error) for found in self.diagnostics_]

    def free_energy(self, X: Rows) -> Array:
        """F of each row, or a bound on it."""
        raise NotImplementedError

    def score_samples(self, X: Rows) -> Array:
        """How well a model fits each row."""
        raise NotImplementedError

    def transform(self, X: Rows) -> Array:
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
        state = self.state_
        if not is_sparse(X):
            return self._in_container(self._represent(state.checked_rows(X)))
        rows = sparse_rows(X, state.n_features, within=state.topology.units[0].within, owner=state.kind)
        state.same_library(in_memory(rows[:1, :]))
        found = [self._represent(part) for part, _ in minibatches(rows, _AT_ONCE)] or [self._represent(in_memory(rows))]
        return self._in_container(array_namespace(found[0]).concat(found, axis=0))

    def _in_container(self, values: Array) -> Array:
        """Values as scikit-learn can make a table of them, where it is to make one."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        return values if chosen == "default" else to_numpy(values)

    def _represent(self, X: Rows) -> Array:
        """What `transform` gives of rows that have been checked."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives."""
        return self.state_.topology.sizes[-1]

    def __sklearn_tags__(self) -> Any:
        tags = describe_rows(super().__sklearn_tags__(), self.visible)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _set_parameters(self, variables: Sequence[Array], values: Sequence[Array], names: Sequence[str]) -> None:
        """New values for Variables, of their libraries, dtypes and shapes: all of them, or none."""
        checked = []
        for old, value, name in zip(variables, values, names, strict=True):
            array = asarray(value, array_namespace(old.value), B.dtype(old))
            if array.shape != old.value.shape:
                raise ValueError(f"{name} must have shape {tuple(old.value.shape)}, got {tuple(array.shape)}")
            checked.append(array)
        for old, array in zip(variables, checked, strict=True):
            old.set_value(array)

    def _adopt(self, topology: Topology, arrays: Mapping[str, Array], labels: Mapping[str, str]) -> Self:
        """Begin with parameters from outside, as arrays of the library of the first one, or lazy, and of its dtype.

        If that is no dtype of models, they get the one that `fit` would give them. `labels` says how messages call
        them. What is computed later is not looked into.
        """
        shapes, label, units = storage.shapes(topology), next(iter(labels.values())), topology.units[0]
        first = next(iter(arrays.values()))
        first = numbers(first, label)
        if is_complex(first):
            raise ValueError(f"{label} must hold real numbers, got complex ones")
        lazy = [value for value in arrays.values() if is_array(value) and is_lazy(array_namespace(value))]
        xp, dtype, converted = array_namespace(first, *lazy), float_dtype(first), {}
        for name, value in arrays.items():
            label = labels[name]
            array = converted[name] = numbers(value, label, xp, dtype)
            if tuple(array.shape) != shapes[name]:
                raise ValueError(f"{label} must have shape {shapes[name]}, got {tuple(array.shape)}")
            if is_lazy(array_namespace(array)):
                continue
            checked_values(array, label, units.rates_within if name == "base_rate" else None)
            if name == "biases.0":
                units.check_bias(array, label)
            elif name.startswith("weights.0-") and not bool(B.all(B.equal(units.unweighted(array, 0), array))):
                raise ValueError(f"{label} must be 0 for the second unit of each normal site, which has no weights")
        self.state_ = MachineState(type(self).__name__, topology, converted, entropy_of(self.random_state))
        return self

    def to(self, library: str) -> Self:
        """Move the model to another library, openly, by way of the host; what was compiled is compiled anew.

        Parameters
        ----------
        library : str
            Its name.

        Returns
        -------
        self
        """
        self.state_ = self.state_.moved(library)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a .safetensors file, or to a folder of tiles: whole, or not at all.

        Parameters
        ----------
        path : path-like
            The file; one that exists is replaced in one step. A name that ends in ``.zarr`` is that of a folder, which
            weights larger than memory need: they are computed and written tile by tile.

        Raises
        ------
        TypeError, ValueError
            If `path` is no path of this machine's files, but the address of something elsewhere; or ends as files of
            another format do, such as ``.pkl``.

        Notes
        -----
        The file holds the arrays and, as strings of JSON in its metadata, the layers and connections, the
        hyperparameters, the random streams' place and how much was learned. A hyperparameter that is no plain value, as
        a generator for `random_state` or a function for `schedule`, is saved as its default. It is an ordinary
        .safetensors file, which the package of that name opens. A digest among the metadata, or checksums of the tiles,
        tell `load` whether all is what was written.
        """
        self.state_.save(path, self.plain_params())

    def plain_params(self) -> dict[str, Any]:
        """The hyperparameters as JSON can write them; those that are no plain values as their defaults."""
        return plain_params(self)

    @classmethod
    def of_params(cls, params: Mapping[str, Any]) -> Self:
        """A model, not fitted, with hyperparameters that `plain_params` gave."""
        return cls(**from_plain(params))

    @classmethod
    def load(cls, path: str | os.PathLike[str], library: str | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the file is run.

        Parameters
        ----------
        path : path-like
        library : str, optional
            Where its arrays are to live. By default those of a file live in host memory; those of a folder stay there
            (Dask), to be read tile by tile where they are needed.

        Raises
        ------
        ValueError
            If the file holds no such model, or is damaged; if `path` is no path of this machine's files, but the
            address of something elsewhere.
        """
        state, params = MachineState.load(path, cls.__name__, library)
        try:
            model = cls.of_params(params)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)} holds no {cls.__name__} of this release: {error}") from error
        model.state_ = state
        return model
