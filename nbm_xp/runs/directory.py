"""The directory of a run: its configuration, what it began with, its log, its checkpoints and its results.

Contract: a directory is there whole or not at all; ``run.json`` says what the run is, so that it can be resumed years
later with what it began with alone; two processes never work on one run at a time.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from nbm_xp import boltzmann
from nbm_xp.boltzmann.model import Model
from nbm_xp.files import (
    digest_of_file,
    digest_of_record,
    leftovers,
    local_path,
    read_record,
    replacing_folder,
    sealed,
    sweep,
    unsealed,
    write_json,
)
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.package import __version__

__all__ = ["RunDirectory", "RunError", "as_json", "check_new", "disk_errors", "resuming"]

FORMAT = "nbm_xp.run 2"

_ABOUT, _LOCK, _LOG, _MODEL = "run.json", "run.lock", "run.log", "model.safetensors"
_PACKAGES = ("numpy", "dask", "distributed", "zarr", "cupy", "torch", "jax")
_NEW = 60.0  # seconds
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunError(RuntimeError):
    """A run that cannot begin or go on, for a reason outside the program: the message says which, and what to do."""


def resuming(folder: pathlib.Path) -> str:
    """How a run is resumed, for messages."""
    return f"runs.resume({os.fspath(folder)!r}) or `nbm-xp resume {folder}`"


@contextlib.contextmanager
def disk_errors(folder: pathlib.Path) -> Iterator[None]:
    """Raise `RunError` in place of the system's error for a full disk, or a file longer than is allowed."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise RunError(
            f"the disk of {folder} is full, or the file would be longer than is allowed ({error}): what was "
            f"reported done is whole. Make room, and resume the run by {resuming(folder)}"
        ) from error


