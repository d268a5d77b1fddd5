"""Which of SciPy's functions tests hand Tensors to, and what their gradients are worth.

Each public function of SciPy's table of array API capabilities is watched. A call from outside SciPy with floating
Tensors is repeated: under `value_and_grad`, on NumPy arrays, and on NumPy arrays a little off, along a random
direction. A call is judged where its differences are steady and finite; a few calls of each function are enough.
"""

from __future__ import annotations

import copy
import functools
import importlib
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.namespace import to_numpy
from nbm_xp.tape import Tensor, is_tensor, value_and_grad
from nbm_xp.tape import namespace as xp

__all__ = ["MODULES", "Reached"]

MODULES = (
    *("special", "stats", "signal", "cluster.vq", "cluster.hierarchy", "fft", "integrate", "differentiate", "linalg"),
    *("ndimage", "interpolate", "optimize", "optimize.elementwise", "signal.windows"),
)
_CALLS, _TRIES, _LARGEST, _SLOWEST = 3, 15, 5_000, 0.5
_STEPS = (1e-6, 4e-6)
_REFUSED = "is being differentiated and cannot become"


class Reached:
    """The functions' names, and for each kind of outcome how often it was seen or what was said."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self._busy = False

    def watch(self) -> None:
        """Put a watching function in the place of each public one."""
        from scipy._lib._array_api import xp_capabilities_table

        for module_name in MODULES:
            module = importlib.import_module(f"scipy.{module_name}")
            for name, function in list(vars(module).items()):
                if name.startswith("_") or not _is_listed(function, xp_capabilities_table):
                    continue
                capabilities = xp_capabilities_table[function]
                if isinstance(function, type) or capabilities.get("np_only"):
                    continue
                watched = self._watched(f"{module_name}.{name}", function)
                xp_capabilities_table[watched] = capabilities
                setattr(module, name, watched)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        # Statistics that tests hand over count how often they are called.
        counting = name.startswith("stats.")

        def judged(*call: Any) -> bool:
            return not (counting and any(map(callable, _leaves(call))))

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._busy:
                return function(*args, **kwargs)
            self._busy = True
            try:
                given = _given((args, kwargs)) if judged(args, kwargs) else []
                saved = _saved((args, kwargs)) if given else None
                begun = time.perf_counter()
                result = function(*args, **kwargs)
                if saved is not None and time.perf_counter() - begun < _SLOWEST:
                    self._judge(name, function, saved)
                return result
            finally:
                self._busy = False

        return watched

    def _judge(self, name: str, function: Callable[..., Any], call: Any) -> None:
        entry = self.found.setdefault(
            name, {"tries": 0, **dict.fromkeys(("right", "refused", "flat"), 0), "wrong": [], "errors": []}
        )
        judged = entry["right"] + entry["refused"] + len(entry["wrong"]) + len(entry["errors"])
        if entry["tries"] >= _TRIES or judged >= _CALLS:
            return
        entry["tries"] += 1
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            kind, what = _outcome(function, call)
        if kind in ("right", "refused", "flat"):
            entry[kind] += 1
        elif kind:
            entry[kind].append(what)


def _is_listed(function: Any, table: Any) -> bool:
    try:
        return callable(function) and function in table
    except TypeError:
        return False


def _given(call: Any) -> list[Tensor]:
    """The floating Tensors among arguments, if they are of a moderate size and their values are known."""
    found = [part for part in _leaves(call) if is_tensor(part) and part.dtype.kind == "f"]
    sizes = [part.size for part in found]
    return found if found and None not in sizes and 0 < sum(sizes) <= _LARGEST else []


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in _leaves(item)]
    if isinstance(value, dict):
        return [part for item in value.values() for part in _leaves(item)]
    return [value]


def _kept(value: Any) -> Any:
    """An argument as it is now: generators go on, arrays may be written to."""
    return value if isinstance(value, types.ModuleType) else copy.deepcopy(value)


def _saved(call: Any) -> Any:
    """A call's arguments as they are now; None where one cannot be copied, as an object that holds a module."""
    try:
        return _replaced(call, _kept)
    except TypeError:
        return None


def _replaced(value: Any, replace: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(item, replace) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_replaced(item, replace) for item in value)
    if isinstance(value, dict):
        return {key: _replaced(item, replace) for key, item in value.items()}
    return replace(value)


def _results(value: Any) -> list[Any]:
    """The floating arrays of a result, of whatever it is made."""
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in _results(item)]
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in _results(value[key])]
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        kind = value.dtype.kind if is_tensor(value) else np.dtype(value.dtype).kind
        return [value] if kind in "fc" else []
    if hasattr(value, "__dict__") and not callable(value):
        return [part for key in sorted(vars(value)) if key[0] != "_" for part in _results(vars(value)[key])]
    return []


def _weights(shape: tuple[int, ...], position: int) -> Any:
    return np.random.default_rng([7, position]).normal(size=shape)


