"""`RandomStreams`: draws that draw anew, sizes that are known late, states that can be looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import get_namespace, is_lazy, library_name, set_floatx, to_numpy, use_backend
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS
from nbm_xp.rng import RandomStreams, draw, jump, substreams
from nbm_xp.tape import Variable, evaluate, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import LIBRARIES, Library, libraries

pytestmark = pytest.mark.at_night("jax")

NP = get_namespace("numpy")


def sequence(state: tuple[int, ...], streams: int, n: int, times: int) -> list[Any]:
    """What a draw gives when it is computed again and again."""
    states, out = substreams(state, streams), []
    for _ in range(times):
        u, states = draw(NP, states, (n,), "float32")
        out.append(u)
    return out


def test_a_draw_draws_anew_whenever_it_is_computed(library: Library) -> None:
    with use_backend(library.name):
        u = RandomStreams(5).uniform((9,))
        compiled = function([], [u, u * 2])
        for index, want in enumerate(sequence((5,) * 6, 1, 9, 4)):
            if index % 2:
                got, twice = map(library.numpy, compiled())
                np.testing.assert_array_equal(twice, 2 * got)
            else:
                got = library.numpy(evaluate(u))
            np.testing.assert_array_equal(got, want, strict=True)


def test_draws_of_one_object_take_streams_of_their_own(library: Library) -> None:
    with use_backend(library.name):
        rng = RandomStreams(5)
        first, second = rng.uniform((3,)), rng.uniform((3,))
        assert rng.rstate.tolist() == list(jump(jump((5,) * 6, DRAW_STEPS), DRAW_STEPS))
        b = library.numpy(second.eval())
        a = library.numpy(first.eval())
        np.testing.assert_array_equal(a, sequence((5,) * 6, 3, 3, 1)[0])
        np.testing.assert_array_equal(b, sequence(jump((5,) * 6, DRAW_STEPS), 3, 3, 1)[0])


def test_states_stay_small_arrays_and_off_the_task_graph(library: Library) -> None:
    with use_backend(library.name):
        rng = RandomStreams(5)
        u = rng.uniform((7, 8), nstreams=3)
        u.eval()
        ((state, new, size, nstreams),) = rng.updates()
        assert (size, nstreams) == ((7, 8), 3)
        assert not is_lazy(state.library)
        assert tuple(state.value.shape) == (3, 6)
        assert str(state.dtype) == "int32"
        before = state.get_value()
        for tensor, want in ((state, before), (new, sequence_states(before, 56))):
            for _ in range(2):
                value = tensor.eval()
                seen = library.numpy(value) if library_name(value) == library.name else value
                np.testing.assert_array_equal(seen, want)
        np.testing.assert_array_equal(state.get_value(), before)


def sequence_states(states: Any, n: int) -> Any:
    return draw(NP, states, (n,), "float32")[1]


def test_updates_given_to_a_function_take_the_place_of_its_own() -> None:
    rng = RandomStreams(5)
    u = rng.uniform((4,))
    ((state, new, _, _),) = rng.updates()
    frozen = function([], u, updates=[(state, state)])
    np.testing.assert_array_equal(frozen(), frozen())
    moving = function([], u, updates=[(state, new)])
    assert not np.array_equal(moving(), moving())


def test_seed_starts_existing_draws_anew_in_their_order(library: Library) -> None:
    with use_backend(library.name):
        rng = RandomStreams(5)
        draws = [rng.uniform((4,)), rng.normal((3,)), rng.binomial((2, 9), p=0.4), rng.uniform((5,), nstreams=2)]
        first = [library.numpy(d.eval()) for d in draws]
        again = [library.numpy(d.eval()) for d in draws]
        assert not all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        state = rng.rstate
        rng.seed()
        assert rng.rstate.tolist() == state.tolist()
        for d, want in zip(draws, first, strict=True):
            np.testing.assert_array_equal(library.numpy(d.eval()), want)
        rng.seed(77)
        others = RandomStreams(77)
        np.testing.assert_array_equal(library.numpy(draws[0].eval()), library.numpy(others.uniform((4,)).eval()))


UNKNOWN = placeholder((None, 3), dtype="float32")
LATE = [
    (lambda s, x: s.uniform(x.shape, nstreams=2), lambda s: s.uniform((5, 3), nstreams=2)),
    (lambda s, x: s.uniform((x.shape[0], 2)), lambda s: s.uniform((5, 2), nstreams=15360)),
    (lambda s, x: s.uniform(x.shape[0] * 2), lambda s: s.uniform((10,), nstreams=15360)),
    (lambda s, x: s.normal((x.shape[0],)), lambda s: s.normal((5,))),
    (lambda s, x: s.normal((x.shape[0], 2), nstreams=3), lambda s: s.normal((5, 2), nstreams=3)),
    (lambda s, x: s.binomial(x.shape, p=x), lambda s: s.binomial((5, 3), p=X, nstreams=15360)),
    (lambda s, x: s.binomial((2, *x.shape), p=x, n=3), lambda s: s.binomial((2, 5, 3), p=X, n=3, nstreams=15360)),
]
X = np.linspace(0, 1, 15, dtype="float32").reshape(5, 3)


@pytest.mark.parametrize("library", libraries("numpy", "dask-halves", "array_api_strict", "torch", "jax"))
@pytest.mark.parametrize(("ours", "theirs"), LATE)
def test_lengths_may_be_known_late(library: Library, ours: Any, theirs: Any) -> None:
    with use_backend(library.name):
        run = function([UNKNOWN], ours(RandomStreams(5), UNKNOWN))
        np.testing.assert_allclose(
            library.numpy(run(library.array(X))), to_numpy(theirs(RandomStreams(5)).eval()), rtol=1e-6, strict=True
        )


def test_size_may_be_an_integer_tensor() -> None:
    want = RandomStreams(5).uniform((2, 3), nstreams=4).eval()
    for size in (Variable(np.asarray([2, 3])), np.asarray([2, 3]), [2, 3], (np.int64(2), Variable(np.asarray(3)))):
        got = RandomStreams(5).uniform(size, ndim=2, nstreams=4).eval()
        np.testing.assert_array_equal(got, want)
    lengths = placeholder(ndim=1, dtype="int64")
    u = RandomStreams(5).uniform(lengths, ndim=2, nstreams=4)
    np.testing.assert_array_equal(function([lengths], u)(np.asarray([2, 3])), want)
    with pytest.raises(TypeError, match="ndim must be given where size is a Tensor of unknown length"):
        RandomStreams(5).uniform(lengths)
    with pytest.raises(TypeError, match="size must have one axis where it is a Tensor"):
        RandomStreams(5).uniform(placeholder((2, 2), dtype="int64"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.uniform((0,)), ValueError, "size must hold lengths of 1 or more"),
        (lambda s: s.uniform((2, -1)), ValueError, "size must hold lengths of 1 or more"),
        (lambda s: s.uniform((2.0,)), TypeError, "size must be a tuple of ints"),
        (lambda s: s.uniform(None), TypeError, "size must be a tuple of ints"),
        (lambda s: s.binomial(), TypeError, "size must be a tuple of ints"),
        (lambda s: s.uniform((3,), nstreams=0), ValueError, "nstreams must be 1 or more"),
        (lambda s: s.uniform((3,), ndim=2), ValueError, "ndim must be the number of lengths in size, 1; got 2"),
        (lambda s: s.uniform((3,), dtype="int32"), TypeError, "dtype must be one of float16, float32, float64"),
        (lambda s: s.uniform((3,), low="a"), TypeError, "low must be a number, an array or a Tensor, got str"),
        (lambda s: s.uniform((3,), high=np.ones((2, 3))), ValueError, "size must hold what high broadcasts to"),
        (lambda s: s.binomial((3,), p=np.ones(4)), ValueError, "size must hold what p broadcasts to"),
        (lambda s: s.binomial((3,), n=0), ValueError, "n must be 1 or more, got 0"),
        (lambda s: s.binomial((3,), n=2.5), TypeError, "n must be an int, got 2.5"),
        (lambda s: s.binomial((3,), n=300, dtype="int8"), ValueError, "n must be at most 127, .* int8 holds; got 300"),
        (lambda s: s.multinomial(n=2.5, pvals=[[1.0]]), TypeError, "n must be an int or an integer Tensor, got 2.5"),
        (lambda s: s.multinomial(n=300, pvals=[[1.0]], dtype="uint8"), ValueError, "n must be at most 255, .* uint8"),
        (lambda s: s.choice((2, 2), a=3), TypeError, r"size must be an int or an integer Tensor, got \(2, 2\)"),
        (lambda s: s.normal((0,)), ValueError, "size must hold lengths of 1 or more"),
        (lambda s: s.normal((2**28, 2**28)), ValueError, r"size must hold at most 2\*\*55 elements"),
        (lambda s: s.normal((3,), nstreams=2**60), ValueError, r"nstreams must be at most 2\*\*31, got"),
        (lambda s: s.uniform((3,), high=10**400), ValueError, "high must be within what float64 holds"),
        (lambda s: s.choice(3, a=2**60), ValueError, r"a must be at most 2\*\*31"),
        (lambda s: s.get_substream_rstates(2**60, "float32"), ValueError, r"n_streams must be at most 2\*\*31"),
        (lambda s: s.multinomial(), TypeError, "pvals must be given"),
        (lambda s: s.multinomial(size=(2,), pvals=[[1.0]]), ValueError, "size must not be given"),
        (lambda s: s.multinomial(ndim=2, pvals=[[1.0]]), ValueError, "ndim must not be given"),
        (lambda s: s.multinomial(pvals=1.0), TypeError, "pvals must be a number, an array or a Tensor"),
        (lambda s: s.multinomial(pvals=[[1.0]], n=0), ValueError, "n must be 1 or more, got 0"),
        (lambda s: s.choice(p=[[1.0]]), NotImplementedError, "replace must be False"),
        (lambda s: s.choice(replace=False, a=2, p=[[1.0]]), TypeError, "a must be None where p is given"),
        (lambda s: s.choice(a=0), ValueError, "a must be 1 or more, got 0"),
        (lambda s: s.choice(a=1.5), TypeError, "a must be an int or a vector, got 1.5"),
        (lambda s: s.choice(a=np.ones((2, 2))), ValueError, "a must have one axis"),
        (lambda s: s.choice(a=3, p=[0.5, 0.5]), ValueError, "p must have a probability for each of 3"),
        (lambda s: s.choice(4, a=3, replace=False), ValueError, "size must be at most 3"),
        (lambda s: s.choice(replace=False), TypeError, "p must be given"),
        (lambda s: s.choice(replace=False, p=[[1.0]], ndim=2), ValueError, "ndim must not be given"),
        (lambda s: s.choice(5, replace=False, p=[[0.5, 0.5]]), ValueError, "size must be at most 2"),
        (lambda s: s.multinomial_wo_replacement(size=(2,), pvals=[[1.0]]), ValueError, "size must not be given"),
        *(
            (lambda s, p=p: s.multinomial_wo_replacement(pvals=p), TypeError, "^pvals must be")
            for p in (None, "abc", 0.5, [None])
        ),
        (lambda s: s.get_substream_rstates(0, "float32"), ValueError, "n_streams must be 1 or more"),
        (lambda s: s.get_substream_rstates(2, None), TypeError, "dtype must be one of"),
    ],
)
def test_refusals_name_the_argument_and_leave_the_object_alone(call: Any, error: type[Exception], message: str) -> None:
    rng = RandomStreams(5)
    with pytest.raises(error, match=message):
        call(rng)
    assert rng.rstate.tolist() == [5] * 6
    assert rng.updates() == []


def test_a_number_to_choose_below_may_be_numpys() -> None:
    want = RandomStreams(5).choice(4, a=6).eval()
    np.testing.assert_array_equal(RandomStreams(5).choice(4, a=np.int64(6)).eval(), want)


def test_gradients_flow_through_bounds_and_scales_but_not_through_draws() -> None:
    low, std, p = Variable(0.5), Variable(2.0), Variable(np.full(4, 0.5))
    rng = RandomStreams(5)
    u, z = rng.uniform((4,), low, 3.0, dtype="float64"), rng.normal((4,), 1.0, std, dtype="float64")
    b = rng.binomial((4,), p=p, dtype="float64")
    loss = xp.sum(u) + xp.sum(z) + xp.sum(b * p)
    by_low, by_std, by_p = evaluate(gradients(loss, [low, std, p]))
    plain = RandomStreams(5)
    np.testing.assert_allclose(by_low, np.sum(1 - plain.uniform((4,), dtype="float64").eval()))
    np.testing.assert_allclose(by_std, np.sum(plain.normal((4,), dtype="float64").eval()))
    np.testing.assert_allclose(by_p, plain.binomial((4,), p=0.5).eval())


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_scan_draws_anew_in_each_step(library: Library) -> None:
    with use_backend(library.name):
        rng = RandomStreams(5)
        zeros = xp.zeros((4,), dtype="float32")
        out, updates = scan(lambda total: total + rng.uniform((4,)), outputs_info=zeros, n_steps=3)
        ((state, *_),) = rng.updates()
        assert list(updates) == [state]
        run = function([], out, updates=updates)
        a, b, c, d, e, f = sequence((5,) * 6, 4, 4, 6)
        np.testing.assert_array_equal(library.numpy(run()), [a, a + b, a + b + c])
        np.testing.assert_array_equal(library.numpy(run()), [d, d + e, d + e + f])


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "dask")))
def test_bounds_keep_the_bits_however_often_a_plan_runs(library: Library) -> None:
    def draws(name: str) -> list[np.ndarray]:
        with use_backend(name):
            run = function([], RandomStreams(7).uniform((3000,), 0.1, 0.77, dtype="float32"))
            return [to_numpy(run()) for _ in range(4)]  # some libraries compile after the first run

    for got, want in zip(draws(library.name), draws("numpy"), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly",)))
def test_multinomial_and_choice_on_rows_vectors_and_stacks(library: Library) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(4), (3, 2)).astype("float32")
    with use_backend(library.name):
        for probabilities in (p, p[0], p[0, 0]):
            counts = library.numpy(RandomStreams(7).multinomial(n=3, pvals=library.array(probabilities)).eval())
            assert counts.shape == probabilities.shape
            assert counts.dtype == "int64"
            np.testing.assert_array_equal(counts.sum(-1), np.full(probabilities.shape[:-1], 3))
            chosen = RandomStreams(7).choice(size=4, replace=False, p=library.array(probabilities), dtype="int32")
            order = library.numpy(chosen.eval())
            assert order.dtype == "int32"
            np.testing.assert_array_equal(np.sort(order, -1), np.broadcast_to(np.arange(4), probabilities.shape))


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly",)))
def test_choice_from_a_number_or_a_vector(library: Library) -> None:
    with use_backend(library.name):
        for a, p in ((4, None), (4, [0.5, 0.25, 0.0, 0.25]), (4, [[0.5, 0.25, 0.0, 0.25], [0.0, 0.0, 1.0, 0.0]])):
            chosen = library.numpy(RandomStreams(7).choice(size=900, a=a, p=p, dtype="int32").eval())
            assert chosen.dtype == "int32"
            for row, chances in zip(np.atleast_2d(chosen), np.atleast_2d([0.25] * 4 if p is None else p), strict=True):
                np.testing.assert_allclose(np.bincount(row, minlength=4) / 900, chances, atol=0.08)
        vector = library.array(np.asarray([1.5, -2.0, 3.0]))
        some = library.numpy(RandomStreams(7).choice(size=50, a=vector).eval())
        assert some.dtype == "float64"
        assert set(some) == {1.5, -2.0, 3.0}
        order = library.numpy(RandomStreams(7).choice(size=3, a=vector, replace=False).eval())
        assert sorted(order) == [-2.0, 1.5, 3.0]


def test_size_may_be_that_of_the_parameters() -> None:
    p, late = np.full((2, 3), 0.5, "float32"), placeholder((None, 3), dtype="float32")
    want = RandomStreams(5).binomial((2, 3), p=0.5).eval()
    np.testing.assert_array_equal(RandomStreams(5).binomial(p=p).eval(), want)
    drawn = function([late], RandomStreams(5).binomial(p=late, nstreams=1))(p)
    np.testing.assert_array_equal(drawn, RandomStreams(5).binomial((2, 3), p=0.5, nstreams=1).eval())
    low, high = np.zeros((2, 1)), np.ones(3)
    np.testing.assert_array_equal(
        RandomStreams(5).uniform(None, low, high).eval(), RandomStreams(5).uniform((2, 3), dtype="float64").eval()
    )
    assert RandomStreams(5).normal(None, low, high).eval().shape == (2, 3)


def test_number_of_draws_may_be_known_late() -> None:
    n, p = placeholder((), dtype="int64"), placeholder((None, 4), dtype="float32")
    pvals = np.random.default_rng(0).dirichlet(np.ones(4), 5).astype("float32")
    counts = function([n, p], RandomStreams(7).multinomial(n=n, pvals=p))
    order = function([n, p], RandomStreams(7).choice(size=n, replace=False, p=p))
    for number in (1, 3):
        want = RandomStreams(7).multinomial(n=number, pvals=pvals).eval()
        counts_now = function([n, p], RandomStreams(7).multinomial(n=n, pvals=p))(np.asarray(number), pvals)
        np.testing.assert_array_equal(counts_now, want)
        assert counts(np.asarray(number), pvals).sum() == 5 * number
        assert order(np.asarray(number), pvals).shape == (5, number)


def test_choice_falls_back_on_what_is_left() -> None:
    order = RandomStreams(7).choice(size=3, replace=False, p=[[0.0, 1.0, 0.0], [1e-30, 0.0, 0.0]]).eval()
    np.testing.assert_array_equal(np.sort(order, -1), [[0, 1, 2]] * 2)
    assert order[:, 0].tolist() == [1, 0]


def test_default_dtype_is_floatx_or_what_the_parameters_have() -> None:
    rng = RandomStreams(5)
    assert rng.uniform((3,)).dtype == rng.uniform((3,), 0, 2).dtype == rng.normal((3,)).dtype == "float32"
    assert rng.uniform((3,), high=np.float64(2)).dtype == rng.normal((3,), std=np.ones(3)).dtype == "float64"
    set_floatx("float64")
    assert rng.uniform((3,)).dtype == rng.normal((3,)).dtype == "float64"


def test_pretty_return_enters_what_it_is_given() -> None:
    rng = RandomStreams(5)
    state, new, sample = Variable(np.arange(6)[None], dtype="int32"), Variable(np.ones((1, 6), "int32")), Variable(1.0)
    assert rng.pretty_return(state, new, sample, size=(2,), nstreams=None) is sample
    ((a, b, *rest),) = rng.updates()
    assert (a is state, b is new, rest) == (True, True, [(2,), None])
    assert state.default_update is new
    assert repr(rng) == "<RandomStreams at (5, 5, 5, 5, 5, 5) with 1 draws>"
