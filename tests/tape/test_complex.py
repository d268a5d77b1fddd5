"""Complex numbers: the convention of gradients, errors, and agreement with JAX, which has the same convention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, gradients, ifelse, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import libraries
from tests.helpers.tables.case import complex_values, values

Z = complex_values(3, 3)


def test_the_gradient_of_a_real_loss() -> None:
    """The gradient is du/dx - i du/dy, for u = x² y."""
    z = Variable(np.asarray(2 + 3j), dtype="complex128")
    loss = xp.real(z) ** 2 * xp.imag(z)
    assert complex(gradients(loss, z)) == 2 * 2 * 3 - 1j * 2**2


def test_a_step_against_the_conjugate_goes_down() -> None:
    z = Variable(complex_values(4), dtype="complex128")
    loss = xp.sum(xp.abs(xp.exp(z) - (1 + 2j)) ** 2)
    before, gradient = evaluate([loss, gradients(loss, z)])
    z.set_value(z.get_value() - 1e-4 * np.conj(gradient))
    assert float(loss) < before


def test_a_complex_loss_is_refused() -> None:
    z = Variable(np.asarray(2 + 3j), dtype="complex128")
    with pytest.raises(TypeError, match="loss must be real, got complex128"):
        gradients(z * z, z)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_real_variable_has_a_real_gradient(dtype: str) -> None:
    x = Variable(np.asarray([1.0, 2.0]), dtype=dtype)
    for loss in (
        xp.sum(xp.abs(xp.exp(1j * x) + x)), xp.sum(xp.real(xp.fft.fft(x) ** 2)), xp.imag(xp.sum(x * (1 + 2j))),
    ):  # fmt: skip
        for keep in (True, False):
            gradient = gradients(loss, x, keep_dtype=keep)
            assert gradient.dtype.kind == "f"
        assert gradients(loss, x).dtype == dtype


def test_the_sign_of_a_complex_number_turns() -> None:
    check_gradient(xp.sign, Z)
    zero = Variable(np.asarray([0j, 1 + 1j]), dtype="complex128")
    assert evaluate(gradients(xp.sum(xp.real(xp.sign(zero))), zero))[0] == 0


def test_real_numbers_pass_unchanged() -> None:
    x = Variable(values(3), dtype="float64")
    assert xp.real(x) is x
    assert xp.conj(x) is x
    np.testing.assert_array_equal(evaluate(xp.imag(x)), np.zeros(3))


ONE_ARGUMENT = ("ceil", "floor", "signbit", "trunc", "clip")
TWO_ARGUMENTS = (
    "atan2", "copysign", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp",
    "maximum", "minimum", "nextafter", "remainder",
)  # fmt: skip


@pytest.mark.parametrize("name", ONE_ARGUMENT + TWO_ARGUMENTS)
def test_functions_of_real_numbers_refuse_complex_ones(name: str) -> None:
    z = xp.asarray(Z)
    arguments = [(z,)] if name in ONE_ARGUMENT else [(z, z), (xp.real(z), z), (z, 1.0), (xp.real(z), 1j)]
    for given in arguments:
        with pytest.raises(TypeError, match=f"{name} is a function of real numbers"):
            getattr(xp, name)(*given)


def test_half_spectra_are_of_real_numbers() -> None:
    for name in ("rfft", "ihfft", "rfftn"):
        with pytest.raises(TypeError, match=f"{name} is a function of real numbers"):
            getattr(xp.fft, name)(xp.asarray(Z))


def test_through_a_loop_and_a_branch() -> None:
    def looped(a: Any, b: Any) -> Any:
        outputs, _ = scan(lambda x, state: state * x + b, sequences=[a], outputs_info=[b])
        return ifelse(xp.abs(b) > 0, outputs[-1] * 2, outputs[-1])

    check_gradient(looped, complex_values(4) * 0.5, np.asarray(0.3 + 0.4j))


@pytest.mark.parametrize("library", libraries("array_api_strict", "dask-halves", "torch", "jax", "cupy"), indirect=True)
def test_mixed_products_on_every_library(library: Any) -> None:
    z, x = Variable(library.array(Z)), Variable(library.array(np.real(Z)))
    loss = xp.sum(xp.abs(z @ x + x * 2j))
    by_z, by_x = (library.numpy(g) for g in evaluate(gradients(loss, [z, x])))
    assert by_z.dtype == np.complex128
    assert by_x.dtype == np.float64
