"""Fixtures that all tests share: the library under test, the seal against hidden computations, a clean configuration.

JAX has 64-bit types in all tests (its own default has none); tests that are about their absence switch them off.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pathlib
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"  # workers start in a third of the time
os.environ["SCIPY_ARRAY_API"] = "1"  # read by SciPy when it is imported: its functions then take arrays of any library

import pytest
from hypothesis import HealthCheck, settings

if "--standin-cupy" in sys.argv or "STANDIN_CUPY" in os.environ:  # before anything asks which libraries are there
    from tests.helpers.standin_cupy import install

    os.environ["STANDIN_CUPY"] = "1"  # for the workers of pytest-xdist
    install()

from nbm_xp.namespace import reset_configuration
from tests.helpers.clusters import two_processes
from tests.helpers.dask_expressions import expect_error, mark_known
from tests.helpers.host_kernels import COMPILER, HostKernels, InPlace
from tests.helpers.libraries import ABSENT, AT_NIGHT, LIBRARIES, Library, guard, is_for_the_night

settings.register_profile(
    "default",
    deadline=None,
    max_examples=25 if AT_NIGHT else 15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize="CI" in os.environ,  # there a failure must be the change's; elsewhere every run looks at other examples
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--everywhere",
        action="store_true",
        help="run every chunking of Dask's, and the recorded cases on every library, not on NumPy alone; takes an hour",
    )
    parser.addoption(
        "--standin-cupy",
        action="store_true",
        help="run the tests of CuPy on a stand-in for it over NumPy; with -k cupy: see docs/cuda_without_a_device.md",
    )


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    mark_known(items)
    config.hook.pytest_deselected(items=[item for item in items if is_for_the_night(item)])
    items[:] = [item for item in items if not is_for_the_night(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return expect_error((yield), call)


def pytest_collection_finish() -> None:
    """Spare the collector the tests themselves, tens of thousands, which it would go through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Each library under test in turn, under the guard against hidden computations."""
    with guard():
        yield request.param


@pytest.fixture(autouse="dask-cupy" not in ABSENT)
def blocks_as_configured(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where blocks of Dask's are another library's, Dask is told so, as users do: what it creates is that library's."""
    parameters = getattr(getattr(request.node, "callspec", None), "params", {}).values()
    blocks = next((each.blocks for each in parameters if isinstance(each, Library)), "numpy")
    if blocks == "numpy":
        yield
        return
    import dask

    with dask.config.set({"array.backend": blocks}):
        yield


@pytest.fixture
def xp(library: Library) -> Any:
    """The namespace of the library under test."""
    return library.xp


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Any]:
    """A client of a cluster of two processes, for the tests of a file: idle, it takes a tenth of a core."""
    with two_processes(as_default=False) as client:
        yield client


@pytest.fixture(scope="session")
def host_kernels(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    """CUDA kernels compiled for the host, each once in a session, whose processes share them."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    own = tmp_path_factory.getbasetemp()
    return HostKernels((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "host_kernels")


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch, host_kernels: HostKernels) -> list[str]:
    """CUDA kernels run on the host, on NumPy's arrays; gives the names of those that were launched."""
    from nbm_xp.namespace.mrg31k3p import cuda_draws

    devices: list[Any] = []
    launched: list[str] = []
    texts = set(cuda_draws.every_text().values())

    @contextmanager
    def on_device_of(x: Any) -> Iterator[None]:
        devices.append(x.device)
        yield
        devices.pop()

    def kernel(xp: Any, text: str, name: str) -> Any:
        assert text in texts, f"{name} is launched from a text that every_text does not name"
        assert devices, f"{name} is launched on whatever device is the current one"
        launched.append(name)
        return host_kernels.kernel(text, name)

    monkeypatch.setattr(cuda_draws, "_kernel", kernel)
    monkeypatch.setattr(cuda_draws, "on_device_of", on_device_of)
    return launched


@pytest.fixture
def cuda_kernels(on_host: list[str], monkeypatch: pytest.MonkeyPatch) -> InPlace:
    """A context in which CUDA kernels on the host take the places of those that NumPy's arrays have."""
    from nbm_xp.namespace import kernels
    from nbm_xp.namespace.mrg31k3p import ON_DEVICES

    @contextmanager
    def in_place() -> Iterator[list[str]]:
        on_host.clear()
        with monkeypatch.context() as patch:
            for name in ON_DEVICES:
                found = kernels.kernel(f"rng.{name}", "cupy")
                patch.setitem(kernels._KERNELS, (f"rng.{name}", "numpy"), found)
            patch.delitem(kernels._KERNELS, ("rng.whole_digits", "numpy"), raising=False)  # devices do without
            yield on_host

    return in_place


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No variable of the environment and no file of the user's has a say in the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("BACKEND", "FLOATX", "INTX", "EPSILON", "IMAGE_DATA_FORMAT"):
            patch.delenv(f"NBM_XP_{name}", raising=False)
        patch.setenv("HOME", str(tmp_path_factory.getbasetemp() / "home"))
        yield


@pytest.fixture(scope="module", autouse=True)
def what_jax_compiled() -> Iterator[None]:
    """Gone when a file ends: of little use to the next, it is gigabytes in a process that has run them all."""
    yield
    forget_what_jax_compiled()


def forget_what_jax_compiled() -> None:
    """What the compiler used and freed, glibc keeps, a few hundred megabytes a file, unless it is told to trim."""
    global _most
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        if STATM.exists() and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)
            _most = resident() + GROWTH


STATM, PAGE, GROWTH = pathlib.Path("/proc/self/statm"), 4096, 400_000_000
_most = sys.maxsize  # bytes


def resident() -> int:
    """The bytes of memory that this process takes, on Linux."""
    return int(STATM.read_bytes().split()[1]) * PAGE


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Within a file, too, what was compiled is forgotten, and cycles are collected, where memory has grown by much."""
    if _most < sys.maxsize and resident() > _most:
        gc.collect()
        forget_what_jax_compiled()


@pytest.fixture(autouse=True)
def clean_configuration() -> Iterator[None]:
    """Every test starts from the built-in defaults: no settings left by another test."""
    reset_configuration()
    yield
    reset_configuration()
