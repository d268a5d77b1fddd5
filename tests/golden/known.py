"""What a recorded case cannot be held to on a library beneath, as data, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tests.golden.reader import Case

__all__ = ["KNOWN", "is_remarked"]

_HALF = "the standard has no float16, and array_api_strict no more than the standard"
_PARTED = "the step function that was recorded divides a length in Python, where it must be known"
_DATA = "the length of the result depends on values, which a placeholder has only when the graph runs"
_LAZY = "the length of the result depends on values, which a lazy array has only after it is computed"
_CLAMPED = "JAX takes the nearest index there is for one out of range, and its traced code cannot raise"
_WRAPPED = "CuPy wraps an index array that is out of range, and would have to wait for the device to refuse it"
_SIZE = "a size in a variable is not known before the variable's lazy array is computed"
_CHOICE = "a Dask array decides only in a recorded computation: at once, it would have to be computed implicitly"

REMARKED = {
    "natural_bm": "exp/large exp/large64 log/negative log/non-finite pow/negative-base-fraction square/large",
    "keras1": "exp/extreme log/extreme log/extreme-float64 pow/nan",
    "keras2": "log/special log/special-float64 pow/negative-base-fraction",
    "neon": "divide/zero* log/extreme* log2/extreme* power/nan* true_divide/zero*",
}
"""What these ask for is infinite or not a number, and NumPy warns of it, as it does when it is called directly."""

_STEPS = "how many steps there are depends on values, which a lazy array does not tell"

KNOWN: list[tuple[str, str, str, str]] = [
    ("*", "of_placeholders", "rnn/gated*", _PARTED),
    ("*", "of_placeholders", "ctc_label_dense_to_sparse/float", _DATA),
    ("array_api_strict", "*", "allocate_backend/*", ""),  # it names its library itself
    *(
        ("array_api_strict", "*", record, "")  # of a name or a number
        for record in ("epsilon/float16", "floatx/float16", "intx/default-float16", "placeholder/floatx-float16")
    ),
    ("array_api_strict", "as_recorded", "uniform/mixed-dtypes", _HALF), ("array_api_strict", "*", "*float16*", _HALF),
    ("array_api_strict", "*", "eye/floatx16", _HALF),
    ("array_api_strict", "as_recorded", "function/givens-batch", "array_api_strict takes no Tensor for an index"),
    ("array_api_strict", "*", "zeros/dtype", _HALF), ("array_api_strict", "*", "ones/dtype", _HALF),
    ("dask", "*", "ctc_label_dense_to_sparse/*", _LAZY), ("dask", "as_recorded", "switch/bool-True", _CHOICE),
    ("dask", "as_recorded", "switch/bool-False", _CHOICE), ("dask", "as_recorded", "switch/int-*", _CHOICE),
    ("dask", "as_recorded", "switch/float-condition", _CHOICE),
    ("dask", "of_arrays", "switch/[!m]*", _CHOICE),  # of mixed branches, one is recorded
    ("dask", "of_arrays", "ifelse/*", _CHOICE), ("dask", "as_recorded", "normal/size-variable", _SIZE),
    ("dask", "*", "until/d*", _STEPS), ("dask", "as_recorded", "until/gradient/grad", _STEPS),
    ("jax", "as_recorded", "gather/out-of-range", _CLAMPED), ("cupy", "as_recorded", "gather/out-of-range", _WRAPPED),
    *(("dask", way, "in_t*_phase/training-tensor-*", _CHOICE) for way in ("as_recorded", "of_arrays")),
    ("dask", "of_placeholders", "ifelse/other-shapes", "Dask joins both branches in one array, of one shape"),
]  # fmt: skip
"""Library, way of running the case (the name of the test, less `test_`), case, reason; the first three may be patterns.

Of several entries for a case, the first gives the reason.
"""


def is_remarked(case: Case) -> bool:
    """Whether NumPy warns of what a record asks for."""
    return any(fnmatchcase(case.id, pattern) for pattern in REMARKED.get(case.system, "").split())
