"""Dtypes by name, NumPy's promotion, and explicit casts.

Dtypes are given by name: ``'float32'`` means the same for every library. Promotion follows NumPy's table everywhere,
and casts are explicit, so that no library applies its own rules. For arrays that need no cast, every function costs
one look-up of the dtype object.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from . import config, dispatch, libraries

KINDS: dict[str, str] = {
    "bool": "b",
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "i"),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "u"),
    **dict.fromkeys(("float16", "float32", "float64"), "f"),
    **dict.fromkeys(("complex64", "complex128"), "c"),
}
# The names of the dtypes that the library knows.
DTYPE_NAMES: tuple[str, ...] = tuple(KINDS)

_NUMPY_LIKE = frozenset({"numpy", "cupy", "dask", "jax"})
_PYTHON_TYPES: dict[Any, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
SCALAR_KINDS: dict[type, str] = {bool: "b", int: "i", float: "f", complex: "c"}

# NumPy has one class for each dtype: the class of a dtype object is found faster, and compared more safely, than the
# object. Strings and PyTorch's dtype objects have one class each and are found by value. (Not so array_api_strict's,
# which hash as NumPy's do and warn when compared with them: their text is read every time.)
_NAME_OF_CLASS: dict[type, str] = {type(np.dtype(name)): name for name in KINDS}
INEXACT: frozenset[type] = frozenset(cls for cls, name in _NAME_OF_CLASS.items() if KINDS[name] in "fc")
_NAME_OF_VALUE: dict[type, dict[Any, str]] = {str: {name: name for name in KINDS}}
WEAK_REALS: frozenset[type] = frozenset({int, float})
_OBJECT_OF: dict[tuple[Any, str], Any] = {}
_PROMOTED: dict[tuple[Any, ...], str] = {}


def _unknown(dtype: object) -> TypeError:
    names = ", ".join(DTYPE_NAMES)
    if hasattr(dtype, "dtype") and hasattr(dtype, "shape"):
        return TypeError(f"the dtype of an array must be one of {names}; got {dtype.dtype}")
    return TypeError(f"dtype must be one of {names}; got {dtype!r}")


def dtype_name(x: Any) -> str:
    """Return the name of a dtype, or of the dtype of an array.

    Parameters
    ----------
    x
        An array or recorded tensor, a dtype object of any library, a name, or one of Python's types ``bool``,
        ``int``, ``float``, ``complex`` (with their meaning in NumPy).

    Raises
    ------
    TypeError
        If the dtype is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> dtype_name(np.ones(3)), dtype_name(np.int8), dtype_name("bool"), dtype_name(float)
    ('float64', 'int8', 'bool', 'float64')
    """
    try:
        return _NAME_OF_CLASS[type(x.dtype)]
    except (AttributeError, KeyError):
        return _read_name(x)


def _read_name(x: Any) -> str:
    """The dtype's name of anything except an array with a NumPy dtype."""
    # NumPy's and JAX's scalar types have a descriptor named dtype, which is no dtype
    dtype = x if isinstance(x, (str, type)) else getattr(x, "dtype", x)
    name = _NAME_OF_CLASS.get(type(dtype))
    if name is not None:
        return name
    try:
        return _NAME_OF_VALUE[type(dtype)][dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, (type, np.dtype)):
        name = _numpy_name(_PYTHON_TYPES.get(dtype, dtype))
        if name in KINDS and isinstance(dtype, type):
            _NAME_OF_VALUE.setdefault(type(dtype), {})[dtype] = name
    else:
        name = str(dtype) if isinstance(dtype, str) else str(dtype).rpartition(".")[2]
        if isinstance(dtype, str) or type(dtype).__module__.partition(".")[0] == "torch":
            known = _NAME_OF_VALUE.setdefault(type(dtype), {})
            if name in KINDS:
                known[dtype] = name
    return name if name in KINDS else _by_namespaces(dtype, x)


def _by_namespaces(dtype: Any, x: Any) -> str:
    """The name of a dtype that its text does not reveal, by the namespaces that have it."""
    if not isinstance(dtype, (str, type, np.dtype)):
        for xp in libraries.namespaces():
            for name in DTYPE_NAMES if hasattr(xp, "isdtype") else ():
                own = getattr(xp, name, None)
                if own is not None and type(own) is type(dtype) and xp.isdtype(dtype, own):
                    return name
    raise _unknown(x)


def _numpy_name(dtype: Any) -> str:
    """The name of a NumPy dtype or a type equivalent to one; empty for any other type."""
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return ""


def dtype_of(xp: Any, name: Any) -> Any:
    """Return the dtype object of a namespace for a name.

    Raises
    ------
    TypeError
        If the dtype is unknown, or the namespace lacks it.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> dtype_of(get_namespace("numpy"), "float32")
    dtype('float32')
    """
    try:
        return _OBJECT_OF[xp, name]
    except (KeyError, TypeError):
        pass
    known = dtype_name(name)
    library = libraries.name_of_namespace(xp)
    if library in _NUMPY_LIKE:
        dtype: Any = np.dtype(known)
    else:
        dtype = getattr(xp, known, None)
        if dtype is None:
            raise TypeError(f"{library or xp.__name__} has no dtype {known!r}")
    _OBJECT_OF[xp, known] = dtype
    return dtype


