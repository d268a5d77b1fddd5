"""The command does what it says; what it cannot use it rejects in one line, with exit code 2 and no file written."""

from __future__ import annotations

import os
import pathlib
import runpy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")


import nbm_xp.cli
from nbm_xp.boltzmann import RBM
from nbm_xp.cli import inputs
from nbm_xp.cli.commands import check_bits
from nbm_xp.cli.commands import sample as sampling
from nbm_xp.cli.digests import LENGTHS, ROWS, recorded
from tests.helpers.command import PNG, ran, refused, run, told

MODEL = "model.safetensors"
M = ("--model", MODEL)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def scans() -> Any:
    return (np.random.default_rng(0).random((30, 9)) < 0.4).astype("float32")


@pytest.fixture
def model(scans: Any) -> RBM:
    rbm = RBM(4, n_iter=1, random_state=0).fit(scans)
    rbm.save(MODEL)
    return rbm


@pytest.mark.parametrize("command", ["", *(str(command.name) for command in nbm_xp.cli.app.registered_commands)])
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert "nbm-xp" in result.stdout
    if command:
        assert "Example" in result.stdout
        assert "--seed" in result.stdout or command in ("check-bits", "resume", "info", "project")
        import typer

        options = typer.main.get_command(nbm_xp.cli.app).commands[command].params
        assert all(len(option.help.split()) > 1 for option in options), "an option without help"


