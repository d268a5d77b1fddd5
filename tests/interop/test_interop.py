"""Code written for the array API standard by people who never heard of nbm_xp takes Tensors, and can be differentiated.

array-api-extra, SciPy, scikit-learn, einops and xarray are handed Tensors over several libraries. What they give is
held to what they give for NumPy arrays, and its derivative to finite differences of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import to_numpy
from nbm_xp.tape import Variable, evaluate, function, grad, is_tensor, placeholder
from tests.helpers.gradcheck import STEP, flat_list, inner_product
from tests.helpers.libraries import Library, libraries
from tests.interop import Foreign, cases

BENEATH = libraries("numpy", "array_api_strict", "torch", without=("numpy-readonly",))

# Deprecations and warnings about numbers are between the authors of these packages and their users.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::UserWarning")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def host(result: Any) -> list[Any]:
    """The arrays and numbers of a result in NumPy."""
    return [to_numpy(part) if hasattr(part, "dtype") else np.asarray(part) for part in flat_list(result)]


@pytest.mark.at_night("torch")
@pytest.mark.parametrize("library", BENEATH, indirect=True)
@cases()
def test_value(case: Foreign, library: Library) -> None:
    results = flat_list(case.call(*(Variable(library.array(a)) for a in case.arrays)))
    computed = host([evaluate(part) if is_tensor(part) else part for part in results])
    wanted = host(case.call(*case.arrays))
    assert len(computed) == len(wanted)
    for got, want in zip(computed, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.rtol)


def weighted(result: Any) -> float:
    """What `inner_product` makes of the same result in Tensors."""
    parts = [p for whole in host(result) for p in ([whole.real, whole.imag] if np.iscomplexobj(whole) else [whole])]
    floating = [part for part in parts if part.dtype.kind == "f"]
    return sum(float(np.sum(p * np.random.default_rng([1, i]).normal(size=p.shape))) for i, p in enumerate(floating))


@pytest.mark.at_night("torch")
@pytest.mark.parametrize("library", BENEATH, indirect=True)
@cases(lambda case: case.smooth)
def test_gradient(case: Foreign, library: Library) -> None:
    places = [i for i, array in enumerate(case.arrays) if array.dtype.kind == "f"]
    slopes = grad(lambda *arrays: inner_product(case.call(*arrays), 1), places)(*map(library.array, case.arrays))
    for place, slope in zip(places, slopes, strict=True):
        array = case.arrays[place]
        direction = np.random.default_rng(place).normal(size=array.shape)
        ahead, behind = (
            weighted(case.call(*case.arrays[:place], array + sign * STEP * direction, *case.arrays[place + 1 :]))
            for sign in (1, -1)
        )
        exact, estimate = float(np.sum(library.numpy(slope) * direction)), (ahead - behind) / (2 * STEP)
        assert exact == pytest.approx(estimate, rel=1e-5, abs=1e-5)


@cases(lambda case: case.refused)
def test_what_leaves_for_numpy_is_refused_and_not_taken_for_constant(case: Foreign) -> None:
    with pytest.raises(TypeError, match="is being differentiated and cannot become"):
        grad(lambda *arrays: inner_product(case.call(*arrays), 1))(*case.arrays)


# Those that ask for no length as a number, and look at no value.
RECORDED = {
    "angle", "at", "atleast_nd", "deg2rad", "diag_indices", "expand_dims", "fft.fftn", "fft.irfft", "fft.rfft",
    "integrate.cumulative_trapezoid", "integrate.trapezoid", "nan_to_num", "nanmean", "nansum", "one_hot",
    "pack-unpack", "rad2deg", "rearrange", "reduce-max", "reduce-mean", "reduce-prod", "repeat", "searchsorted",
    "sinc", "special.log_softmax", "special.softmax", "special.xlogy", "stats.directional_stats", "tril_indices",
    "triu_indices", "unravel_index",
}  # fmt: skip


@cases(lambda case: case.name in RECORDED)
def test_value_of_inputs_of_unknown_lengths(case: Foreign) -> None:
    inputs = [placeholder(ndim=array.ndim, dtype=str(array.dtype)) for array in case.arrays]
    computed = function(inputs, flat_list(case.call(*inputs)))(*case.arrays)
    for got, want in zip(computed, host(case.call(*case.arrays)), strict=True):
        np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.rtol)
