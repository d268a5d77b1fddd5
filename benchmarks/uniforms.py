"""Uniform float32 numbers: ours beside NumPy's PCG64 on the host, beside CuPy's generators and the copy on a device."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.rng import Generator

from .harness import Contender, Row, power
from .libraries import Library, absent

SIZE, DEVICE_SIZE = 10**7, 10**9
OVER_PCG64 = 1 / 2.0


def rows(library: Library) -> Iterator[Row]:
    on_device = not library.on_host
    size = DEVICE_SIZE if on_device else library.sized(SIZE)
    if on_device and importlib.import_module("cupy").cuda.runtime.memGetInfo()[0] < 24 * size:
        size //= 10  # two results, what the peers hold, and room to spare
    generator = Generator(2026, library=library.name)
    ours = Contender("nbm_xp", library.finished(lambda: generator.random(size, dtype="float32")))
    peers = device_peers(size) if on_device else host_peers(library, size)
    yield Row(f"{power(size)} float32", ours, peers, per=size, unit="number")


def host_peers(library: Library, size: int) -> list[Contender]:
    pcg64 = np.random.Generator(np.random.PCG64(2026))
    bar = OVER_PCG64 if library.name == "numpy" and library.threads == 1 else None
    peers = [Contender("NumPy PCG64", lambda: pcg64.random(size, dtype=np.float32), at_most=bar)]
    gone = absent("PyTorch rand", "torch")
    torch = None if gone else importlib.import_module("torch")
    return [*peers, gone or Contender("PyTorch rand", lambda: torch.rand(size, dtype=torch.float32))]


def device_peers(size: int) -> list[Contender]:
    cp, random = importlib.import_module("cupy"), importlib.import_module("cupy.random")
    default = random.RandomState(2026)
    source, target = cp.zeros(size, dtype=cp.float32), cp.empty(size, dtype=cp.float32)
    half = size // 2  # a copy of half of it reads and writes as many bytes as all of it takes
    return [
        Contender("cupy.random default", lambda: default.random_sample(size, dtype=cp.float32)),
        *(device_peer(cp, random, name, size) for name in ("XORWOW", "Philox4x3210", "MRG32k3a")),
        Contender("writing its bytes at copy bandwidth", lambda: cp.copyto(target[:half], source[:half])),
    ]


def device_peer(cp: Any, random: Any, name: str, size: int) -> Contender:
    generator = random.Generator(getattr(random, name)(2026))
    return Contender(f"cupy.random {name}", lambda: generator.random(size, dtype=cp.float32))
