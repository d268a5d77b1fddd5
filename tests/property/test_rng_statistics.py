"""Loose statistics: enough to notice numbers that are of the wrong distribution, or streams that overlap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.rng import M2, Generator, substreams

seeds = st.integers(1, M2 - 1)


@given(seeds, st.sampled_from([None, 1, 7, 15360]), st.sampled_from(["float16", "float32", "float64"]))
@settings(max_examples=10)
def test_uniforms_fill_the_interval_evenly(seed: int, nstreams: int | None, dtype: str) -> None:
    u = Generator(seed).random(50_000, dtype, nstreams=nstreams).astype("float64")
    assert u.min() > 0
    assert u.max() < 1
    counts = np.bincount((u * 50).astype(int), minlength=50)
    assert np.sum((counts - 1000) ** 2 / 1000) < 120  # 49 degrees of freedom: a chance of 1e-7
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.03


@given(seeds)
@settings(max_examples=10)
def test_normals_have_the_moments_they_should(seed: int) -> None:
    z = Generator(seed).normal(3.0, 2.0, 100_001, "float64")
    assert abs(z.mean() - 3) < 0.04
    assert abs(z.std() - 2) < 0.03
    standard = (z - 3) / 2
    assert abs(np.mean(standard**3)) < 0.05
    assert abs(np.mean(standard**4) - 3) < 0.15
    assert np.isfinite(z).all()


@given(seeds, st.floats(0.05, 0.95), st.integers(1, 12))
@settings(max_examples=10)
def test_binomials_have_the_moments_they_should(seed: int, p: float, n: int) -> None:
    counts = Generator(seed).binomial(n, p, 40_000)
    deviation = np.sqrt(n * p * (1 - p))
    assert abs(counts.mean() - n * p) < 6 * deviation / 200
    assert abs(counts.std() / deviation - 1) < 0.05


@given(seeds)
@settings(max_examples=5)
def test_neighbouring_streams_and_draws_have_nothing_in_common(seed: int) -> None:
    generator = Generator(seed)
    first, second = (generator.random((2000, 8), "float64", nstreams=8) for _ in range(2))
    correlations = np.corrcoef(np.concatenate([first, second], axis=1).T)
    assert np.abs(correlations - np.eye(16)).max() < 0.13
    assert len({tuple(state) for state in substreams(generator.state[:6], 15360)}) == 15360


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_float16_and_float32_normals_are_finite(dtype: str) -> None:
    assert np.isfinite(Generator(1).normal(size=10**6, dtype=dtype)).all()
