"""Machines of layers as scikit-learn estimators: training, transformation of rows, likelihoods, saving and loading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self

from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows
from nbm_xp.machines.estimators import describe_rows
from nbm_xp.machines.minibatches import in_memory, is_sparse, minibatches
from nbm_xp.machines.rows import sparse_rows
from nbm_xp.machines.units import Units, kind_of
from nbm_xp.namespace import array_namespace, host_namespace, to_numpy
from nbm_xp.namespace.errors import checked_number, positive_int

from . import storage
from .negative_phase import TrainingMethod
from .optimizers import SGD, Schedule, check_flag, check_schedule, optimizer_of
from .partition import log_partition
from .state import MachineState
from .topology import Topology, hidden_kinds
from .trainer import Trainer
from .training_methods import from_plain, plain_params, training_method

_AT_ONCE = 4096  # rows of a sparse matrix transformed at a time


class _NotFitted:
    """The state of a machine that is not fitted: access raises until `fit` stores a state in the instance."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NotFittedError(f"this {owner.__name__} instance is not fitted yet: call fit first")


class _Hyperparameters:
    """Hyperparameters of all machines that differ in position or default; see `RBM`."""

    state_: MachineState = _NotFitted()  # type: ignore[assignment]
    learning_rate: float
    batch_size: int
    n_iter: int
    verbose: int
    random_state: RandomState
    hidden: str | Sequence[str]


