"""Views of NumPy, h5py and standard modules, with the names and behaviour of older releases.

`global_integer` draws seeds from NumPy's global state, as programs did before NumPy had generators.
"""

from __future__ import annotations

import collections.abc
import importlib
import inspect
import math
import sys
import time
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

# Names of Python's own classes, until NumPy 1.24.
PYTHONS = {"complex": complex, "float": float, "int": int, "object": object, "str": str, "unicode": str}

# Names that NumPy 1.25 to 2.4 dropped, and those that stayed.
TODAYS = {
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan", "NAN": "nan",
    "bool8": "bool_", "float_": "float64", "complex_": "complex128", "cfloat": "complex128",
    "singlecomplex": "complex64", "longfloat": "longdouble", "int0": "intp", "uint0": "uintp", "object0": "object_",
    "string_": "bytes_", "unicode_": "str_", "alltrue": "all", "cumproduct": "cumprod", "product": "prod",
    "in1d": "isin", "mat": "asmatrix", "rank": "ndim", "round_": "round", "row_stack": "vstack", "sometrue": "any",
    "trapz": "trapezoid",
}  # fmt: skip


def numpy_names(module: ModuleType) -> dict[str, Any]:
    """Return the names of NumPy that are replaced for old programs."""
    old: dict[str, Any] = {old: getattr(module, new) for old, new in TODAYS.items()}
    old |= PYTHONS | {"NINF": -np.inf, "asscalar": _asscalar, "asfarray": _asfarray, "msort": _msort}
    missing = {name: value for name, value in old.items() if name not in vars(module)}
    return missing | {"array": _array, "asarray": _asarray, "where": _where}


def _array(object: Any, dtype: Any = None, copy: bool | None = True, *ordered: Any, **options: Any) -> Any:
    """`numpy.array` as it was: rows of different lengths give an array of objects; ``copy=False`` copies if necessary.

    Arrays of one element in a list count as numbers, whatever their number of axes.
    """
    options |= zip(("order", "subok", "ndmin"), ordered, strict=False)
    try:
        return np.array(object, dtype, copy=copy or None, **options)
    except ValueError as error:
        if dtype is not None or "inhomogeneous" not in str(error):
            raise
        found = np.array(object, "O", copy=copy or None, **options)
        if all(isinstance(item, Number) for item in found.flat):
            return np.array(found.tolist(), copy=copy or None, **options)
        return found


def _asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    return _array(a, dtype, options.pop("copy", None), order, **options)


class _Places(np.ndarray):
    """Integer indices; an array of one element is an index itself, as until NumPy 1.12."""

    def __index__(self) -> int:
        return int(self.item())


def _where(condition: Any, *choices: Any, **options: Any) -> Any:
    found = np.where(condition, *choices, **options)
    return tuple(place.view(_Places) for place in found) if isinstance(found, tuple) else found


def _asscalar(a: Any) -> Any:
    return a.item()


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def numpy_load(file: Any, mmap_mode: Any = None, allow_pickle: bool = True, **options: Any) -> Any:
    """`numpy.load` as it was until 1.16.3: it unpickles arrays of objects, and thereby may run any code."""
    return np.load(file, mmap_mode, allow_pickle, **options)


