"""One body for each function, on NumPy, Dask, CuPy, PyTorch and JAX arrays, computed at once or recorded.

Importing the package imports NumPy and nothing else of weight; a library is imported when its arrays, or a call that
names it, bring it.
"""

from __future__ import annotations

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

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "backend",
    "configuration",
    "epsilon",
    "floatx",
    "format_info",
    "image_data_format",
    "info",
    "installed_libraries",
    "intx",
    "register_library",
    "save_configuration",
    "set_backend",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
    "set_intx",
    "use_backend",
]
