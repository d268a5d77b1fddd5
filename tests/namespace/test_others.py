"""Importing and using the package changes nothing in the libraries that it uses, whichever arrays Dask contains."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import array_api_compat.dask.array, dask.array, dask.array.linalg, numpy as np

LIBRARIES = ("array_api_compat", "dask", "numpy")
modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in LIBRARIES]
classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
owners = {id(owner): owner for owner in (*modules, *classes)}
before = {key: {name: value for name, value in vars(owner).items() if callable(value)} for key, owner in owners.items()}
assert "__matmul__" in before[id(dask.array.Array)] and "blockwise" in before[id(dask.array)]

import nbm_xp
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import get_namespace
from nbm_xp.rng import Generator

xp = get_namespace("dask")
x = Generator(1, "dask").random((6, 4), chunks=(3, 4))
product = xp.matmul(x, xp.matrix_transpose(x))
assert np.allclose(product.compute(), x.compute() @ x.compute().T)
RBM(2, n_iter=1, random_state=0).fit(xp.round(x))

for key, owner in owners.items():
    for name, value in before[key].items():
        assert vars(owner).get(name) is value, (owner, name)
"""


@pytest.mark.parametrize("expressions", ["True", "False"])
@pytest.mark.at_night("True")
def test_no_function_or_method_of_another_library_is_replaced(expressions: str) -> None:
    environment = os.environ | {"DASK_ARRAY__QUERY_PLANNING": expressions}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
