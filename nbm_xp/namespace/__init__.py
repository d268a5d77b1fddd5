"""Array libraries: which one an array belongs to, the configuration, and replacements for what a library lacks.

The code in all other folders is written over ``xp = array_namespace(...)``, without names of libraries.
"""

from __future__ import annotations

from nbm_xp.package import public_names

from .blocks import from_blocks
from .compiling import Derivatives, running_namespace, with_derivatives
from .config import (
    backend,
    configuration,
    epsilon,
    floatx,
    image_data_format,
    intx,
    reset_configuration,
    save_configuration,
    set_backend,
    set_epsilon,
    set_floatx,
    set_image_data_format,
    set_intx,
    use_backend,
)
from .conversion import asarray, brought, compute, concrete_int, convert, device_of, in_one_library, promote, to_numpy
from .dispatch import (
    array_namespace,
    default_namespace,
    device_argument,
    has_blocks,
    is_array,
    kept_by_type,
    library_name,
    recording_namespace,
    register_array_type,
)
from .dtypes import (
    DTYPE_NAMES,
    dtype_name,
    dtype_of,
    is_bool,
    is_complex,
    is_floating,
    is_integer,
    kind,
    promote_types,
    running_dtype,
    to_floating,
    wide_dtypes,
)
from .indexing import put, replaced, scatter_add, scattered, take_along_axis
from .kernels import kernel, register_kernel
from .libraries import get_namespace, host_namespace, installed_libraries, is_lazy
from .memory import address, assign, can_be_owned, may_overlap, reshaped_view, size_in_bytes, writes_in_place
from .registering import register_library
from .report import format_info, info

__all__ = [
    "DTYPE_NAMES", "Derivatives", "address", "array_namespace", "asarray", "brought", "assign", "backend",
    "can_be_owned", "compute", "concrete_int", "configuration", "convert", "default_namespace", "device_argument",
    "device_of", "dtype_name", "dtype_of", "running_dtype", "epsilon", "floatx", "format_info", "from_blocks",
    "get_namespace", "has_blocks", "host_namespace", "image_data_format", "in_one_library", "info",
    "installed_libraries", "intx", "is_array", "is_bool", "is_complex", "is_floating", "is_integer", "is_lazy",
    "kept_by_type", "kernel", "kind", "library_name", "may_overlap", "promote", "promote_types", "put",
    "register_array_type", "recording_namespace", "register_kernel", "register_library", "replaced",
    "reset_configuration", "reshaped_view", "running_namespace", "save_configuration", "scatter_add", "scattered",
    "set_backend", "set_epsilon", "set_floatx", "set_image_data_format", "set_intx", "size_in_bytes", "take_along_axis",
    "to_floating", "to_numpy", "use_backend", "wide_dtypes", "with_derivatives", "writes_in_place",
]  # fmt: skip

public_names(globals())
