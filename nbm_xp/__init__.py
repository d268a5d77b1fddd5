"""Boltzmann machines, random numbers and gradients on NumPy, Dask, CuPy, PyTorch and JAX arrays, in one implementation.

Importing the package imports NumPy and no other large library. Other array libraries are imported when they are first
named or their arrays are passed; subpackages are imported on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .namespace import (
    backend,
    configuration,
    epsilon,
    floatx,
    format_info,
    image_data_format,
    info,
    installed_libraries,
    intx,
    register_library,
    save_configuration,
    set_backend,
    set_epsilon,
    set_floatx,
    set_image_data_format,
    set_intx,
    use_backend,
)
from .package import __version__, public_names

if TYPE_CHECKING:
    from . import boltzmann, graphs, keras1, keras2, natural_bm, neon, rng, runs, special, tape
    from .boltzmann import DBM, RBM
    from .rng import Generator
    from .tape import grad, value_and_grad

__all__ = [
    "DBM", "RBM", "Generator", "__version__", "backend", "boltzmann", "configuration", "epsilon", "floatx",
    "format_info", "grad", "graphs", "image_data_format", "info", "installed_libraries", "intx", "keras1", "keras2",
    "natural_bm", "neon", "register_library", "rng", "runs", "save_configuration", "set_backend", "set_epsilon",
    "set_floatx", "set_image_data_format", "set_intx", "special", "tape", "use_backend", "value_and_grad",
]  # fmt: skip

public_names(
    globals(),
    later=dict.fromkeys(
        ("boltzmann", "graphs", "keras1", "keras2", "natural_bm", "neon", "rng", "runs", "special", "tape"), ""
    )
    | {"DBM": "boltzmann", "RBM": "boltzmann", "Generator": "rng", "grad": "tape", "value_and_grad": "tape"},
)
