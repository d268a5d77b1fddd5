"""Functions of other libraries, applied to a Tensor, raise a one-line error that names the tape's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import neon
from nbm_xp.tape import Tensor, Variable, evaluate, grad, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

KNOWN = Variable(np.asarray([1.0, 2.0, 3.0]), name="known")
UNKNOWN = placeholder((None, 3), dtype="float64", name="unknown")
METHODS = {
    "sum": "xp.sum(x)", "mean": "xp.mean(x)", "reshape": "xp.reshape(x)", "exp": "xp.exp(x)", "astype": "xp.astype(x)",
    "cumsum": "xp.cumulative_sum(x)", "transpose": "xp.permute_dims(x)", "trace": "xp.linalg.trace(x)",
    "flatten": "xp.reshape(x, (-1,))", "copy": "xp.asarray(x, copy=True)", "real": "xp.real(x)",
    "item": "evaluate(x).item()", "numpy": "numpy.asarray(evaluate(x))", "backward": "gradients(x, variables)",
    "unsqueeze": "xp.expand_dims(x, axis=…)", "view": "xp.reshape(x, …)", "permute": "xp.permute_dims(x)",
    "float": "xp.astype(x, xp.float32)", "values": "numpy.asarray(evaluate(x))",
}  # fmt: skip


def told(call: Callable[[], Any], error: type[Exception], wanted: str) -> None:
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert wanted in message and "\n" not in message


@pytest.mark.parametrize("x", [KNOWN, UNKNOWN, KNOWN * 2.0], ids=["variable", "placeholder", "expression"])
@pytest.mark.parametrize(("name", "wanted"), METHODS.items())
def test_a_method_of_numpys_arrays(x: Tensor, name: str, wanted: str) -> None:
    told(lambda: getattr(x, name), AttributeError, wanted)
    assert not hasattr(x, name)


def test_what_nothing_does_and_what_python_asks_for_is_missing_as_ever() -> None:
    for name in ("beer", "__array_interface__", "_repr_html_"):
        told(lambda name=name: getattr(KNOWN, name), AttributeError, f"object has no attribute {name!r}")  # type: ignore[misc]
    told(lambda: neon.Backend(library="numpy").array([[1.0]]).beer, AttributeError, "beer")


NUMPYS = {
    "exp": (np.exp, "xp.exp(x)"), "sum": (np.sum, "xp.sum(x)"), "max": (np.max, "xp.max(x)"),
    "power": (lambda x: np.maximum(x, 1.0), "xp.maximum(x)"), "arcsin": (np.arcsin, "xp.asin(x)"),
    "accumulate": (np.add.accumulate, "xp.cumulative_sum(x)"), "cbrt": (np.cbrt, "such as xp.sum(x)"),
}  # fmt: skip


@pytest.mark.parametrize("x", [KNOWN, UNKNOWN], ids=["variable", "placeholder"])
@pytest.mark.parametrize(("function", "wanted"), NUMPYS.values(), ids=NUMPYS.keys())
def test_a_function_of_numpys(x: Tensor, function: Callable[[Any], Any], wanted: str) -> None:
    told(lambda: function(x), TypeError, wanted)
    told(lambda: grad(lambda x: xp.sum(function(x)))(np.ones(3)), TypeError, wanted)


def test_a_function_of_scipys() -> None:
    """The ufuncs themselves, which scipy.special calls unless SCIPY_ARRAY_API is set."""
    ufuncs = pytest.importorskip("scipy.special._ufuncs")
    for name in ("gammaln", "psi", "betainc"):
        function = getattr(ufuncs, name)
        told(lambda f=function: f(*[KNOWN] * f.nin), TypeError, f"SciPy's {name}")  # type: ignore[misc]
        told(lambda f=function: f(*[UNKNOWN] * f.nin), TypeError, f"xp.special.{name}(x)")  # type: ignore[misc]


@pytest.mark.parametrize("is_set", [False, True])
def test_setting_the_variable_is_advised_where_it_is_not_set(is_set: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even then SciPy has functions that accept no other arrays, such as `log_expit`."""
    ufuncs = pytest.importorskip("scipy.special._ufuncs")
    monkeypatch.setenv("SCIPY_ARRAY_API", str(int(is_set)))
    with pytest.raises(TypeError, match=r"call xp\.special\.log_expit\(x\)") as error:
        grad(ufuncs.log_expit)(np.asarray(1.0))
    assert ("SCIPY_ARRAY_API=1" in str(error.value)) is not is_set


def test_a_ufunc_that_nothing_stands_for() -> None:
    ufuncs = pytest.importorskip("scipy.special._ufuncs")
    told(lambda: ufuncs.jv(2, KNOWN), TypeError, "the ufunc jv does not take a Tensor")
    told(lambda: np.cbrt(KNOWN), TypeError, "NumPy's cbrt does not take a Tensor")


