"""What the pages of `function_table` say, and which test finds it out: of the tape, and of Keras 2.0's names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.golden.calls import OF_ARRAYS, Call
from tests.golden.reader import Case as RecordedCase
from tests.helpers.libraries import Library
from tests.helpers.tables.case import Case

__all__ = ["HEADINGS", "PAGES", "Finding", "Page", "keras2_functions", "tape_functions"]

HEADINGS = {
    "numpy": "NumPy", "dask": "Dask", "torch": "PyTorch", "jax": "JAX", "cupy": "CuPy",
    "array_api_strict": "array_api_strict",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What a test finds out about a function.

    `columns` are names of libraries, ``gradient`` and ``unknown``; `order` is how often it is differentiated.
    """

    function: str
    columns: list[str]
    order: int | None = None


@dataclass(frozen=True)
class Page:
    """A page: its words, its functions, and what it takes from a test (its name, its case and its library)."""

    preface: str
    surface: Callable[[], set[str]]
    finding: Callable[[str, Any, Library | None], Finding | None]
    sections: Callable[[Collection[str]], list[tuple[str, str, list[str]]]]
    """The tables, of the functions that were tested: a title, a remark, and the rows."""

    others: str
    """The title and the sentence that name the functions that no test was about."""

    nothing: str = ""
    """What stands under unknown lengths where no test was about them."""

    headings: Mapping[str, str] = field(default_factory=lambda: HEADINGS)
    """The libraries, by the names of their columns."""

    further: Sequence[str] = ("Gradient", "Unknown lengths")
    """The columns after those of the libraries, these or none."""


TAPE = """# What works where

Every function of `nbm_xp.tape.namespace`, and what the tests found. This page is generated: `nox -s tables`.

- **Under a library**: the function recorded on Tensors gives NumPy's values there, and the gradient is the same as on
  NumPy, in the first and in the second order where there is one. Dask is tested in several chunkings, without any
  hidden computation.
- **Gradient**: how often the function is differentiated and held to finite differences: 2 means the gradient and the
  gradient of the gradient. 0 means that the function is constant almost everywhere, so that its gradient is zero.
  Nothing is said of functions that make arrays from none.
- **Unknown lengths**: the function can be recorded for inputs whose lengths are known only when the graph runs, and
  declares the shape and dtype that come out.
- ✓ holds for every case in the tests, (✓) for all but some, — for none; numbers refer to the reasons below the tables.
"""


def tape_functions() -> set[str]:
    """The names of all functions of the tape's namespace and its extensions."""
    from nbm_xp.tape import namespace

    found = {name for name in namespace.__all__ if callable(getattr(namespace, name)) and not name.startswith("_")}
    found -= {name for name in found if isinstance(getattr(namespace, name), (str, type))}
    for extension in ("linalg", "fft"):
        found |= {f"{extension}.{name}" for name in getattr(namespace, extension).__all__}
    return found


def tape_finding(test: str, case: Any, library: Library | None) -> Finding | None:
    if not isinstance(case, Case):
        return None
    name = library.name if library else ""
    match test:
        case "test_value_from_variables" | "test_gradient_is_the_same_on_every_library":
            return Finding(case.function, [name])
        case "test_declared_shape_and_dtype_with_unknown_lengths":
            return Finding(case.function, ["unknown", *(["numpy"] if name == "numpy" else [])])
        case "test_rule_agrees_with_finite_differences":
            return Finding(case.function, [], case.order)
        case "test_flat_function_gives_zeros":
            return Finding(case.function, [], 0)
    return Finding(case.function, [])


def tape_sections(functions: Collection[str]) -> list[tuple[str, str, list[str]]]:
    return [
        (title, "", sorted(name for name in functions if name.rpartition(".")[0] == prefix))
        for title, prefix in (("Functions and indexing", ""), ("linalg", "linalg"), ("fft", "fft"))
    ]


