"""Dispatch: find the array library from the arguments, once per public call.

For one array, this is a look-up of its type in a dictionary. All other cases (Python scalars, several arrays, new
types) take a slower path, which fills the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import config, libraries
from .libraries import host_namespace, is_lazy
from .overlay import Namespace

_TABLES: list[dict[type, Any]] = []


def kept_by_type() -> dict[type, Any]:
    """Create a cache by array type; entries of types that are looked up again are removed.

    Examples
    --------
    >>> kept_by_type()
    {}
    """
    _TABLES.append({})
    return _TABLES[-1]


_BY_TYPE: dict[type, Any] = kept_by_type()
_LIBRARY_BY_TYPE: dict[type, str | None] = kept_by_type()
# Types of values that need no conversion beside host arrays: see `nbm_xp.namespace.conversion`.
stay_as_they_are: dict[type, None] = kept_by_type()

_SCALARS: set[type] = {bool, int, float, complex, type(None)}
_REGISTERED: dict[type, Any] = {}
_ABSORBING: list[Any] = []
# Libraries that create their arrays where those belong without a `device` argument.
_ONE_PLACE = frozenset({None, "numpy", "dask", "jax"})


def array_namespace(x: Any = None, /, *others: Any) -> Any:
    """Return the array API namespace of the arguments.

    Parameters
    ----------
    x, *others
        Arrays, Python scalars or None. Scalars and None are ignored.

    Returns
    -------
    namespace
        The namespace of a registered absorbing type (a recording tensor) if an argument has one, else that of the one
        library present, else the default library's. NumPy arrays beside arrays of a lazy library (Dask) with NumPy
        blocks belong to that library, which accepts them.

    Raises
    ------
    TypeError
        If arguments belong to two libraries, or one is not an array.

    Examples
    --------
    >>> import numpy as np
    >>> xp = array_namespace(np.ones(3), 2.0, None)
    >>> xp.__name__
    'array_api_compat.numpy'
    """
    if others:
        return _resolve((x, *others))
    try:
        return _BY_TYPE[type(x)]
    except KeyError:
        return _resolve((x,))


def _resolve(values: tuple[Any, ...]) -> Any:
    """Find the namespace of several values, or of one value of a new type."""
    found: Any = None
    for value in values:
        kind = type(value)
        xp = _BY_TYPE.get(kind)
        if xp is None:
            if kind in _SCALARS:
                continue
            xp = _learn(value)
        if xp is found or xp is None:
            continue
        if found is None or (xp in _ABSORBING) > (found in _ABSORBING):
            found = xp
        elif (xp in _ABSORBING) == (found in _ABSORBING):
            found = _together(found, xp, values)
    return default_namespace() if found is None else found


def _together(first: Any, second: Any, values: tuple[Any, ...]) -> Any:
    """Return the lazy one of two namespaces if the other is the host's: lazy libraries accept host arrays."""
    host = host_namespace()
    lazy = next((xp for xp in (first, second) if is_lazy(xp)), None)
    if lazy is None or host not in (first, second):
        raise TypeError(
            f"the arguments belong to two array libraries, {_title(first)} and {_title(second)}: convert one of them "
            "with nbm_xp.namespace.convert or to_numpy"
        )
    for value in values:
        blocks = getattr(value, "_meta", None)
        if blocks is not None and array_namespace(blocks) is not host:
            raise TypeError(
                f"the arguments belong to two array libraries, {_title(host)} and {_title(array_namespace(blocks))}, "
                f"which the blocks of {_title(lazy)} are of: convert the array of {_title(host)}"
            )
    return lazy


def _learn(value: Any) -> Any:
    """Find and store the namespace of a value of a new type; None for a scalar."""
    kind = type(value)
    for base in kind.__mro__:
        if base in _REGISTERED:
            return _BY_TYPE.setdefault(kind, _REGISTERED[base])
    library = libraries.library_of_type(kind) or _unlisted(value)
    if library is not None:
        xp = libraries.get_namespace(library)
        return xp if has_blocks(value) else _BY_TYPE.setdefault(kind, xp)
    if issubclass(kind, (int, float, complex)):
        _SCALARS.add(kind)
        return None
    raise TypeError(f"expected arrays or Python scalars, got {kind.__module__}.{kind.__qualname__}")


def _unlisted(x: Any) -> str | None:
    """The library of an array of an unlisted type, by the array's own namespace; None without one."""
    kind = type(x)
    if not hasattr(kind, "__array_namespace__") or _LIBRARY_BY_TYPE.get(kind) is not None:
        return _LIBRARY_BY_TYPE.get(kind)
    xp, root = x.__array_namespace__(), kind.__module__.partition(".")[0]
    known = libraries.name_of_namespace(xp)
    if known is None or not libraries.LIBRARIES[known].array_types:
        return libraries.entered(xp, root)
    if root == libraries.LIBRARIES[known].package:
        return known
    # arrays that use another library's functions, but must not use its replacements and kernels
    return _LIBRARY_BY_TYPE.setdefault(kind, libraries.entered(Namespace(xp, {}, root), root, root))


