"""Input of the command: rows from files or by name, models, paths of runs; `InputError` if invalid."""

from __future__ import annotations

import contextlib
import math
import pathlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbm_xp import boltzmann, runs
from nbm_xp.boltzmann.model import Model
from nbm_xp.boltzmann.sequences import ALPHABETS, PROTEIN, RNA, Alignment, Alphabet, read_fasta
from nbm_xp.files import Place, local_copy, place_of
from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.rows import checked_rows, known_length
from nbm_xp.machines.units import BINARY, Values
from nbm_xp.namespace import asarray, get_namespace, is_lazy, to_numpy
from nbm_xp.runs import RunDirectory, RunError
from nbm_xp.runs.directory import check_new
from nbm_xp.storage.arrays import check_claims

from .output import InputError

DATA_NAMES = ("digits", "digits:train", "digits:test")
_USUAL_KEYS = {
    "train": ("X", "x_train", "X_train", "train.data", "train_data", "data", "train"),
    "valid": ("x_valid", "X_valid", "valid.data", "valid_data", "valid"),
    "test": ("x_test", "X_test", "test.data", "test_data", "test"),
}
_PARTS = {"train": ("train",), "valid": ("valid", "test", "train"), "test": ("test", "train")}
_ALIGNMENTS = (".fasta", ".fa", ".faa", ".fna", ".afa", ".a2m")
_BY_STATES = {alphabet.size: alphabet for alphabet in (PROTEIN, RNA)}  # DNA has the same states as RNA


@contextlib.contextmanager
def input_errors(*more: type[Exception]) -> Iterator[None]:
    """Turn ValueError, TypeError, ImportError and the exceptions in `more` into `InputError`."""
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError, ImportError, *more)
    try:
        yield
    except kinds as error:
        raise InputError(str(error)) from error


def library(name: str) -> Namespace:
    """Return the namespace of a library by name."""
    with input_errors():
        try:
            return get_namespace(name)
        except RuntimeError as error:  # no device, or no driver
            raise InputError(f"library {name!r} is installed, but cannot be used here: {error}") from error


def whole_numbers(text: str | None, option: str) -> list[int]:
    """Parse comma-separated integers."""
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise InputError(f"{option} must be whole numbers with commas between, got {text}") from error


def digits() -> tuple[Array, Array]:
    """Return scikit-learn's handwritten digits, 1,797 binarized images of 8 × 8 pixels, and their labels."""
    from sklearn.datasets import load_digits

    scans = load_digits()
    return (scans.data >= 8).astype("float32"), scans.target


def _digits(part: str) -> Array:
    """Return all images, or the training (80 %) or test (20 %) part of a split stratified by label."""
    from sklearn.model_selection import train_test_split

    scans, labels = digits()
    if not part:
        return scans
    train, test = train_test_split(scans, test_size=0.2, stratify=labels, random_state=0)
    return train if part == "train" else test


def absolute(source: str | None) -> str | None:
    """Return a source of data with an absolute path."""
    if source is None or source in DATA_NAMES:
        return source
    path, key = _path_and_key(source)
    return f"{path.resolve()}" + ("" if key is None else f":{key}")


def read_rows(
    source: str,
    threshold: float | None = None,
    part: str = "train",
    values: Values | None = BINARY.within,
    n_features: int | None = None,
    owner: str = "the model",
    missing: bool = False,
) -> Array:
    """Read and validate rows from a file or by name.

    Parameters
    ----------
    source : str
        A name (``digits``), an alignment, an .npy file, or an .npz file, followed by ``:key`` to select an array.
    threshold : float, optional
        Threshold of binarization: values greater or equal become 1, others 0.
    part : {"train", "valid", "test"}, optional
        Purpose of the rows, by which an array of an .npz file is selected among those with usual names. Without
        validation rows, the test rows are used.
    values : Values or None, optional
        Allowed values; None for any.
    n_features : int, optional
        Required number of features.
    owner : str, optional
        Object that requires `n_features`, for error messages.
    missing : bool, optional
        Whether values may be missing, NaN; they stay NaN with a threshold.

    Returns
    -------
    numpy.ndarray
        Rows as float32; float64 and bool are kept, and uint8 rows of 0 and 1 become bool.
    """
    if threshold is not None and math.isnan(threshold):
        raise InputError("--threshold must be a number, got nan")
    if is_alignment(source):
        rows = _sequences(source, threshold, values)
    else:
        rows = _digits(source.partition(":")[2]) if source in DATA_NAMES else _read_array(source, part)
    try:
        allowed = None if threshold is not None else values
        checked_rows(rows, n_features, name=source, within=allowed, clip=False, missing=missing, owner=owner)
        known_length(rows, source)
    except ValueError as error:
        hint = "; --threshold makes them 0 and 1" if ", got values from " in str(error) else ""
        raise InputError(f"{error}{hint}") from error
    if threshold is not None:
        return np.where(rows != rows, rows, rows >= threshold).astype("float32")
    if rows.dtype.kind == "f":
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype("float32")
    if rows.dtype == np.bool_ or rows.max() > 1:
        return rows
    # models of bool rows are float32, which takes half the time of float64
    return rows.view(np.bool_) if rows.dtype == np.uint8 else rows.astype("float32")