KERAS2 = """# What works where: Keras 2.0's names

Every documented name of `nbm_xp.keras2`, and what the tests found when they held it to
[recorded answers](../tests/golden/keras2/README.md) of Keras 2.0 on TensorFlow. This page is generated:
`nox -s tables`.

- **Under a library**: the function gives the recorded values, and gradients where they are recorded, from arrays of
  that library and from variables that hold them. What is made of no array is made there. Dask's arrays are in two
  blocks along each axis, and nothing is computed unasked; so `ctc_decode` gives as many columns there as there are
  frames, and `shape` NumPy's numbers. Arrays are tried in every case; variables and unknown lengths in every case on
  NumPy, and of each function in one case in three on the others, in six on Dask and JAX.
- **Gradient**: the gradients recorded for the function are met. Empty where none are recorded: what gives integers,
  truth values or Python's objects has none.
- **Unknown lengths**: the function is recorded for placeholders whose lengths are all unknown, compiled, and run on
  each of the libraries. Empty where arrays of floating point are not what it computes from.
- ✓ holds for every recorded case, (✓) for all but some, — for none; numbers refer to the reasons below the tables.
"""

WITHOUT_ARRAYS = {
    "backend", "clear_session", "epsilon", "floatx", "get_uid", "image_data_format", "image_dim_ordering",
    "learning_phase", "manual_variable_initialization", "reset_uids", "set_epsilon", "set_floatx",
    "set_image_data_format", "set_image_dim_ordering", "set_learning_phase",
}  # fmt: skip


def keras2_functions() -> set[str]:
    """The documented names of Keras 2.0's backend."""
    from nbm_xp import keras2

    return set(keras2.__all__) - set(keras2.client.__all__)


def keras2_finding(test: str, case: Any, library: Library | None) -> Finding | None:
    if not isinstance(case, RecordedCase) or case.system != "keras2" or library is None:
        return None
    if test == "test_of_placeholders":
        return Finding(case.function, ["unknown"])
    about_gradient = case.kind == "gradient" and library.name == "numpy"  # the others' columns say it of them
    return Finding(case.function, [library.name, *(["gradient"] if about_gradient else [])])


def keras2_sections(functions: Collection[str]) -> list[tuple[str, str, list[str]]]:
    remark = "There are no arrays in these. The tests run them with each library as the default one."
    return [
        ("Functions of arrays", "", sorted(set(functions) - WITHOUT_ARRAYS)),
        ("Settings and sessions", remark, sorted(set(functions) & WITHOUT_ARRAYS)),
    ]


STRANGERS = {"strict-unlisted": "the same, unlisted", "marray": "marray", "cubed": "cubed", "ndonnx": "ndonnx"}
"""Libraries without an entry, in the order of their columns."""

EVERY = """# What works where: every library

Every function of arrays of `nbm_xp.natural_bm`, `keras1` and `keras2`, and every array library that the tests know.
This page is generated: `nox -s tables`.

- Under NumPy, Dask, PyTorch, JAX, CuPy and array_api_strict, which have an entry: the function gives the recorded
  values, as they were recorded and of arrays, in all cases of the tests.
- Under the others, which are taken [as they are](howto/libraries.md): the function gives NumPy's values of arrays and
  of variables, and its gradient is NumPy's, in the first case of the tests. array_api_strict is among them too, with
  its entry left out. marray masks NumPy's arrays; cubed is lazy and works in blocks, of which arrays have one here;
  ndonnx writes ONNX models, and its arrays have known values here.
- ✓ holds, (✓) holds in part, — does not; numbers refer to the reasons below the table. Empty: not tested where
  this page was made, for its tests are slow there.
"""


def every_function() -> set[str]:
    """The functions that some recorded call of arrays is about."""
    return {call.name for call in OF_ARRAYS}


def every_finding(test: str, case: Any, library: Library | None) -> Finding | None:
    if library is None:
        return None
    if isinstance(case, Call) and test in ("test_on_jax", "test_of_arrays", "test_of_variables_and_their_gradients"):
        return Finding(case.name, [library.id])
    known = isinstance(case, RecordedCase) and case.function in every_function()
    return Finding(case.function, [library.name]) if known else None


PAGES = {
    "functions.md": Page(
        TAPE,
        tape_functions,
        tape_finding,
        tape_sections,
        others="Without arrays\n\nOf dtypes and shapes, and the same on every library",
        nothing="—",
    ),
    "keras2_functions.md": Page(
        KERAS2,
        keras2_functions,
        keras2_finding,
        keras2_sections,
        others="Not tested\n\nNothing is recorded of these",
    ),
    "every_library.md": Page(
        EVERY,
        every_function,
        every_finding,
        lambda functions: [("Functions", "", sorted(functions))],
        others="Not tested\n\nNo case of the tests is about these",
        headings=HEADINGS | STRANGERS,
        further=(),
    ),
}
