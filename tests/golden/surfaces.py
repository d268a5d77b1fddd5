"""natural_bm, Keras 1.0 and Keras 2.0: where an original is at fault, with the right answer; how samples are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp import keras1, keras2, natural_bm
from tests.golden.mrg import advanced
from tests.golden.reader import Case
from tests.golden.system import Right, System, check

__all__ = ["BATCHES", "SURFACES", "shared_at_ties"]


def shared_at_ties(args: list[Any], recorded: list[Any]) -> list[Any]:
    """Of two equal elements each gets half, which is a subgradient; originals give it all to the first, or to both."""
    one, other = recorded
    whole = np.where(one == other, one, one + other)
    return [np.where(args[0] == args[1], whole / 2, part) for part in recorded]


# natural_bm ----------------------------------------------------------------------------------------------------------


def check_svd(args: list[np.ndarray], got: list[np.ndarray], want: list[np.ndarray], case: Case) -> None:
    """Singular vectors are fixed up to signs and, in a null space, a rotation: hold them to what defines them."""
    u, s, v = got
    assert [(part.dtype, part.shape) for part in got] == [(part.dtype, part.shape) for part in want]
    products = ((s, want[1]), (u @ u.T, np.eye(len(u))), (v @ v.T, np.eye(len(v))))
    for found, right in (*products, ((u[:, : len(s)] * s) @ v[: len(s)], args[0])):
        np.testing.assert_allclose(found, right, rtol=case.rtol, atol=case.atol)


def check_moments(got: np.ndarray, args: list[Any], case: Case) -> None:
    shape, dtype, mean, deviation, lowest, highest = case.expected(case.result)
    assert (got.shape, got.dtype) == (shape, dtype)
    np.testing.assert_allclose([got.mean(), got.std()], [mean, deviation], rtol=0, atol=case.atol)
    assert lowest is None or got.min() >= lowest
    assert highest is None or got.max() <= highest


class NaturalBM(System):
    """natural_bm, whose steps draw from the streams that the first of them makes."""

    def run_steps(self, case: Case) -> None:
        home: Any = None
        made: list[Any] = []
        for step in case.steps:
            args = [case.decode(value, self.array, self.variable) for value in step.args]
            kwargs = {key: case.decode(value, self.array, self.variable) for key, value in step.kwargs.items()}
            owner, _, method = step.function.rpartition(".")
            out: Any
            if step.function in ("RandomStreams", "make_rng"):
                out = home = getattr(self.surface, step.function)(*args, **kwargs)
            elif step.function == "draw":
                out = made[args[0]]
            elif step.function == "advance":
                home.set_rstate(advanced(self.concrete(home.rstate).tolist(), args[0]))
                out = home.rstate
            elif owner:
                member = getattr(home, method)
                out = member(*args, **kwargs) if callable(member) else member
            else:
                if step.function.startswith("random_"):
                    kwargs.setdefault("rng", home)
                out = getattr(self.surface, step.function)(*args, **kwargs)
            made.append(out)
            if out is not home and (case.kind != "raises" or step is not case.steps[-1]):
                check(self.concrete(out), case.expected(step.result), case)


NATURAL_BM = NaturalBM(
    natural_bm,
    quirks={
        "logsumexp/quirk-all-minus-inf": lambda args, recorded: np.full_like(recorded, -np.inf),
        "logsumexp/quirk-plus-inf": lambda args, recorded: np.full_like(recorded, np.inf),
        "maximum/quirk-ties/grad": shared_at_ties,
        "minimum/quirk-ties/grad": shared_at_ties,
    },
    statistic=check_moments,
    checks={"svd": check_svd},
)

# Keras 1.0 -----------------------------------------------------------------------------------------------------------


def check_truth(args: list[Any], got: Any, want: Any, case: Case) -> None:
    """Recorded as int8, documented as bool, or of `any` as uint8."""
    assert got.dtype == ("uint8" if case.function == "any" else "bool")
    check(got.astype(want.dtype), want, case)


def check_kept(drawn: np.ndarray, args: list[Any], case: Case) -> None:
    """Of ones: the share kept, the mean, the largest and the smallest element."""
    found = [np.mean(drawn != 0), drawn.mean(dtype="float64"), drawn.max(), drawn.min()]
    np.testing.assert_allclose(found, case.expected(case.result), rtol=case.rtol, atol=case.atol)


class Keras1(System):
    """Keras 1.0, whose gradients of dropout were recorded after the values: they are of the second draw."""

    def answer(self, case: Case, *forms: Any) -> Any:
        if case.function != "dropout" or case.kind != "gradient":
            return super().answer(case, *forms)
        out, args = self.call(case, self.array, self.variable)
        found = self.gradients(case, out, args)
        self.concrete(out)
        return found


KERAS1 = Keras1(
    keras1,
    quirks={
        # vectors of length 0 have no direction, and no nan is needed to say so
        "l2_normalize/quirk-zero-row": lambda args, recorded: np.nan_to_num(recorded, nan=0.0),
        # a negative axis is one counted from the end
        "squeeze/quirk-negative": lambda args, recorded: recorded.squeeze(-1),
        # of no weights at all, no class has a share, and the true one the least probability that is told apart from 0
        "categorical_crossentropy/quirk-zero-row": lambda args, recorded: np.nan_to_num(recorded, nan=-np.log(1e-7)),
        # the largest element of a window of one is that element
        "pool2d/quirk-one-same": lambda args, recorded: args[0],
        # a vector in, a vector out
        "softmax/quirk-vector": lambda args, recorded: recorded[0],
    },
    statistic=check_kept,
    checks=dict.fromkeys(("any", "equal", "not_equal"), check_truth),
    listed=True,
)

# Keras 2.0 -----------------------------------------------------------------------------------------------------------


def check_padded(args: list[Any], got: list[Any], want: list[Any], case: Case) -> None:
    """Of lazy arrays, the paths have as many columns as there are frames: how many are used is data."""
    used = [path[:, : recorded.shape[1]] for path, recorded in zip(got[0], want[0], strict=True)]
    check([used, got[1]], want, case)
    assert all(np.all(path[:, part.shape[1] :] == -1) for path, part in zip(got[0], used, strict=True))


def check_sample(drawn: np.ndarray, args: list[Any], case: Case) -> None:
    """What the recorded sample says of one of ours: exactly, or within the bounds recorded for it."""
    for name, *values in case.expected(case.result):
        if name in ("dtype", "shape"):
            assert getattr(drawn, name) == values[0]
        elif name == "distinct values":
            np.testing.assert_allclose(np.unique(drawn), values[0], rtol=1e-6)
        elif name.startswith("constant along axis"):
            axis = int(name.split()[-1])
            assert np.all(drawn == np.take(drawn, [0], axis=axis))
        elif name.startswith("kept entries"):
            np.testing.assert_allclose(drawn[drawn != 0], (args[0] / (1 - args[1]))[drawn != 0], rtol=1e-6)
        else:
            _, lowest, highest = values
            assert lowest <= statistic(name, drawn) <= highest, name


def statistic(name: str, drawn: np.ndarray) -> float:
    what, *number = name.replace("equal to ", "").rsplit(" ", 1)
    if what == "quantile":
        return float(np.quantile(drawn, float(number[0])))
    if name == "fraction kept":
        return float(np.mean(drawn != 0))
    if what == "fraction":
        return float(np.mean(np.isclose(drawn, float(number[0]), rtol=1e-5)))
    return float(getattr(drawn.astype("float64"), what)())


def by_the_first_axis(left: str, right: str, out: str) -> Callable[[list[Any], Any], Any]:
    """The product of four-dimensional batches by the documented rule: only the first axis is the batch's."""
    return lambda args, recorded: np.einsum(f"{left},{right}->{out}", *args[:2])