def _read_array(source: str, part: str) -> Array:
    path, key = _path_and_key(source)
    if not path.is_file():
        names = " or ".join(DATA_NAMES)
        fault = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{source}: {fault} (data is a .npy or .npz file, or has the name {names})")
    try:
        with local_copy(path) as copy, open(copy, "rb") as file:
            check_claims(file)
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                with loaded:
                    return loaded[_key_of(loaded.files, key, part, source)]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        hint = "rows of text become one by np.save(name, np.loadtxt(file, delimiter=','))"
        raise InputError(f"{source}: not a .npy or .npz file of numbers; {hint} ({error})") from error
    if key is not None:
        raise InputError(f"{source}: holds one array, which has no key {key!r}")
    return loaded


def _path_and_key(source: str) -> tuple[Place, str | None]:
    name, colon, key = source.rpartition(":")
    keyed = bool(colon) and name.endswith(".npz")
    with input_errors():
        return place_of(name if keyed else source, "data"), key if keyed else None


def _key_of(known: Sequence[str], key: str | None, part: str, source: str) -> str:
    """Return the name of an array in an .npz file: the given key, the only array, or a usual name for the part."""
    if key is None:
        usual = [name for kind in _PARTS[part] for name in _USUAL_KEYS[kind] if name in known]
        key = known[0] if len(known) == 1 else usual[0] if usual else None
    names = ", ".join(known) or "none"
    if key is None:
        raise InputError(f"{source}: choose one of its arrays with :key; it has {names}")
    if key not in known:
        raise InputError(f"{source}: has no array {key!r}; it has {names}")
    return key


def on_library(rows: Array, name: str | None) -> Array:
    """Convert rows to a library's arrays, if a library is given."""
    return rows if name is None else asarray(rows, library(name))


def check_file(path: Place) -> None:
    """Raise `InputError` if a file cannot be written at a path."""
    if isinstance(path, pathlib.Path) and not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {path} is a folder")


def side(features: int) -> int | None:
    """Return the side of a square image with this number of pixels, or None if it is not a square number."""
    root = math.isqrt(features)
    return root if root * root == features else None


def is_alignment(source: str | Place | None) -> bool:
    """Return whether a file name has an ending of alignments, with or without ``.gz``.

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
    """Return the alphabet of an alignment; None for other data."""
    return _alignment(source).alphabet if is_alignment(source) else None


def _sequences(source: str, threshold: float | None, values: Values | None) -> Array:
    """Read an alignment as rows of states."""
    if threshold is not None:
        raise InputError(f"--threshold is for numbers, and {source} holds sequences")
    states = int(values.most) + 1 if values is not None and values.whole else None
    if states not in _BY_STATES:
        kinds = " or ".join(f"categorical:{count}" for count in sorted(_BY_STATES, reverse=True))
        raise InputError(f"{source}: sequences are for visible units {kinds}, of proteins or of RNA and DNA")
    return _alignment(source, _BY_STATES[states]).states


def alphabet_of(model: Model, name: str | None) -> Alphabet | None:
    """Return the named alphabet if its size is the number of states per site, else the default one of that size."""
    found = _BY_STATES.get(getattr(model.state_.topology.units[0], "n_states", 0))
    if found is None or name is None:
        return found
    chosen = ALPHABETS[name]
    return chosen if chosen.size == found.size else found


def run_at(path: Place) -> RunDirectory | None:
    """Return the run whose directory is at a path; None for a model."""
    if path.is_file() or (path / "zarr.json").is_file():  # a model, in a file or in a folder of arrays
        return None
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; `nbm-xp train` makes a model")
    with input_errors():
        return RunDirectory.open(path)


def notes_of(run: RunDirectory | None) -> dict[str, Any]:
    """Return the description of the training data that `nbm-xp train` stored in a run."""
    found: dict[str, Any] = {} if run is None else run.configuration.get("notes", {})
    return found


def check_new_run(path: Place) -> None:
    """Raise `InputError` if a new run cannot be created at a path."""
    try:
        check_new(path)
    except (FileExistsError, ValueError) as error:
        raise InputError(f"--out: {error}") from error
    if isinstance(path, pathlib.Path) and not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")


def read_model(path: Place, name: str | None = None) -> Model:
    """Read the model at the path of a model or of a run, with its arrays in a library."""
    run = run_at(path)
    home = None if name is None or is_lazy(library(name)) else name
    if run is not None and run.kind != "train" and not run.has_model:
        raise InputError(f"{path}: a run of kind {run.kind} has no model")
    with input_errors(RunError):
        if run is None:
            found = boltzmann.load(path, library=home)
        else:
            found = runs.trained_model(path, home) if run.kind == "train" else run.load_model(home)
    model: Model = found
    return model


def rows_for(model: Model, path: Place, data: str, threshold: float | None, part: str, missing: bool = False) -> Array:
    """Read rows for the model at a path."""
    return read_rows(data, threshold, part, values_of(model), model.n_features_in_, str(path), missing)


def values_of(model: Model) -> Values | None:
    """Return the allowed values of a model's visible units; None for any."""
    found: Values | None = model.state_.topology.units[0].within
    return found


def weights_of(model: Model) -> Array:
    """Return the weights of the first hidden layer, in host memory, of shape (hidden units, visible units)."""
    return to_numpy(model.components_) if hasattr(model, "components_") else to_numpy(model.coefs_[0]).T
