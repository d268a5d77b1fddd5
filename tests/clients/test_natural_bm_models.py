"""Boltzmann machines give the results of natural_bm on Theano: samplers, trainers, optimizers and estimates.

natural_bm_recorded.json was written by natural_bm_models.py as a program, with natural_bm on Theano 1.0.5 and NumPy
1.16.6, in float32. Two programs are compared with it: natural_bm itself on this package, where it is installed, and
everywhere our own client, boltzmann_client.py.
"""

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.namespace import use_backend
from tests.clients import boltzmann_client, natural_bm_models
from tests.clients.natural_bm_models import CHAIN_PROGRAMS, MACHINES, TRAINING_PROGRAMS, shortened, title
from tests.helpers.libraries import Library, libraries

RECORDED = json.loads((pathlib.Path(__file__).parent / "natural_bm_recorded.json").read_text(encoding="utf-8"))
PROGRAMS = [
    *(("chain", *program) for program in CHAIN_PROGRAMS),
    *(("training", *program) for program in TRAINING_PROGRAMS),
    *(("partition", machine) for machine in MACHINES),
]
OWN = [program for program in PROGRAMS if program[0] == "chain" or program[-1] == "plain"]
"""The programs that boltzmann_client.py implements."""
EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: title(*program))


def leaves(name: str, value: Any) -> Iterator[tuple[str, list[float]]]:
    """The lists of numbers in a result, in a fixed order."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(f"{name}/{key}", value[key])
    else:
        yield name, flat(value)


def flat(value: Any) -> list[float]:
    return [number for item in value for number in flat(item)] if isinstance(value, list) else [value]


def hold_to_record(program: tuple[Any, ...], found: dict[str, Any]) -> None:
    """Compare probabilities, costs and weights up to float32 rounding, and draws exactly."""
    recorded, found = RECORDED[title(*program)], shortened(found)
    assert found.keys() == recorded.keys()
    for (name, ours), (_, theirs) in zip(leaves("", found), leaves("", recorded), strict=True):
        assert len(ours) == len(theirs), name
        if program[:3:2] == ("chain", "Gibbs"):
            assert ours == theirs, name
        np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-6, err_msg=name)


def test_the_record_holds_every_program() -> None:
    assert set(RECORDED) - {"versions"} == {title(*program) for program in PROGRAMS}


def test_the_record_is_of_what_was_drawn() -> None:
    """Chains advance from call to call, and annealing agrees with the exact sum over all states."""
    gibbs = RECORDED["chain rbm Gibbs []"]
    assert set(flat(gibbs["first"])) == {0.0, 1.0}
    assert gibbs["first"] != gibbs["second"]
    found = RECORDED["partition rbm"]
    mean, low, high = found["estimate"]
    assert low < found["exact"][0] < high
    assert low < mean < high


@pytest.mark.parametrize("program", OWN, ids=lambda program: title(*program))
def test_a_client(program: tuple[Any, ...]) -> None:
    kind, *arguments = program
    hold_to_record(program, getattr(boltzmann_client, kind)(*arguments))


@pytest.mark.slow
@pytest.mark.parametrize("library", libraries("array_api_strict", "cupy", "jax", "torch"))
@pytest.mark.parametrize("program", OWN, ids=lambda program: title(*program))
def test_a_client_on_other_libraries(program: tuple[Any, ...], library: Library) -> None:
    kind, *arguments = program
    with use_backend(library.name):
        hold_to_record(program, getattr(boltzmann_client, kind)(*arguments))


def test_the_backend_is_ours(original_bm: Any) -> None:
    assert original_bm.backend is B
    assert original_bm.dbm.B is B
    assert original_bm.preprocessing.BTH is B


@EACH
def test_natural_bm_itself(original_bm: Any, program: tuple[Any, ...]) -> None:
    kind, *arguments = program
    compute: Callable[..., dict[str, Any]] = getattr(natural_bm_models, kind)
    hold_to_record(program, compute(original_bm, *arguments))
