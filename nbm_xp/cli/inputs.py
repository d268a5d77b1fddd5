"""What the command reads, or raises `InputError` for: rows from files or by name, models, places for runs."""

from __future__ import annotations

import contextlib
import math
import pathlib
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp import boltzmann, runs
from nbm_xp.boltzmann.sequences import ALPHABETS, PROTEIN, RNA, Alignment, Alphabet, read_fasta
from nbm_xp.files import local_path
from nbm_xp.machines.units import BINARY, Values
from nbm_xp.namespace import asarray, get_namespace, is_lazy, to_numpy
from nbm_xp.runs import RunDirectory
from nbm_xp.storage.arrays import check_claims

from .errors import InputError

__all__ = [
    "DATA_NAMES", "absolute", "alphabet_in", "alphabet_of", "check_file", "check_new_run", "check_place", "digits",
    "input_errors", "is_alignment", "library", "notes_of", "on_library", "read_model", "read_rows", "rows_for",
    "run_at", "side", "values_of", "weights_of", "whole_numbers",
]  # fmt: skip

_NPY, _ZIP = b"\x93NUMPY", b"PK"  # what files of these kinds begin with
DATA_NAMES = ("digits", "digits:train", "digits:test")
_USUAL_KEYS = {
    "train": ("X", "x_train", "X_train", "train.data", "train_data", "data", "train"),
    "valid": ("x_valid", "X_valid", "valid.data", "valid_data", "valid"),
    "test": ("x_test", "X_test", "test.data", "test_data", "test"),
}
_ALIGNMENTS = (".fasta", ".fa", ".faa", ".fna", ".afa", ".a2m")
_BY_STATES = {alphabet.size: alphabet for alphabet in (PROTEIN, RNA)}  # DNA is numbered as RNA is


@contextlib.contextmanager
def input_errors(what: str | None = None) -> Iterator[None]:
    """Turn the library's errors for a value or a type into `InputError`, with the argument's source in front."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"{what}: {error}" if what else str(error)) from error


def library(name: str) -> Any:
    """A library's namespace by name."""
    with input_errors():
        try:
            return get_namespace(name)
        except RuntimeError as error:  # no device, or no driver
            raise InputError(f"library {name!r} is installed, but cannot be used here: {error}") from error


def whole_numbers(text: str | None, option: str) -> list[int]:
    """Whole numbers with commas between."""
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise InputError(f"{option} must be whole numbers with commas between, got {text}") from error


def digits() -> tuple[Any, Any]:
    """Scikit-learn's handwritten digits, 1,797 scans of 8 × 8: ink (1) or none (0), and which digit each is."""
    from sklearn.datasets import load_digits

    scans = load_digits()
    return (scans.data >= 8).astype("float32"), scans.target


def _digits(part: str) -> Any:
    """All scans, or the four fifths to train on, or the fifth to test, each digit in both in proportion."""
    from sklearn.model_selection import train_test_split

    scans, labels = digits()
    if not part:
        return scans
    train, test = train_test_split(scans, test_size=0.2, stratify=labels, random_state=0)
    return train if part == "train" else test


def absolute(source: str | None) -> str | None:
    """A source of data that means the same from any folder."""
    if source is None or source in DATA_NAMES:
        return source
    path, key = _path_and_key(source)
    return f"{path.resolve()}" + ("" if key is None else f":{key}")


def read_rows(
    source: str, threshold: float | None = None, part: str = "train", values: Values | None = BINARY.within
) -> Any:
    """Rows from a file or by name, for visible units that can have these values.

    Parameters
    ----------
    source : str
        A name (``digits``), an alignment, a .npy file, or an .npz file, with ``:key`` after it to choose one of its
        arrays.
    threshold : float, optional
        Make values from it upwards 1 and those below 0.
    part : {"train", "valid", "test"}, optional
        What the rows are for: which array to take from an .npz file that has several with usual names. Where there
        are none to validate with, those to test with are.
    values : Values or None, optional
        The values that are allowed; None for all.

    Returns
    -------
    numpy.ndarray
        float32 (float64 where the file has that, bool as it is and for bytes of 0 and 1), checked.
    """
    if threshold is not None and math.isnan(threshold):
        raise InputError("--threshold must be a number, got nan")
    if is_alignment(source):
        return _sequences(source, threshold, values)
    if source in DATA_NAMES:
        return _digits(source.partition(":")[2])
    rows = _numbers(_read_array(source, part), source)
    if threshold is not None:
        rows = (rows >= threshold).astype("float32")
    low, high = rows.min(), rows.max()
    if values is None:
        return rows
    if low < values.least or high > values.most:
        hint = "" if threshold is not None or values.whole else "; --threshold makes them 0 and 1"
        allowed = f"[{values.least:g}, {values.most:g}]"
        raise InputError(f"{source}: values must lie in {allowed}, got {low:g} to {high:g}{hint}")
    if values.whole and (rows != np.round(rows)).any():
        raise InputError(f"{source}: values must be whole numbers, of states from 0 to {values.most:g}, got others")
    return rows


