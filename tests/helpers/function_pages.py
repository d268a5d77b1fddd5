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

Every function of `nbm_xp.tape.namespace`, and the results of the tests, which write this page: `nox -s tables`.

- **Under a library**: the function recorded on Tensors gives NumPy's values there, and the gradient is the same as on
  NumPy, in the first and in the second order where there is one. Dask is tested in several chunkings, without any
  hidden computation.
- **Gradient**: the highest order of derivative that the tests compare with finite differences. 0: the function is
  constant almost everywhere, and its gradient is zero. Empty: no argument is an array of real numbers.
- **Unknown lengths**: the function can be recorded for inputs whose lengths are known only when the graph runs, and
  declares the shape and dtype that come out.
- ✓: in every case of the tests; (✓): in all but some; —: in none. Numbers refer to the reasons below the tables.
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

Every documented name of `nbm_xp.keras2`, and the results of the tests, which compare it with
[recorded results](../tests/golden/keras2/README.md) of Keras 2.0 on TensorFlow and write this page: `nox -s tables`.

- **Under a library**: the function returns the recorded values, and the recorded gradients, for arrays of that library
  and for variables that hold them; functions without array arguments create arrays of that library. Dask arrays have
  two blocks along each axis, and nothing is computed implicitly; so `ctc_decode` returns as many columns as there are
  frames, and `shape` NumPy's numbers. Arrays are tested in every case; variables and unknown lengths in every case on
  NumPy, in one case of three of each function on the others, in one of six on Dask and JAX.
- **Gradient**: the function returns the recorded gradients. Empty where none are recorded: functions that return
  integers, booleans or Python objects have none.
- **Unknown lengths**: the function is recorded for placeholders whose lengths are all unknown, compiled, and run on
  each of the libraries. Empty where it takes no arrays of floating-point numbers.
- ✓: in every recorded case; (✓): in all but some; —: in none. Numbers refer to the reasons below the tables.
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


STRANGERS = {"strict-unlisted": "strict without entry", "marray": "marray", "cubed": "cubed", "ndonnx": "ndonnx"}
"""Libraries without an entry, in the order of their columns."""

EVERY = """# What works where: every library

Every function of arrays of `nbm_xp.natural_bm`, `keras1` and `keras2`, on every array library of the tests, which write
this page: `nox -s tables`.

- Under NumPy, Dask, PyTorch, JAX, CuPy and array_api_strict, which have an entry: the function returns the recorded
  values in all cases of the tests.
- Under the others, [libraries without an entry](howto/libraries.md): the function returns NumPy's values and gradients
  for arrays and for variables, in the first case of the tests. array_api_strict is tested without its entry too. marray
  masks NumPy arrays; cubed is lazy, and its arrays have one block here; ndonnx records ONNX models, and its arrays have
  known values here.
- ✓: yes; (✓): in part; —: no. Numbers refer to the reasons below the table. Empty: not tested, because the tests of
  this function are slow there.
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