@dataclass(eq=False, repr=False)
class BoltzmannEstimator(_Hyperparameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Boltzmann machine of layers; `RBM` and `DBM` define the layers.

    Attributes
    ----------
    state_ : MachineState
        The fitted state: topology, parameters, random streams, and what training resumes from.
    """

    _: KW_ONLY
    training: str | TrainingMethod = "pcd"
    n_gibbs: int = 1
    optimizer: str | SGD = "sgd"
    schedule: str | Schedule = "auto"
    shuffle: bool = True
    visible: str = "binary"
    diagnostics: bool | str = "auto"

    is_centred: ClassVar[bool] = False  # whether training uses centred gradients unless `training` specifies it

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
        """Train the model on rows, from the beginning, or resume an earlier `fit`.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            Values in [0, 1], those between 0 and 1 being probabilities; for spins values in [-1, 1], being means; for
            Gaussian units any real numbers; NaN where a value is missing. A Dask array is computed window by window in
            each epoch; rows of a SciPy sparse array become dense minibatch by minibatch.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            Weights of the rows, at least 0 and not all 0: a row of weight 2 counts as two.
        held_out : array of shape (rows, features), optional
            Rows of a validation set, whose log-likelihood the diagnostics report as well; if values are missing, that
            of at most 200 of them.
        callback : callable, optional
            Called with the model after each epoch. It may save the model, and may set `n_iter`, the total number of
            epochs.
        resume : bool, optional
            Whether to continue after the `n_iter_` epochs that are done, in this process or before the model was saved.
            With the same rows and hyperparameters the final model is bit-identical to that of an uninterrupted
            training.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a hyperparameter or the data are invalid; the model is then unchanged.

        Warns
        -----
        TrainingWarning
            If parameters are not finite; or, once, if diagnostics show that the log-likelihood falls, or that chains do
            not mix and modes have other probabilities than in the data.
        """
        Trainer(self).fit(X, sample_weight, held_out=held_out, callback=callback, resume=resume)
        return self

    def partial_fit(self, X: Rows, y: object = None, sample_weight: Rows = None) -> Self:
        """Train the model on rows as one further minibatch.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1]; NaN where a value is missing.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        Trainer(self).partial_fit(X, sample_weight)
        return self

    def layers_for(self, n_visible: int | None = None) -> Topology:
        """Return the topology defined by the hyperparameters, for rows with `n_visible` features."""
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
        """Return the numbers of sites of the layers, None for the features of the rows, and the connections."""
        raise NotImplementedError

    def _kinds(self, n_layers: int) -> list[Units]:
        """Return the kind of units of each layer."""
        hidden = hidden_kinds(self.hidden, n_layers - 1)
        return [kind_of(self.visible, "visible", hidden=False), *(kind_of(name, "hidden") for name in hidden)]

    def measure(self, X: Rows) -> tuple[str, float]:
        """Return the name and the value of the measure of fit that `verbose` reports for rows."""
        return "free energy", float(to_numpy(B.mean(self.free_energy(X))))

    def check_hyperparameters(self) -> None:
        """Raise `ValueError` for invalid hyperparameters, before any work."""
        for name, least in (("batch_size", 1), ("n_iter", 0), ("n_gibbs", 1)):
            positive_int(getattr(self, name), name, least)
        checked_number(self.learning_rate, "learning_rate", positive=True)
        training_method(self.training).check()
        optimizer_of(self.optimizer).check()
        check_flag(self.shuffle, "shuffle", True)
        check_flag(self.diagnostics, "diagnostics", "auto")
        check_schedule(self.schedule)

    def __sklearn_is_fitted__(self) -> bool:
        return "state_" in vars(self)

    base_rate_ = property(attrgetter("state_.base_rate"), doc="The smoothed means of the visible units in the data.")
    n_features_in_ = property(attrgetter("state_.n_features"), doc="Number of features of a row.")
    n_iter_ = property(attrgetter("state_.n_iter"), doc="Number of epochs of `fit` that are done.")
    n_samples_seen_ = property(attrgetter("state_.n_samples"), doc="Number of rows seen in training.")
    diagnostics_ = property(attrgetter("state_.diagnostics"), doc="The diagnostics of the training, epoch by epoch.")

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, if the rows were a table with names."""
        names = self.state_.feature_names
        if names is None:
            raise AttributeError("feature_names_in_: the rows had no names of columns")
        return host_namespace().asarray(names, dtype=object)

    @property
    def log_likelihoods_(self) -> list[tuple[int, float, float]]:
        """For each entry of `diagnostics_` the epoch, the mean log-likelihood of rows, and its standard error."""
        return [(found.epoch, found.log_likelihood, found.standard_error) for found in self.diagnostics_]

    def free_energy(self, X: Rows) -> Array:
        """Return the free energy of each row, or an upper bound on it."""
        raise NotImplementedError

    def score_samples(self, X: Rows) -> Array:
        """Return a measure of the fit to each row."""
        raise NotImplementedError

    def log_partition(self) -> float:
        """Compute log Z by enumeration, if at most 20 binary units are outside of one group of unconnected layers.

        A restricted Boltzmann machine can have at most 20 hidden or 20 visible units.

        Raises
        ------
        ValueError
            If the model is larger.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.array([[1.0]]), np.zeros(1), np.zeros(1))
        >>> rbm.log_partition(), float(np.log(3 + np.e))
        (1.743668..., 1.743668...)
        """
        return log_partition(self)

    def transform(self, X: Rows, *, n_chains: int | None = None) -> Array:
        """Return the means of the units of the last hidden layer given rows of visible units.

        Means of binary units are probabilities of 1. Means of deep machines are mean-field approximations. Given a row
        with missing values, NaN, they are averages along Markov chains of 100 sweeps; the random numbers are the same
        in each call.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)
            Values in [0, 1], or in the range of the kind of visible units; others are clipped, with a warning.
        n_chains : int, optional
            See `log_likelihood`.

        Returns
        -------
        array of shape (rows, units of the last layer)
            Or a table, after `set_output`.
        """
        state = self.state_
        if not is_sparse(X):
            X = state.checked_rows(X, missing=True, all_drawn=n_chains is not None)
            return self._in_container(self._represent(X, 0, n_chains))
        rows = sparse_rows(X, state.n_features, within=state.topology.units[0].within, owner=state.kind)
        state.same_library(in_memory(rows[:1, :]))
        parts = enumerate(part for part, _ in minibatches(rows, _AT_ONCE))
        found = [self._represent(part, k * _AT_ONCE, n_chains) for k, part in parts]
        found = found or [self._represent(in_memory(rows))]
        return self._in_container(array_namespace(found[0]).concat(found, axis=0))

    def _in_container(self, values: Array) -> Array:
        """Return values in host memory if scikit-learn is to make a table of them, else as they are."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        return values if chosen == "default" else to_numpy(values)

    def _represent(self, X: Rows, first: int = 0, n_chains: int | None = None) -> Array:
        """Return the result of `transform` for checked rows, from number `first` on."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        """Number of columns of the result of `transform`."""
        return self.state_.topology.sizes[-1]

    def __sklearn_tags__(self) -> Any:
        tags = describe_rows(super().__sklearn_tags__(), self.visible)
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def to(self, library: str) -> Self:
        """Move the model to another library by way of host memory.

        Parameters
        ----------
        library : str
            The name of the library.

        Returns
        -------
        self
        """
        self.state_ = self.state_.moved(library)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a .safetensors file, or to a Zarr folder of tiles, completely or not at all.

        Parameters
        ----------
        path : path-like
            The file; an existing file is replaced atomically. A name that ends in ``.zarr`` creates a folder, to which
            weights larger than memory are computed and written tile by tile.

        Raises
        ------
        TypeError, ValueError
            If `path` is a remote address, or has the suffix of another format, such as ``.pkl``.

        Notes
        -----
        The file stores the arrays and, as JSON in its metadata, the layers and connections, the hyperparameters, the
        position of the random streams and the progress of the training. A hyperparameter that is no plain value, such
        as a generator for `random_state` or a function for `schedule`, is saved as its default. The package
        ``safetensors`` opens the file. A digest in the metadata, or checksums of the tiles, let `load` detect damage.
        """
        self.state_.save(path, self.plain_params())

    def plain_params(self) -> dict[str, Any]:
        """Return the hyperparameters as JSON values; those that are not plain values as their defaults."""
        return plain_params(self)

    @classmethod
    def of_params(cls, params: Mapping[str, Any]) -> Self:
        """Return an unfitted model with the hyperparameters that `plain_params` returned."""
        return cls(**from_plain(params))

    @classmethod
    def load(cls, path: str | os.PathLike[str], library: str | None = None) -> Self:
        """Read a model of this class that `save` wrote; no code of the file is executed.

        Parameters
        ----------
        path : path-like
        library : str, optional
            The library of its arrays: by default NumPy for a file, and Dask for a folder, whose tiles are read lazily.

        Raises
        ------
        ValueError
            If the file holds no such model or is damaged, or `path` is a remote address.
        """
        state, params = MachineState.load(path, cls.__name__, library)
        try:
            model = cls.of_params(params)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)} holds no {cls.__name__} of this release: {error}") from error
        model.state_ = state
        return model


