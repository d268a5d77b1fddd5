"""What a model holds: its parameters as Variables, its random streams, and the functions compiled so far.

All of it can be pickled, and saved to a file that is written whole or not at all and read without running code; the
compiled functions are left out and made again when needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    get_namespace,
    host_namespace,
    library_name,
    to_numpy,
    use_backend,
)
from nbm_xp.namespace.files import load_arrays, save_arrays

from .energy import Parameters
from .estimator import Estimator, NotFittedError
from .randomness import entropy_of, stream

__all__ = ["Model", "variable"]

_FORMAT = "nbm_xp.RBM 1"
_ARRAYS = ("components", "intercept_hidden", "intercept_visible", "base_rate")
_OPTIONAL = ("h_samples", "velocity_weights", "velocity_hidden", "velocity_visible")


class Model(Estimator):
    """A restricted Boltzmann machine's memory; `Machine` adds what it computes, `RBM` how it learns."""

    n_features_in_: int
    n_iter_: int
    n_samples_seen_: int
    base_rate_: Any
    _parameters: Parameters
    _velocities: Parameters | None
    _chains: Any
    _rate: Any
    _entropy: int
    _rng: Any
    _compiled: dict[Hashable, Any]

    @property
    def components_(self) -> Any:
        """The weights, an array of shape (hidden units, visible units)."""
        return self._fitted()._parameters.weights.value.T

    @components_.setter
    def components_(self, value: Any) -> None:
        now = self.components_
        value = asarray(value, array_namespace(now), now.dtype)
        if value.shape != now.shape:
            raise ValueError(f"components_ must have shape {tuple(now.shape)}, got {tuple(value.shape)}")
        self._parameters.weights.set_value(_transposed(value))

    @property
    def intercept_hidden_(self) -> Any:
        """The biases of the hidden units, an array."""
        return self._fitted()._parameters.hidden.value

    @intercept_hidden_.setter
    def intercept_hidden_(self, value: Any) -> None:
        self._set(self._fitted()._parameters.hidden, value, "intercept_hidden_")

    @property
    def intercept_visible_(self) -> Any:
        """The biases of the visible units, an array."""
        return self._fitted()._parameters.visible.value

    @intercept_visible_.setter
    def intercept_visible_(self, value: Any) -> None:
        self._set(self._fitted()._parameters.visible, value, "intercept_visible_")

    @property
    def h_samples_(self) -> Any:
        """The hidden units of the persistent chains, an array of shape (chains, hidden units)."""
        if self._fitted()._chains is None:
            raise AttributeError("h_samples_: there are no persistent chains yet")
        return self._chains.value

    def _fitted(self) -> Self:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has learnt nothing yet: call fit first")
        return self

    @staticmethod
    def _set(variable: Any, value: Any, name: str) -> None:
        value = asarray(value, array_namespace(variable.value), B.dtype(variable))
        if value.shape != variable.value.shape:
            raise ValueError(f"{name} must have shape {tuple(variable.value.shape)}, got {tuple(value.shape)}")
        variable.set_value(value)

    def _install(self, arrays: Mapping[str, Any], entropy: int, *, n_iter: int = 0, n_samples: int = 0) -> None:
        """Begin, or go on, with these arrays, all of one library and dtype."""
        weights = _transposed(arrays["components"])
        self._home = library_name(weights)
        biases = [variable(arrays[name], name) for name in _ARRAYS[1:3]]
        self._parameters = Parameters(variable(weights, "weights"), *biases)
        self.base_rate_ = arrays["base_rate"]
        chains, *velocities = (arrays.get(name) for name in _OPTIONAL)
        self._chains = None if chains is None else variable(chains, "h_samples")
        moving = velocities[0] is not None
        self._velocities = Parameters(*map(variable, velocities)) if moving else None
        self._rate = variable(asarray(0.0, array_namespace(arrays["components"]), arrays["components"].dtype))
        self._entropy = entropy
        self._rng = stream(entropy)
        self._compiled = {}
        self.n_features_in_ = int(arrays["components"].shape[1])
        self.n_iter_ = n_iter
        self.n_samples_seen_ = n_samples

    def _arrays(self) -> dict[str, Any]:
        """All arrays that the model goes on with."""
        self._fitted()
        biases = [bias.value for bias in self._parameters[1:]]
        arrays = dict(zip(_ARRAYS, [self.components_, *biases, self.base_rate_], strict=True))
        rest = [self._chains, *(self._velocities or ())]
        return arrays | {name: v.value for name, v in zip(_OPTIONAL, rest, strict=False) if v is not None}

    def _same_library(self, X: Any) -> Any:
        """Refuse rows in host memory for a model on a device: what comes out would be on the device, unasked."""
        home, given = library_name(self.components_), library_name(X)
        if home not in (given, library_name(host_namespace())) and given == library_name(host_namespace()):
            raise TypeError(f"X is of {given} and the model of {home}: convert X, or move the model with to({given!r})")
        return X

    def _function(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The compiled function of a key, built the first time."""
        try:
            return self._compiled[key]
        except KeyError:
            with use_backend(self._home):
                return self._compiled.setdefault(key, build())

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params()}
        if hasattr(self, "n_features_in_"):
            state |= {"arrays": self._arrays(), "progress": self._progress()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state["params"].items():
            setattr(self, name, value)
        if "arrays" in state:
            self._go_on(state["arrays"], state["progress"])

    def _progress(self) -> dict[str, Any]:
        return {
            "entropy": str(self._entropy),
            "rstate": [int(word) for word in self._rng.rstate],
            "n_iter": self.n_iter_,
            "n_samples": self.n_samples_seen_,
        }

    def _go_on(self, arrays: Mapping[str, Any], progress: Mapping[str, Any]) -> None:
        counts = {name: int(progress[name]) for name in ("n_iter", "n_samples")}
        self._install(arrays, int(progress["entropy"]), **counts)
        self._rng.set_rstate(list(progress["rstate"]))

    @classmethod
    def from_parameters(
        cls, components: Any, intercept_hidden: Any, intercept_visible: Any, *, base_rate: Any = None, **params: Any
    ) -> Self:
        """A model with given parameters.

        Parameters
        ----------
        components : array of shape (hidden units, visible units)
            The weights. The model takes their library and dtype.
        intercept_hidden, intercept_visible : array
            The biases.
        base_rate : array of shape (visible units,), optional
            How often each visible unit is 1 in the data: where chains and annealing start. One half by default.
        **params
            Hyperparameters.

        Raises
        ------
        ValueError
            If the shapes do not fit together.

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
        xp, (n_hidden, n_visible) = array_namespace(components), components.shape
        rate = xp.full(n_visible, 0.5, dtype=components.dtype) if base_rate is None else base_rate
        model = cls().set_params(**{"n_components": int(n_hidden)} | params)
        arrays = dict(zip(_ARRAYS, (components, intercept_hidden, intercept_visible, rate), strict=True))
        shapes = dict(zip(_ARRAYS, ((n_hidden, n_visible), (n_hidden,), (n_visible,), (n_visible,)), strict=True))
        for name, shape in shapes.items():
            arrays[name] = asarray(arrays[name], xp, components.dtype)
            if tuple(arrays[name].shape) != shape:
                raise ValueError(f"{name} must have shape {shape}, got {tuple(arrays[name].shape)}")
        model._install(arrays, entropy_of(model.get_params()["random_state"]))
        return model

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
        self._go_on(arrays, self._progress())
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz file: whole, or not at all.

        Parameters
        ----------
        path : path-like
            The file; one that exists is replaced in one step.

        Notes
        -----
        The file holds the arrays, and as one string of JSON the hyperparameters, the random streams' place and how
        much was learnt. A `random_state` that is a generator is saved as None. It is an ordinary .npz file, which
        `numpy.load` opens.
        """
        params = {name: value if _is_plain(value) else None for name, value in self.get_params().items()}
        about = {"format": _FORMAT, "library": library_name(self.components_), "params": params}
        save_arrays(path, {**self._arrays(), "metadata": json.dumps(about | {"progress": self._progress()})})

    @classmethod
    def load(cls, path: str | os.PathLike[str], library: str | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the file is run.

        Parameters
        ----------
        path : path-like
        library : str, optional
            Where its arrays are to live; host memory by default.

        Raises
        ------
        ValueError
            If the file holds no such model.
        """
        loaded = load_arrays(path)
        try:
            about = json.loads(loaded.pop("metadata"))
            if about["format"] != _FORMAT:
                raise ValueError(f"{path} holds {about['format']!r}, not {_FORMAT!r}")
            missing = [name for name in _ARRAYS if name not in loaded]
            if missing:
                raise ValueError(f"{path} lacks {', '.join(missing)}")
            model = cls().set_params(**about["params"])
            xp = host_namespace() if library is None else get_namespace(library)
            model._go_on({name: asarray(value, xp) for name, value in loaded.items()}, about["progress"])
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} holds no restricted Boltzmann machine of nbm_xp") from error
        return model


def _transposed(matrix: Any) -> Any:
    """The transpose with its rows one after the other in memory, as products and updates are fastest."""
    rows, columns = matrix.shape
    xp = array_namespace(matrix)
    return xp.reshape(xp.reshape(matrix.T, (rows * columns,)), (columns, rows))


def variable(value: Any, name: str | None = None) -> Any:
    """A Variable with the dtype and of the library of its array, where natural_bm would follow the configuration."""
    with use_backend(library_name(value)):
        return B.variable(value, dtype=dtype_name(value), name=name)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
