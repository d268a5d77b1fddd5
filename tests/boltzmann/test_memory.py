"""A model larger than the memory that a process may have, sampled by such a process."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest

UNITS, TILE, CHAINS = 8000, 1000, 50
LIMIT = 120 * 2**20  # bytes above what the process has when it is ready; the weights are 256 MB

SCRIPT = f"""
import resource, sys
import dask, numpy as np
from nbm_xp.boltzmann import RBM
from nbm_xp.storage.chunked import open_array

def model(weights, units):
    return RBM.from_parameters(weights, np.zeros(units, "float32"), np.zeros(units, "float32"), random_state=1)

def sampled(rbm):
    return rbm.sample({CHAINS}, 2, chunks={CHAINS}, random_state=2).sum(axis=1).compute()

dask.config.set(scheduler="threads", num_workers=2)
small = np.zeros(({TILE}, {TILE}), "float32")
np.save(sys.argv[1] + ".small.npy", small)
with dask.config.set({{"array.chunk-size": "1KiB"}}):  # what is compiled, and what threads need, is there from now on
    sampled(model(open_array(sys.argv[1] + ".small.npy", {TILE} // 4), {TILE}))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
data = int(status["VmData"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (data + {LIMIT}, data + {LIMIT}))
try:
    np.ones(({UNITS}, {UNITS}), "float32")
except MemoryError:
    print("too large")
print(float(sampled(model(open_array(sys.argv[1], {TILE}), {UNITS})).mean()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits all that a process may write to")
def test_weights_larger_than_the_memory_that_there_is(tmp_path: pathlib.Path) -> None:
    weights = np.lib.format.open_memmap(tmp_path / "w.npy", "w+", "float32", (UNITS, UNITS))
    weights[-1] = 1000.0  # the last hidden unit is 1 whenever a visible one is, and then they all are
    weights.flush()
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "w.npy")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["too large", str(float(UNITS))]
