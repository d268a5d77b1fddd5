"""Errors of public functions, which name the invalid argument, its value, and the allowed values.

Choices, booleans and counts are checked before a call. After a call has failed (a successful call costs nothing), its
arguments are compared with the function's annotations; a `TypeError` names the first that does not match. If all match,
the library's error is raised, with a note that names the function and its arguments; so is an error raised in a
callable of the user.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Real
from types import CodeType, FrameType
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin

from . import libraries
from .dispatch import is_array, is_registered

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

# What a bad argument can end in; errors of files, of imports and of warnings are about something else.
FAILURES = (
    ArithmeticError, AssertionError, AttributeError, BufferError, LookupError, MemoryError, NameError, RuntimeError,
    StopIteration, SystemError, TypeError, ValueError,
)  # fmt: skip

# What only an argument of a wrong kind brings about: no answer to a user, who gets a TypeError instead.
_ACCIDENTS = (AttributeError, KeyError, NameError, AssertionError, RecursionError, StopIteration, SystemError)

# The attribute of an error whose notes say which recorded call failed, of what arguments and where: they say more.
NOTED = "is_noted"

# What CUDA says of a device that is gone; other errors, such as illegal accesses, are a program's
_GONE = re.compile(
    "no CUDA-capable device|busy or unavailable|invalid device ordinal|uncorrectable|hardware stack|unknown error"
)

_LONGEST = 80
_NAMED: dict[Any, Any] = {}  # functions, and their public wrappers


def device_failure(error: BaseException) -> Literal["memory", "gone"] | None:
    """Return whether an error says that a device is out of memory or gone.

    Examples
    --------
    >>> device_failure(RuntimeError("CUDA error: uncorrectable ECC error encountered"))
    'gone'
    >>> device_failure(RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes"))
    'memory'
    """
    said = f"{type(error).__name__}: {error}"
    if "OutOfMemoryError" in said or "RESOURCE_EXHAUSTED" in said or "cudaErrorMemoryAllocation" in said:
        return "memory"
    return "gone" if "cuda" in said.lower() and _GONE.search(said) else None


def naming(function: F, module: str | None = None, *, checked: bool = True) -> F:
    """Wrap a public function or method so that its errors name the invalid argument; see `reraise_call`.

    `module` is the module that exports it, if that is not its own.

    If `checked`, booleans, choices by name, counts and factors are checked before the call, as they might otherwise not
    be checked, or too late. A function with an attribute `arranged` takes other orders, and is checked inside.
    """
    settings = _settings(function) if checked and not hasattr(function, "arranged") else ()

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            for place, name, default, kind in settings:
                value = args[place] if place < len(args) else keywords.get(name, default)
                if value is not default:
                    _check(name, value, kind)
            return function(*args, **keywords)
        except FAILURES as error:
            reraise_call(error, function, args, keywords)

    named: Any = call
    named.__code__ = named.__code__.replace(co_name=function.__name__)  # in tracebacks, and where calls are recorded
    if module is not None:
        call.__module__, call.__qualname__ = module, function.__name__  # where pickle finds it by name
    return call  # type: ignore[return-value]


def _settings(function: Any) -> tuple[tuple[int, str, Any, Any], ...]:
    """Position, name, default and expected kind of the parameters that are booleans, choices or counts."""
    own = inspect.unwrap(function)
    found = []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        kind = _setting(parameter.annotation, own.__globals__)
        if kind is not None:
            by_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            found.append((place if by_place else sys.maxsize, parameter.name, parameter.default, kind))
    return tuple(found)


def _setting(annotation: Any, names: dict[str, Any]) -> Any:
    """The choices that an annotation allows; `bool`, `int`, `float` or `str` if it is one of these; else None."""
    if annotation in _SETTINGS:
        return _SETTINGS[annotation]
    found = names.get(annotation) if isinstance(annotation, str) and annotation.isidentifier() else None
    if isinstance(annotation, str) and re.fullmatch(r"Literal\[[^\[\]]*\]", annotation):
        found = eval(annotation, names)
    return get_args(found) if get_origin(found) is Literal else None


def _check(name: str, value: Any, kind: Any) -> None:
    """Raise an error if an argument is not one of the choices, not a boolean, not a number or not a string."""
    if kind is bool:
        check_flag(name, value)
    elif kind is int:
        if not (_is_integer(value) or isinstance(value, bool) or (isinstance(value, float) and value.is_integer())):
            raise TypeError(f"{name} must be an integer, got {described(value)}")
    elif kind is float:
        if not _is_numeric(value):
            raise TypeError(f"{name} must be a number, got {described(value)}")
    elif kind is str:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a string, got {described(value)}")
    else:
        check_choice(name, value, kind)


def check_flag(name: str, value: Any) -> None:
    """Raise an error if a value is not True, False, 1, 0 or a library's boolean scalar."""
    if not (_KINDS["bool"][0](value) and not getattr(value, "ndim", 0)) and (type(value) is not int or value >> 1):
        raise TypeError(f"{name} must be True or False, got {described(value)}")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise an error if a value is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} must be {' or '.join(map(repr, choices))}, got {described(value)}")


