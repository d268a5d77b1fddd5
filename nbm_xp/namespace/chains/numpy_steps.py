"""NumPy: from the steps of a chain to a function of one block, which computes each step into memory made before.

What a step gives is what NumPy gives for whole arrays, to the last bit: the same functions run on parts of them. Where
NumPy's operators choose among functions (powers), the operator itself runs. `where` takes elements by their bits,
without branches.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.namespace.exponentials import FUNCTIONS, sigmoid_for, softplus_for
from nbm_xp.namespace.libraries import host_namespace

from . import Program

__all__ = ["Compiled", "compiled_for", "steps"]

_UFUNCS = frozenset({
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign", "cos", "cosh",
    "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot", "isfinite",
    "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "reciprocal",
    "remainder", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
})  # fmt: skip
_OTHERS = ("astype", "clip", "fill", "pow", "same", "sigmoid", "softplus", "where")
_BITS: dict[int, Any] = {2: np.dtype("int16"), 4: np.dtype("int32"), 8: np.dtype("int64")}


@lru_cache(maxsize=1)
def steps() -> frozenset[str]:
    """The names of the functions that chains of NumPy's arrays are made of."""
    return _UFUNCS | frozenset(_OTHERS)


@dataclass(eq=False)
class _Call:
    """A call within a block: what is called, on which values, and the value that it makes, of which dtype."""

    function: Any
    args: list[Any]
    dtype: Any = None
    made: Any = None
    into: bool = True  # it takes memory to write to


@dataclass(eq=False)
class _Value:
    """A value within a block: an argument, a constant, or what a call makes."""

    dtype: Any
    number: Any = None
    given: int | None = None
    call: _Call | None = None

    @property
    def is_wide(self) -> bool:
        """Whether it has as many elements as the block."""
        return self.call is not None


@dataclass
class Compiled:
    """What computes a block.

    `run` takes the parts of the arguments, of the results, and buffers; it returns the values of steps that are to be
    added up. `results` holds the dtypes of the results that are given whole, one of which may stand for several:
    `which` says which. `buffers` holds those of what is computed on the way, `added` those of what is added up.
    """

    run: Any
    source: str
    results: list[Any]
    which: list[int]
    buffers: list[Any]
    added: list[Any]


def compiled_for(program: Program, given: Sequence[Any]) -> Compiled:
    """What computes a block, for arguments of certain dtypes.

    Parameters
    ----------
    program
        The chain.
    given
        For each argument an example: an array without elements for one that has many, one without axes, or a number.
    """
    return _Compiler(program, given).compiled()


