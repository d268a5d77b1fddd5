"""Training at the command line: a run's directory, checkpoints, and a model that no interruption changes."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

from nbm_xp import runs
from nbm_xp.boltzmann import RBM
from nbm_xp.runs import RunDirectory, open_samples
from nbm_xp.runs.training import MODEL, TrainingRun
from tests.helpers.command import ran, refused, run, started, told, wait_until

SCANS = (np.random.default_rng(0).random((30, 9)) < 0.4).astype("float32")
SMALL = ("train", "--data", "scans.npy", "--n-components", "3", "--seed", "5")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("scans.npy", SCANS)


def model(folder: str = "run") -> bytes:
    return (pathlib.Path(folder) / MODEL).read_bytes()


@pytest.mark.parametrize("source", ["scans.npy", "one.npz", "several.npz", "several.npz:other", "mnist.npz"])
def test_train_reads_files(source: str) -> None:
    np.savez("one.npz", anything=SCANS)
    np.savez("several.npz", x_train=SCANS, other=SCANS[:20])
    np.savez("mnist.npz", **{"test.data": SCANS[:5], "train.lbl": np.arange(30), "train.data": SCANS})
    said = ran("train", "--data", source, "--n-components", "3", "--n-iter", "2")
    assert f"{20 if source.endswith('other') else 30} rows of 9 on numpy" in said
    assert RBM.load(f"run/{MODEL}").components_.shape == (3, 9)


def test_values_may_be_missing() -> None:
    grey = np.where(np.random.default_rng(1).random(SCANS.shape) < 0.1, np.nan, 0.8 * SCANS + 0.1)
    np.savez("grey.npz", train=grey, test=grey[:10])
    rows = np.where(np.isnan(grey), grey, SCANS).astype("float32")
    ran(*SMALL, "--data", "grey.npz", "--threshold", "0.5", "--n-iter", "2", "--held-out", "grey.npz:test")
    learned = RBM.load(f"run/{MODEL}")
    same = RBM(3, batch_size=20, n_iter=2, schedule="linear", random_state=5).fit(rows)
    np.testing.assert_array_equal(learned.components_, same.components_)
    found = told("evaluate", "--data", "grey.npz", "--threshold", "0.5", "--n-chains", "10")
    assert found["mean_log_likelihood"] == pytest.approx(float(same.log_likelihood(rows[:10]).mean()), abs=1e-5)
    ran("plot", "run", "--what", "diagnostics", "--out", "grey.png")
    given = ("sample", "--given", "grey.npz:test", "--threshold", "0.5", "--n-chains", "4", "--seed", "3", "--out")
    ran(*given, "drawn.npy", "--n-sweeps", "9")
    ran(*given, "chains", "--n-draws", "3", "--thin", "3")
    drawn = np.load("drawn.npy")
    np.testing.assert_array_equal(drawn, same.sample(4, 9, given=rows[:10], random_state=3))
    np.testing.assert_array_equal(open_samples("chains")[:, 2], drawn.reshape(40, 9))


def test_the_demo_leaves_a_run_alone() -> None:
    np.save("scans.npy", SCANS)
    ran(*SMALL, "--n-iter", "1")
    before = model()
    assert "--out: run is not empty: resume the run" in run("demo", "--out", "run", "--n-iter", "1").stderr
    assert model() == before


def test_a_run_s_directory_says_all_about_it() -> None:
    found = told(*SMALL, "--n-iter", "4", "--held-out", "scans.npy")
    about = json.loads(pathlib.Path("run/run.json").read_text())
    assert about["configuration"]["notes"]["data"] == str(pathlib.Path("scans.npy").resolve())
    assert found["epochs"] == found["diagnostics"]["epoch"] == 4
    assert found["diagnostics"]["held_out"] == pytest.approx(RBM.load(f"run/{MODEL}").score(SCANS), abs=0.02)
    written = json.loads(pathlib.Path("run/result.json").read_text())
    assert all(found[name] == written[name] for name in found.keys() - {"run", "kind", "seed", "dashboard"})
    assert (found["run"], found["kind"], found["seed"]) == ("run", "train", 5)
    assert not any(pathlib.Path("run").rglob("*.unfinished*"))


def test_train_is_reproducible_and_says_the_same_on_dask() -> None:
    for library, out in (("numpy", "a"), ("numpy", "b"), ("dask", "c")):
        ran(*SMALL, "--n-iter", "2", "--library", library, "--out", out)
    assert model("a") == model("b")
    first, other = (RBM.load(f"{out}/{MODEL}").components_ for out in ("a", "c"))
    np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize(("sizes", "name"), [("9,4", "log-likelihood"), ("9,4,2", "lower bound on the log-likelihood")])
def test_a_bound_is_called_a_bound(sizes: str, name: str) -> None:
    told = ran("train", "--data", "scans.npy", "--layers", sizes, "--n-iter", "1", "--held-out", "scans.npy")
    assert f"\nmean {name} of the training rows" in told and f"\nmean {name} of the held-out rows" in told
    told = ran("evaluate", "--model", "run", "--data", "scans.npy", "--n-temperatures", "20")
    assert ("log-likelihood ≥" in told) == ("bound" in name)


def test_a_real_interruption_leaves_a_run_to_go_on_with() -> None:
    with started(*SMALL, "--n-iter", "100000000", "--checkpoint-every", "1") as process:
        try:
            kept = pathlib.Path("run/checkpoints", MODEL)
            wait_until(kept.exists, process)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130
    hint = "resume it by: nbm-xp resume run"
    assert said == ("", f"nbm-xp: interrupted; nothing half-written is left; {hint}\n") and RBM.load(kept).n_iter_ >= 1


@pytest.mark.filterwarnings("ignore")
def test_a_training_that_diverges_is_told_of_and_drawn() -> None:
    asked = "--data scans.npy --n-iter 9 --learning-rate 999 --batch-size 3 --visible gaussian --held-out scans.npy"
    result = run("train", *asked.split())
    assert result.exit_code == 0, result.output
    assert "log-likelihood" not in result.stdout  # of what is not finite
    assert run("plot", "run", "--what", "samples").exit_code == 0
    weigh = ("evaluate", "--model", "run", "--n-temperatures", "5", "--n-chains", "5")
    assert "not finite" in run(*weigh, "--out", "weighed").stdout
    assert "log Z there is not finite" in refused("plot", "weighed", "--what", "convergence")
    assert run("info", "run", "--json").exit_code == 0


def test_a_place_that_is_taken_is_refused() -> None:
    ran(*SMALL, "--n-iter", "1")
    assert "run is not empty: resume the run in it by runs.resume" in refused(*SMALL)
    os.mkdir("other")
    pathlib.Path("other/file").touch()
    assert "other is not empty" in refused(*SMALL, "--out", "other")
    assert "it has no run.json" in refused("resume", "other")
    assert "scans.npy is a file, and a run needs a directory" in refused(*SMALL, "--out", "scans.npy")
    assert "there is no folder nowhere" in refused(*SMALL, "--out", "nowhere/run")


def test_hours_say_how_long_to_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) / 64)
    monkeypatch.setattr("nbm_xp.runs.training.time", clock)
    found = told(*SMALL, "--hours", str(2 / 3600))
    assert found["epochs"] > 3 and abs(found["seconds"] - 2) < 0.1
    assert RBM.load(f"run/{MODEL}").n_iter == found["epochs"]


def test_the_last_pass_of_so_many_hours_is_known_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though one took longer than was thought: then `fit` ends with the mean, and what is told is true of it."""
    ends, said, after = [0.0, 1.0, 2.0, 3.0, 4.0, 6.9, 8.0], [], TrainingRun._after_epoch
    clock = SimpleNamespace(perf_counter=lambda: ends[len(said)])
    monkeypatch.setattr("nbm_xp.runs.training.time", clock)
    monkeypatch.setattr(TrainingRun, "_after_epoch", lambda run, *x: said.append(x[-1].n_iter) or after(run, *x))
    found = told(*SMALL, "--training", "ptt", "--hours", str(7.2 / 3600))
    assert found["epochs"] == len(said) == said[-1] == 6
    assert (learnt := RBM.load(f"run/{MODEL}")).schedule == "auto" and "mean.steps" not in learnt.state_.variables