def bad_files() -> None:
    np.save("flat.npy", np.zeros(9))
    np.save("deep.npy", np.zeros((2, 3, 3)))
    np.save("empty.npy", np.zeros((0, 9)))
    np.save("large.npy", np.full((3, 9), 1.5))
    np.save("negative.npy", np.full((3, 9), -0.5))
    np.save("nan.npy", np.full((3, 9), np.nan))
    np.save("infinite.npy", np.full((3, 9), np.inf))
    np.save("complex.npy", np.zeros((3, 9), complex))
    np.save("words.npy", np.array([["a", "b"]]))
    np.save("objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.savez("several.npz", a=np.zeros((3, 9)), b=np.zeros((3, 9)))
    pathlib.Path("text.npy").write_text("no numbers")
    pathlib.Path("void.npy").touch()
    pathlib.Path("text.npz").write_text("no zip")
    whole = pathlib.Path("several.npz").read_bytes()
    pathlib.Path("cut.npz").write_bytes(whole[: len(whole) // 2])


BAD_DATA = {
    "missing.npy": "no such file", "nonsense": "no such file",
    "flat.npy": "must have two axes, (rows, features), got an array of shape (9,)",
    "deep.npy": "got an array of shape (2, 3, 3)", "empty.npy": "must have at least one row",
    "large.npy": "must have values in [0, 1], got values from 1.5 to 1.5; --threshold makes them 0 and 1",
    "negative.npy": "must have values in [0, 1], got values from -0.5 to -0.5",
    "nan.npy": "must have values in [0, 1], got NaN\n", "infinite.npy": "got values from inf to inf",
    "complex.npy": "must hold real numbers, got complex ones", "words.npy": "must be an array of numbers",
    "objects.npy": "not a .npy or .npz file of numbers",
    "several.npz": "choose one of its arrays with :key; it has a, b", "several.npz:c": "has no array 'c'; it has a, b",
    "flat.npy:a": "no such file",
    "text.npy": "not a .npy or .npz file of numbers; rows of text become one by np.save(name, np.loadtxt(file",
    "void.npy": "not a .npy or .npz file of numbers", "text.npz": "not a .npy or .npz file of numbers",
    "cut.npz": "not a .npy or .npz file of numbers", ".": "is a folder",
}  # fmt: skip


@pytest.mark.parametrize("source", BAD_DATA)
def test_bad_data_is_refused_in_one_line(model: RBM, source: str) -> None:
    bad_files()
    for command in (["train"], ["sample", "--model", MODEL], ["evaluate", "--model", MODEL]):
        if source == "nan.npy" and command[0] != "sample":  # missing values
            continue
        line = refused(*command, "--data", source)
        assert source in line
        assert BAD_DATA[source] in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "--library", "beer"], "library must be one of"),
        (["sample", *M, "--library", "beer"], "library must be one of"),
        (["train", "--n-components", "many"], "--n-components"), (["train", "--seed", "-1"], "--seed"),
        (["train", "--bogus"], "--bogus"), (["brew"], "brew"), (["train", "--schedule", "lunar"], "schedule must be"),
        (["train", "--layers", "9,x"], "--layers must be whole numbers"),
        (["train", "--layers", "9,4,2", "--n-components", "3"], "--n-components and --layers both say"),
        (["train", "--visible", "blue"], "--visible must be one of binary, gaussian"),
        (["train", "--held-out", "digits", "--data", "scans.npy"], "--held-out has 64 features, but the model"),
        (["train", "--hours", "0"], "--hours"),
        (["train", "--hours", "1", "--n-iter", "2"], "--n-iter and --hours both say how long to learn"),
        (["train", "--hidden", "spin,binary"], "--hidden must be a kind of units"),
        (["sample", *M, "--out", "nowhere/samples.npy"], "there is no folder nowhere"),
        (["sample", *M, "--out", "scans.npy/run"], "there is no folder scans.npy"),
        (["sample", "--model", "missing"], "missing: no such file"), (["sample", "--model", "."], "it has no run.json"),
        (["sample", *M, "--data", "scans.npy"], "has 30 rows, too few to start 100 chains"),
        (["sample", *M, "--data", "digits"], "has 64 features, but model.safetensors is expecting 9"),
        (["sample", *M, "--n-draws", "5"], "--n-draws is for --out with a folder"),
        (["sample", *M, "--scheduler", "local"], "--scheduler is for --out with a folder"),
        (["sample", *M, "--out", "a", "--n-sweeps", "5"], "--n-sweeps is for --out with a file"),
        (["sample", *M, "--out", "a", "--data", "scans.npy"], "--data is for --out with a file"),
        (["sample", *M, "--out", "a", "--layers", "x"], "--layers must be whole numbers"),
        (["sample", *M, "--out", "a", "--scheduler", "cron"], "--scheduler must be 'threads', 'local'"),
        (["plot", MODEL, "--what", "beer"], "--what must be one of filters, samples, diagnostics"),
        (["plot", MODEL, "--what", "diagnostics"], "there is nothing to draw diagnostics from"),
        (["plot", MODEL, "--what", "filters", "--out", "one.jpg"], "--out must end in .png, or be a folder"),
        (["sample", *M, "--chunks", "5"], "--chunks needs a library that computes in blocks, --library dask, or a fol"),
        (["sample", *M, "--threshold", "0.5"], "--threshold is for the rows of --data"),
        (["plot", MODEL, "--units", "9"], "--units must be from 0 to 8"),
        (["plot", MODEL, "--units", "a"], "--units must be whole numbers"),
        (["plot", MODEL, "--out", "one.png"], "is one file, and there are 3 pictures"),
        (["check-bits", "norm"], "distribution must be one of random; standard_normal; "),
        (["check-bits", "--numbers", "1e5"], "--numbers must be 1e6, 1e7, 1e8 or 1e9, got 100000"),
        (["check-bits", "--library", "beer"], "library must be one of"),
        (["info", "scans.npy"], "scans.npy is no whole .safetensors file"),
        (["demo", "--out", "scans.npy"], "scans.npy is a file"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_in_one_line(model: RBM, scans: Any, arguments: list[str], said: str) -> None:
    np.save("scans.npy", scans)
    assert said in refused(*arguments)


def test_a_library_without_its_device_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_device(name: str) -> Any:
        raise RuntimeError("no driver")

    monkeypatch.setattr("nbm_xp.cli.inputs.get_namespace", no_device)
    said = "library 'numpy' is installed, but cannot be used here: no driver"
    assert said in refused("train", "--library", "numpy")


def test_a_bad_setting_is_refused_before_any_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBM_XP_FLOATX", "beerfloat")
    assert "environment variable NBM_XP_FLOATX" in refused("check-bits", "norm")


def test_a_library_that_is_not_installed_is_refused_with_what_to_install() -> None:
    absent = [name for name in ("cupy", "torch", "jax") if name not in nbm_xp.installed_libraries()]
    if not absent:
        pytest.skip("all libraries are installed")
    assert f"pip install nbm_xp[{absent[0]}]" in refused("train", "--library", absent[0])


def test_sample_is_reproducible_and_the_same_in_blocks(model: RBM) -> None:
    common = ["sample", *M, "--n-chains", "7", "--n-sweeps", "5", "--seed", "3"]
    for extra in (["--out", "a.npy"], ["--out", "b.npz"], ["--out", "c.npy", "--library", "dask", "--chunks", "3"]):
        result = run(*common, *extra)
        assert result.exit_code == 0, result.output
        assert "7 chains, 5 sweeps" in result.stdout
    first = np.load("a.npy")
    assert first.shape == (7, 9)
    assert set(np.unique(first)) <= {0.0, 1.0}
    np.testing.assert_array_equal(np.load("b.npz")["states"], first)
    np.testing.assert_array_equal(np.load("c.npy"), first)


def test_sample_starts_where_it_is_told(model: RBM, scans: Any) -> None:
    np.save("scans.npy", scans)
    assert run("sample", *M, "--data", "scans.npy", "--n-chains", "5", "--n-sweeps", "0").exit_code == 0
    np.testing.assert_array_equal(np.load("samples.npy"), scans[:5])
    blocks = ["--library", "dask", "--chunks", "2", "--probabilities", "--out", "p.npy"]
    assert run("sample", *M, "--data", "scans.npy", "--n-chains", "5", "--n-sweeps", "2", *blocks).exit_code == 0
    assert ((np.load("p.npy") > 0) & (np.load("p.npy") < 1)).all()


def test_sample_draws_a_picture_where_the_units_make_one(model: RBM) -> None:
    assert run("sample", *M, "--n-chains", "5", "--n-sweeps", "2", "--out", "samples.png").exit_code == 0
    assert pathlib.Path("samples.png").read_bytes().startswith(PNG)
    RBM(2, n_iter=0).fit(np.zeros((2, 5))).save("five.safetensors")
    assert "5 units make no square picture" in refused("sample", "--model", "five.safetensors", "--out", "five.png")


@pytest.mark.parametrize("library", ["numpy", "dask"])
def test_bits_are_checked(library: str) -> None:
    rows = told("check-bits", "normal", "integers", "--numbers", "1e6", "--library", library)["rows"]
    wanted = {"normal": ("float16", "float32", "float64"), "integers": ("int64", "int32", "int8")}
    assert rows == {f"{name}/{dtype}": "agrees" for name, dtypes in wanted.items() for dtype in dtypes}


def test_bits_that_differ_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {row: found | {10**6: "0" * 32} if row == "uniform/float32" else {} for row, found in recorded().items()}
    known["uniform/float64"] = recorded()["uniform/float64"]
    monkeypatch.setattr(check_bits, "recorded", lambda: known)
    result = run("check-bits", "uniform", "--numbers", "1e6")
    assert result.exit_code == 1
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["uniform/float16", "not", "on", "record"], ["uniform/float32", "differs"], ["uniform/float64", "agrees"],
        ["1,000,000", "numbers", "of", "each:", "1", "agree,", "1", "differ,", "1", "not", "on", "record"],
    ]  # fmt: skip


def test_digests_are_on_record_for_every_row() -> None:
    assert set(recorded()) == {f"{name}/{dtype}" for name, dtype in ROWS}
    assert all(set(found) >= set(LENGTHS[:2]) for found in recorded().values())


def test_info_says_what_there_is() -> None:
    shown = ran("info")
    assert all(word in shown for word in ("versions", "libraries", "configuration"))
    assert told("info")["libraries"]["numpy"]["installed"]


def test_an_interruption_leaves_no_file(monkeypatch: pytest.MonkeyPatch, model: RBM) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        pathlib.Path(args[0]).write_bytes(b"half") if isinstance(args[0], pathlib.Path) else None
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling.np, "save", interrupted)
    result = run("sample", *M, "--n-chains", "2", "--n-sweeps", "1", "--out", "half.npy")
    assert result.exit_code == 130
    assert result.stderr == "nbm-xp: interrupted; nothing half-written is left\n"
    assert os.listdir() == [MODEL]


