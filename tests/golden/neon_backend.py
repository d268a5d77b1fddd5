"""neon's backend: where the original is at fault, with the right answer, and how its buffers and layers are handled."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbm_xp.namespace import to_numpy
from nbm_xp.neon import Backend, Buffer, OpTree
from nbm_xp.tape import evaluate, gradients, is_tensor
from tests.golden.reader import Case, Hand
from tests.golden.surfaces import shared_at_ties
from tests.golden.system import Check, Right, System, check
from tests.helpers.libraries import Library, computing

__all__ = ["NEON", "OTHER_GENERATOR"]

OTHER_GENERATOR = ("gen_rng/numpy-stream", "make_binary_mask/numpy-stream")
"""Of neon's random generator, NumPy's Mersenne Twister, which is documented nowhere: these draw from MRG31k3p."""

WRITTEN = {
    "batched_dot": 2, "bprop_conv": 3, "bprop_pool": 3, "compound_bprop_lut": 4, "compound_dot": 2, "fprop_conv": 3,
    "fprop_pool": 2, "update_conv": 3, "xnor_compound_dot": 2,
}  # fmt: skip
"""Methods that write into one of their arguments and return nothing of interest: which one."""

REDUCTIONS = ("argmax", "argmin", "max", "mean", "min", "std", "sum", "var")


def shared_in_rows(extreme: Callable[..., Any]) -> Right:
    """Elements of a row that are equally large share what each of them was given."""

    def right(args: list[Any], recorded: Any) -> Any:
        tied = args[0] == extreme(args[0], axis=1, keepdims=True)
        return [(g / tied.sum(axis=1, keepdims=True)).astype(g.dtype) for g in recorded]

    return right


QUIRKS: dict[str, Right] = {
    # as documented, the reduced axis is gone; what is left of a matrix is a column where it becomes a buffer
    **{
        f"{name}/quirk-keepdims-false-axis{axis}": lambda args, recorded: recorded.reshape(-1, 1)
        for name in REDUCTIONS
        for axis in (0, 1)
    },
    "max/quirk-ties/gradient": shared_in_rows(np.max), "min/quirk-ties/gradient": shared_in_rows(np.min),
    "maximum/quirk-ties/gradient": shared_at_ties, "minimum/quirk-ties/gradient": shared_at_ties,
}  # fmt: skip


def check_names(args: list[Any], got: list[str], want: list[str], case: Case) -> None:
    """The names of what is there, which every port has others of."""
    assert got == sorted(got)
    assert {*want, "numpy"} <= set(got)


def check_sample(got: Any, args: list[Any], case: Case) -> None:
    want = case.expected(case.result)
    match case.function:
        case "binarize":  # the mean of 4000 answers to each number, and the answers that occur
            np.testing.assert_allclose(got[0], np.clip(args[1][0], -1, 1), atol=4 / 4000**0.5)
            assert got[1] == want[1]
        case "make_binary_mask":  # mean, least and greatest: the mean within four deviations
            mean, least, greatest = map(float, got)
            (shape,) = (arg for arg in args if isinstance(arg, tuple))
            share = case.kwargs.get("keepthresh", 0.5)
            assert (least, greatest) == (0.0, 1.0)
            assert abs(mean - share) < 4 * (share * (1 - share) / np.prod(shape)) ** 0.5
        case _:  # what is not set has a shape and a dtype
            assert (got.shape, got.dtype) == (want.shape, want.dtype)


class NeonSystem(System):
    """A backend, whose variables are buffers."""

    def on(self, library: Library, case: Case) -> System:
        """A fresh backend of one library."""
        backend = Backend(rng_seed=1, default_dtype=case.floatx, library=library.name)
        return replace(self, surface=backend, library=library)

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
        out, args = super().call(case, (lambda value: value) if case.is_program else array, hand)  # they call NumPy
        return (args[WRITTEN[case.function]] if case.function in WRITTEN and not case.is_program else out), args

    def gradients(self, case: Case, out: Any, args: list[Any]) -> Any:
        loss = self.surface.sum(out * case.expected(case.cotangent))
        return gradients(loss, [args[position] for position in case.wrt])

    def run_steps(self, case: Case) -> None:
        """The layer that the first step makes is handed to the others."""
        layer: Any = None
        for step in case.steps:
            names = {"layer": layer}
            args = [case.decode(value, self.array, self.variable, names) for value in step.args]
            kwargs = {key: case.decode(value, self.array, self.variable, names) for key, value in step.kwargs.items()}
            out = getattr(self.surface, step.function)(*args, **kwargs)
            if step.function.endswith("_layer"):
                layer = out
            elif step.function in WRITTEN:
                check(self.concrete(args[WRITTEN[step.function]]), case.expected(step.result), case)
        if attributes := re.search(r"its attributes \[([^\]]*)\]", case.note):
            found = [getattr(layer, name) for name in attributes[1].split(", ")]
            check([_listed(value) for value in found], case.expected(case.result), case)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


NAMES: dict[str, Check] = dict.fromkeys(("backend_choices", "backends"), check_names)
NEON = NeonSystem(None, QUIRKS, check_sample, NAMES)
