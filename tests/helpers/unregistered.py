"""Libraries that the package has no entry for: they are taken by the namespace that their arrays bring along.

array_api_strict is one of them while its own entry is left out. The others are installed in a session of their own
(``nox -s unregistered``): marray over NumPy, cubed, ndonnx. One that is there and does not import fails its tests.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import asarray, dispatch, dtype_name, kernels, libraries, to_numpy
from nbm_xp.namespace import library_name as name_of
from tests.helpers.known import reason_of
from tests.helpers.libraries import EVERYWHERE, ONE_CASE_IN, Library, halves, one_block

__all__ = [
    "ABSENT", "IN_BLOCKS", "UNREGISTERED", "Unregistered", "asked", "guarded", "left_out", "met", "missing",
    "on_unregistered", "restored", "unregistered_libraries",
]  # fmt: skip


@contextmanager
def restored() -> Iterator[None]:
    """What is learnt of libraries inside is forgotten afterwards."""
    tables: list[dict[Any, Any]] = [
        libraries.LIBRARIES, libraries._NAMESPACES, libraries._NAMES, kernels._KERNELS,
        *dispatch._TABLES,
    ]  # fmt: skip
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, content in zip(tables, before, strict=True):
            table.clear()
            table.update(content)


@contextmanager
def left_out(name: str) -> Iterator[None]:
    """A library without its entry, its kernels and all that is known of it."""
    with restored():
        libraries.LIBRARIES.pop(name, None)
        for table in (libraries._NAMESPACES, libraries._NAMES):
            for key in [key for key, value in table.items() if name in (key, value)]:
                del table[key]
        for key in [key for key in kernels._KERNELS if key[1] == name]:
            del kernels._KERNELS[key]
        for table in dispatch._TABLES:
            table.clear()
        yield


_asked: ContextVar[bool] = ContextVar("asked", default=False)
"""Whether a test has asked for the values of lazy arrays."""


@contextmanager
def guarded(library: Unregistered) -> Iterator[None]:
    """Fail on any computation of lazy arrays that no test asked for."""
    if not library.lazy:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        kind = type(library.xp.asarray(0.0))
        compute = kind.compute

        def checked(self: Any, **options: Any) -> Any:
            assert _asked.get(), f"a hidden computation of an array of {library.name}"
            return compute(self, **options)

        patch.setattr(kind, "compute", checked)
        yield


@contextmanager
def asked() -> Iterator[None]:
    """Under the guard, what is asked for: lazy arrays may be computed."""
    token = _asked.set(True)
    try:
        yield
    finally:
        _asked.reset(token)


class Unregistered(Library):
    """A library of the standard that has no entry, with the way in which its arrays are made."""

    @property
    def xp(self) -> Any:
        """The namespace as it is."""
        return _imported(self.name)

    def array(self, value: Any, dtype: Any = None) -> Any:
        """An array of the library, in one block where it has blocks."""
        host = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype_name(dtype))
        if self.chunking is None:
            return asarray(host, self.xp)
        return self.xp.asarray(host.copy(), chunks=tuple(max(1, self.chunking(n)[0]) for n in host.shape))

    def numpy(self, x: Any) -> Any:
        """A result, which must be an array of this library, as a NumPy array; of a tuple, each element."""
        if isinstance(x, (tuple, list)):
            return [self.numpy(item) for item in x]
        assert name_of(x) == name_of(self.xp), f"left the library: {type(x)}"
        with asked():  # ndonnx has neither of the ways of the standard out of it
            result = x.unwrap_numpy() if self.name == "ndonnx" else to_numpy(x)
        assert dtype_name(result) == dtype_name(x)
        assert tuple(x.shape) == result.shape
        return result


@cache
def _imported(name: str) -> Any:
    module = importlib.import_module(name)
    return module.masked_namespace(np) if name == "marray" else module


UNREGISTERED = (
    Unregistered("strict-unlisted", "array_api_strict"), Unregistered("marray", "marray"),
    Unregistered("cubed", "cubed", one_block), Unregistered("ndonnx", "ndonnx"),
)  # fmt: skip

IN_BLOCKS = (Unregistered("cubed-halves", "cubed", halves),)
"""Those with blocks again, in two along each axis."""


@contextmanager
def met(request: pytest.FixtureRequest, known: Iterable[tuple[str, str, str]]) -> Iterator[Unregistered]:
    """The library that a fixture is asked for, without an entry, under the guard.

    `known` has what cannot be done, which must fail: the library, which tests (a pattern of their names), and why.
    """
    callspec = getattr(request.node, "callspec", None)
    case = str(callspec.params.get("case", callspec.params.get("name", ""))) if callspec else ""
    if reason := reason_of(known, request.param.name, f"{request.node.originalname}-{case}"):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    with left_out(request.param.name), guarded(request.param):
        yield request.param


def missing(name: str) -> str:
    """Why a package cannot be tested here: it is not installed. One that is there and does not import must fail."""
    return "" if importlib.util.find_spec(name) is not None else f"{name} is not installed"


ABSENT = {each.id: missing(each.name) for each in (*UNREGISTERED, *IN_BLOCKS) if missing(each.name)}
"""Those that cannot be tested here, with the reasons."""


def unregistered_libraries(*names: str, among: tuple[Unregistered, ...] = UNREGISTERED) -> list[Any]:
    """Pytest parameters for these libraries (all, if none is named) that are installed."""
    return [pytest.param(one, id=one.id) for one in among if one.id not in ABSENT and (not names or one.name in names)]


def on_unregistered(
    cases: Iterable[Any],
    is_long: Callable[[Any, str], bool],
    among: tuple[Unregistered, ...] = UNREGISTERED,
    seldom: tuple[str, ...] = ("cubed", "ndonnx"),
) -> list[Any]:
    """Pytest parameters, a case and a library: every case on each; what takes long, `is_long` says, is slow.

    One case in six is run on the libraries in `seldom`, all of them with ``--everywhere``: ndonnx makes an ONNX model
    of each step as long as values are known.
    """
    numbered = list(enumerate(cases))
    return [
        pytest.param(case, each, id=f"{each.id}-{case}", marks=[pytest.mark.slow] * is_long(case, each.name))
        for each in among
        if each.id not in ABSENT
        for number, case in numbered
        if EVERYWHERE or each.name not in seldom or number % ONE_CASE_IN == 0
    ]
