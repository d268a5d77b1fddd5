"""The source of the CUDA kernels compiles with NVIDIA's compiler, and their headers with C compilers; no GPU needed.

`nox -s cuda_text` installs NVIDIA's compiler: the dependency group `cuda-text` of pyproject.toml.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

from nbm_xp.namespace import core
from nbm_xp.namespace.mrg31k3p.cuda_draws import OPTIONS, every_text
from tests.helpers import nvrtc
from tests.helpers.libraries import EVERYWHERE, ONE_CASE_IN

TEXTS, OLDEST, NEWEST = every_text(), "75", "100"
OTHERS = [OLDEST, "80", "90", NEWEST] if EVERYWHERE else [NEWEST]  # and by day one in three texts for the newest
ELEMENTS = sorted((pathlib.Path(core.__file__).parent / "elements").glob("*.h"))
FUSED = re.compile(r"\bfma\.\S*f\d+")

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_installed(), reason=f"{nvrtc.PACKAGE} is not installed")


@needs_nvrtc
@pytest.mark.parametrize(
    ("name", "capability"),
    [
        (name, capability)
        for number, name in enumerate(TEXTS)
        for capability in (OTHERS if EVERYWHERE or number % ONE_CASE_IN == 0 else [OLDEST])
    ],
)
def test_nvidias_compiler_takes_the_text_without_a_word(name: str, capability: str) -> None:
    log, ptx = nvrtc.compiled(TEXTS[name], *OPTIONS, f"--gpu-architecture=sm_{capability}")  # assembled, as CuPy does
    assert not log
    assert f".target sm_{capability}" in ptx
    assert set(re.findall(r"__global__ void (\w+)\(", TEXTS[name])) == set(re.findall(r"\.entry (\w+)\(", ptx))
    assert not FUSED.findall(ptx)


@needs_nvrtc
@pytest.mark.parametrize("header", ELEMENTS, ids=lambda header: header.stem)
def test_each_header_is_cuda_that_stands_on_its_own(header: pathlib.Path) -> None:
    log, ptx = nvrtc.compiled(core.whole_text(f"elements/{header.name}"), *OPTIONS)
    assert not log
    assert ptx


@needs_nvrtc
def test_warnings_and_fused_sums_would_be_seen() -> None:
    log, _ = nvrtc.compiled("static __device__ int unused() { return 1; }")
    assert "warning" in log
    assert FUSED.search(nvrtc.compiled(TEXTS["normals float64"])[1])


@pytest.mark.parametrize("header", ELEMENTS, ids=lambda header: header.stem)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_header_is_c_that_stands_on_its_own(header: pathlib.Path, compiler: str) -> None:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"{compiler} is not installed")
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([found, *strict, "-include", str(header), "-x", "c", "/dev/null"], check=True)
