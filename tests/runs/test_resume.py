"""A run of any kind that was broken off, anywhere, is resumed by what its directory says, to the same bytes."""

from __future__ import annotations

import pathlib

import pytest
from dask.utils import key_split

from nbm_xp.runs import RunError, read_result, resume
from nbm_xp.runs.execution import kind_of
from tests.helpers.runs import RUNS, files_of, left_off, results_of, whole

pytest.importorskip("zarr")
pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count


SHARES = [0.0, 0.6, 0.3, 0.9]  # by day one of each kind of run


@pytest.mark.parametrize(
    ("name", "share"),
    [
        pytest.param(name, share, marks=[pytest.mark.slow] * ((number + place) % 4 > 0))
        for number, name in enumerate(RUNS)
        for place, share in enumerate(SHARES)
    ],
)
def test_a_run_broken_off_goes_on_to_the_same_bytes(name: str, share: float, tmp_path: pathlib.Path) -> None:
    reported, told = left_off(RUNS[name], tmp_path / "run", share=share), list[tuple[int, int]]()
    with pytest.raises(RunError, match="is not finished: resume it by"):
        read_result(tmp_path / "run")
    run = resume(tmp_path / "run", progress=lambda *done: told.append(done))
    jobs = (kind := kind_of(run.kind)(run)).jobs * kind.in_tasks
    assert reported <= max(done for done, _ in told[: max(1, len(jobs))])  # each job says where it goes on
    assert told[-1][0] == told[-1][1]
    for job in jobs:  # a dashboard tells tasks apart, and groups them by what they do
        names = [job.describe(block, segment) for block in job.blocks for segment in range(job.n_segments)]
        assert len(set(names)) == len(names)
        assert {key_split(name) for name in names} == {job.task}
    assert results_of(run.path) == whole(name)
    # What was needed to go on is gone, and going on with what is finished changes nothing.
    assert not (run.path / "checkpoints").exists()
    assert not list(run.path.rglob(".*"))
    before = files_of(run.path)
    assert files_of(resume(run.path).path).items() - before.items() <= {("run.log", files_of(run.path)["run.log"])}


@pytest.mark.parametrize(("name", "result"), [("skipping", "evaluation.json"), ("transition", "lattice.json")])
def test_a_result_that_is_gone_is_written_again(name: str, result: str, tmp_path: pathlib.Path) -> None:
    run = RUNS[name](tmp_path / "run")
    (run.path / result).unlink()
    assert results_of(resume(run.path).path) == whole(name)
