"""CUDA kernels launched on CuPy's arrays.

Contract: one text for processors and devices. What happens to one element stands in the core's
``elements/*.h``, the kernels around it in ``devices/*.cuh``; products are rounded before anything is added, so that
the bits are those of every other library. A kernel runs on the device where its arrays lie, on that device's current
stream, and nothing comes back to the host unasked. CuPy is taken from the namespace of the arrays, never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from nbm_xp.namespace import core
from nbm_xp.namespace.conversion import asarray
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_of
from nbm_xp.namespace.libraries import host_namespace

from .integers import transition

__all__ = [
    "OPTIONS", "P_TYPES", "REALS", "SAMPLES", "consecutive", "every_text", "launch", "matrices", "number_by_number",
    "on_device_of", "source",
]  # fmt: skip

OPTIONS: Final = ("--fmad=false",)
"""What the compiler is told: a product is rounded before anything is added."""

THREADS: Final = 256
"""How many threads a block has."""

_FLOAT: Final = {"REAL": "float", "UNIFORM": "uniform_float", "ROOT": "rootf_of"}
_DOUBLE: Final = {"REAL": "double", "UNIFORM": "uniform_double", "ROOT": "root_of"}
REALS: Final = {"float16": {"REAL": "u16", "UNIFORM": "uniform_half"}, "float32": _FLOAT, "float64": _DOUBLE}
"""What stands for each dtype of uniforms in the texts."""

SAMPLES: Final = {"bool": "bool", "int8": "i8", "int32": "i32", "int64": "i64", "float32": "float", "float64": "double"}
"""The dtypes of ones and zeros, and their types in the texts."""

P_TYPES: Final = {"float32": "float", "float64": "double"}
"""The dtypes of probabilities, and their types in the texts."""


@lru_cache(maxsize=64)
def source(name: str, **types: str) -> str:
    """The text of a file of kernels, without includes, with the types that it is written for.

    Examples
    --------
    >>> source("runs", **REALS["float32"]).splitlines()[0]
    '#define REAL float'
    """
    lines = [f"#define {key} {value}\n" for key, value in types.items()]
    return "".join([*lines, core.whole_text(f"devices/{name}.cuh")])


def every_text() -> dict[str, str]:
    """All texts that may be compiled, by what they are for.

    Examples
    --------
    >>> "runs float16" in every_text()
    True
    """
    texts = {name: source(name) for name in ("advance", "elementary", "samplers", "searches", "wide")}
    for dtype, types in REALS.items():
        for name in ("draw", "runs") if dtype == "float16" else ("draw", "runs", "box_muller"):
            texts[f"{name} {dtype}"] = source(name, **types)
    for dtype, outputs in (("float32", "1"), ("float64", "2")):
        texts[f"normals {dtype}"] = source("normals", **REALS[dtype], OUTPUTS=outputs)
    for dtype in P_TYPES:
        for probability, p_type in P_TYPES.items():
            for sample, out in SAMPLES.items():
                text = source("bernoulli", **REALS[dtype], P=p_type, OUT=out)
                texts[f"bernoulli {dtype} {probability} {sample}"] = text
    return texts


def on_device_of(x: Any) -> Any:
    """A context in which the device of a CuPy array is the current one, so that memory and kernels are there."""
    return x.device


@lru_cache(maxsize=64)
def _kernel(xp: Any, text: str, name: str) -> Any:
    return xp.RawKernel(text, name, options=OPTIONS)


def launch(xp: Any, text: str, name: str, threads: int, *arguments: Any) -> None:
    """Launch a kernel with at least so many threads; a number among the arguments is a 64-bit integer."""
    wide = host_namespace().int64
    sized = tuple(wide(value) if isinstance(value, int) else value for value in arguments)
    _kernel(xp, text, name)((-(-threads // THREADS),), (THREADS,), sized)


def consecutive(x: Any, dtype: str) -> Any:
    """A CuPy array as a kernel takes it: of some dtype, its elements one after the other."""
    xp = array_namespace(x)
    return xp.ascontiguousarray(x, dtype=dtype_of(xp, dtype))


def number_by_number(states: Any) -> Any:
    """States of shape (count, 6) as kernels take them: all first numbers, then all second ones, and so on."""
    return consecutive(states.T, "int32")


def matrices(xp: Any, steps: Sequence[int]) -> Any:
    """The matrices that take a state so many steps on, each count's in turn, on the current device."""
    return asarray([transition(count) for count in steps], xp, "uint32")
