"""What the command reads: data from .npy and .npz files or by name, libraries; refused in one clear line."""

from __future__ import annotations

import contextlib
import math
import pathlib
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.files import local_path
from nbm_xp.machines.units import BINARY, Values
from nbm_xp.namespace import asarray, get_namespace
from nbm_xp.storage.arrays import check_claims

from .failing import InputError

__all__ = ["DATA_NAMES", "absolute", "checked_out", "digits", "library", "on_library", "read_data", "saying", "side"]

_NPY, _ZIP = b"\x93NUMPY", b"PK"  # what files of these kinds begin with
DATA_NAMES = ("digits", "digits:train", "digits:test")
_USUAL_KEYS = {
    "train": ("X", "x_train", "X_train", "train.data", "train_data", "data", "train"),
    "valid": ("x_valid", "X_valid", "valid.data", "valid_data", "valid"),
    "test": ("x_test", "X_test", "test.data", "test_data", "test"),
}


@contextlib.contextmanager
def saying(what: str | None = None) -> Iterator[None]:
    """Turn the library's refusals of a value or a type into bad input, with the argument's source in front."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"{what}: {error}" if what else str(error)) from error


def library(name: str) -> Any:
    """A library's namespace by name."""
    with saying():
        try:
            return get_namespace(name)
        except RuntimeError as error:  # no device, or no driver
            raise InputError(f"library {name!r} is installed, but cannot be used here: {error}") from error


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


def read_data(
    source: str,
    threshold: float | None = None,
    part: str = "train",
    *,
    within: Values | None = BINARY.within,
) -> Any:
    """Rows of values from a file or by name.

    Parameters
    ----------
    source : str
        A name (``digits``), a .npy file, or an .npz file, with ``:key`` after it to choose one of its arrays.
    threshold : float, optional
        Make values from it upwards 1 and those below 0.
    part : {"train", "valid", "test"}, optional
        What the rows are for: which array to take from an .npz file that has several with usual names. Where there
        are none to validate with, those to test with are.
    within : Values or None, optional
        The values that are allowed; None for all.

    Returns
    -------
    numpy.ndarray
        float32 (float64 where the file has that, bool as it is and for bytes of 0 and 1), checked.

    Raises
    ------
    InputError
        If there is no such file, or what is in it is not that.
    """
    if threshold is not None and math.isnan(threshold):
        raise InputError("--threshold must be a number, got nan")
    if source in DATA_NAMES:
        return _digits(source.partition(":")[2])
    rows = _numbers(_read_array(source, part), source)
    if threshold is not None:
        rows = (rows >= threshold).astype("float32")
    low, high = rows.min(), rows.max()
    if within is None:
        return rows
    if low < within.least or high > within.most:
        hint = "" if threshold is not None or within.whole else "; --threshold makes them 0 and 1"
        allowed = f"[{within.least:g}, {within.most:g}]"
        raise InputError(f"{source}: values must lie in {allowed}, got {low:g} to {high:g}{hint}")
    if within.whole and (rows != np.round(rows)).any():
        raise InputError(f"{source}: values must be whole numbers, of states from 0 to {within.most:g}, got others")
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
    with saying():
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


def checked_out(path: pathlib.Path, *suffixes: str) -> pathlib.Path:
    """A file to write: with one of these suffixes, in a folder that exists."""
    if suffixes and path.suffix not in suffixes:
        raise InputError(f"--out must end in {' or '.join(suffixes)}, got {path}")
    if not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {path} is a folder")
    return path


def side(features: int) -> int | None:
    """The side of a square picture with so many pixels, if there is one."""
    root = math.isqrt(features)
    return root if root * root == features else None