def test_a_disk_that_fails_is_no_bad_input(monkeypatch: pytest.MonkeyPatch, model: RBM) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sampling.np, "save", full)
    result = run("sample", *M, "--n-chains", "2", "--n-sweeps", "1", "--out", "half.npy")
    assert (result.exit_code, result.stderr) == (1, "nbm-xp: No space left on device\n")
    assert os.listdir() == [MODEL]


def test_without_its_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("nbm_xp.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'nbm_xp\[app\]' \(typer is missing\)"):
        _ = nbm_xp.cli.app
    with pytest.raises(SystemExit, match=r"pip install 'nbm_xp\[app\]'"):
        nbm_xp.cli.main()


def test_the_digits_are_scikit_learns() -> None:
    rows, labels = inputs.digits()
    assert rows.shape == (1797, 64)
    assert set(np.unique(rows)) == {0.0, 1.0}
    assert sorted(set(labels)) == list(range(10))
    np.testing.assert_array_equal(inputs.read_rows("digits"), rows)


@pytest.mark.slow
def test_the_demo_does_all_it_should() -> None:
    result = run("demo", "--n-iter", "12", "--out", "made")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir("made")) == ["demo.png", MODEL]
    assert pathlib.Path("made/demo.png").read_bytes().startswith(PNG)
    for expected in ("1,437 to train on, 360 to test", "independent pixels", "-25.2", "exact"):
        assert expected in result.stdout
    model = RBM.load(f"made/{MODEL}")
    test = inputs.read_rows("digits")[:100]
    log_z = model.ais(100, 300, random_state=0)
    assert model.log_likelihood(test, log_z).mean() > -25.0  # independent pixels reach -25.2


def test_the_version_is_the_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "nbm_xp.__main__", raising=False)  # other tests import all modules
    monkeypatch.setattr(sys, "argv", ["nbm-xp", "--version"])
    for command in (nbm_xp.cli.main, lambda: runpy.run_module("nbm_xp", run_name="__main__")):
        with pytest.raises(SystemExit) as ended:
            command()
        assert (ended.value.code, capsys.readouterr().out) == (0, f"nbm-xp {nbm_xp.__version__}\n")


def test_a_package_that_is_missing_is_one_line() -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from nbm_xp.cli import main; main()"
    told = subprocess.run([sys.executable, "-c", code, "plot", "run"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (1, "nbm-xp: this needs Matplotlib: install nbm_xp[app]\n")
