"""Dask's functions on graphs, for its arrays on expressions: one node of an expression for each call.

With ``array.query-planning`` set, Dask's arrays are expressions, and many functions that it has on graphs are not there
yet. They are still in its modules. A call of one is kept in a node: it is made once on stand-ins for its arguments, to
know the chunks of what it gives, and again when the graph is made, on stand-ins for what the arguments became. Nothing
is computed, and nothing above the node is laid out before its time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dask._collections
import dask._task_spec
import dask.array._array_expr._collection
import dask.array._array_expr._expr
import dask.array.core
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

__all__ = ["layers_of", "lifted", "name_of_blocks", "new_collection", "on_graph", "own_handle"]

_Array: Any = dask.array._array_expr._collection.Array
_Classic: Any = dask.array.core.Array
_ArrayExpr: Any = dask.array._array_expr._expr.ArrayExpr
_alias: Any = dask._task_spec.Alias
new_collection: Any = dask._collections.new_collection


class _Place:
    """Where an array stood among arguments, or among results."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __dask_tokenize__(self) -> tuple[str, int]:
        return ("nbm_xp.place", self.number)

    def __reduce__(self) -> Any:
        return _Place, (self.number,)


def _without(value: Any, cls: Any, found: list[Any]) -> Any:
    """A value with each array of a class in it, however deep, moved to `found`, and its place left."""
    if isinstance(value, cls):
        found.append(value)
        return _Place(len(found) - 1)
    return _rebuilt(value, lambda item: _without(item, cls, found))


def _filled(value: Any, arrays: Sequence[Any]) -> Any:
    """A value with the arrays in their places again."""
    if isinstance(value, _Place):
        return arrays[value.number]
    return _rebuilt(value, lambda item: _filled(item, arrays))


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(change, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(change, value))
    if type(value) is dict:
        return {key: change(item) for key, item in value.items()}
    return value


def _stand_in(expression: Any) -> Any:
    """An array on a graph without tasks, with the blocks of an expression."""
    graph = HighLevelGraph.from_collections(expression._name, {}, dependencies=())
    return _Classic(graph, expression._name, chunks=expression.chunks, meta=expression._meta)


class _Call:
    """A function on graphs with its arguments but for the arrays."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.token = tokenize(function, args, kwargs)
        self._made: tuple[Any, Any] = (None, None)

    def __dask_tokenize__(self) -> str:
        return self.token

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": (None, None)}

    def __call__(self, expressions: Sequence[Any]) -> tuple[Any, list[Any]]:
        """What the call gives, without its arrays, and these; what it gave last is kept, for its other nodes."""
        names = tuple(expression._name for expression in expressions)
        kept, made = self._made
        if kept != names:
            arrays = list(map(_stand_in, expressions))
            found: list[Any] = []
            result = self.function(*_filled(self.args, arrays), **_filled(self.kwargs, arrays))
            made = _without(result, _Classic, found), found
            self._made = (names, made)
        return made  # type: ignore[no-any-return]


class Node(_ArrayExpr):  # type: ignore[misc]
    """One array that a call gives; the call's own arrays follow its parameters."""

    _parameters = ("call", "place", "chunks", "_meta")
    _pickle_functools_cache = False
    _determ_token: Any

    @functools.cached_property
    def _meta(self) -> Any:
        return self.operand("_meta")

    @functools.cached_property
    def _name(self) -> str:
        function = self.operand("call").function
        return f"{getattr(function, '__name__', 'call').strip('_')}-{self.deterministic_token}"

    def __dask_tokenize__(self) -> Any:
        if self._determ_token is None:
            names = [array._name for array in self.dependencies()]
            self._determ_token = tokenize(self.operand("call").token, self.operand("place"), names)
        return self._determ_token

    def _layer(self) -> dict[Any, Any]:
        arrays = self.dependencies()
        names = {array._name for array in arrays}
        result = self.operand("call")(arrays)[1][self.operand("place")]
        tasks: dict[Any, Any] = {}
        for name, layer in result.__dask_graph__().layers.items():
            if name not in names:
                tasks.update(layer)
        for block in _blocks(result.numblocks):
            own, key = (self._name, *block), (result.name, *block)
            tasks[own] = _alias(own, key)
        return tasks


def _blocks(numblocks: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not numblocks:
        yield ()
        return
    for first in range(numblocks[0]):
        for rest in _blocks(numblocks[1:]):
            yield (first, *rest)


def layers_of(x: Any) -> dict[str, Any]:
    """By name, the expressions that an array is made of, as they will be laid out."""
    waiting, found = [x.expr.lower_completely()], {}
    while waiting:
        expression = waiting.pop()
        if expression._name not in found:
            found[expression._name] = expression
            waiting += expression.dependencies()
    return found


def on_graph(x: Any) -> Any:
    """An array on a graph with the blocks of one on expressions."""
    expression = x.expr.lower_completely()
    graph = HighLevelGraph.from_collections(expression._name, dict(expression.__dask_graph__()), dependencies=())
    return _Classic(graph, expression._name, chunks=expression.chunks, meta=expression._meta)


def own_handle(x: Any) -> Any:
    """Another array of the same expression: what is assigned to one of them makes that one another expression."""
    return new_collection(x.expr)


def name_of_blocks(x: Any) -> Any:
    """What the keys of an array's blocks begin with in its graph."""
    return x.expr.lower_completely()._name


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays on graphs as one of arrays on expressions; without arrays among its arguments as well."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arrays: list[Any] = []
        template: tuple[Any, Mapping[str, Any]] = _without((args, kwargs), _Array, arrays)
        made = _Call(function, *template)
        expressions = [array.expr for array in arrays]
        names = [expression._name for expression in expressions]
        rest, found = made(expressions)
        results = [
            own_handle(arrays[names.index(result.name)])
            if result.name in names
            else new_collection(Node(made, place, result.chunks, result._meta, *expressions))
            for place, result in enumerate(found)
        ]
        return _filled(rest, results)

    return call
