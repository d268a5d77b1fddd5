"""Machines in the formats of other programs: HDF5 files of rbms and of Julia, modules of PyTorch, ONNX models.

rbms stores a machine at several updates of its training, in groups ``update_N``: ``params/weight_matrix`` of shape
(visible units, hidden units), or (sites, states, hidden units), ``params/vbias`` and ``params/hbias``.

RestrictedBoltzmannMachinesHDF5.jl stores ``weights`` and, for each layer, the kind of units and an array of all their
parameters. Julia's arrays are column-major, so that h5py reverses their axes: units are in the order of Julia's
``vec``, and the parameters of a unit along the last axis.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.files import local_path, replacing
from nbm_xp.machines import Array
from nbm_xp.machines.randomness import stream
from nbm_xp.machines.units import interleaved
from nbm_xp.namespace import dtype_name, host_namespace, library_name, to_numpy
from nbm_xp.namespace.exporting import onnx_model, torch_module
from nbm_xp.package import need

from .energy import expectation, free_energy
from .recording import compile_sweep, rows_placeholder
from .state import MachineState

_RBMS = "BBRBM", "PBRBM"  # models of rbms: with binary, and with categorical visible units
_PARAMS = "weight_matrix", "vbias", "hbias"
_JULIA = ("1.0.0",)  # versions of the format of RestrictedBoltzmannMachinesHDF5.jl


class FormatsMixin:
    """The methods of `RBM` for formats of other programs."""

    state_: MachineState
    from_parameters: Callable[..., Self]

    @classmethod
    def from_rbms(cls, path: str | os.PathLike[str], update: int | None = None, **params: Any) -> Self:
        """Read a machine from an HDF5 file of the package rbms.

        Parameters
        ----------
        path : path-like
        update : int, optional
            Number of the update of the training at which the machine was saved; by default the last one.
        **params
            Hyperparameters, and `base_rate` of `from_parameters`.

        Raises
        ------
        ValueError
            If the file holds no such machine.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "RBM.h5"
        >>> RBM.from_parameters(np.ones((2, 6)), np.zeros(2), np.zeros(6), visible="categorical:3").to_rbms(file)
        >>> RBM.from_rbms(file).components_.shape
        (2, 6)
        """
        with _opened(path, "model_type", _RBMS) as file:
            updates = sorted(int(name.removeprefix("update_")) for name in file if name.startswith("update_"))
            if update not in (None, *updates):
                raise ValueError(f"update must be one of {updates}, which {os.fspath(path)} holds, got {update!r}")
            group = file[f"update_{updates[-1] if update is None else update}/params"]
            weights, of_visible, of_hidden = (group[name][()] for name in _PARAMS)
        if weights.ndim == 3:
            params = {"visible": f"categorical:{weights.shape[1]}"} | params
        components = B.reshape(weights, (-1, weights.shape[-1])).T
        return cls.from_parameters(components, of_hidden, B.reshape(of_visible, (-1,)), **params)

    def to_rbms(self, path: str | os.PathLike[str]) -> None:
        """Write the machine to an HDF5 file of the package rbms, which can sample and evaluate it.

        Parameters
        ----------
        path : path-like
            The file; an existing file is replaced atomically.

        Raises
        ------
        ValueError
            If rbms has no such units: visible units must be binary or categorical, hidden units binary.

        Notes
        -----
        The file has the parameters, the hyperparameters that rbms shares, and chains that `sample` draws. It has no
        states of PyTorch's random numbers, so that rbms cannot resume a training from it.
        """
        model: Any = self
        visible, hidden = self.state_.topology.units
        if hidden.name != "binary" or not (visible.name == "binary" or visible.is_categorical):
            kinds = f"{visible.name} and {hidden.name}"
            raise ValueError(f"to_rbms is for binary or categorical visible and binary hidden units, got {kinds}")
        weights, of_visible, of_hidden = (to_numpy(part.value) for part in self.state_.parameters)
        if visible.is_categorical:
            weights = B.reshape(weights, (-1, visible.count, weights.shape[1]))
            of_visible = B.reshape(of_visible, (-1, visible.count))
        parameters = zip(_PARAMS, (weights, of_visible, of_hidden), strict=True)
        arrays = {f"update_1/params/{name}": value for name, value in parameters}
        arrays |= {"update_1/time": 0.0, "model_type": _RBMS[visible.is_categorical]}
        settings = {"batch_size": model.batch_size, "gibbs_steps": model.n_gibbs, "learning_rate": model.learning_rate}
        arrays |= {f"hyperparameters/{name}": value for name, value in (settings | {"L1": 0.0, "L2": 0.0}).items()}
        arrays["parallel_chains"] = to_numpy(model.sample(model.batch_size, model.n_gibbs, random_state=0))
        with replacing(local_path(path)) as part, need("h5py").File(part, "w") as file:
            file.update(arrays)

    @classmethod
    def from_julia(cls, path: str | os.PathLike[str], **params: Any) -> Self:
        """Read a machine from an HDF5 file of the Julia package RestrictedBoltzmannMachines.jl.

        Parameters
        ----------
        path : path-like
            A file of RestrictedBoltzmannMachinesHDF5.jl with an ``RBM`` or a ``StandardizedRBM``.
        **params
            Hyperparameters, and `base_rate` of `from_parameters`.

        Raises
        ------
        ValueError
            If the file holds no such machine, or one with units that `RBM` does not have.

        Notes
        -----
        Hidden units with real values are scaled, and their weights, to the parameters of the kinds of units here. The
        distribution of the visible units does not change by this, and free energies by a constant.
        """
        with _opened(path, "rbm_hdf5_file_format_version", _JULIA) as file:
            visible, of_visible, _ = _julia_layer(file, "visible")
            hidden, of_hidden, factors = _julia_layer(file, "hidden")
            components = B.reshape(file["weights"][()], (of_hidden[0].shape[0], of_visible[0].shape[0]))
            if "scale_h" in file:
                offset_v, offset_h, scale_v, scale_h = (
                    B.reshape(file[name][()], (-1,)) for name in ("offset_v", "offset_h", "scale_v", "scale_h")
                )
                components = components / scale_h[:, None] / scale_v
                of_visible[0] = of_visible[0] - offset_h @ components
                of_hidden[0] = of_hidden[0] - factors * (components @ offset_v)
        components = components * factors[:, None]
        for axis, biases in enumerate((of_hidden, of_visible)):  # only the first unit of a site has weights
            components = interleaved([components, *[0 * components] * (len(biases) - 1)], axis)
        both = interleaved(of_hidden, 0), interleaved(of_visible, 0)
        return cls.from_parameters(components, *both, **{"visible": visible, "hidden": hidden} | params)

    def to_torch(self) -> Any:
        """Return the machine as a `torch.nn.Module`.

        Returns
        -------
        torch.nn.Module
            With the parameters ``weights`` of shape (visible units, hidden units), ``intercept_visible`` and
            ``intercept_hidden``. Called with rows it returns the means of the hidden units; its method ``free_energy``
            returns the free energy of each row, and ``gibbs`` new rows after a sweep of Gibbs sampling. PyTorch
            differentiates the first two with respect to rows and parameters.

        Notes
        -----
        Draws are of the package's streams of random numbers, seeded with the model's seed. The module has a copy of the
        parameters. It computes with the functions of this package: save it by its ``state_dict``.
        """
        own, rng = self.state_.parameters, stream(self.state_.seed, "module")
        inputs = [B.placeholder(shape=part.value.shape, dtype=own.dtype) for part in own]
        parameters = own.like(inputs)
        rows, visible = rows_placeholder(parameters, None)
        state = visible, None
        formulas = expectation(parameters, 1, state), free_energy(parameters, state)
        transform, energies = (B.function([rows, *inputs], formula) for formula in formulas)
        sweep = functools.cache(lambda count: compile_sweep(parameters, count, rng, inputs))

        def gibbs(v: Array, *values: Array) -> Array:
            return sweep(int(v.shape[0]))(v, *values)[0]

        names = ("weights", "intercept_visible", "intercept_hidden")
        values = {name: to_numpy(part.value) for name, part in zip(names, own, strict=True)}
        return torch_module(values, transform, {"free_energy": energies}, {"gibbs": gibbs})

    def to_onnx(self) -> Any:
        """Return the machine as an ONNX model, made by the package ndonnx.

        Returns
        -------
        onnx.ModelProto
            Its input ``v`` is any number of rows; its outputs are ``h``, the result of `transform`, and
            ``free_energy``.

        Raises
        ------
        ValueError
            If the units need functions that ONNX does not have: those of ``hidden="relu"`` and ``"drelu"``.
        """
        if not self.state_.topology.units[1].knows_means:
            raise ValueError(f"to_onnx is for units whose functions ONNX has, got {self.state_.topology.hidden} units")
        model: Any = copy.copy(self)
        model.state_ = self.state_.moved(library_name(host_namespace()))

        def outputs(v: Array) -> dict[str, Array]:
            return {"h": model.transform(v), "free_energy": model.free_energy(v)}

        return onnx_model(outputs, "v", ("rows", self.state_.n_features), dtype_name(model.state_.like))


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], label: str, allowed: Sequence[str]) -> Iterator[Any]:
    """Open an HDF5 file to read that has one of the `allowed` strings as `label`; raise `ValueError` for others."""
    h5py, place = need("h5py"), local_path(path)
    try:
        with h5py.File(place, "r") as file:
            found = file[label].asstr()[()]
            if found not in allowed:
                raise ValueError(f"{os.fspath(path)} must have the {label} {' or '.join(allowed)}, got {found!r}")
            yield file
    except (FileNotFoundError, PermissionError):
        raise
    except (IndexError, KeyError, OSError, TypeError) as error:
        raise ValueError(f"{os.fspath(path)} holds no machine that can be read: {error}") from error


def _julia_layer(file: Any, side: str) -> tuple[str, list[Array], Array]:
    """Return the kind of units of a layer, the biases of the first and further units of its sites, and factors.

    The factors are those of the weights of hidden units.
    """
    kind, par = file[f"{side}_type"].asstr()[()], file[f"{side}_par"][()]
    parts = B.reshape(par, (-1, par.shape[-1]))
    theta, ones = parts[:, 0], B.ones_like(parts[:, 0])
    if kind in ("Binary", "Spin"):
        return kind.lower(), [theta], ones
    if kind == "Potts":
        return f"categorical:{par.shape[-2]}", [theta], ones
    if kind == "Gaussian" and side == "visible":
        return "normal", [theta, B.abs(parts[:, 1])], ones
    if kind == "Gaussian":
        factors = 1 / B.sqrt(B.abs(parts[:, 1]))
        return "gaussian", [theta * factors], factors
    if kind == "xReLU" and side == "hidden":
        gamma, delta, xi = B.abs(parts[:, 1]), parts[:, 2], parts[:, 3]
        asymmetry = -xi / (1 + B.abs(xi))
        spread = 1 - B.square(asymmetry)
        factors = B.sqrt(spread / gamma)
        return "drelu", [factors * (theta + delta * asymmetry / spread), -factors * delta / spread, asymmetry], factors
    raise ValueError(f"{side}_type must be a kind of units that RBM has, got {kind!r}")