class _Compiler:
    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        self.program = program
        self.examples = given
        self.calls: list[_Call] = []
        self.bound: dict[str, Any] = {}
        self.given = [_Value(getattr(example, "dtype", None), given=i) for i, example in enumerate(given)]
        self.masks: dict[tuple[int, int], _Value] = {}
        self.values: list[_Value] = []

    def compiled(self) -> Compiled:
        """Write the function and make it."""
        for step in self.program.steps:
            self.values.append(self._value(step.name, [self._argument(kind, which) for kind, which in step.args]))
        return self._written()

    def _argument(self, kind: str, which: Any) -> Any:
        return self.given[which] if kind == "given" else self.values[which] if kind == "step" else which

    def _value(self, name: str, args: list[Any]) -> _Value:
        if name == "same":
            return args[0]  # type: ignore[no-any-return]
        if name == "fill":
            return _Value(np.dtype(args[1]), number=np.asarray(args[0], args[1]))
        if name in _OTHERS:
            found: _Value = getattr(self, f"_{name}")(*args)
            return found
        return self._ufunc(FUNCTIONS.get(name) or getattr(np, name), *args)

    def _example(self, value: Any) -> Any:
        """Something with the dtype of a value, and its weakness if it is a number."""
        if not isinstance(value, _Value):
            return value
        if value.given is not None:
            return self.examples[value.given]
        return value.number if value.number is not None else np.empty(0, value.dtype)

    def _call(self, function: Any, args: list[Any], dtype: Any, *, into: bool = True) -> _Value:
        call = _Call(function, args, dtype, into=into)
        call.made = _Value(dtype, call=call)
        self.calls.append(call)
        return call.made  # type: ignore[no-any-return]

    def _ufunc(self, function: Any, *args: Any) -> _Value:
        examples = [self._example(arg) for arg in args]
        with np.errstate(all="ignore"):
            dtype = function(*examples).dtype
        return self._call(function, self._as_arrays(args, examples), dtype)

    def _as_arrays(self, args: Sequence[Any], examples: Sequence[Any]) -> list[Any]:
        """The arguments, a number beside floating arrays as one of their dtype: NumPy need not make it every time."""
        dtypes = {example.dtype for example in examples if isinstance(example, np.ndarray)}
        if len(dtypes) != 1:
            return list(args)
        (dtype,) = dtypes
        return [arg if isinstance(arg, _Value) else _as_array(arg, dtype) for arg in args]

    def _astype(self, x: Any, name: str) -> _Value:
        dtype = np.dtype(name)
        if self._example(x).dtype == dtype:
            return x  # type: ignore[no-any-return]
        return self._call("copyto({out}, {0}, 'unsafe')", [x], dtype)

    def _pow(self, x: Any, y: Any) -> _Value:
        examples = [self._example(x), self._example(y)]
        with np.errstate(all="ignore"):
            dtype = (examples[0] ** examples[1]).dtype
        if isinstance(y, (int, float)) and not isinstance(y, bool) and y == 2 and dtype.kind in "fc":
            return self._call(np.square, [x], dtype)
        return self._call("{0} ** {1}", [x, y], dtype, into=False)

    def _clip(self, x: Any, lower: Any, upper: Any) -> _Value:
        dtype = self._example(x).dtype
        for function, bound in ((np.maximum, lower), (np.minimum, upper)):
            if bound is not None:
                x = self._ufunc(function, x, bound if isinstance(bound, _Value) else np.asarray(bound, dtype))
        return x  # type: ignore[no-any-return]

    def _sigmoid(self, x: Any) -> _Value:
        return self._of_dtype(sigmoid_for, x)

    def _softplus(self, x: Any) -> _Value:
        return self._of_dtype(softplus_for, x)

    def _of_dtype(self, function_for: Callable[[Any, str], Any], x: Any) -> _Value:
        """A function that there is for each dtype: as a ufunc, or as what makes an array of its own."""
        dtype = self._example(x).dtype
        function = function_for(host_namespace(), str(dtype))
        if isinstance(function, np.ufunc):
            return self._ufunc(function, x)
        return self._call(f"{self._bind('function', function)}({{0}})", [x], dtype, into=False)

    def _where(self, condition: Any, x: Any, y: Any) -> _Value:
        examples = [self._example(x), self._example(y)]
        dtype = np.result_type(*examples)
        bits = _BITS.get(dtype.itemsize)
        plain = all(getattr(example, "dtype", None) == dtype for example in examples)
        if (
            bits is None
            or not plain
            or not condition.is_wide
            or dtype.kind == "c"
            or self._example(condition).dtype != np.bool_
        ):
            return self._call("where({0}, {1}, {2})", [condition, x, y], dtype, into=False)
        key = (id(condition), bits.itemsize)
        if key not in self.masks:  # all bits of what is chosen
            wide = self._call("copyto({out}, {0}.view(int8))", [condition], bits)
            self.masks[key] = self._call(np.negative, [wide], bits)
        mask = self.masks[key]
        if _is_zero(y):
            return self._call("bitwise_and({0}.view({bits}), {1}, out={out}.view({bits}))", [x, mask], dtype)
        differing = self._call("bitwise_xor({0}.view({bits}), {1}.view({bits}), out={out})", [x, y], bits)
        chosen = self._call(np.bitwise_and, [differing, mask], bits)
        return self._call("bitwise_xor({0}, {1}.view({bits}), out={out}.view({bits}))", [chosen, y], dtype)

    def _written(self) -> Compiled:
        """The source: where each value lies, and what computes it there."""
        last: dict[int, int] = {}
        for place, call in enumerate(self.calls):
            for arg in call.args:
                if isinstance(arg, _Value) and arg.call is not None:
                    last[id(arg)] = place
        whole: list[Any] = []
        which: list[int] = []
        places: dict[int, str] = {}
        added: list[Any] = []
        for result in self.program.results:
            value = self.values[result.step]
            if result.reduction is not None:
                added.append(value)
                continue
            if id(value) not in places:
                places[id(value)] = f"o{len(whole)}"
                whole.append(value)
            which.append(int(places[id(value)][1:]))
        kept = {id(value) for value in added}
        names, free, buffers = dict(places), defaultdict(list), []
        lines = [f"copyto({places[id(value)]}, {self._source(value, {})})" for value in whole if value.call is None]
        for place, call in enumerate(self.calls):
            made = call.made
            dying = [
                arg
                for arg in dict.fromkeys(arg for arg in call.args if isinstance(arg, _Value))
                if last.get(id(arg)) == place and id(arg) not in places and id(arg) not in kept
            ]
            sources = [self._source(arg, names) for arg in call.args]
            dying = [arg for arg in dying if names[id(arg)][0] == "s"]
            for arg in dying:
                if arg.dtype == made.dtype:  # in place, which is safe for one and the same memory
                    free[arg.dtype].append(names[id(arg)])
            if not call.into:
                target = names.get(id(made))
                names.setdefault(id(made), f"v{place}")
                lines.append(
                    f"{names[id(made)]} = {self._call_source(call, sources, '')}"
                    if target is None
                    else f"{target}[...] = {self._call_source(call, sources, '')}"
                )
            else:
                if id(made) not in names:
                    if not free[made.dtype]:
                        buffers.append(made.dtype)
                        free[made.dtype].append(f"s{len(buffers) - 1}")
                    names[id(made)] = free[made.dtype].pop()
                lines.append(self._call_source(call, sources, names[id(made)]))
            for arg in dying:
                if arg.dtype != made.dtype:
                    free[arg.dtype].append(names[id(arg)])
            if id(made) not in last and id(made) not in places and id(made) not in kept and names[id(made)][0] == "s":
                free[made.dtype].append(names[id(made)])
        parameters = [f"a{i}" for i in range(len(self.given))]
        parameters += [f"o{i}" for i in range(len(whole))] + [f"s{i}" for i in range(len(buffers))]
        returned = "".join(f"{names[id(value)]}, " for value in added)
        lines.append(f"return ({returned})")
        source = f"def block({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in lines)
        scope: dict[str, Any] = {"copyto": np.copyto, "where": np.where, "int8": np.int8, **self.bound}
        scope |= {name: getattr(np, name) for name in ("bitwise_and", "bitwise_xor", "int16", "int32", "int64")}
        exec(compile(source, "<block>", "exec"), scope)
        return Compiled(
            scope["block"],
            source,
            [value.dtype for value in whole],
            which,
            buffers,
            [value.dtype for value in added],
        )

    def _source(self, arg: Any, names: dict[int, str]) -> str:
        if isinstance(arg, _Value) and arg.given is not None:
            return f"a{arg.given}"
        if isinstance(arg, _Value) and arg.call is not None:
            return names[id(arg)]
        return self._bind("number", arg.number if isinstance(arg, _Value) else arg)

    def _bind(self, label: str, value: Any) -> str:
        name = f"{label}_{len(self.bound)}"
        self.bound[name] = value
        return name

    def _call_source(self, call: _Call, sources: list[str], out: str) -> str:
        if isinstance(call.function, str):
            bits = _BITS.get(call.dtype.itemsize)
            return call.function.format(*sources, out=out, bits=None if bits is None else bits.name)
        name = call.function.__name__
        self.bound[name] = call.function
        return f"{name}({', '.join(sources)}, out={out})"


def _as_array(number: Any, dtype: Any) -> Any:
    """A number as an array of a floating dtype; itself where that says something else."""
    if dtype.kind not in "fc" or isinstance(number, np.ndarray) or (isinstance(number, complex) and dtype.kind == "f"):
        return number
    with np.errstate(all="ignore"):
        made = np.asarray(number, dtype)
    return made if bool(np.isfinite(made)) or not math.isfinite(abs(number)) else number


def _is_zero(value: Any) -> bool:
    """Whether all bits of a constant are zero."""
    number = value.number if isinstance(value, _Value) else value
    return isinstance(number, np.ndarray) and not number.ndim and not any(number.tobytes())
