"""The mends of linear algebra and transforms: each is right, and needed; those of CuPy are tried on NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import array_api_compat.numpy as host
import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from nbm_xp.namespace.compat.cupy import named_eig, stacked_solve
from tests.helpers.libraries import guard, libraries, why_not
from tests.namespace.test_compat import INTS, ORIGINALS, REFUSALS, SQUARE, TENSOR, Probe, dask_of, same

STACK = np.stack([SQUARE[:3, :3], SQUARE[3:, 3:]])
COMPLEX = SQUARE + 1j * SQUARE.T

NEEDED: dict[tuple[str, str], Probe] = {
    ("dask", "tril of complex numbers"): lambda xp: same(xp.tril(dask_of(xp, COMPLEX, 4), k=-1), np.tril(COMPLEX, -1)),
    ("dask", "triu of complex numbers"): lambda xp: same(xp.triu(dask_of(xp, COMPLEX, 4), k=1), np.triu(COMPLEX, 1)),
    ("dask", "vecdot of integers"): lambda xp: same(
        xp.vecdot(dask_of(xp, INTS, 2), dask_of(xp, INTS, 2)), np.vecdot(INTS, INTS)
    ),
    ("dask", "tensordot over the last axis"): lambda xp: same(
        xp.tensordot(dask_of(xp, TENSOR), dask_of(xp, TENSOR.T), axes=((-1,), (0,))),
        np.tensordot(TENSOR, TENSOR.T, axes=((-1,), (0,))),
    ),
    ("dask", "matrix_norm of stacks"): lambda xp: same(
        xp.linalg.matrix_norm(dask_of(xp, STACK), ord="nuc"), np.linalg.matrix_norm(STACK, ord="nuc")
    ),
    ("dask", "rfft along chunks"): lambda xp: same(xp.fft.rfft(dask_of(xp, SQUARE, 4), n=5), np.fft.rfft(SQUARE, n=5)),
    ("dask", "irfftn along chunks"): lambda xp: same(
        xp.fft.irfftn(dask_of(xp, COMPLEX, 4), s=(4, 7), axes=(0, 1)), np.fft.irfftn(COMPLEX, s=(4, 7), axes=(0, 1))
    ),
    ("dask", "solve of stacks in other blocks"): lambda xp: same(
        xp.linalg.solve(dask_of(xp, STACK, (1, 3, 3)), dask_of(xp, STACK[0])), np.linalg.solve(STACK, STACK[0])
    ),
    ("dask", "rank of empty matrices"): lambda xp: same(
        xp.linalg.matrix_rank(dask_of(xp, STACK[:, :0])), np.zeros(2, int)
    ),
    ("torch", "fft of nothing"): lambda xp: same(xp.fft.fft(xp.asarray(COMPLEX[:0])), np.fft.fft(COMPLEX[:0])),
    ("torch", "irfftn of nothing"): lambda xp: same(
        xp.fft.irfftn(xp.asarray(COMPLEX[:0]), s=(5,), axes=(1,)), np.fft.irfftn(COMPLEX[:0], s=(5,), axes=(1,))
    ),
    ("jax", "matrix_rank by a tolerance"): lambda xp: same(
        xp.astype(xp.linalg.matrix_rank(xp.asarray(np.diag([9.0, 1.0])), rtol=0.5), xp.int64), np.int64(1)
    ),
    ("jax", "rank of empty matrices"): lambda xp: same(
        xp.astype(xp.linalg.matrix_rank(xp.asarray(STACK[:, :0])), xp.int64), np.zeros(2, int)
    ),
}  # fmt: skip


def _params() -> list[Any]:
    marks = {name: [pytest.mark.skip(reason=reason)] if (reason := why_not(name)) else [] for name in ORIGINALS}
    return [
        pytest.param(name, probe, id=f"{name}: {what}", marks=marks[name]) for (name, what), probe in NEEDED.items()
    ]


@pytest.mark.parametrize(("name", "probe"), _params())
def test_mend_is_right_and_needed(name: str, probe: Probe) -> None:
    with guard():
        assert probe(get_namespace(name))
        original = importlib.import_module(ORIGINALS[name])
        try:
            right = probe(original)
        except (*REFUSALS, np.exceptions.ComplexWarning):
            right = False
    assert not right, f"{name} is right by now: its mend can go"


def test_transforms_of_axes_without_elements_are_refused_all_the_same() -> None:
    if why_not("torch"):
        pytest.skip(str(why_not("torch")))
    xp = get_namespace("torch")
    with pytest.raises(RuntimeError):
        xp.fft.fft(xp.zeros((3, 0), dtype=xp.complex128))


def narrow_solve(a: Any, b: Any) -> Any:
    """CuPy's: both arrays must have the stack, and none be empty."""
    assert a.shape[:-2] == b.shape[: a.ndim - 2]
    assert a.size
    assert b.size
    assert a.ndim == b.ndim or a.ndim == b.ndim + 1 == 2
    return np.linalg.solve(a, b)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (4, 3, 2)),
        ((2, 1, 3, 3), (4, 3, 2)), ((0, 0), (0, 2)), ((0, 3, 3), (3,)), ((3, 3), (3, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_cupy_solves_stacks_that_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=left), generator.normal(size=right)
    result = stacked_solve(host, narrow_solve)(a, b)
    expected = host.linalg.solve(a, b)
    np.testing.assert_allclose(result, expected, strict=True)


def test_cupy_refuses_stacks_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        stacked_solve(host, narrow_solve)(np.ones((2, 3, 3)), np.ones((3, 3, 1)))


def test_cupy_names_what_eig_gives() -> None:
    result = named_eig(np.linalg.eig)(SQUARE)
    np.testing.assert_allclose(SQUARE @ result.eigenvectors, result.eigenvectors * result.eigenvalues)


@pytest.mark.parametrize("library", libraries("dask-halves", "dask-cupy"), indirect=True)
def test_dask_keeps_the_blocks_of_a_stack(library: Any) -> None:
    xp = library.xp
    x = library.array(np.stack([SQUARE] * 4))
    for result in (xp.linalg.inv(x), xp.fft.fft(x), xp.fft.rfftn(x, axes=(1, 2)), xp.linalg.det(x), xp.tril(x)):
        assert result.chunks[0] == x.chunks[0]
    assert xp.fft.irfft(x + 0j).dtype == np.float64
    assert xp.fft.rfft(x.astype("float32")).dtype == np.complex64