def test_no_epoch_makes_a_model_all_the_same() -> None:
    assert told(*SMALL, "--n-iter", "0")["epochs"] == 0 and pathlib.Path("run", MODEL).exists()
    assert ", 1 epoch in" in ran(*SMALL, "--n-iter", "1", "--visible", "4*binary+5*normal", "--out", "one")


def test_a_threshold_makes_scans_binary() -> None:
    np.save("grey.npy", np.arange(0, 180, 5, dtype="uint8").reshape(4, 9))
    assert "--threshold" in refused("train", "--data", "grey.npy")
    ran("train", "--data", "grey.npy", "--threshold", "90", "--n-iter", "1")


def test_a_full_disk_is_no_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(RBM, "save", full)
        result = run(*SMALL, "--n-iter", "2")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1) and "the disk of run is full" in result.stderr
    assert "`nbm-xp resume run`" in result.stderr
    ran(*(("resume", "run") if pathlib.Path("run").exists() else (*SMALL, "--n-iter", "2")))


def test_a_finished_training_that_was_moved_says_where_it_is() -> None:
    ran(*SMALL, "--n-iter", "2")
    pathlib.Path("run").rename("moved")
    assert told("resume", "moved")["run"] == "moved"
    pathlib.Path("moved", MODEL).unlink()
    assert "moved lacks rows.npy, which a training needs until it is finished" in run("resume", "moved").stderr