def has_blocks(x: Any) -> bool:
    """Whether an array consists of blocks of another type, so that its own type does not determine a cache entry.

    Raises
    ------
    TypeError
        If the blocks carry masks.
    """
    blocks = getattr(x, "_meta", None)
    if blocks is not None:
        libraries.library_of_type(type(blocks))
    return blocks is not None


def _title(xp: Any) -> str:
    return libraries.name_of_namespace(xp) or str(getattr(xp, "__name__", xp))


def register_array_type(cls: type, namespace: Any, *, absorbing: bool = False) -> None:
    """Register instances of a class, and of its subclasses, as arrays of a namespace.

    Parameters
    ----------
    cls : type
        Class of the arrays.
    namespace
        Namespace that `array_namespace` returns for them.
    absorbing : bool, optional
        Whether the namespace also accepts arrays of the libraries; it then takes precedence over theirs.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Recorder: ...
    >>> space = SimpleNamespace(__name__="recorder")
    >>> register_array_type(Recorder, space, absorbing=True)
    >>> import numpy as np
    >>> array_namespace(np.ones(2), Recorder()) is space
    True
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a class, got {cls!r}")
    _REGISTERED[cls] = namespace
    if absorbing and namespace not in _ABSORBING:
        _ABSORBING.append(namespace)
    forget_those(lambda known: issubclass(known, cls))
    _BY_TYPE[cls] = namespace


def default_namespace() -> Any:
    """Return the namespace of the configured library, for functions without array arguments.

    Raises
    ------
    ImportError
        If the library is not installed. The message says what to install, and which setting made it the default.

    Examples
    --------
    >>> from nbm_xp.namespace import use_backend
    >>> with use_backend("numpy"):
    ...     default_namespace().__name__
    'array_api_compat.numpy'
    """
    name = config.backend()
    try:
        return libraries.get_namespace(name)
    except ImportError as error:
        source = config.configuration()["backend"][1]
        raise ImportError(f"{error} (it is the default library by: {source})", name=error.name) from error


def is_registered(x: Any) -> bool:
    """Whether `x` is an instance of a class registered by `register_array_type`."""
    return any(base in _REGISTERED for base in type(x).__mro__)


def recording_namespace() -> Any:
    """The namespace whose functions record instead of computing: that of the absorbing type."""
    return _ABSORBING[0]


def forget_those(are: Callable[[type], bool]) -> None:
    """Remove classes from the caches, so that they are looked up again."""
    for known in {known for table in _TABLES for known in table}:
        if are(known):
            for table in _TABLES:
                table.pop(known, None)


def library_of(x: Any) -> str | None:
    """Return the library of the array `x`, or None."""
    kind = type(x)
    try:
        return _LIBRARY_BY_TYPE[kind]
    except KeyError:
        library = None if is_registered(x) else libraries.library_of_type(kind) or _unlisted(x)
        return library if library and has_blocks(x) else _LIBRARY_BY_TYPE.setdefault(kind, library)


def is_array(x: Any) -> bool:
    """Whether `x` is an array of a library, listed or not. No library is imported.

    NumPy scalars count as arrays; Python scalars, lists and recording tensors do not.

    Examples
    --------
    >>> import numpy as np
    >>> is_array(np.ones(3)), is_array(np.float32(1)), is_array(1.0), is_array([1.0])
    (True, True, False, False)
    """
    return library_of(x) is not None


def library_name(x: Any) -> str:
    """Return the name of the library of an array or a namespace.

    Raises
    ------
    TypeError
        If `x` is neither an array nor a namespace of a supported library.

    Examples
    --------
    >>> import numpy as np
    >>> library_name(np.ones(3)), library_name(np), library_name(array_namespace(np.ones(3)))
    ('numpy', 'numpy', 'numpy')
    """
    name = library_of(x) or libraries.name_of_namespace(x)
    if name is None and libraries.follows_the_standard(x) and not any(x is xp for xp in _REGISTERED.values()):
        return libraries.entered(x)
    if name is None:
        raise TypeError(f"expected an array or a namespace of a supported library, got {type(x).__name__}")
    return name


def device_argument(x: Any) -> Any:
    """Return the argument ``device`` with which a creation function creates an array on the device of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones(3)
    >>> xp = array_namespace(x)
    >>> xp.zeros(2, device=device_argument(x))
    array([0., 0.])
    """
    return None if library_of(x) in _ONE_PLACE else getattr(x, "device", None)