class RunDirectory:
    """The directory of one run.

    `create` makes one, `resume` locks one to go on with it, and `open` reads one. It holds

    - ``run.json``: the format, the kind of run, its configuration and seed, the versions of the packages that it began
      with, the time it was created, the class of its model, the digests of the files that it began with, and its own;
    - ``run.log``: a line, with its time, for whatever happened;
    - the model's copy, where the run began with one;
    - ``checkpoints/``: how far each part of the run has come, while it is not finished;
    - the results, under names of their own.

    Attributes
    ----------
    path : pathlib.Path
    kind : str
        ``"sample"``, ``"evaluate"``, ``"train"``, ``"graph"`` or ``"transition"``.
    configuration : dict
        The arguments of the run, as JSON has them.
    seed : int
    versions : dict of str
        The versions of the packages that the run began with.
    created : str
        When, in UTC.
    identity : str
        A digest of kind, configuration and seed, which the run's checkpoints bear.
    result_identity : str
        The same without `checkpoint_every`, which results do not depend on; results bear it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "first"
    >>> with RunDirectory.create(place, "train", {"n_iter": 3}, random_state=7) as run:
    ...     run.log("epoch 1 is done")
    >>> with RunDirectory.resume(place) as run:
    ...     run.seed, run.kind, run.configuration
    (7, 'train', {'n_iter': 3})
    """

    def __init__(self, path: pathlib.Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.kind: str = about["kind"]
        self.configuration: dict[str, Any] = about["configuration"]
        self.seed = int(about["seed"])
        self.versions: dict[str, str] = about["versions"]
        self.created: str = about["created"]
        self._model: str | None = about["model"]
        self._files: Mapping[str, str] = about["files"]
        for name in ("configuration", "versions", "files"):
            if not isinstance(about[name], Mapping):
                raise TypeError(f"{name} must be a mapping, got {about[name]!r}")
        if any(pathlib.PurePath(name).name != name for name in self._files):
            raise TypeError(f"files must be digests by the names of files, got {self._files!r}")
        asked = {name: about[name] for name in ("kind", "configuration", "seed")}
        counts = {name: value for name, value in self.configuration.items() if name != "checkpoint_every"}
        self.identity, self.result_identity = map(digest_of_record, (asked, asked | {"configuration": counts}))
        self._lock_file: Any = None

    # Creating, resuming, opening

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        kind: str,
        configuration: Mapping[str, Any],
        *,
        random_state: Any = None,
        model: Any = None,
        save: Callable[[pathlib.Path], object] | None = None,
    ) -> Self:
        """Make a run's directory; it is locked for this process until `close`.

        Parameters
        ----------
        path : path-like
            One that does not exist, or is empty.
        kind : str
        configuration : mapping
            What the result depends on: names, and values that JSON can hold.
        random_state : int, None, or generator, optional
            The seed; None draws one from the system.
        model : model of `nbm_xp.boltzmann`, optional
            Copied into the directory; its `save` and `load` are used.
        save : callable, optional
            Called with the folder that is to become the directory, to write more into it.

        Returns
        -------
        RunDirectory

        Raises
        ------
        FileExistsError
            If something is there already.
        RunError
            If another process makes the same directory at this moment, or the disk is full.
        """
        place = check_new(path)
        about = {
            "format": FORMAT,
            "kind": kind,
            "configuration": as_json(configuration),
            "seed": entropy_of(random_state),
            "versions": _versions(),
            "created": _now(),
            "model": None if model is None else type(model).__name__,
        }
        with disk_errors(place):
            lock_file = _make(place, about, model, save)
        run = cls(place, about)
        run._lock_file = lock_file
        run.log(f"{kind} begun")
        return run

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Open a run's directory to go on with the run; it is locked for this process until `close`.

        Errors are those of `open`, and `RunError` if another process works on the run.
        """
        run = cls.open(path)
        try:
            run._lock_file = _locked(run.path)
        except OSError:
            raise RunError(f"another process works on the run in {run.path}: wait for it, or end it") from None
        count = sweep(run.path)
        run.log("resumed" + (f", {count} unfinished files removed" if count else ""))
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str], *kinds: str) -> Self:
        """Read a run's directory, without locking it, and verify the files that it began with.

        Parameters
        ----------
        path : path-like
        *kinds : str
            The kinds of run of which it must be one.

        Raises
        ------
        FileNotFoundError
            If there is none.
        ValueError
            If it is no run's directory, or of another kind or format, or what it began with is damaged or exchanged.
        """
        run = cls.read(path)
        if kinds and run.kind not in kinds:
            raise ValueError(f"{run.path} holds a run of {run.kind!r}, not of {' or '.join(map(repr, kinds))}")
        for name in run._files:
            run._verify(name)
        return run

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read ``run.json`` alone; the files that the run began with are not verified."""
        place = local_path(path, "directory")
        if not (place / _ABOUT).is_file():
            if not place.exists():
                raise FileNotFoundError(f"there is no run's directory {place}")
            raise ValueError(f"{place} is no run's directory: it has no {_ABOUT}")
        about = read_record(place / _ABOUT)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            found = about.get("format") if isinstance(about, dict) else about
            raise ValueError(f"{place / _ABOUT} must have the format {FORMAT!r}, got {found!r}")
        try:
            run = cls(place, about)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{place / _ABOUT} is damaged: {error!r}") from error
        unsealed(about, place / _ABOUT)
        return run

    def _verify(self, name: str) -> None:
        """Raise `ValueError` if a file is not the one that the run began with."""
        if digest_of_file(self.path / name) != self._files[name]:
            raise ValueError(f"{self.path / name} is not the file that the run began with: it is damaged or exchanged")

    # What is in it

    @property
    def checkpoints(self) -> pathlib.Path:
        """The folder of the checkpoints, made when first asked for."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def has_model(self) -> bool:
        """Whether the run began with a model, whose copy it holds."""
        return self._model is not None

    def load_model(self, library: str | None = None) -> Model:
        """The model that the run began with.

        Parameters
        ----------
        library : str, optional
            The library of its arrays; NumPy by default.
        """
        if self._model is None:
            raise ValueError(f"{self.path} holds no model: the run began without one")
        self._verify(_MODEL)
        return boltzmann.load(self.path / _MODEL, library)

    def log(self, message: str) -> None:
        """Append a line to ``run.log``, with its time."""
        with open(self.path / _LOG, "a", encoding="utf-8") as file:
            file.write(f"{_now()} {' '.join(message.splitlines())}\n")

    def close(self) -> None:
        """Let other processes work on the run."""
        if self._lock_file is not None:
            self._lock_file.close()
            self._lock_file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r}, kind={self.kind!r}, seed={self.seed})"


def check_new(path: str | os.PathLike[str]) -> pathlib.Path:
    """The place of a new run; `FileExistsError` unless it is an empty folder or nothing."""
    place = local_path(path, "directory")
    if place.exists() and not place.is_dir():
        raise FileExistsError(f"{place} is a file, and a run needs a directory")
    if place.is_dir() and any(place.iterdir()):
        how = f"resume the run in it by {resuming(place)}, or " if (place / _ABOUT).is_file() else ""
        raise FileExistsError(f"{place} is not empty: {how}name another directory")
    return place


def _make(place: pathlib.Path, about: dict[str, Any], model: Any, save: Callable[[pathlib.Path], object] | None) -> Any:
    """Make a directory beside its place, and rename it when all that it begins with is on disk; its open lock file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep_beside(place)
    lock_file: Any = None
    try:
        with replacing_folder(place) as part:
            part.mkdir()
            lock_file = _locked(part)
            if model is not None:
                model.save(part / _MODEL)
            if save is not None:
                save(part)
            files = sorted(file for file in part.iterdir() if file.is_file() and file.name != _LOCK)
            about["files"] = {file.name: digest_of_file(file) for file in files}
            write_json(part / _ABOUT, sealed(about))
            with contextlib.suppress(FileNotFoundError):
                place.rmdir()  # an empty one
    except BaseException as error:
        if lock_file is not None:
            lock_file.close()
        if not isinstance(error, OSError) or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise RunError(f"another process has just begun a run in {place}: wait for it, or name another") from error
    return lock_file


def _locked(folder: pathlib.Path, mode: str = "a") -> Any:
    """The file that locks a run as long as it is open; OSError where another process has it.

    Where the system has no such locks, nothing is locked.
    """
    file = open(folder / _LOCK, mode)  # noqa: SIM115  (it stays open as long as the lock is to hold)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ModuleNotFoundError:
        pass
    except OSError:
        file.close()
        raise
    return file


def _sweep_beside(place: pathlib.Path) -> None:
    """Remove directories that were being made here when their processes died: nobody locks them."""
    for part in leftovers(place):
        with contextlib.suppress(OSError):
            # One without a lock is so new that its process has not come to it, or it died right then.
            if (part / _LOCK).exists():
                _locked(part, "r+").close()
            elif time.time() - part.stat().st_mtime < _NEW:
                continue
            shutil.rmtree(part)


def as_json(value: Any) -> Any:
    """A configuration as JSON gives it back; `TypeError` for what JSON does not have."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    """The nearest that JSON has to an array, or one of its numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a configuration must hold numbers, strings, lists and dictionaries of such, got {value!r}")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "nbm_xp": __version__}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
