"""array-api-compat, by which others ask what an array is, knows a Tensor for an array of its own namespace."""

from __future__ import annotations

import array_api_compat as compat
import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, is_tensor, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library


@pytest.mark.parametrize("tensor", [Variable(np.ones((2, 3))), placeholder((None, 3))], ids=["known", "unknown"])
def test_what_is_asked_of_an_array(tensor: Tensor) -> None:
    assert compat.array_namespace(tensor) is xp
    assert compat.array_namespace(tensor, 1.0, None) is xp
    assert compat.is_array_api_obj(tensor)
    assert is_tensor(compat.to_device(tensor, compat.device(tensor)))
    for of_another in (compat.is_numpy_array, compat.is_torch_array, compat.is_dask_array, compat.is_jax_array):
        assert not of_another(tensor)


def test_sizes() -> None:
    assert compat.size(Variable(np.ones((2, 3)))) == 6
    assert compat.size(placeholder((4, 3))) == 12
    with pytest.raises(TypeError, match="unknown until the graph runs"):  # a length that is no number is no None
        compat.size(placeholder((None, 3)))


def test_tensors_do_not_mix_with_arrays_implicitly(library: Library) -> None:
    """The standard leaves it to the user to make a Tensor of an array; `nbm_xp.namespace.array_namespace` does."""
    with pytest.raises(TypeError, match="namespace"):
        compat.array_namespace(Variable(np.ones(2)), library.array([1.0]))