def _numbers(rows: Any, source: str) -> Any:
    """Two axes of finite real numbers, or bad input."""
    if rows.dtype.kind not in "biuf":
        raise InputError(f"{source}: expected real numbers, got {rows.dtype}")
    if rows.ndim != 2:
        raise InputError(f"{source}: expected an array of shape (rows, features), got shape {rows.shape}")
    if 0 in rows.shape:
        raise InputError(f"{source}: expected at least one row and one feature, got shape {rows.shape}")
    if rows.dtype.kind == "f":
        bad = rows.size - int(np.count_nonzero(np.isfinite(rows)))
        if bad:
            raise InputError(f"{source}: values must be finite, got {bad} that are not (nan or infinity)")
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype("float32")
    if rows.dtype == np.bool_ or rows.max() > 1:
        return rows
    # models of bool are float32, which takes half the time of float64
    return rows.view(np.bool_) if rows.dtype == np.uint8 else rows.astype("float32")


def _read_array(source: str, part: str) -> Any:
    path, key = _path_and_key(source)
    if not path.is_file():
        names = " or ".join(DATA_NAMES)
        fault = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{source}: {fault} (data is a .npy or .npz file, or has the name {names})")
    with open(path, "rb") as file:
        if not file.read(len(_NPY)).startswith((_NPY, _ZIP)):
            hint = "rows of text become one by np.save(name, np.loadtxt(file, delimiter=','))"
            raise InputError(f"{source}: not a .npy or .npz file of numbers; {hint}")
        file.seek(0)
        try:
            check_claims(file)
            loaded = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"{source}: not a .npy or .npz file of numbers ({error})") from error
        if isinstance(loaded, np.ndarray):
            if key is not None:
                raise InputError(f"{source}: holds one array, which has no key {key!r}")
            return loaded
        with loaded:
            return _from_npz(loaded, key, source, part)


def _path_and_key(source: str) -> tuple[pathlib.Path, str | None]:
    name, colon, key = source.rpartition(":")
    keyed = bool(colon) and name.endswith(".npz")
    with input_errors():
        return local_path(name if keyed else source, "data"), key if keyed else None


def _from_npz(loaded: Any, key: str | None, source: str, part: str) -> Any:
    if key is None:
        wanted = {"train": ("train",), "valid": ("valid", "test", "train"), "test": ("test", "train")}[part]
        usual = [name for kind in wanted for name in _USUAL_KEYS[kind] if name in loaded.files]
        key = loaded.files[0] if len(loaded.files) == 1 else usual[0] if usual else None
    names = ", ".join(loaded.files) or "none"
    if key is None:
        raise InputError(f"{source}: choose one of its arrays with :key; it has {names}")
    if key not in loaded.files:
        raise InputError(f"{source}: has no array {key!r}; it has {names}")
    try:
        return loaded[key]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{source}: the array {key!r} is damaged or holds no numbers") from error


def on_library(rows: Any, name: str | None) -> Any:
    """Rows on a library: as they are without one."""
    return rows if name is None else asarray(rows, library(name))


def check_file(path: pathlib.Path, *suffixes: str) -> None:
    """Raise an error for a file that cannot be written: one of another suffix, or in no folder."""
    if suffixes and path.suffix not in suffixes:
        raise InputError(f"--out must end in {' or '.join(suffixes)}, got {path}")
    if not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {path} is a folder")


def side(features: int) -> int | None:
    """The side of a square picture with so many pixels, if there is one."""
    root = math.isqrt(features)
    return root if root * root == features else None


