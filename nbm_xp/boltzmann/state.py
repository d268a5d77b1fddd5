"""The fitted state of a machine: parameters, random streams, and the Variables of its training.

It can be pickled and saved. Compiled functions are not stored, and are compiled again when needed; the states of their
random streams are stored by name, so that a loaded state continues the streams where the saved one stopped.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, RandomState, Rows, Streams
from nbm_xp.machines.estimators import check_names
from nbm_xp.machines.randomness import entropy_of, stream
from nbm_xp.machines.rows import checked_rows, checked_values, known_length, numbers
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
from nbm_xp.namespace.blocks import is_tiled

from . import storage
from .diagnostics import Diagnostics
from .energy import Parameters, variable
from .topology import Topology

Built = TypeVar("Built")


class MachineState:
    """The fitted state of a machine.

    Parameters
    ----------
    kind : str
        Name of the estimator's class.
    topology : Topology
    arrays : mapping of str to array
        Parameters by the names of `storage.names`, ``base_rate``, and the arrays of training; of one library and dtype.
    seed : int
    n_iter, n_samples : int, optional
        Numbers of epochs done and of rows seen.
    diagnostics : iterable of mappings, optional
        The attributes of each `Diagnostics`.
    feature_names : sequence of str, optional
        Names of the columns, if rows were a table.
    rstate : sequence of int, optional
        State of the random streams; by default the initial one.

    Attributes
    ----------
    parameters : Parameters of Variables
    base_rate : array of shape (visible units,)
    variables : dict of str to Variable
        Variables that training stores from step to step, by their names in files.
    library : str
        Name of the library of the arrays.
    rng : RandomStreams
    """

    def __init__(
        self,
        kind: str,
        topology: Topology,
        arrays: Mapping[str, Array],
        seed: int | str,
        *,
        n_iter: int = 0,
        n_samples: int = 0,
        diagnostics: Iterable[Mapping[str, Any]] = (),
        feature_names: Sequence[str] | None = None,
        rstate: Sequence[int] | None = None,
    ) -> None:
        self.kind, self.topology, self.seed = kind, topology, int(seed)
        self.n_iter, self.n_samples = int(n_iter), int(n_samples)
        self.diagnostics = [Diagnostics.of(found) for found in diagnostics]
        self.feature_names = None if feature_names is None else list(feature_names)
        names = storage.names(topology)
        self.library = library_name(arrays[names[0]])
        self.base_rate = arrays["base_rate"]
        self.parameters = Parameters.of(topology, (variable(arrays[name], name) for name in names))
        self.variables = {
            name: variable(value, name)
            for name, value in arrays.items()
            if name not in names and name != "base_rate" and not name.startswith(storage.STREAMS)
        }
        self.rng = stream(self.seed)
        if rstate is not None:
            self.rng.set_rstate(list(rstate))
        self.rate = variable(asarray(0.0, array_namespace(self.like), self.like.dtype))  # the learning rate
        self._compiled: dict[Hashable, Any] = {}
        self._drawn: dict[str, Array] = {}  # states of streams, by the key of a function and a number
        self._stored = {
            name.removeprefix(storage.STREAMS): value
            for name, value in arrays.items()
            if name.startswith(storage.STREAMS)
        }

    @property
    def like(self) -> Array:
        """An array with the machine's library and dtype."""
        return self.parameters.biases[0].value

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.topology.sites[0]

    @property
    def n_pairs(self) -> int:
        """Number of pairs of neighbours on the ladder of a training by `PTT`, else 0."""
        accepted = self.variables.get(f"{storage.LADDER}accepted")
        return 0 if accepted is None else int(accepted.value.shape[0])

    def stored(self, name: str, value: Array) -> Array:
        """Return the Variable of training with this name; create it with this value if there is none."""
        if name not in self.variables:
            self.variables[name] = variable(value, name)
        return self.variables[name]

    def beside(self, prefix: str) -> Parameters:
        """Return the Variables of training with this prefix and the parameters' names; create missing ones as zeros."""
        xp, named = array_namespace(self.like), zip(storage.names(self.topology), self.parameters, strict=True)
        return self.parameters.like([self.stored(prefix + name, xp.zeros_like(now.value)) for name, now in named])

    def constant(self, numbers: Sequence[float]) -> Array:
        """Return numbers as an array with the machine's library and dtype."""
        return asarray(numbers, array_namespace(self.like), self.like.dtype)

    @property
    def is_finite(self) -> bool:
        """Whether all parameters are finite."""
        return all(math.isfinite(float(B.max(B.abs(part.value)))) for part in self.parameters)

    @property
    def is_lazy(self) -> bool:
        """Whether the parameters are lazy arrays, which may be larger than memory."""
        return is_lazy(array_namespace(self.like))

    @property
    def is_tiled(self) -> bool:
        """Whether a parameter is a lazy array in several blocks, larger than a block of Dask."""
        return self.is_lazy and any(is_tiled(part.value) for part in self.parameters)

    def checked_rows(self, X: Array, name: str = "X", *, missing: bool | str = False, all_drawn: bool = False) -> Array:
        """Return checked rows of visible units; with `missing`, values may be NaN.

        Where parameters are tiled, lazy rows have no missing values, unless `all_drawn`: chains draw all rows, complete
        or not.

        Raises
        ------
        ValueError
            If the features or their values are not those of the machine.
        TypeError
            If the rows are in host memory and the machine is of another library: there are no implicit transfers.
        """
        check_names(self.feature_names, X)
        within = self.topology.units[0].within
        if missing and not all_drawn and self.is_tiled and is_array(X) and is_lazy(array_namespace(X)):
            missing = "in lazy rows where parameters are in tiles (give n_chains, and chains of all rows are computed)"
        X = checked_rows(X, self.n_features, name=name, within=within, missing=missing, owner=self.kind)
        return self.same_library(X)

    def checked_states(self, states: Array, rows: int, layer: int, name: str) -> Array:
        """Return checked states of a layer, one row for each chain."""
        if not layer:
            check_names(self.feature_names, states)
        within, sites = self.topology.units[layer].within, self.topology.sites[layer]
        states = checked_rows(states, sites, name=name, within=within, clip=not layer, owner=self.kind)
        if states.shape[0] != rows:
            raise ValueError(f"{name} must have a row for each of {rows} chains, got {states.shape[0]} rows")
        return self.same_library(states)

    def checked_whole(self, states: Any, name: str, rows: int | None = None) -> dict[int, Array]:
        """Return checked states of ``topology.retained`` from a sequence of all layers, with `rows` rows if given."""
        count = len(self.topology.sizes)
        if not hasattr(states, "__len__") or len(states) != count:
            found = len(states) if hasattr(states, "__len__") else repr(states)
            raise ValueError(f"{name} must have {count} entries, one for each layer, got {found}")
        if rows is None:
            rows = known_length(self.checked_rows(states[0], f"{name}[0]"), f"{name}[0]")
        return {k: self.checked_states(states[k], rows, k, f"{name}[{k}]") for k in self.topology.retained}

    def same_library(self, X: Array) -> Array:
        """Return rows; raise `TypeError` if they are in host memory and the machine is not."""
        ours, theirs, host = self.library, library_name(X), library_name(host_namespace())
        if ours not in (theirs, host) and theirs == host and not self.is_lazy:
            raise TypeError(
                f"X is of {theirs} and the model of {ours}: convert X, or move the model with to({theirs!r})"
            )
        return X

    def function(self, key: Hashable, build: Callable[[], Built]) -> Built:
        """Return the compiled function of a key, built at the first call; it continues the key's stored streams."""
        if key in self._compiled:
            found: Built = self._compiled[key]
            return found
        first, place = len(self.rng.state_updates), list(self.rng.rstate)
        with use_backend(self.library):
            made = self._compiled[key] = build()
        states = [state for state, *_ in self.rng.state_updates[first:]]
        names = [f"{key!r} {number}" for number in range(len(states))]
        if states and all(name in self._stored for name in names):
            self.rng.set_rstate(place)  # these streams were already allocated
            for name, state in zip(names, states, strict=True):
                now = state.value
                state.set_value(asarray(self._stored.pop(name), array_namespace(now), now.dtype))
        self._drawn |= dict(zip(names, states, strict=True))
        return made

    def restart(self, key: Hashable, rng: Streams) -> None:
        """Set the random streams of the compiled function of a key to the next ones of a generator."""
        number = 0
        while (state := self._drawn.get(f"{key!r} {number}")) is not None:
            streams = rng.get_substream_rstates(state.value.shape[0], "float32")
            state.set_value(streams)
            number += 1

    def forget(self, part: Hashable) -> None:
        """Drop the compiled functions whose keys contain `part`, and their random streams."""
        for key in [key for key in self._compiled if isinstance(key, tuple) and part in key]:
            del self._compiled[key]
        for streams in (self._stored, self._drawn):
            for name in [name for name in streams if repr(part) in name]:
                del streams[name]

    def arrays(self) -> dict[str, Array]:
        """Return all arrays of the state, by their names in files."""
        found = {name: v.value for name, v in zip(storage.names(self.topology), self.parameters, strict=True)}
        found |= {"base_rate": self.base_rate} | {name: self.variables[name].value for name in sorted(self.variables)}
        streams = self._stored | {name: state.value for name, state in self._drawn.items()}
        return found | {f"{storage.STREAMS}{name}": streams[name] for name in sorted(streams)}

    def progress(self) -> dict[str, Any]:
        """Return the other arguments of this class as JSON values."""
        return {
            "seed": str(self.seed),
            "rstate": [int(word) for word in self.rng.rstate],
            "n_iter": self.n_iter,
            "n_samples": self.n_samples,
            "diagnostics": [dataclasses.asdict(found) for found in self.diagnostics],
            "feature_names": self.feature_names,
        }

    def moved(self, library: str) -> MachineState:
        """Return the same state in another library, copied by way of host memory."""
        xp = get_namespace(library)
        arrays = {name: asarray(to_numpy(value, copy=True), xp) for name, value in self.arrays().items()}
        return MachineState(self.kind, self.topology, arrays, **self.progress())

    def save(
        self,
        path: str | os.PathLike[str],
        params: Mapping[str, Any],
        run: str | None = None,
        *,
        kind: str | None = None,
    ) -> None:
        """Write the state, its estimator's hyperparameters and the name of its run, completely or not at all."""
        about: dict[str, Any] = {"library": self.library, "params": params, "progress": self.progress()}
        about |= {} if run is None else {"run": run}
        storage.write(path, kind or self.kind, self.topology, self.arrays(), about)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], kind: str, library: str | None = None
    ) -> tuple[MachineState, dict[str, Any]]:
        """Return the state and the hyperparameters of a file of a class of estimators.

        Raises
        ------
        ValueError
            If the file contains no such machine, or is damaged.
        """
        topology, arrays, about = storage.read(path, kind)
        home = array_namespace(arrays["base_rate"])
        xp = home if library is None else get_namespace(library)
        if is_lazy(home) and not is_lazy(xp):
            arrays = {name: to_numpy(value) for name, value in arrays.items()}
        try:
            arrays = {name: asarray(value, xp) for name, value in arrays.items()}
            progress = about["progress"] | {"rstate": list(about["progress"]["rstate"])}
            return cls(kind, topology, arrays, **progress), dict(about["params"])
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} holds no {kind} of this release: {error}") from error

    @classmethod
    def of_parameters(
        cls, kind: str, topology: Topology, parameters: dict[str, Array], base_rate: Rows, random_state: RandomState
    ) -> MachineState:
        """Return a state with given parameters, converted to the library (or Dask) and the dtype of the first one.

        The dtype is that of `float_dtype`. Parameters are in the order of `storage.names`, by their names in messages.
        Values of lazy arrays are not checked.
        """
        shapes, units = storage.shapes(topology), topology.units[0]
        rates = units.neutral_rates(topology.sizes[0]) if base_rate is None else base_rate
        labelled = list((parameters | {"base_rate": rates}).items())
        label, first = labelled[0]
        first = numbers(first, label)
        if is_complex(first):
            raise ValueError(f"{label} must hold real numbers, got complex ones")
        lazy = [value for _, value in labelled if is_array(value) and is_lazy(array_namespace(value))]
        xp, dtype, converted = array_namespace(first, *lazy), float_dtype(first), {}
        for name, (label, value) in zip(shapes, labelled, strict=True):
            array = converted[name] = numbers(value, label, xp, dtype)
            if tuple(array.shape) != shapes[name]:
                raise ValueError(f"{label} must have shape {shapes[name]}, got {tuple(array.shape)}")
            if is_lazy(array_namespace(array)):
                continue
            checked_values(array, label, units.rates_within if name == "base_rate" else None)
            part, _, numbered = name.partition(".")
            kinds = [topology.units[int(layer)] for layer in numbered.split("-") if layer]
            if part == "biases":
                kinds[0].check_bias(array, label)
            elif not all(bool(B.all(B.equal(kind.unweighted(array, axis), array))) for axis, kind in enumerate(kinds)):
                raise ValueError(f"{label} must be 0 for the further units of each normal or drelu site")
        return cls(kind, topology, converted, entropy_of(random_state))

    def __reduce__(self) -> tuple[Callable[..., MachineState], tuple[object, ...]]:
        return partial(type(self), **self.progress()), (self.kind, self.topology, self.arrays())