_HALF = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def running_dtype(xp: Any, name: Any) -> Any:
    """Return the dtype to compute in for a recorded or default dtype; half as wide in JAX without 64-bit types.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> running_dtype(get_namespace("numpy"), "int64")
    dtype('int64')
    """
    known = dtype_name(name)
    if known in _HALF and libraries.name_of_namespace(xp) == "jax":
        known = known if importlib.import_module("jax").config.jax_enable_x64 else _HALF[known]
    return dtype_of(xp, known)


def wide_dtypes(xp: Any) -> AbstractContextManager[Any]:
    """Context manager in which the namespace has int64 and float64. Only JAX may lack them otherwise.

    Arrays with these dtypes remain valid outside; further computations with them must be inside the context.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> with wide_dtypes(xp):
    ...     xp.asarray(2**40, dtype=xp.int64) % 7
    np.int64(2)
    """
    if libraries.name_of_namespace(xp) == "jax":
        return wide_jax()
    return nullcontext()


def promote_types(*dtypes: Any) -> str:
    """Return the name of the dtype to which NumPy promotes arrays of these dtypes.

    Examples
    --------
    >>> promote_types("int32", "float32"), promote_types("int8", "float32"), promote_types("bool", "uint8")
    ('float64', 'float32', 'uint8')
    """
    try:
        return _PROMOTED[dtypes]
    except (KeyError, TypeError):
        names = tuple(dtype_name(dtype) for dtype in dtypes)
    if not names:
        raise TypeError("promote_types needs at least one dtype")
    name = np.result_type(*(np.dtype(name) for name in names)).name
    return _PROMOTED.setdefault(names, name)


def floating_dtype(dtype: Any) -> str:
    """Return the name of the floating dtype to which integers and booleans are converted.

    It is float64 if `floatx` is float64; else NumPy's promotion with float32: float32 for 8 and 16 bits and booleans,
    float64 for wider integers, which is exact up to 2^53.

    Examples
    --------
    >>> floating_dtype("int8"), floating_dtype("int32")
    ('float32', 'float64')
    """
    return promote_types(dtype, "float64" if config.floatx() == "float64" else "float32")


def weak_dtype(dtype: Any, *scalars: type) -> Any:
    """Return the dtype to which an array of `dtype`, given by name, and Python scalars of these types are promoted.

    A scalar is weak: it takes the array's dtype unless its kind is higher. A float then makes integers floating (see
    `floating_dtype`), a complex number gives the complex counterpart, and an int makes bool int64.

    Examples
    --------
    >>> weak_dtype("int8", int), weak_dtype("int8", float), weak_dtype("float64", complex), weak_dtype("bool", int)
    ('int8', 'float32', 'complex128', 'int64')
    """
    if complex in scalars:
        return dtype if dtype[0] == "c" else promote_types(dtype, "complex64")
    if float in scalars:
        return floating_dtype(dtype) if dtype[0] in "biu" else dtype
    return "int64" if int in scalars and dtype == "bool" else dtype


def kind(x: Any) -> str:
    """Return the kind of a dtype, an array or a Python scalar: ``'b'``, ``'i'``, ``'u'``, ``'f'`` or ``'c'``.

    Examples
    --------
    >>> kind("uint8"), kind(2.5)
    ('u', 'f')
    """
    scalar = SCALAR_KINDS.get(type(x))
    return KINDS[dtype_name(x)] if scalar is None else scalar


def is_floating(x: Any) -> bool:
    """Whether a dtype, or the dtype of an array, is real floating-point.

    Examples
    --------
    >>> is_floating("float16"), is_floating("complex64")
    (True, False)
    """
    return kind(x) == "f"


def is_integer(x: Any) -> bool:
    """Whether a dtype, or the dtype of an array, is an integer dtype, signed or unsigned; bool is not.

    Examples
    --------
    >>> is_integer("uint8"), is_integer("bool")
    (True, False)
    """
    return kind(x) in "iu"


def is_bool(x: Any) -> bool:
    """Whether a dtype, or the dtype of an array, is bool.

    Examples
    --------
    >>> is_bool("bool"), is_bool("uint8")
    (True, False)
    """
    return kind(x) == "b"


def is_complex(x: Any) -> bool:
    """Whether a dtype, or the dtype of an array, is complex.

    Examples
    --------
    >>> is_complex("complex64"), is_complex("float32")
    (True, False)
    """
    return kind(x) == "c"


def cast(x: Any, name: str) -> Any:
    """Cast an array to the dtype of a name.

    Examples
    --------
    >>> import numpy as np
    >>> cast(np.asarray([1, 2]), "float32").dtype
    dtype('float32')
    """
    xp = dispatch.array_namespace(x)
    return xp.astype(x, dtype_of(xp, name))


def to_floating(x: Any) -> Any:
    """Return the array if it is floating (or complex), else cast it to a floating dtype.

    See `floating_dtype` for the dtype of integers and booleans. A Python int becomes a float.

    Examples
    --------
    >>> import numpy as np
    >>> to_floating(np.asarray([1, 2], dtype=np.uint8)).dtype
    dtype('float32')
    """
    try:
        if type(x.dtype) in INEXACT:
            return x
    except AttributeError:
        if type(x) in SCALAR_KINDS:
            return x if isinstance(x, (float, complex)) else float(x)
    name = dtype_name(x)
    if KINDS[name] in "fc":
        return x
    return cast(x, floating_dtype(name))


def wide_jax() -> AbstractContextManager[Any]:
    """Context manager in which JAX has its 64-bit types."""
    jax: Any = importlib.import_module("jax")
    owner = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")  # older versions
    context: AbstractContextManager[Any] = owner.enable_x64(True)
    return context