BATCHES = {
    "none": ("bpqk", "brks", "bpqrs"), "32": ("bpqk", "brks", "bpqrs"), "33": ("bpqk", "brsk", "bpqrs"),
    "22": ("bpkq", "brks", "bpqrs"), "23": ("bpkq", "brsk", "bpqrs"),
}  # fmt: skip
"""By the axes of a product, the letters of both factors and of the product by the documented rule."""

QUIRKS: dict[str, Right] = {
    # by the document these are Keras's tensors; the original looks for what only its layers add
    **{f"is_keras_tensor/quirk-{kind}": lambda args, recorded: True for kind in ("variable", "placeholder")},
    # references are TensorFlow's affair; Keras 2.0.6 gives the plain name
    **{f"dtype/quirk-variable-{d}": lambda args, recorded, dtype=d: dtype for d in ("float32", "float64", "int32")},
    # one element is an integer's worth of them
    "count_params/quirk-scalar": lambda args, recorded: 1,
    # the mean of integers is no integer
    "mean/quirk-int": lambda args, recorded: args[0].mean(axis=0).astype("float32"),
    "var/quirk-int": lambda args, recorded: args[0].var(axis=0),
    # a deviation of 0 has the gradient 0, not that of 0 / 0
    "std/quirk-constant-rows-gradient": lambda args, recorded: [np.nan_to_num(recorded[0], nan=0.0)],
    # without an axis the place is one in the flattened array
    "argmax/quirk-axis-none": lambda args, recorded: np.asarray(args[0].argmax()),
    "argmin/quirk-axis-none": lambda args, recorded: np.asarray(args[0].argmin()),
    # the dtype asked for, int32 by default, is that of the result
    "arange/quirk-floats": lambda args, recorded: recorded.astype("int32"),
    "variable/quirk-uint8": lambda args, recorded: recorded.astype("uint8"),
    # float64 was computed in float32
    "pool2d/float64": lambda args, recorded: recorded.astype("float64"),
    # integers add up in 64 bits, and truth values vary in double precision, as NumPy has it
    "sum/int": lambda args, recorded: recorded.astype("int64"),
    "prod/int": lambda args, recorded: recorded.astype("int64"),
    "function/int-input": lambda args, recorded: [recorded[0], recorded[1].astype("int64")],
    "var/bool": lambda args, recorded: args[0].var(axis=1),
    "std/bool": lambda args, recorded: args[0].std(axis=1),
    **{f"batch_dot/quirk-4x4-{axes}": by_the_first_axis(*letters) for axes, letters in BATCHES.items()},
}

KERAS2 = System(keras2, quirks=QUIRKS, statistic=check_sample, of_lazy={"ctc_decode": check_padded}, listed=True)

SURFACES: dict[str, System] = {"natural_bm": NATURAL_BM, "keras1": KERAS1, "keras2": KERAS2}
