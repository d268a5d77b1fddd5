"""neon's Backend answers what neon's own CPU backend answered.

A test holds every record of a function, each on a backend of its own. What is handed over as a variable becomes a
buffer; op-trees are computed into the default dtype, as neon computes them.

All that runs on NumPy; with ``--everywhere`` on every library.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import to_numpy
from nbm_xp.neon import Backend, Buffer, OpTree
from nbm_xp.tape import evaluate, gradients, is_tensor
from tests.golden.everywhere import library, pytest_generate_tests
from tests.golden.reader import Case, Hand, read
from tests.golden.runner import System, check, each, plain
from tests.helpers.libraries import Library, computing

__all__ = ["library", "pytest_generate_tests"]  # those of all systems

# Of neon's random generator, NumPy's Mersenne Twister, which is documented nowhere: these draw from MRG31k3p.
OTHER_GENERATOR = {"gen_rng/numpy-stream", "make_binary_mask/numpy-stream"}

CASES = [case for case in read("neon") if case.id not in OTHER_GENERATOR]

# Methods that write into one of their arguments and return nothing of interest: which one.
WRITTEN = {
    "batched_dot": 2, "bprop_conv": 3, "bprop_pool": 3, "compound_bprop_lut": 4, "compound_dot": 2, "fprop_conv": 3,
    "fprop_pool": 2, "update_conv": 3, "xnor_compound_dot": 2,
}  # fmt: skip

REDUCTIONS = ("argmax", "argmin", "max", "mean", "min", "std", "sum", "var")
Right = Callable[[list[Any], Any], Any]


def without_the_axis(args: list[Any], recorded: Any) -> Any:
    """As documented, the reduced axis is gone; what is left of a matrix is a column where it becomes a buffer."""
    return recorded.reshape(-1, 1)


def shared_among_ties(extreme: Callable[..., Any]) -> Right:
    """Elements of a row that are equally large share what each of them was given."""

    def right(args: list[Any], recorded: Any) -> Any:
        tied = args[0] == extreme(args[0], axis=1, keepdims=True)
        return [(g / tied.sum(axis=1, keepdims=True)).astype(g.dtype) for g in recorded]

    return right


def shared_by_two(args: list[Any], recorded: Any) -> Any:
    """Of two equal elements each gets half, which is a subgradient; the whole to both is none."""
    x, y = args
    return [np.where(x == y, part / 2, part) for part in recorded]


# Where the original is at fault: the right answer, from the arguments and the recorded answer.
QUIRKS: dict[str, Right] = {
    **{f"{name}/quirk-keepdims-false-axis{axis}": without_the_axis for name in REDUCTIONS for axis in (0, 1)},
    "max/quirk-ties/gradient": shared_among_ties(np.max),
    "min/quirk-ties/gradient": shared_among_ties(np.min),
    "maximum/quirk-ties/gradient": shared_by_two,
    "minimum/quirk-ties/gradient": shared_by_two,
}

# What these ask for is infinite or not a number, and NumPy remarks on it.
REMARKED = {
    f"{name}{width}"
    for name in ("divide/zero", "log/extreme", "log2/extreme", "power/nan", "true_divide/zero")
    for width in ("", "-float64")
}


def names_the_libraries(args: list[Any], got: list[str], want: list[str], case: Case) -> None:
    """The names of what is there, which every port has others of."""
    assert got == sorted(got)
    assert {*want, "numpy"} <= set(got)


def only_shaped(args: list[Any], got: np.ndarray, want: np.ndarray, case: Case) -> None:
    """What is not set has a shape and a dtype."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)


def as_many_ones(args: list[Any], got: list[Any], want: list[Any], case: Case) -> None:
    """Mean, least and greatest of a mask: the mean within four deviations."""
    mean, least, greatest = map(float, got)
    (shape,) = (arg for arg in args if isinstance(arg, tuple))
    share = case.kwargs.get("keepthresh", 0.5)
    assert (least, greatest) == (0.0, 1.0)
    assert abs(mean - share) < 4 * (share * (1 - share) / np.prod(shape)) ** 0.5