class Text(str):
    """A string with a method `decode`, as the bytes of older releases.

    Examples
    --------
    >>> Text("2.0.6").decode("utf8")
    '2.0.6'
    """

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text itself."""
        return str(self)


def _decodable(found: Any) -> Any:
    """The value of an attribute, with strings as `Text`."""
    if isinstance(found, str):
        return Text(found)
    if getattr(getattr(found, "dtype", None), "kind", "") == "O":
        for place, item in enumerate(found.flat):
            found.flat[place] = Text(item) if isinstance(item, str) else item
    return found


def _text(found: Any, kind: Any, text_of: Callable[[Any], Any]) -> Any:
    """The value of a dataset, with `Text` where h5py 3 reads bytes, also in fields of records."""
    if isinstance(found, bytes) and text_of(kind.base) is str:
        return Text(found, "utf-8", "surrogateescape")
    if not kind.hasobject or not hasattr(found, "dtype"):
        return found
    if found.dtype.names is not None:  # h5py may convert fields twice, a single field without its name
        for name in found.dtype.names:
            found[name] = _text(found[name], kind[name], text_of)
    elif kind.names is None and text_of(kind.base) is str:
        for place, item in enumerate(found.flat):
            found.flat[place] = _text(item, kind, text_of)
    return found


def _in_integers(place: Any) -> Any:
    """Convert floats with integral values in an index to integers, such as a counter read from a dataset."""
    if isinstance(place, tuple):
        return tuple(map(_in_integers, place))
    return int(place) if isinstance(place, (float, np.floating)) and place.is_integer() else place


def h5py_names(module: ModuleType) -> dict[str, Any]:
    """Return the names of h5py that are replaced for old programs."""

    class Attributes(module.AttributeManager):  # type: ignore[misc, name-defined]
        def __getitem__(self, name: str) -> Any:
            return _decodable(super().__getitem__(name))

    class Dataset(module.Dataset):  # type: ignore[misc, name-defined]
        @property
        def attrs(self) -> Any:
            return Attributes(self)

        def __getitem__(self, place: Any, *options: Any, **named: Any) -> Any:
            found = super().__getitem__(_in_integers(place), *options, **named)
            return _text(found, self.dtype, lambda kind: module.check_dtype(vlen=kind))

        def __setitem__(self, place: Any, value: Any) -> None:
            super().__setitem__(_in_integers(place), value)

        @property
        def value(self) -> Any:
            return self[()]

    class Group(module.Group):  # type: ignore[misc, name-defined]
        @property
        def attrs(self) -> Any:
            return Attributes(self)

        def __getitem__(self, name: Any) -> Any:
            found = super().__getitem__(name)
            then = {module.Dataset: Dataset, module.Group: Group}.get(type(found))
            return found if then is None else then(found.id)

        def create_dataset(self, *args: Any, **options: Any) -> Any:
            return Dataset(super().create_dataset(*args, **options).id)

    class File(Group, module.File):  # type: ignore[misc, name-defined]
        def __init__(self, name: Any, mode: str | None = None, *args: Any, **options: Any) -> None:
            """Open for writing, and create if missing, unless `mode` is given, as until h5py 3."""
            super().__init__(name, mode or "a", *args, **options)

        @property
        def attrs(self) -> Any:
            return self["/"].attrs

    return {"File": File}


class View(ModuleType):
    """A module with replacements for some of its names."""

    def __init__(self, module: ModuleType, names: dict[str, Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        own = vars(self)
        for name in ("__loader__", "__package__", "__spec__"):
            del own[name]  # those of the module are used
        own.update(names, _now=module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._now, name, _NOTHING)
        if found is _NOTHING:
            found = moved(f"{self.__name__}.{name}")
            if found is None:
                return getattr(self._now, name)  # raises the module's error
        return view(found) if isinstance(found, ModuleType) else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._now, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self._now)} - {"_now"})


_NOTHING = object()


def view(module: ModuleType) -> ModuleType:
    """Return the module that old programs see: the module itself, or a view if it or a submodule has changed."""
    name = module.__name__
    if isinstance(module, View) or name not in _VIEWED or sys.modules.get(name) is not module:
        return module
    return _view(module)


@cache
def _view(module: ModuleType) -> View:
    names = THEN.get(module.__name__)
    return View(module, {} if names is None else names(module))


def moved(name: str) -> ModuleType | None:
    """Return the successor of a module that no longer exists."""
    return importlib.import_module(MOVED[name]) if name in MOVED else None


def _collections(_: ModuleType) -> dict[str, Any]:
    return {name: getattr(collections.abc, name) for name in collections.abc.__all__}


ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return the names and defaults of a function's arguments; `inspect.getargspec` of Python 3.10.

    Raises
    ------
    ValueError
        If the function has keyword-only arguments, which the result cannot describe.
    """
    full = inspect.getfullargspec(func)
    if full.kwonlyargs:
        raise ValueError(f"getargspec knows no keyword-only arguments, which {func!r} has")
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _inspect(module: ModuleType) -> dict[str, Any]:
    return {} if hasattr(module, "getargspec") else {"getargspec": getargspec, "ArgSpec": ArgSpec}