def positive_int(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an int, at least `least`.

    Raises
    ------
    ValueError
        If it is not such a whole number; the message names the argument.

    Examples
    --------
    >>> positive_int(3, "n_steps")
    3
    """
    try:
        found = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = least - 1
    if found < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return found


def checked_number(value: Any, name: str, below: float = math.inf, *, positive: bool = False) -> float:
    """Return `value` as a float, at least 0, or above 0, and less than `below`.

    Raises
    ------
    ValueError
        If it is not such a number; the message names the argument.

    Examples
    --------
    >>> checked_number(1, "weight_decay")
    1.0
    >>> checked_number(1, "momentum", 1)
    Traceback (most recent call last):
    ...
    ValueError: momentum must be a number, at least 0 and below 1, got 1
    """
    found = -1.0 if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not 0 <= found < below or (positive and not found):
        kind, end = ("a finite number", "") if below == math.inf else ("a number", f" and below {below:,}")
        raise ValueError(f"{name} must be {kind}, {'above' if positive else 'at least'} 0{end}, got {value!r}")
    return found


def name_errors(surface: dict[str, Any], but: Collection[str] = ()) -> None:
    """Wrap the public functions of a module (given by its dictionary), except `but`, so that errors name arguments.

    A function exported by two modules remains the same object in both.
    """
    for name in surface["__all__"]:
        function = surface[name]
        fails = inspect.isfunction(function) and name not in but and bool(inspect.signature(function).parameters)
        if fails and function not in _NAMED.values():
            surface[name] = _NAMED.get(function) or _NAMED.setdefault(function, naming(function, surface["__name__"]))


def named(function: F) -> F:
    """Mark a function whose errors name arguments already: a wrapper would slow down calls on few elements."""
    _NAMED[function] = function
    return function


def name_methods(cls: type[C], *, checked: bool = False) -> type[C]:
    """Wrap the public methods of a class, also inherited ones, so that their errors name arguments; see `naming`."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, naming(method, checked=checked))
    return cls


def _called_first() -> str:
    """The name of the outermost public function of this package that is running."""
    frame: FrameType | None = sys._getframe(1)
    name, package = "", __name__.partition(".")[0]
    while frame is not None:
        own = str(frame.f_globals.get("__name__", "")).partition(".")[0] == package
        if own and frame.f_code.co_name[0] not in "_<":
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


def say_lack(error: Exception, name: str | None = None) -> None:
    """Convert an error about a function missing in a library to one that names the function and its caller.

    Without a name, the caller is the outermost public function that is running. Other errors are not changed.
    """
    missing = _missing(error)
    if missing is not None:
        error.args = (f"{missing}, which {name or _called_first()} needs",)


def described(value: Any) -> str:
    """Describe a value for a message: dtype and shape of an array, the shortened representation of anything else."""
    if is_array(value) or is_registered(value):
        try:
            return f"{str(value.dtype).rpartition('.')[2]}[{', '.join(map(str, value.shape))}]"
        except (AttributeError, ValueError):  # of a tree that has no shape yet
            return type(value).__name__
    if isinstance(value, (list, tuple)) and 0 < len(value) <= 4:
        inner = ", ".join(map(described, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def reraise_call(error: Exception, function: Any, args: Any, keywords: Mapping[str, Any]) -> NoReturn:
    """Raise the error of a call of a function, extended by the name of the invalid argument."""
    try:
        bound = inspect.signature(function).bind(*args, **keywords)
    except TypeError:  # Python's own complaint about the call, which names the function
        raise error from error.__cause__
    bound.arguments.pop("self", None)
    _raise(error, function.__name__, bound.arguments, inspect.unwrap(function).__annotations__)


def _raise(error: Exception, name: str, given: Mapping[str, Any], annotations: Mapping[str, Any]) -> NoReturn:
    """Raise the error with a note, or an error that names the invalid argument or the missing function."""
    if type(error).__module__.partition(".")[0] not in ("builtins", "nbm_xp", *libraries.LIBRARIES):
        raise error  # another package's, on purpose
    if _is_users(error, given) or str(error).startswith((f"{name} ", f"{name}:", f"{name}(")):
        raise error
    missing, listed = _missing(error), ", ".join(f"{key} = {described(value)}" for key, value in given.items())
    if missing is not None:
        raise TypeError(f"{missing}, which {name} needs") from error
    fault = next(_faults(given, annotations), None)
    if fault is not None:
        raise TypeError(f"{name}: {fault}") from error
    if isinstance(error, _ACCIDENTS):
        raise TypeError(f"{name} cannot be computed of {listed}") from error
    if not hasattr(error, NOTED):
        error.add_note(f"{name} was given {listed}")
    raise error


def _missing(error: Exception) -> str | None:
    """The function that a library lacks, if the error is about one."""
    if not isinstance(error, AttributeError) or error.obj is None:
        return None
    owner = libraries.owner_of(error.obj)
    return None if owner is None else f"{owner[0]} has no {owner[1]}{error.name}"


def _is_users(error: BaseException, given: Mapping[str, Any]) -> bool:
    """Whether the error was raised in a callable argument."""
    codes = set(_codes(list(given.values())))
    traceback = error.__traceback__
    while codes and traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _codes(item)
    elif callable(value) and not isinstance(value, type) and not is_registered(value):
        while isinstance(value, functools.partial):
            value = value.func
        value = getattr(value, "__func__", value)
        call = type(value).__call__  # of an object that can be called
        code = getattr(value, "__code__", None) or getattr(call, "__code__", None)
        if code is not None:
            yield code


def _faults(given: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each argument that does not match its annotation."""
    for name, value in given.items():
        kinds = [_KINDS.get(kind.strip()) for kind in str(annotations.get(name, "Any")).split("|")]
        if all(kinds) and not any(is_one(value) for is_one, _ in kinds):  # type: ignore[misc]
            words = " or ".join(words for _, words in kinds)  # type: ignore[misc]
            yield f"{name} must be {words}, got {described(value)}"


def _is_integer(x: Any) -> bool:
    return not isinstance(x, bool) and hasattr(type(x), "__index__") and not getattr(x, "ndim", 0) and _is_whole(x)


def _is_whole(x: Any) -> bool:
    return not hasattr(x, "dtype") or str(x.dtype).rpartition(".")[2].lstrip("u").startswith("int")


def _is_numeric(x: Any) -> bool:
    """Whether an object is an array of numbers, a number, or a nested list of these with rows of equal lengths."""
    if is_array(x) or is_registered(x):
        return str(getattr(x, "dtype", "")).rpartition(".")[2].rstrip("0123456789") in _NUMERIC
    if isinstance(x, (list, tuple)):
        return all(map(_is_numeric, x)) and len({len(item) if isinstance(item, (list, tuple)) else 0 for item in x}) < 2
    return isinstance(x, (bool, int, float, complex)) or hasattr(type(x), "__index__")


def _are_integers(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and all(map(_is_integer, x))


def _is_shape(x: Any) -> bool:
    if is_array(x) or is_registered(x):
        return x.ndim < 2 and _is_whole(x)
    return _is_integer(x) or _are_integers(x)


_SETTINGS: dict[Any, type] = {
    "bool": bool,
    "int": int,
    **dict.fromkeys(("float", "Array | float", "Array | float | None"), float),
    "str | None": str,
}
_NUMERIC = frozenset({"bool", "int", "uint", "float", "bfloat", "complex"})
_Kind = tuple[Callable[[Any], bool], str]
_INTEGERS: _Kind = (_are_integers, "a sequence of integers")
# What an annotation of a public function declares: how it is recognised, and in words.
_KINDS: dict[str, _Kind] = {
    "Array": (_is_numeric, "an array, a Tensor, a number or a nested list of numbers"),
    "Axis": (lambda x: x is None or _is_integer(x) or _are_integers(x), "an integer, a sequence of integers or None"),
    "Shape": (_is_shape, "a length, a sequence of lengths or an integer vector"),
    "Sequence[int]": _INTEGERS,
    "tuple[int, int]": _INTEGERS,
    "tuple[int, ...]": _INTEGERS,
    "int": (_is_integer, "an integer"),
    "bool": (lambda x: isinstance(x, bool) or str(getattr(x, "dtype", "")) == "bool", "True or False"),
    "float": (lambda x: isinstance(x, (int, float)) or (_is_numeric(x) and not getattr(x, "ndim", 0)), "a number"),
    "str": (lambda x: isinstance(x, str), "a string"),
    "None": (lambda x: x is None, "None"),
}
