"""An elementary function gives the same bits called on an array, recorded, in a chain, and on Dask's blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.functions import neural
from nbm_xp.namespace import array_namespace, chains, get_namespace
from nbm_xp.tape import Variable, evaluate, function, placeholder

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: lambda x, name=name: getattr(array_namespace(x), name)(x) for name in ("exp", "log1p", "tanh")
} | {"sigmoid": neural.sigmoid, "softplus": neural.softplus}
LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x, lambda x: x.T, lambda x: x[..., ::2] if x.ndim else x, lambda x: x[::-1] if x.ndim else x,
    lambda x: x.astype(x.dtype.newbyteorder()), lambda x: x[()],
]  # fmt: skip
EXTREMES = [0.0, -0.0, np.inf, np.nan, 1e-40, 88.8, 300.0]


def same_bits(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@given(
    shape=st.sampled_from([(), (1,), (7,), (0, 3), (3, 5), (40, 50), (2, 3, 300)]),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    layout=st.sampled_from(LAYOUTS),
    seed=st.integers(0, 99),
)
def test_eager_and_recorded(name: str, shape: tuple[int, ...], dtype: str, layout: Any, seed: int) -> None:
    call, rng = FUNCTIONS[name], np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        numbers = np.where(rng.random(shape) < 0.1, rng.choice(EXTREMES, shape), np.abs(rng.normal(0.0, 3.0, shape)))
        x = layout(np.asarray(numbers).astype(dtype))
        eager = call(x)
        assert eager.dtype == dtype
        value = call(Variable(x))
        for _ in range(4):  # computed by itself at first, then by a plan
            same_bits(evaluate(value), eager)
        given = placeholder((None,) * x.ndim, dtype=dtype)
        same_bits(function([given], call(given))(x), eager)
        if dtype != "float16":  # in which NumPy's loops may differ
            one_by_one = [call(number) for number in np.asarray(x).reshape(-1)[:9]]
            same_bits(np.asarray(one_by_one, dtype), np.asarray(eager).reshape(-1)[:9])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_chains_and_blocks(name: str, dtype: str) -> None:
    call, x = FUNCTIONS[name], np.random.default_rng(0).uniform(0.0, 9.0, (chains.LARGE // 64, 70)).astype(dtype)
    given, eager = placeholder((None, None), dtype=dtype), call(x)
    same_bits(function([given], call(given) * 2.0)(x), eager * 2.0)
    da = pytest.importorskip("dask.array")
    y = da.from_array(x, chunks=(1000, 70))
    for found in (call(y), function([given], call(given))(y), getattr(get_namespace("dask"), name, call)(y)):
        same_bits(found.compute(), eager)