def _random(module: ModuleType) -> dict[str, Any]:
    def randint(a: Any, b: Any) -> int:
        """An integer from `a` to `b`, which may be floats with integral values, as until Python 3.12."""
        whole: int = module.randint(_whole(a), _whole(b))
        return whole

    return {"randint": randint}


def _whole(number: Any) -> Any:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _re(module: ModuleType) -> dict[str, Any]:
    def split(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> list[Any]:
        """The parts of a string between matches; empty matches are ignored, as until Python 3.7."""
        parts, begin, count = [], 0, 0
        for match in module.finditer(pattern, string, flags):
            if match.end() > match.start() and (not maxsplit or count < maxsplit):
                parts += [string[begin : match.start()], *match.groups()]
                begin, count = match.end(), count + 1
        return [*parts, string[begin:]]

    return {"split": split}


def _yaml(module: ModuleType) -> dict[str, Any]:
    def load(stream: Any, Loader: Any = module.FullLoader) -> Any:
        """Load a document; the default Loader supports Python's tuples and runs no code."""
        return module.load(stream, Loader)

    class Dumper(module.Dumper):  # type: ignore[misc, name-defined]
        """A dumper that writes NumPy's numbers as plain numbers, which every loader reads."""

    def dump(data: Any, stream: Any = None, Dumper: Any = Dumper, **options: Any) -> Any:
        return module.dump(data, stream, Dumper, **options)

    for kind in (np.generic, np.ndarray):
        Dumper.add_multi_representer(kind, lambda dumper, value: dumper.represent_data(value.tolist()))
    return {"dump": dump, "load": load}


def _ndimage(module: ModuleType) -> dict[str, Any]:
    rooms = ("filters", "fourier", "interpolation", "measurements", "morphology")
    return dict.fromkeys(rooms, module)  # its functions are now shared by all of them


# What is in the place of a module's own names, made of the module when it is first imported.
THEN: dict[str, Callable[[ModuleType], dict[str, Any]]] = {
    "collections": _collections,
    "fractions": lambda module: {} if hasattr(module, "gcd") else {"gcd": math.gcd},
    "h5py": h5py_names,
    "inspect": _inspect,
    "numpy": numpy_names,
    "random": _random,
    "re": _re,
    "scipy.ndimage": _ndimage,
    "time": lambda module: {} if hasattr(module, "clock") else {"clock": time.process_time},
    "yaml": _yaml,
}

# Modules that are gone, and where their contents are today.
MOVED = {"sklearn.cross_validation": "sklearn.model_selection", "sklearn.grid_search": "sklearn.model_selection"}

_VIEWED = {
    ".".join(steps[:length]) for name in (*THEN, *MOVED) for steps in [name.split(".")] for length in range(1, 3)
}


def global_integer(low: int, high: int) -> int:
    """Draw an integer from NumPy's global state, so that `numpy.random.seed` determines it.

    Parameters
    ----------
    low, high : int
        Lower bound, and upper bound (excluded).

    Returns
    -------
    int

    Notes
    -----
    The numbers that NumPy's global state draws for a seed are the same in all of its releases.

    Examples
    --------
    >>> np.random.seed(1)
    >>> global_integer(1, 10**7)
    4686060
    """
    return int(np.random.randint(low, high))  # noqa: NPY002 - the old state is what it is about
