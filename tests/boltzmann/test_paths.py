"""Estimates of log Z by annealing check their arguments before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM


def test_nothing_is_done_before_all_is_known_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    large = DBM.from_parameters([np.zeros((30, 30))], [np.zeros(30)] * 2, random_state=0)

    def working(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("work")

    for name in ("adaptive_temperatures", "ReverseChains.start", "AnnealedChains.start"):
        monkeypatch.setattr(f"nbm_xp.boltzmann.model.{name}", working)
    place = large.state_.rng.rstate.tolist()
    states = np.zeros((5, 30))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("n_chains", {"n_chains": 0}),
        ("n_temperatures", {"n_temperatures": "many"}),
        ("betas", {"betas": [0.5, 1.0]}),
        ("beer", {"library": "beer"}),
    ]
    for named, how in wrong:
        for weigh in (large.ais, large.reverse_ais):
            with pytest.raises(ValueError, match=named):
                weigh(**{"n_chains": 5, "n_temperatures": "adaptive"} | how)
    for start in ([states], [states[:4], None], [states * np.nan, None]):
        with pytest.raises(ValueError, match="initial"):
            large.reverse_ais(5, "adaptive", initial=start)
    assert large.state_.rng.rstate.tolist() == place