def test_a_checkpoint_or_a_model_of_another_training_is_told() -> None:
    ran(*SMALL, "--n-iter", "2")
    ran(*SMALL[:-1], "6", "--n-iter", "2", "--out", "other")
    mine, other = RunDirectory.open("run"), RunDirectory.open("other")
    kept = pathlib.Path("run", MODEL).read_bytes()
    pathlib.Path("run", MODEL).write_bytes(pathlib.Path("other", MODEL).read_bytes())
    for command in (("info", "run"), ("sample", "--model", "run")):
        assert "is not what the run ended with" in refused(*command)
    resumed = run("resume", "run")
    assert (resumed.exit_code, resumed.stderr.count("\n")) == (2, 1)
    assert "is not what the run ended with" in resumed.stderr
    pathlib.Path("run/result.json").unlink()
    pathlib.Path("run", MODEL).unlink()
    foreign = RBM.load(f"other/{MODEL}")
    foreign.state_.save(mine.checkpoints / MODEL, foreign.plain_params(), other.identity)
    np.save(mine.checkpoints / "rows.npy", SCANS)
    for command in (("info", "run"), ("sample", "--model", "run")):
        assert "is a checkpoint of another run" in refused(*command)
    resumed = run("resume", "run")
    assert (resumed.exit_code, resumed.stderr.count("\n")) == (2, 1)
    assert "is a checkpoint of another run" in resumed.stderr and kept != pathlib.Path("other", MODEL).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "--data", "memory://bucket/scans.npz:x"), "no such file"),
        (("train", "--out", "zip::/run"), "must be a path or an address"),
        (("sample", "--model", "memory://bucket/run"), "no such file or directory"),
    ],
)
def test_addresses_are_places(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments)


def test_a_run_that_was_begun_in_python_goes_on() -> None:
    def break_off(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    model = RBM(3, n_iter=4, random_state=1)
    with pytest.raises(KeyboardInterrupt):
        runs.train(model, "run", SCANS, checkpoint_every=1, progress=break_off)
    assert "30 rows of 9 on numpy, 4 epochs" in ran("resume", "run")
    np.testing.assert_array_equal(runs.trained_model("run").components_, model.fit(SCANS).components_)


def test_units_can_be_of_any_kind() -> None:
    sites = np.random.default_rng(0).integers(0, 3, (30, 4))
    np.save("sites.npy", sites)
    potts = ("--data", "sites.npy", "--visible", "categorical:3", "--n-iter", "2")
    ran("train", *potts, "--layers", "4,3,2", "--hidden", "spin,categorical:2", "--out", "deep")
    ran("resume", "deep")
    ran("sample", "--model", "deep", "--n-chains", "5", "--n-sweeps", "3", "--out", "drawn.npy")
    drawn = np.load("drawn.npy")
    assert drawn.shape == (5, 4) and set(np.unique(drawn)) <= {0, 1, 2}
    found = told("evaluate", "--model", "deep", "--data", "sites.npy", "--n-chains", "20", "--n-temperatures", "20")
    assert -6 < found["mean_log_likelihood"] < -3
    wrong = refused("train", *potts, "--hidden", "spin,spin", "--out", "wrong")
    assert "hidden must be a kind of units, or 1 of them" in wrong
    np.save("sites.npy", np.minimum(sites + 0.5, 2))
    assert "must have whole numbers in [0, 2]" in refused("train", *potts, "--out", "wrong")