def load(path: str | os.PathLike[str], library: str | None = None) -> BoltzmannEstimator:
    """Read a model of any class that `save` wrote; no code of the file is executed.

    Parameters
    ----------
    path : path-like
    library : str, optional
        The library of its arrays; NumPy by default.

    Returns
    -------
    RBM or DBM

    Raises
    ------
    ValueError
        If the file holds no model, is damaged, or is one of another program.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, load
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).save(file)
    >>> load(file)
    RBM(n_components=2)
    >>> load("params.dat")
    Traceback (most recent call last):
    ...
    ValueError: params.dat must be written by save: from_rbms and from_julia read .h5, no machine reads adabmDCA's .dat
    """
    if str(path).endswith((".h5", ".hdf5", ".dat")):
        others = "from_rbms and from_julia read .h5, no machine reads adabmDCA's .dat"
        raise ValueError(f"{path} must be written by save: {others}")
    kind, models = storage.metadata_of(path).get("model"), BoltzmannEstimator.__subclasses__()
    known: dict[str, type[BoltzmannEstimator]] = {
        each.__name__: each for kin in models for each in kin.__subclasses__()
    }
    if kind not in known:
        raise ValueError(f"{os.fspath(path)} holds a model of the kind {kind!r}, which this release does not know")
    return known[kind].load(path, library)
