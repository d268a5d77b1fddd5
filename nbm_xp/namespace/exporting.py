"""Export of functions of arrays to other programs: as a module of PyTorch, and as an ONNX model."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from nbm_xp.package import need

from .kernels import kernel
from .libraries import get_namespace
from .registering import register_library


def torch_module(
    parameters: Mapping[str, Any],
    forward: Callable[..., Any],
    methods: Mapping[str, Callable[..., Any]],
    draws: Mapping[str, Callable[..., Any]],
) -> Any:
    """Return a `torch.nn.Module` of functions of rows and parameters.

    Parameters
    ----------
    parameters : mapping of names to NumPy arrays
    forward : callable
        Function of rows and, in this order, all parameters: the module's `forward`.
    methods, draws : mapping of names to callables
        Such functions, the module's other methods. PyTorch records no gradients of `draws`.
    """
    get_namespace("torch")  # raises an error that says what to install
    torch: Any = importlib.import_module("torch")

    def method(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        return lambda self, v: function(v, *self.parameters())

    members = {name: method(function) for name, function in ({"forward": forward} | dict(methods)).items()}
    members |= {name: torch.no_grad()(method(function)) for name, function in draws.items()}
    module = type("Module", (torch.nn.Module,), members)()
    for name, value in parameters.items():
        module.register_parameter(name, torch.nn.Parameter(torch.tensor(value)))
    return module


def onnx_model(function: Callable[[Any], dict[str, Any]], name: str, shape: tuple[int | str, ...], dtype: str) -> Any:
    """Return the ONNX model of a function of one array.

    Parameters
    ----------
    function : callable
        From an array to arrays by the names of the outputs.
    name : str
        Name of the input.
    shape : tuple of int and str
        Its shape, with names for unknown lengths.
    dtype : str
    """
    ndonnx = need("ndonnx")
    if kernel("compiling.is_traced", "ndonnx") is None:
        # An unknown length is None in ndonnx, whose reshape takes -1.
        own = {"reshape": lambda x, shape, **k: ndonnx.reshape(x, [-1 if n is None else n for n in shape], **k)}
        kernels = {"to_numpy": lambda x: x.unwrap_numpy(), "compiling.is_traced": _has_no_value}
        register_library("ndonnx", ndonnx, ndonnx.Array, replacements=own, kernels=kernels)
    given = ndonnx.argument(shape=shape, dtype=getattr(ndonnx, dtype))
    return ndonnx.build({name: given}, function(given))


def _has_no_value(x: Any) -> bool:
    """Whether an array of ndonnx is recorded rather than computed."""
    try:
        x.unwrap_numpy()
    except ValueError:
        return True
    return False