def is_alignment(source: str | pathlib.Path | None) -> bool:
    """Whether a file's name is that of an alignment, packed by gzip or not.

    Examples
    --------
    >>> is_alignment("family.fasta.gz"), is_alignment("rows.npy")
    (True, False)
    """
    return source is not None and str(source).lower().removesuffix(".gz").endswith(_ALIGNMENTS)


def _alignment(source: str, alphabet: Alphabet | None = None) -> Alignment:
    if not pathlib.Path(source).is_file():
        raise InputError(f"{source}: no such file")
    with input_errors():
        return read_fasta(source, alphabet)


def alphabet_in(source: str) -> Alphabet | None:
    """The alphabet that an alignment is written in; None of other data."""
    return _alignment(source).alphabet if is_alignment(source) else None


def _sequences(source: str, threshold: float | None, values: Values | None) -> Any:
    """The rows of an alignment."""
    if threshold is not None:
        raise InputError(f"--threshold is for numbers, and {source} holds sequences")
    states = int(values.most) + 1 if values is not None and values.whole else None
    if states not in _BY_STATES:
        kinds = " or ".join(f"categorical:{count}" for count in sorted(_BY_STATES, reverse=True))
        raise InputError(f"{source}: sequences are for visible units {kinds}, of proteins or of RNA and DNA")
    return _alignment(source, _BY_STATES[states]).states


def alphabet_of(model: Any, name: str | None) -> Alphabet | None:
    """The alphabet of a machine's sequences: of a name, or else the one with as many letters as a site has states."""
    found = _BY_STATES.get(getattr(model.state_.topology.units[0], "n_states", 0))
    if found is None or name is None:
        return found
    chosen = ALPHABETS[name]
    return chosen if chosen.size == found.size else found


def run_at(path: pathlib.Path) -> RunDirectory | None:
    """The run whose directory a path is; None for the path of a model."""
    if path.is_file() or (path / "zarr.json").is_file():  # a model, also one whose weights stay in a folder
        return None
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; `nbm-xp train` makes a model")
    with input_errors():
        return RunDirectory.open(path)


def notes_of(run: RunDirectory | None) -> dict[str, Any]:
    """What `nbm-xp train` noted of the data that a run learns."""
    found: dict[str, Any] = {} if run is None else run.configuration.get("notes", {})
    return found


def check_new_run(path: pathlib.Path) -> None:
    """Raise an error for a place where no new run can be."""
    check_place(path)
    if path.is_dir() and any(path.iterdir()):
        hint = f"`nbm-xp resume {path}` goes on with the run in it; else " if (path / "run.json").is_file() else ""
        raise InputError(f"--out: {path} is not empty: {hint}name another folder")


def check_place(path: pathlib.Path) -> None:
    """Raise an error for what cannot be a run's directory."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--out: {path} is a file, and a run needs a folder")
    if not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")


def read_model(path: pathlib.Path, name: str | None = None) -> Any:
    """The model that a path leads to, a model's or a run's, with its arrays in a library."""
    run = run_at(path)
    home = None if name is None or is_lazy(library(name)) else name
    if run is not None and run.kind != "train" and not run.has_model:
        raise InputError(f"{path}: a run of kind {run.kind} has no model")
    try:
        with input_errors():
            if run is None:
                return boltzmann.load(path, library=home)
            return runs.trained_model(path, home) if run.kind == "train" else run.load_model(home)
    except runs.RunError as error:
        raise InputError(str(error)) from error


def rows_for(model: Any, path: pathlib.Path, data: str, threshold: float | None, part: str) -> Any:
    """Rows for a model, which was found at a path."""
    rows = read_rows(data, threshold, part, values_of(model))
    if rows.shape[1] != model.n_features_in_:
        raise InputError(f"{data}: has {rows.shape[1]} features, but {path} has {model.n_features_in_}")
    return rows


def values_of(model: Any) -> Values | None:
    """The values that data can have for a model."""
    found: Values | None = model.state_.topology.units[0].within
    return found


def weights_of(model: Any) -> Any:
    """The weights of the first hidden layer, in host memory, of shape (hidden units, visible units)."""
    return to_numpy(model.components_) if hasattr(model, "components_") else to_numpy(model.coefs_[0]).T
