"""Which array library? Found from the arguments, once per public call.

One array must cost next to nothing: a look-up of its type in a dictionary. Everything else (Python scalars, several
arrays, types not met before) takes the longer way, which fills the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import config, libraries
from .libraries import host_namespace, is_lazy
from .overlay import Namespace

__all__ = [
    "array_namespace", "default_namespace", "forget_those", "is_array", "is_registered", "kept_by_type", "library_name",
    "library_of", "register_array_type", "recording_namespace",
    "stay_as_they_are",
]  # fmt: skip

_TABLES: list[dict[type, Any]] = []


def kept_by_type() -> dict[type, Any]:
    """A table of what was found out about the types of arrays; what is looked up anew leaves it.

    Examples
    --------
    >>> kept_by_type()
    {}
    """
    _TABLES.append({})
    return _TABLES[-1]


_BY_TYPE: dict[type, Any] = kept_by_type()
_LIBRARY_BY_TYPE: dict[type, str | None] = kept_by_type()
stay_as_they_are: dict[type, None] = kept_by_type()
"""The types of what may stand beside the host's arrays as it is: see `nbm_xp.namespace.conversion`."""

_SCALARS: set[type] = {bool, int, float, complex, type(None)}
_REGISTERED: dict[type, Any] = {}
_ABSORBING: list[Any] = []
_ONE_PLACE = frozenset({None, "numpy", "dask", "jax"})
"""Libraries that create their arrays where those belong without a `device` argument."""


def array_namespace(x: Any = None, /, *others: Any) -> Any:
    """The array API namespace that the arguments belong to.

    Parameters
    ----------
    x, *others
        Arrays, Python scalars or None. Scalars and None have no say.

    Returns
    -------
    namespace
        The namespace of a registered absorbing type (a recording tensor) if there is one among the arguments, else
        that of the one library present, else the default library's. NumPy's arrays beside those of a lazy library
        (Dask) with NumPy's blocks belong to that library, which takes them itself.

    Raises
    ------
    TypeError
        If two libraries are present, or something that is no array.

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
    """The namespace of several values, or of one whose type was not met before."""
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
    """The lazy one of two namespaces, the other being the host's: lazy libraries take the host's arrays themselves."""
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
    """Find the namespace of a value whose type was not met before, and keep it; None for a scalar."""
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
    """The library of an array of a type that no entry has, by the namespace that it brings along; None without one."""
    kind = type(x)
    if not hasattr(kind, "__array_namespace__") or _LIBRARY_BY_TYPE.get(kind) is not None:
        return _LIBRARY_BY_TYPE.get(kind)
    xp, root = x.__array_namespace__(), kind.__module__.partition(".")[0]
    known = libraries.name_of_namespace(xp)
    if known is None or not libraries.LIBRARIES[known].array_types:
        return libraries.entered(xp, root)
    if root == libraries.LIBRARIES[known].package:
        return known
    # arrays of its own under another library's functions, whose replacements and kernels are not for them
    return _LIBRARY_BY_TYPE.setdefault(kind, libraries.entered(Namespace(xp, {}, root), root, root))


def has_blocks(x: Any) -> bool:
    """Whether an array is made of blocks of another type, so that its own says too little to be kept.

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
    """Make instances of a class, and of its subclasses, known as arrays of a namespace.

    Parameters
    ----------
    cls : type
        The class of the arrays.
    namespace
        What `array_namespace` is to answer for them.
    absorbing : bool, optional
        Whether the namespace also takes arrays of the libraries: then it wins over them where both are present.

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
    """The namespace of the configured library, for functions without array arguments.

    Raises
    ------
    ImportError
        If the library is not installed; the message says what to install and what made it the default.

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
    """Whether `x` is an instance of a class that `register_array_type` made known."""
    return any(base in _REGISTERED for base in type(x).__mro__)


def recording_namespace() -> Any:
    """The namespace whose functions record instead of computing: that of the absorbing type."""
    return _ABSORBING[0]


def forget_those(are: Callable[[type], bool]) -> None:
    """Look some classes up anew when their next arrays come."""
    for known in {known for table in _TABLES for known in table}:
        if are(known):
            for table in _TABLES:
                table.pop(known, None)


def library_of(x: Any) -> str | None:
    """The library whose array `x` is, or None."""
    kind = type(x)
    try:
        return _LIBRARY_BY_TYPE[kind]
    except KeyError:
        library = None if is_registered(x) else libraries.library_of_type(kind) or _unlisted(x)
        return library if library and has_blocks(x) else _LIBRARY_BY_TYPE.setdefault(kind, library)


def is_array(x: Any) -> bool:
    """Whether `x` is an array of a library, listed or not. A library that is not imported yet stays so.

    NumPy's scalars count as arrays; Python's scalars, lists and recording tensors do not.

    Examples
    --------
    >>> import numpy as np
    >>> is_array(np.ones(3)), is_array(np.float32(1)), is_array(1.0), is_array([1.0])
    (True, True, False, False)
    """
    return library_of(x) is not None


def library_name(x: Any) -> str:
    """The name of the library that an array or a namespace belongs to.

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
    """What to hand to a creation function as ``device``, so that it creates where `x` lies.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones(3)
    >>> xp = array_namespace(x)
    >>> xp.zeros(2, device=device_argument(x))
    array([0., 0.])
    """
    return None if library_of(x) in _ONE_PLACE else getattr(x, "device", None)
