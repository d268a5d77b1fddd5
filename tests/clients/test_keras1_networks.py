"""Networks of Keras 1.0.3 have the losses that they have on Theano, step by step: see keras1_networks.py."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1 as K
from nbm_xp.namespace import use_backend
from tests.clients.keras1_networks import NETWORKS, STEPS, trained
from tests.helpers.libraries import Library, libraries

RECORDED = json.loads((pathlib.Path(__file__).parent / "keras1_losses.json").read_text(encoding="utf-8"))["networks"]
BY_NAME = pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.__name__)


def held_to_record(keras: Any, network: Any) -> None:
    recorded, found = RECORDED[network.__name__], trained(keras, network)
    assert len(recorded["costs"]) == STEPS
    assert recorded["costs"][-1] < 0.8 * recorded["costs"][0]
    np.testing.assert_allclose(found["costs"], recorded["costs"], rtol=2e-4)
    np.testing.assert_allclose(found["predictions"], recorded["predictions"], rtol=2e-3, atol=2e-4)


def test_the_backend_is_ours(keras1: Any) -> None:
    assert keras1.backend is K
    assert keras1.layers.core.K is K


@BY_NAME
def test_training_costs_what_it_cost(keras1: Any, network: Any) -> None:
    held_to_record(keras1, network)


@pytest.mark.slow
@pytest.mark.parametrize("library", libraries("array_api_strict", "cupy", "jax", "torch"))
@BY_NAME
def test_training_on_other_libraries(keras1: Any, network: Any, library: Library) -> None:
    with use_backend(library.name):
        held_to_record(keras1, network)
