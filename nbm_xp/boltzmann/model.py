"""What a model holds: its parameters as Variables, its random streams, and the functions compiled so far.

All of it can be pickled, and saved to a file that is written whole or not at all and read without running code; the
compiled functions are left out and made again when needed.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.machines.columns import check_names
from nbm_xp.machines.estimator import Estimator, describe_rows
from nbm_xp.machines.randomness import entropy_of, stream
from nbm_xp.machines.rows import checked_rows, checked_values, numbers
from nbm_xp.machines.units import Units
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    floatx,
    get_namespace,
    host_namespace,
    is_array,
    is_complex,
    is_integer,
    is_lazy,
    library_name,
    running_dtype,
    to_numpy,
    use_backend,
)

from . import storage
from .energy import Parameters
from .ladder import LADDER, Ladder, ladder_of_arrays
from .looks import Look
from .resuming import Draws
from .topology import Topology

__all__ = ["Model", "as_plain", "float_dtype", "transposed", "variable"]

_VARIABLES = ("weights.", "biases.", "velocity.", "square.", "adam.", "offset.", *storage.NEGATIVE)


class Model(Estimator):
    """A Boltzmann machine's memory. What it does is in its `faces`."""

    visible: str
    n_iter_: int
    n_samples_seen_: int
    base_rate_: Any
    looks_: list[Look]
    _parameters: Parameters
    _velocities: Parameters | None
    _squares: Parameters | None
    _count: Any
    _made_up: dict[str, Any]
    _offsets: tuple[Any, ...] | None
    _rate: Any
    _entropy: int
    _rng: Any
    _draws: Draws
    _compiled: dict[Hashable, Any]

    @property
    def log_likelihoods_(self) -> list[tuple[int, float, float]]:
        """Of each look at the machine in training: passes, mean log-likelihood of rows, its standard error."""
        return [(look.passes, look.log_likelihood, look.standard_error) for look in self._fitted().looks_]

    @property
    def _topology(self) -> Topology:
        return self._fitted()._parameters.topology

    @property
    def _like(self) -> Any:
        """An array of the model's library and dtype."""
        return self._fitted()._parameters.biases[0].value

    @property
    def _ladder(self) -> Ladder | None:
        """The machines that this one was before, if it learnt on a ladder of them."""
        there = f"{LADDER}turn" in self._fitted()._made_up
        return ladder_of_arrays(self._parameters, self._made_up) if there else None

    def _base_bias(self) -> Any:
        """The visible biases of the model without weights that is most like the data, in host memory.

        A unit that was always 0, or always 1, still has some chance to be otherwise: annealing could not weigh states
        that the model without weights never has.
        """
        units = self._topology.units[0]
        return units.bias(units.possible(to_numpy(self.base_rate_)))

    def _rows(self, X: Any, name: str = "X") -> Any:
        """Rows of visible units checked against the model."""
        within, owner = self._topology.units[0].within, type(self).__name__
        check_names(self._features_in, X)
        return self._same_library(checked_rows(X, self.n_features_in_, name=name, within=within, owner=owner))

    @staticmethod
    def _checked(variable: Any, value: Any, name: str) -> Any:
        """A new value for a Variable, of its library, dtype and shape."""
        value = asarray(value, array_namespace(variable.value), B.dtype(variable))
        if value.shape != variable.value.shape:
            raise ValueError(f"{name} must have shape {tuple(variable.value.shape)}, got {tuple(value.shape)}")
        return value

    def _install(
        self, topology: Topology, arrays: Mapping[str, Any], entropy: int, *, n_iter: int = 0, n_samples: int = 0
    ) -> None:
        """Begin, or go on, with these arrays, all of one library and dtype, named as `storage.names` does."""
        names = storage.names(topology)
        self._home = library_name(arrays[names[0]])
        made = {name: variable(value, name) for name, value in arrays.items() if name.startswith(_VARIABLES)}
        empty = Parameters(topology, (None,) * len(topology.connections), (None,) * len(topology.sizes))
        self._parameters = empty.like(made[name] for name in names)
        moving, spread = ([made.get(prefix + name) for name in names] for prefix in ("velocity.", "square."))
        self._velocities = None if None in moving else empty.like(moving)
        self._squares = None if None in spread else empty.like(spread)
        self._count = made.get("adam.steps")
        self._made_up = {name: made[name] for name in made if name.startswith(storage.NEGATIVE)}
        offsets = tuple(made[name] for name in (f"offset.{layer}" for layer in topology.layers) if name in made)
        self._offsets = offsets or None
        self.base_rate_ = arrays["base_rate"]
        like = arrays[names[-1]]
        self._rate = variable(asarray(0.0, array_namespace(like), like.dtype))
        self._entropy = entropy
        self._rng = stream(entropy)
        places = {name: value for name, value in arrays.items() if name.startswith(storage.STREAMS)}
        self._draws = Draws(self._rng, {name.removeprefix(storage.STREAMS): value for name, value in places.items()})
        self._compiled = {}
        self.n_features_in_ = topology.sites(0)
        self.n_iter_ = n_iter
        self.n_samples_seen_ = n_samples
        self.looks_ = []

    def _arrays(self) -> dict[str, Any]:
        """All arrays that the model goes on with, by name."""
        names = storage.names(self._topology)
        arrays = {name: v.value for name, v in zip(names, self._parameters, strict=True)}
        arrays["base_rate"] = self.base_rate_
        if self._velocities is not None:
            arrays |= {f"velocity.{name}": v.value for name, v in zip(names, self._velocities, strict=True)}
        if self._squares is not None:
            arrays |= {f"square.{name}": v.value for name, v in zip(names, self._squares, strict=True)}
            arrays["adam.steps"] = self._count.value
        arrays |= {f"offset.{layer}": offset.value for layer, offset in enumerate(self._offsets or ())}
        arrays |= {name: self._made_up[name].value for name in sorted(self._made_up)}
        return arrays | {f"{storage.STREAMS}{name}": value for name, value in self._draws.states().items()}

    def _same_library(self, X: Any) -> Any:
        """Refuse rows in host memory for a model on a device: what comes out would be on the device, unasked."""
        home, given, host = self._home, library_name(X), library_name(host_namespace())
        if home not in (given, host) and given == host and not is_lazy(array_namespace(self._like)):
            raise TypeError(f"X is of {given} and the model of {home}: convert X, or move the model with to({given!r})")
        return X

    def _function(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The compiled function of a key, built the first time."""
        try:
            return self._compiled[key]
        except KeyError:
            with use_backend(self._home):
                return self._compiled.setdefault(key, self._draws.built(key, build))

    def _forget(self, part: Hashable) -> None:
        """Drop the compiled functions whose keys hold this, and what they draw from."""
        for key in [key for key in self._compiled if isinstance(key, tuple) and part in key]:
            del self._compiled[key]
        self._draws.forget(part)

    def __sklearn_tags__(self) -> Any:
        return describe_rows(super().__sklearn_tags__(), self.visible)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params(), "kept": self._requested()}
        if hasattr(self, "n_features_in_"):
            state |= {"topology": self._topology, "arrays": self._arrays(), "progress": self._progress()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in (state["params"] | state.get("kept", {})).items():
            setattr(self, name, value)
        if "arrays" in state:
            self._go_on(state["topology"], state["arrays"], state["progress"])

    def _progress(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "entropy": str(self._entropy),
            "rstate": [int(word) for word in self._rng.rstate],
            "n_iter": self.n_iter_,
            "n_samples": self.n_samples_seen_,
        }
        if self.looks_:
            found["looks"] = [dataclasses.asdict(look) for look in self.looks_]
        if self._features_in is not None:
            found["feature_names"] = self._features_in
        return found

    def _go_on(self, topology: Topology, arrays: Mapping[str, Any], progress: Mapping[str, Any]) -> None:
        counts = {name: int(progress[name]) for name in ("n_iter", "n_samples")}
        self._install(topology, arrays, int(progress["entropy"]), **counts)
        self._rng.set_rstate(list(progress["rstate"]))
        self.looks_ = [Look.of(told) for told in progress.get("looks", ())]
        if "feature_names" in progress:
            self._name_features([str(name) for name in progress["feature_names"]])

    def _adopt(self, topology: Topology, arrays: Mapping[str, Any], labels: Mapping[str, str]) -> Self:
        """Begin with parameters from outside, as arrays of the library of the first one, or lazy, and of its dtype.

        If that is no dtype of models, they get the one that `fit` would give them. `labels` says how messages call
        them. What is computed later is not looked into.
        """
        shapes, label = storage.shapes(topology), next(iter(labels.values()))
        first = next(iter(arrays.values()))
        first = numbers(first, label, array_namespace(first) if is_array(first) else host_namespace())
        if is_complex(first):
            raise ValueError(f"{label} must hold real numbers, got complex ones")
        lazy = [value for value in arrays.values() if is_array(value) and is_lazy(array_namespace(value))]
        xp, dtype, converted = array_namespace(first, *lazy), float_dtype(first), {}
        for name, value in arrays.items():
            converted[name] = numbers(value, labels[name], xp, dtype)
            found = tuple(converted[name].shape)
            if found != shapes[name]:
                raise ValueError(f"{labels[name]} must have shape {shapes[name]}, got {found}")
            if not is_lazy(array_namespace(converted[name])):
                within = topology.units[0].rates_within if name == "base_rate" else None
                checked_values(converted[name], labels[name], within)
                _check_visible(topology.units[0], converted[name], name, labels[name])
        self._install(topology, converted, entropy_of(self.get_params()["random_state"]))
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
        xp = get_namespace(library)
        arrays = {name: asarray(to_numpy(value, copy=True), xp) for name, value in self._arrays().items()}
        self._go_on(self._topology, arrays, self._progress())
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
        hyperparameters, the random streams' place and how much was learnt. A hyperparameter that is no plain value, as
        a generator for `random_state` or a function for `schedule`, is saved as its default. It is an ordinary
        .safetensors file, which the package of that name opens. A digest among the metadata, or checksums of the tiles,
        tell `load` whether all is what was written.
        """
        self._write(path)

    def _write(self, path: str | os.PathLike[str], run: str | None = None) -> None:
        """Write the model, with the name of the run that it is of, if it is of one."""
        about = {"library": self._fitted()._home, "params": self._plain_params(), "progress": self._progress()}
        if run is not None:
            about["run"] = run
        storage.write(path, type(self).__name__, self._topology, self._arrays(), about)

    def _plain_params(self) -> dict[str, Any]:
        """The hyperparameters; those that are no plain values as their defaults."""
        known = inspect.signature(type(self)).parameters
        given = {name: as_plain(value) for name, value in self.get_params().items()}
        return {name: value if _is_plain(value) else known[name].default for name, value in given.items()}

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
        topology, arrays, about = storage.read(path, cls.__name__)
        home = array_namespace(arrays["base_rate"])
        xp = home if library is None else get_namespace(library)
        if is_lazy(home) and not is_lazy(xp):
            arrays = {name: to_numpy(value) for name, value in arrays.items()}
        try:
            model = cls(**about["params"])
            model._go_on(topology, {name: asarray(value, xp) for name, value in arrays.items()}, about["progress"])
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} holds no {cls.__name__} of this release: {error}") from error
        return model


