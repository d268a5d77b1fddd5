"""Values evaluated while recording: correct with caching and compilation, cheap when repeated, or an error."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import library_name, use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, as_tensor, evaluate, gradients, placeholder
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.evaluation import BUDGET, look
from tests.helpers.calls import counted, runs_of
from tests.helpers.libraries import Library, guard, libraries


class TestConstants:
    def test_are_computed_once(self) -> None:
        y = counted(as_tensor(np.ones(3)), label="y")
        assert runs_of(lambda: [float(xp.sum(y)) for _ in range(4)]) == {"y": 1}
        assert y.eval().tolist() == [1.0] * 3

    def test_long_history_is_not_computed_again(self) -> None:
        """The time of an algorithm that evaluates its values as it proceeds is linear in its number of steps."""

        def algorithm() -> None:
            x = as_tensor(np.ones(3))
            for _ in range(3):
                for _ in range(200):
                    x = counted(x, label="x")
                assert not bool(xp.any(x < 0))
                _ = x[x > 0]  # its length depends on data

        assert runs_of(algorithm) == {"x": 600}

    def test_what_is_looked_at_by_the_piece_is_computed_twice_at_most(self) -> None:
        x = counted(as_tensor(np.arange(20_000.0)), label="x")
        assert runs_of(lambda: [float(x[i]) for i in range(50)])["x"] <= 2
        assert [float(x[i]) for i in range(3)] == [0.0, 1.0, 2.0]

    def test_memory_is_bounded(self) -> None:
        """Of large values, of many of middling size, and of views, which do not hold what they are of."""
        size = 2**20
        held = [as_tensor(np.full(size, float(i))) + 1.0 for i in range(6)]
        held += [(as_tensor(np.ones(2 * size)) * 2.0)[:3], as_tensor(np.ones(2 * size)) + 1.0]
        tracemalloc.start()
        for tensor in held:
            look(tensor)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < BUDGET + size
        assert [float(tensor[0]) for tensor in held] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 2.0, 2.0]

    def test_are_given_out_as_copies(self, library: Library) -> None:
        y = as_tensor(library.array(np.ones(3))) * 2.0
        first = y.eval()
        assert library_name(first) == library.name
        if library.name == "numpy":
            first[...] = 7.0
        np.testing.assert_array_equal(library.numpy(y.eval()), [2.0] * 3)
        np.testing.assert_array_equal(library.numpy(evaluate([y, y + 1.0])[1]), [3.0] * 3)

    def test_follow_the_configured_library(self) -> None:
        pytest.importorskip("array_api_strict")
        y = xp.zeros(3) + 1.0
        assert library_name(y.eval()) == "numpy"
        with use_backend("array_api_strict"):
            assert library_name(y.eval()) == "array_api_strict"
            assert library_name((y * 2.0).eval()) == "array_api_strict"
            assert library_name((y * as_tensor(np.ones(3))).eval()) == "numpy"
        assert library_name(y.eval()) == "numpy"

    def test_go_along_to_the_other_arrays_library(self, library: Library) -> None:
        y = as_tensor(np.ones(3)) + 1.0
        y.eval()
        z = y * as_tensor(library.array(np.full(3, 2.0)))
        assert library_name(z.eval()) == library.name


class TestVariables:
    def test_are_seen_as_they_are(self) -> None:
        v = Variable(np.ones(2))
        y = xp.sum(v * 2.0) + v.shape[0]
        for k in range(5):  # the later evaluations are compiled
            v.set_value(np.full(2 + k, float(k)))
            assert float(y) == 2.0 * k * (2 + k) + 2 + k

    def test_values_are_not_views_of_them(self) -> None:
        v = Variable(np.ones((2, 2)))
        for tensor in (v, v.T, v[0], xp.reshape(v, (4,)), xp.broadcast_to(v[0], (3, 2))):
            for _ in range(4):
                array = tensor.eval()
                array[...] = 9.0
        assert v.get_value().tolist() == [[1.0, 1.0], [1.0, 1.0]]

    def test_constant_parts_are_kept_beside_them(self) -> None:
        v, part = Variable(np.ones(2)), counted(as_tensor(np.ones(2)), label="part")
        assert runs_of(lambda: [float(xp.sum(v * part * k)) for k in (0.0, 1.0)]) == {"part": 1}


class TestOthers:
    def test_an_update_of_its_own_is_heeded_by_what_was_evaluated_before(self) -> None:
        x = Variable(1.0)
        doubled = x * 2.0
        assert [float(evaluate(doubled)), float(evaluate(doubled))] == [2.0, 2.0]
        x.default_update = x + 1.0
        assert [float(evaluate(doubled)), float(evaluate([doubled])[0]), float(evaluate(doubled))] == [2.0, 4.0, 6.0]
        x.default_update = None
        x.set_value(5.0)
        assert float(evaluate(doubled)) == 10.0

    def test_draws_are_drawn_anew(self) -> None:
        u = RandomStreams(1).uniform((3,))
        fixed = u * 1.0
        values = [tuple(np.asarray(fixed.eval()).tolist()) for _ in range(4)]
        assert len(set(values)) == 4

    def test_inputs_win_over_what_is_kept(self) -> None:
        x = as_tensor(np.ones(2))
        y = x * 3.0
        z = y + 1.0
        assert z.eval().tolist() == [4.0, 4.0]
        assert evaluate(z, {y: np.zeros(2)}).tolist() == [1.0, 1.0]
        assert z.eval().tolist() == [4.0, 4.0]

    def test_placeholders_are_missed(self) -> None:
        x = placeholder((2,), name="x")
        with pytest.raises(ValueError, match="missing: x"):
            (x * 2.0).eval()

    def test_of_nothing_recorded(self) -> None:
        assert evaluate([]) == []
        assert float(evaluate(2.0)) == 2.0
        assert [float(v) for v in evaluate((1.0, as_tensor(np.asarray(2.0))))] == [1.0, 2.0]


def test_a_plan_from_one_kept_result_of_a_call_computes_the_others() -> None:
    x = as_tensor(np.asarray([[1.0, 2.0], [3.0, 4.0], [4.0, 8.0]]))
    _, values, rows = xp.linalg.svd(x, full_matrices=False)
    rank = int(xp.sum(xp.astype(values > 1e-3, xp.int64)))  # caches the singular values
    found = np.asarray(xp.sum(rows[:rank, :], axis=1) / values[:rank])
    _, expected, factors = np.linalg.svd(np.asarray(x), full_matrices=False)
    np.testing.assert_allclose(found, factors.sum(axis=1) / expected, rtol=1e-12)


LOOKING: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: xp.nonzero(x), "unique_all": lambda x: xp.unique_all(x),
    "unique_counts": lambda x: xp.unique_counts(x), "unique_inverse": lambda x: xp.unique_inverse(x),
    "unique_values": lambda x: xp.unique_values(x), "mask": lambda x: x[x > 0],
    "repeat": lambda x: xp.repeat(x, xp.astype(x > 0, xp.int64)),
}  # fmt: skip
NUMBERS = np.asarray([2.0, -1.0, 0.0, 2.0, 3.0])


@pytest.mark.parametrize("name", LOOKING)
class TestRefusals:
    def test_of_an_input(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}.*depends on data.*'?numbers'?"):
            LOOKING[name](placeholder((5,), dtype="float64", name="numbers"))

    def test_of_random_draws(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}.*depends on data.*random draws"):
            LOOKING[name](RandomStreams(3).uniform((5,)))

    @pytest.mark.parametrize("library", libraries("dask-halves"), indirect=True)
    def test_of_lazy_arrays(self, name: str, library: Library) -> None:
        with guard(), pytest.raises(ValueError, match=f"{name}.*depends on data.*lazy"):
            LOOKING[name](Variable(library.array(NUMBERS)))

    def test_of_what_a_lazy_library_will_make(self, name: str) -> None:
        with use_backend("dask"), guard(), pytest.raises(ValueError, match=f"{name}.*depends on data.*lazy"):
            LOOKING[name](xp.linspace(-1.0, 1.0, 5))


def test_a_variable_may_be_looked_at() -> None:
    x = Variable(NUMBERS)
    positive = x[x > 0]
    assert positive.shape == (3,)
    np.testing.assert_array_equal(evaluate(gradients(xp.sum(positive**2), x)), [4, 0, 0, 4, 6])
    x.set_value(NUMBERS * 10)  # the indices remain those found before
    np.testing.assert_array_equal(evaluate(positive), [20, 20, 30])


def test_equal_elements_pass_the_gradient_to_the_first() -> None:
    x = Variable(NUMBERS)
    for values in (xp.unique_values(x), xp.unique_all(x).values, xp.unique_counts(x)[0], xp.unique_inverse(x)[0]):
        assert values.shape == (4,)
        np.testing.assert_array_equal(evaluate(gradients(xp.sum(values**2), x)), [4, -2, 0, 0, 6])


def test_of_a_known_mask_the_array_may_be_unknown() -> None:
    x = placeholder((None, 3), dtype="float64")
    assert x[:, np.asarray([True, False, True])].shape == (x.shape[0], 2)
    assert xp.repeat(x, np.asarray([0, 2, 2]), axis=1).shape == (x.shape[0], 4)