def _recorded_sum(result: Any, finite: list[Any]) -> Any:
    """The weighted sum of floating results, as far as they are finite numbers."""
    total: Any = 0.0
    for position, (part, mask) in enumerate(zip(_results(result), finite, strict=True)):
        part = xp.asarray(part)
        whole = xp.astype(xp.real(part) + 0.5 * xp.imag(part) if part.dtype.kind == "c" else part, xp.float64)
        total = total + xp.sum(xp.where(mask, whole, 0.0) * _weights(mask.shape, position))
    return total


def _sum(result: Any, finite: list[Any]) -> float:
    """The same of NumPy arrays."""
    total = 0.0
    for position, (part, mask) in enumerate(zip(_results(result), finite, strict=True)):
        whole = np.asarray(part).real + 0.5 * np.asarray(part).imag
        total += float(np.sum(np.where(mask, whole, 0.0) * _weights(mask.shape, position)))
    return total


def _outcome(function: Callable[..., Any], call: Any) -> tuple[str, str]:
    """What becomes of one call: right, wrong, refused or errors; nothing where it cannot be judged."""
    arrays: list[Any] = []
    random = np.random.default_rng(5)

    def taken(value: Any) -> Any:
        if not is_tensor(value):
            return value
        array = np.asarray(to_numpy(value.eval()))
        if value.dtype.kind != "f":
            return array
        apart = random.normal(size=array.shape) * np.abs(array)  # numbers that are equal are at a kink of any sort
        arrays.append(array.astype("float64") + 1e-4 * np.where(np.isfinite(apart), apart, 0.0))
        return _Place(len(arrays) - 1)

    form = _replaced(call, taken)

    def at(values: Any, other: Callable[[Any], Any]) -> Any:
        def filled(value: Any) -> Any:
            if isinstance(value, _Place):
                return values[value.position]
            return other(value) if isinstance(value, np.ndarray) else _kept(value)

        args, kwargs = _replaced(form, filled)
        return function(*args, **kwargs)

    directions = [random.normal(size=a.shape) * (np.abs(a) if np.any(a) else 1.0) for a in arrays]
    directions = [np.where(np.isfinite(d), d, 0.0) for d in directions]

    def moved(step: float) -> Any:
        return at([a + step * d for a, d in zip(arrays, directions, strict=True)], lambda other: other)

    finite: list[Any] | None = None
    flat: list[bool] = []
    try:
        finite = [np.isfinite(np.asarray(part)) for part in _results(moved(0.0))]
        value = _sum(moved(0.0), finite)
        slopes = [(_sum(moved(step), finite) - _sum(moved(-step), finite)) / (2 * step) for step in _STEPS]
        one_sided = (_sum(moved(_STEPS[1]), finite) - value) / _STEPS[1]
    except Exception:  # noqa: BLE001 - NumPy arrays are taken another way: nothing to compare with
        slopes = []

    def loss(*tensors: Any) -> Any:
        result = at(tensors, xp.asarray)
        parts = _results(result)
        flat.append(not parts)
        shapes = [tuple(map(int, part.shape)) for part in parts]
        masks = finite if slopes and finite is not None else [np.ones(shape, bool) for shape in shapes]
        return _recorded_sum(result, masks)

    try:
        recorded, found = value_and_grad(loss, list(range(len(arrays))))(*arrays)
    except Exception as error:  # noqa: BLE001 - whatever a function of SciPy's raises is what is asked for here
        if flat == [True]:
            return "flat", ""
        said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return ("refused", "") if _REFUSED in said else ("errors", said[:300])
    if not slopes or finite is None:
        return "", ""
    size = max(abs(slope) for slope in slopes)
    noise = 1e-9 * (1.0 + abs(value))
    steady = (
        abs(slopes[0] - slopes[1]) <= 1e-3 * size + noise and abs(one_sided - slopes[0]) <= 1e-2 * size + 10 * noise
    )
    if not np.all(np.isfinite(slopes)) or not steady:  # also where numbers that are equal part: a kink
        return "", ""
    if not all(mask.all() for mask in finite) and any(np.isnan(g).any() for g in map(np.asarray, found)):
        return "", ""  # of numbers outside of the function's domain
    if abs(float(recorded) - value) > 1e-6 * (1.0 + abs(value)):
        return "", ""  # as where roots come in another order
    exact = sum(float(np.sum(np.asarray(g)[d != 0] * d[d != 0])) for g, d in zip(found, directions, strict=True))
    if abs(exact - slopes[0]) <= 2e-3 * size + 10 * noise:
        return "right", ""
    return "wrong", f"{exact!r} where differences say {slopes[0]!r}, of {form!r}, {[a.tolist() for a in arrays]}"[:600]


class _Place:
    """Where a floating array stands among the arguments."""

    def __init__(self, position: int) -> None:
        self.position = position