def test_numpys_functions_take_constants() -> None:
    """Constants are accepted like other libraries' arrays; an expression with a variable raises an error."""
    constant = xp.asarray(np.asarray([1.0, 2.0, 3.0])) * 2.0
    assert isinstance(np.exp(constant), np.ndarray)
    np.testing.assert_array_equal(np.maximum(constant, 3.0), [3.0, 4.0, 6.0])
    assert np.add.reduce(constant) == 12.0
    told(lambda: np.exp(constant + KNOWN), TypeError, "xp.exp(x)")
    told(lambda: np.exp(constant + xp.sum(UNKNOWN)), TypeError, "xp.exp(x)")
    told(lambda: grad(lambda x: xp.sum(np.exp(x * constant)))(np.ones(3)), TypeError, "xp.exp(x)")


def test_what_numpys_functions_are_told_to_write_to_is_written_to() -> None:
    """`out` may be a Tensor or an array; ``array += tensor`` rebinds the name to a Tensor."""
    first, second = np.asarray([1.0, 2.0]), xp.asarray(np.asarray([3.0, 4.0]))
    for ufunc, arguments in [(np.multiply, (first, 2.0)), (np.add, (first, second)), (np.exp, (first,)),
                             (np.exp, (second,))]:  # fmt: skip
        wanted = ufunc(*map(np.array, arguments))
        out, array = xp.zeros((2,), dtype="float64"), np.zeros(2)
        assert ufunc(*arguments, out=out) is out and ufunc(*arguments, out=array) is array
        np.testing.assert_array_equal(evaluate(out), wanted)
        np.testing.assert_array_equal(array, wanted)
    np.sum(np.ones((3, 2)), axis=0, out=out)
    assert evaluate(out).tolist() == [3.0, 3.0]
    array += second
    assert isinstance(array, Tensor)
    for refused in (np.add, np.multiply):
        told(lambda f=refused: f(KNOWN, 1.0, out=np.ones(3)), TypeError, "does not take a Tensor")  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        np.add(np.ones(3), 1.0, out=KNOWN)


def test_numpys_questions_are_answered() -> None:
    """Plotting libraries check, for example, whether a limit is finite."""
    assert np.isfinite(KNOWN[0]) and not np.isnan(KNOWN[0])
    assert evaluate(np.signbit(-KNOWN)).tolist() == [True, True, True]
    assert isinstance(np.isinf(UNKNOWN), Tensor)


@pytest.mark.parametrize("library", libraries("torch"), indirect=True)
def test_a_function_of_pytorchs(library: Library) -> None:
    import torch
    from torch.nn import functional

    for x in (KNOWN, UNKNOWN, KNOWN * 2.0):
        told(lambda x=x: torch.exp(x), TypeError, "xp.exp(x)")  # type: ignore[misc]
        told(lambda x=x: torch.cat([x, x]), TypeError, "xp.concat(x)")  # type: ignore[misc]
        told(lambda x=x: torch.sum(input=x), TypeError, "xp.sum(x)")  # type: ignore[misc]
        told(lambda x=x: torch.special.gammaln(x), TypeError, "xp.special.gammaln(x)")  # type: ignore[misc]
        told(lambda x=x: torch.linalg.inv(x), TypeError, "xp.linalg.inv(x)")  # type: ignore[misc]
        told(lambda x=x: functional.relu(x), TypeError, "such as xp.sum(x)")  # type: ignore[misc]


@pytest.mark.parametrize("library", libraries("jax"), indirect=True)
def test_a_function_of_jaxs(library: Library) -> None:
    """Compiled, reducing, converting."""
    import jax
    import jax.numpy as jnp

    array = library.array([1.0, 2.0, 4.0])
    calls: list[Callable[[Any], Any]] = [
        jnp.exp, jnp.sum, jnp.asarray, jnp.sort, lambda x: jnp.concatenate([x, x]), lambda x: jnp.add(array, x),
        jax.jit(lambda x: x + 1), jax.scipy.special.gammaln, lambda x: jnp.where(x > 0, x, 0),
        jax.nn.softmax, lambda x: jnp.array([x[0], 1.0]), lambda x: jax.lax.convert_element_type(x, jnp.float32),
    ]  # fmt: skip
    for x in (KNOWN, UNKNOWN, KNOWN * 2.0):
        for call in calls:
            told(lambda call=call, x=x: call(x), ValueError, "xp.sum(x)")  # type: ignore[misc]


@pytest.mark.parametrize("convert", [float, int, bool, complex, np.asarray, np.mean])
def test_a_number_of_what_depends_on_a_placeholder(convert: Callable[[Any], Any]) -> None:
    told(lambda: convert(xp.sum(UNKNOWN)), ValueError, "xp.sum(x)")
    told(lambda: convert(xp.sum(UNKNOWN)), ValueError, "'unknown' placeholder")


def test_a_number_of_several_and_of_what_is_being_differentiated() -> None:
    told(lambda: float(KNOWN), TypeError, "xp.sum(x)")
    told(lambda: grad(lambda x: float(xp.sum(x)))(np.ones(3)), TypeError, "xp.sum(x)")
