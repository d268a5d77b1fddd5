"""`einsum` gives what NumPy's gives, for any subscripts, on every library, recorded, differentiated, under `vmap`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.tape import Variable, einsum, evaluate, function, placeholder, vmap
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries

LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 2, "b": 5, "Z": 1}
SUBSCRIPTS = [
    "ij,jk->ik", "ij,jk", "ij,ij->ji", "ji", "ii", "ii->i", "iij->j", "ij->", "i,i", "i,j->ji", "bij,bjk->kbi",
    "bijk,bkl->bli", "ij,ij,ij->i", "ij,jk,kl->il", "bij,bij->b", "bi,bi->bi", "b,bij->ij", "ijk,jil->kl", ",ij->ij",
    "iijj->ij", "bijl,bklj->bik", "lij,lji->", "bi,ki,ji->bkj", "iZ,jZ->Zij", "bijZ,bji->bZ", "Zb,bi",
]  # fmt: skip


def arrays_for(subscripts: str) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.normal(size=[LENGTHS[label] for label in term]) for term in subscripts.split("->")[0].split(",")]


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "dask-one", "dask-singles")), indirect=True)
@pytest.mark.at_night("jax")
def test_value(library: Library) -> None:
    given_arrays = [arrays_for(subscripts) for subscripts in SUBSCRIPTS]

    def products(*arrays: Any) -> list[Any]:
        rest = iter(arrays)
        return [einsum(each, *itertools.islice(rest, each.count(",") + 1)) for each in SUBSCRIPTS]

    found = library.numpy(library.at_once(products, *itertools.chain(*given_arrays)))
    for subscripts, arrays, got in zip(SUBSCRIPTS, given_arrays, found, strict=True):
        want = np.einsum(subscripts, *arrays)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12, err_msg=subscripts)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    """Any subscripts, an ellipsis among them or not."""
    label = st.sampled_from("ijkbZ")
    dots = draw(st.lists(st.sampled_from([1, 3]), max_size=2))
    terms, arrays = [], []
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(label, max_size=3))
        own = draw(st.integers(0, len(dots)))
        at = draw(st.integers(0, len(labels)))
        terms.append("".join(labels[:at]) + ("..." if dots else "") + "".join(labels[at:]))
        sizes = [*(LENGTHS[x] for x in labels[:at]), *dots[len(dots) - own :], *(LENGTHS[x] for x in labels[at:])]
        arrays.append(np.random.default_rng(len(sizes)).normal(size=sizes))
    subscripts = ",".join(terms)
    if draw(st.booleans()):
        used = sorted({x for term in terms for x in term if x != "."})
        kept = draw(st.permutations(used)) if used else []
        subscripts += "->" + "..." * bool(dots) + "".join(kept[: draw(st.integers(0, len(kept)))])
    return subscripts, arrays


@settings(max_examples=150)
@given(calls())
def test_any_subscripts(call: tuple[str, list[np.ndarray]]) -> None:
    subscripts, arrays = call
    want = np.einsum(subscripts, *arrays)
    np.testing.assert_allclose(einsum(subscripts, *arrays), want, atol=1e-12)
    recorded = einsum(subscripts, *map(Variable, arrays))
    assert tuple(recorded.shape) == want.shape
    np.testing.assert_allclose(evaluate(recorded), want, atol=1e-12)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_gradient(subscripts: str) -> None:
    check_gradient(lambda *tensors: einsum(subscripts, *tensors), *arrays_for(subscripts), order=2)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_many_at_once(subscripts: str) -> None:
    arrays = arrays_for(subscripts)
    many = [np.stack([array, 2.0 * array, -array]) for array in arrays]
    got = vmap(lambda *tensors: einsum(subscripts, *tensors))(*many)
    for position in range(3):
        np.testing.assert_allclose(got[position], np.einsum(subscripts, *(x[position] for x in many)), atol=1e-12)


OTHER_FORMS: list[tuple[Any, ...]] = [
    (" i j , j k -> i k ", np.ones((2, 3)), np.ones((3, 4))), ("ij,j", np.arange(6).reshape(2, 3), np.arange(3.0)),
    ("ij", np.arange(6, dtype=np.int8).reshape(2, 3)),
    ("ij,j->i", np.eye(3, dtype=bool), np.asarray([True, False, True])), ("i,i", np.ones(1), np.arange(3.0)),
]  # fmt: skip


@pytest.mark.parametrize("call", OTHER_FORMS)
def test_other_forms(call: tuple[Any, ...]) -> None:
    got, want = einsum(*call), np.einsum(*call)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_of_unknown_lengths() -> None:
    x, y = placeholder((None, None, 3), dtype="float64"), placeholder((None, 3, None), dtype="float64")
    run = function([x, y], einsum("bij,bjk->kbi", x, y))
    a, b = np.random.default_rng(0).normal(size=(2, 5, 3)), np.random.default_rng(1).normal(size=(2, 3, 4))
    np.testing.assert_allclose(run(a, b), np.einsum("bij,bjk->kbi", a, b))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("ij,jk", np.ones((2, 2))), "name 2 arrays, but 1 were given"),
        (("ij->k", np.ones((2, 2))), "name 'k' in the result, which no array has"),
        (("ij->ii", np.ones((2, 2))), "axis of the result twice, got ii"),
        (("i", np.ones((2, 2))), "name 1 axes of array 0, which has 2"),
        (("ij,jk", np.ones((2, 3)), np.ones((4, 3))), "axes of lengths 3 and 4: j"),
        (("i?", np.ones((2, 2))), "may hold letters"),
        (("...i->i", np.ones((2, 2))), "must have an ellipsis in the result"),
        ((np.ones(2), np.ones(2)), "needs subscripts"),
    ],
)
def test_bad_calls(call: tuple[Any, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        einsum(*call)