def _check_visible(units: Units, value: Any, name: str, label: str) -> None:
    """Refuse parameters that visible units of a kind do not have."""
    if name == "biases.0":
        units.check_bias(value, label)
    elif name.startswith("weights.0-") and not bool(B.all(B.equal(units.unweighted(value, 0), value))):
        raise ValueError(f"{label} must be 0 for the second unit of each normal site, which has no weights")


def float_dtype(like: Any) -> str:
    """The dtype of a model that begins with an array like this one.

    Its own if that is float32 or float64, float64 for whole numbers, and ``floatx`` for bool and float16.
    """
    given = dtype_name(like)
    if given in ("float32", "float64"):
        return given
    if is_integer(like):
        return dtype_name(running_dtype(array_namespace(like), "float64"))
    return "float32" if floatx() == "float16" else floatx()


def transposed(matrix: Any) -> Any:
    """The transpose with its rows one after the other in memory, as products and updates are fastest.

    Of a matrix that is computed later, tile by tile, each tile is turned where it is used.
    """
    rows, columns = matrix.shape
    xp = array_namespace(matrix)
    if is_lazy(xp):
        return matrix.T
    return xp.reshape(xp.reshape(matrix.T, (rows * columns,)), (columns, rows))


def variable(value: Any, name: str | None = None) -> Any:
    """A Variable with the dtype and of the library of its array, where natural_bm would follow the configuration."""
    with use_backend(library_name(value)):
        return B.variable(value, dtype=dtype_name(value), name=name)


def as_plain(value: Any) -> Any:
    """A hyperparameter with the numbers of array libraries, as a search over arrays sets them, as Python's.

    Examples
    --------
    >>> import numpy as np
    >>> as_plain((np.int64(3), np.bool_(True))), as_plain(np.asarray([6, 4]))
    ([3, True], [6, 4])
    """
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))
