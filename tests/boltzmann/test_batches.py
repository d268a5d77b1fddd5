"""A minibatch has no more rows than there are, however many are asked for: nor are there more chains."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM
from tests.helpers.libraries import computing

ROWS = (np.random.default_rng(0).random((30, 6)) < 0.4).astype("float32")
KINDS: list[Any] = [
    lambda size: RBM(4, batch_size=size, n_iter=2, random_state=0),
    lambda size: DBM([6, 4, 3], batch_size=size, n_iter=2, random_state=0),
]


@pytest.mark.parametrize("kind", KINDS, ids=["rbm", "dbm"])
@pytest.mark.parametrize("rows", [ROWS, dask.array.from_array(ROWS, chunks=7)], ids=["numpy", "dask"])  # type: ignore[no-untyped-call]
def test_fit_takes_all_rows_and_no_more(kind: Any, rows: Any) -> None:
    with computing():
        large, whole = kind(10**9).fit(rows), kind(30).fit(rows)
        pairs = zip(large.state_.arrays().values(), whole.state_.arrays().values(), strict=True)
        assert all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)
    assert large.batch_size == 10**9


@pytest.mark.parametrize("kind", KINDS, ids=["rbm", "dbm"])
def test_partial_fit_has_as_many_chains_as_its_first_rows(kind: Any) -> None:
    def chains(model: Any) -> set[int]:
        return {chain.shape[0] for name, chain in model.state_.variables.items() if name.startswith("chain.")}

    assert chains(kind(10**9).partial_fit(ROWS[:8]).partial_fit(ROWS)) == {8}
    assert chains(kind(5).partial_fit(ROWS)) == {5}