def float_dtype(like: Array) -> str:
    """Return the dtype of a model whose first rows or parameters are this array.

    It is that of the array if float32 or float64, float64 for whole numbers, and ``floatx`` for bool and float16.
    """
    given = dtype_name(like)
    if given in ("float32", "float64"):
        return given
    if is_integer(like):
        return dtype_name(running_dtype(array_namespace(like), "float64"))
    return "float32" if floatx() == "float16" else floatx()


def transposed(matrix: Array) -> Array:
    """Return the transpose in row-major order, in which products and updates are fastest.

    The transpose of a lazy matrix is lazy, tile by tile.
    """
    rows, columns = matrix.shape
    xp = array_namespace(matrix)
    if is_lazy(xp):
        return matrix.T
    return xp.reshape(xp.reshape(matrix.T, (rows * columns,)), (columns, rows))


def set_values(variables: Sequence[Array], values: Sequence[Array], names: Sequence[str]) -> None:
    """Set the values of Variables, converted to their libraries and dtypes; if a shape is wrong, none is set."""
    checked = []
    for old, value, name in zip(variables, values, names, strict=True):
        array = asarray(value, array_namespace(old.value), B.dtype(old))
        if array.shape != old.value.shape:
            raise ValueError(f"{name} must have shape {tuple(old.value.shape)}, got {tuple(array.shape)}")
        checked.append(array)
    for old, array in zip(variables, checked, strict=True):
        old.set_value(array)