def as_often(args: list[Any], got: list[Any], want: list[Any], case: Case) -> None:
    """The mean of 4000 answers to each number, and the answers that occur."""
    np.testing.assert_allclose(got[0], np.clip(args[1][0], -1, 1), atol=4 / 4000**0.5)
    assert got[1] == want[1]


STATISTICS = {
    "binarize": as_often, "empty": only_shaped, "empty_like": only_shaped, "make_binary_mask": as_many_ones,
}  # fmt: skip
NAMES = {"backend_choices": names_the_libraries, "backends": names_the_libraries}


@dataclass(frozen=True)
class NeonSystem(System):
    """A backend, whose variables are buffers."""

    def variable(self, value: np.ndarray) -> Buffer:
        buffer: Buffer = self.surface.array(self.array(value), dtype=value.dtype.name)
        return buffer

    def concrete(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self.concrete(part) for part in value]
        with computing():
            if isinstance(value, OpTree):
                return value.asnumpyarray()
            value = evaluate(value) if is_tensor(value) else value
            return to_numpy(value) if hasattr(value, "shape") else value

    def call(self, case: Case, array: Hand, hand: Hand) -> tuple[Any, list[Any]]:
        out, args = super().call(case, plain if case.is_program else array, hand)  # programs call NumPy
        return (args[WRITTEN[case.function]] if case.function in WRITTEN and not case.is_program else out), args

    def gradients(self, case: Case, out: Any, args: list[Any]) -> Any:
        loss = self.surface.sum(out * case.expected(case.cotangent))
        return gradients(loss, [args[position] for position in case.wrt])

    def prepare(self, case: Case) -> None:
        """Nothing is set for all backends."""

    def run_steps(self, case: Case) -> None:
        """The layer that the first step makes is handed to the others."""
        layer: Any = None
        for step in case.steps:
            if step.function == "set_caffe_compat":
                self.surface.set_caffe_compat()
                continue
            names = {"layer": layer}
            args = [case.decode(value, self.array, self.variable, names) for value in step.args]
            kwargs = {key: case.decode(value, self.array, self.variable, names) for key, value in step.kwargs.items()}
            out = getattr(self.surface, step.function)(*args, **kwargs)
            if step.function.endswith("_layer"):
                layer = out
                continue
            check(self.concrete(args[WRITTEN[step.function]]), case.expected(step.result), case)
        if "its attributes [" in case.note:
            names_ = re.split(", ", re.search(r"its attributes \[([^\]]*)\]", case.note).group(1))  # type: ignore[union-attr]
            check([attribute(layer, name) for name in names_], case.expected(case.result), case)


def attribute(layer: Any, name: str) -> Any:
    value = getattr(layer, name)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def system_for(case: Case, library: Library) -> NeonSystem:
    """A fresh backend of one library."""
    backend = Backend(rng_seed=1, default_dtype=case.floatx, library=library.name)
    checks = STATISTICS if case.kind == "statistic" else NAMES
    return NeonSystem(backend, QUIRKS, checks=checks, array=library.array)


@each(CASES, REMARKED, again=False)
def test_as_recorded(case: Case, library: Library) -> None:
    system = system_for(case, library)
    if case.kind == "raises":
        run = (
            (lambda: system.run_steps(case))
            if case.steps
            else lambda: system.answer(case, system.array, system.variable)
        )
        system.check_refused(run, case)
    elif case.steps:
        system.run_steps(case)
    else:
        system.check(system.answer(case, system.array, system.variable), case)


@pytest.mark.parametrize("name", sorted(OTHER_GENERATOR))
def test_the_other_generator_is_as_even(name: str) -> None:
    """In the place of what NumPy's generator drew: the same call, the same shape, the same distribution."""
    (case,) = (case for case in read("neon") if case.id == name)
    be = Backend(rng_seed=1, library="numpy")
    system = NeonSystem(be, {})
    first, again = (system.concrete(system.answer(case, system.array, system.variable)) for _ in range(2))
    assert first.shape == case.expected(case.result).shape
    np.testing.assert_array_equal(first, again)
    assert ((first >= 0) & (first <= 1)).all()
