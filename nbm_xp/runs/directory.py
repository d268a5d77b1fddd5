"""The directory of a run: its configuration, inputs, log, checkpoints and results.

Contract: a directory is created completely or not at all. ``run.json`` and the inputs stored beside it suffice to
resume the run at any later time. Two processes never work on one run at the same time.

At an address, where nothing can be renamed, the objects of a run are created on condition that there are none,
``run.json`` last: there is a run if it is there.
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
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from nbm_xp import boltzmann
from nbm_xp.boltzmann.model import Model
from nbm_xp.files import Place, leftovers, place_of, remove_folder, replacing_folder, sweep, write_json
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.objects import ObjectPath, StoreError, together
from nbm_xp.package import __version__
from nbm_xp.records import digest_of_file, digest_of_record, read_record, sealed, unsealed

from .locks import Lease, locked

FORMAT = "nbm_xp.run 2"

_ABOUT, _LOCK, _LOG, _MODEL = "run.json", "run.lock", "run.log", "model.safetensors"
_PACKAGES = ("numpy", "dask", "distributed", "zarr", "cupy", "torch", "jax")
_NEW = 60.0  # seconds
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunError(RuntimeError):
    """Raised if a run cannot start or continue for an external reason; the message gives the reason and the remedy."""


def resuming(folder: Place) -> str:
    """Return the ways to resume a run, for messages."""
    return f"runs.resume({os.fspath(folder)!r}) or `nbm-xp resume {folder}`"


@contextlib.contextmanager
def disk_errors(folder: Place, is_new: bool = False) -> Iterator[None]:
    """Raise `RunError` in place of an error of a store, a full disk or a file above the allowed size."""
    try:
        yield
    except StoreError as error:
        hint = f"What was reported done is whole; resume the run by {resuming(folder)}"
        hint = "No run was begun" if is_new or error.errno == errno.ENOTSUP else hint
        raise RunError(f"{error.filename}: {error.strerror}. {hint}") from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise RunError(
            f"the disk of {folder} is full, or the file would be longer than is allowed ({error}): what was "
            f"reported done is whole. Make room, and resume the run by {resuming(folder)}"
        ) from error


class RunDirectory:
    """The directory of one run.

    `create` makes a new directory, `resume` opens and locks it to continue the run, and `open` reads it. It holds

    - ``run.json``: the format, the kind of run, its configuration and seed, the versions of packages at its start, the
      time of its creation, the class of its model, the digests of its input files, and the digest of all these;
    - ``run.log``: the events of the run, one line each, with the time; at an address, an object for each line;
    - a copy of the model, if the run has one;
    - ``checkpoints/``: the state of each part of the run, until it is finished;
    - the results, in files and folders whose names depend on the kind of run.

    Attributes
    ----------
    path : pathlib.Path, or ObjectPath at an address
        The directory.
    kind : str
        ``"sample"``, ``"evaluate"``, ``"train"``, ``"graph"`` or ``"transition"``.
    configuration : dict
        Arguments of the run, as JSON values.
    seed : int
        Seed of the run.
    versions : dict of str
        Versions of Python and of packages at the start of the run.
    created : str
        Time of creation, in UTC, in ISO format.
    identity : str
        Digest of kind, configuration and seed, stored in the run's checkpoints.
    result_identity : str
        The same without `checkpoint_every`, which results do not depend on; stored in the results.

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

    def __init__(self, path: Place, about: Mapping[str, Any]) -> None:
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
        self._lock: Any = None

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
        save: Callable[[Place], object] | None = None,
    ) -> Self:
        """Create a run's directory, locked for this process until `close`.

        Parameters
        ----------
        path : path-like
            The directory, or an address of an object store, which must not exist or be empty.
        kind : str
            Kind of run.
        configuration : mapping
            Settings that the result depends on, by name; values must be representable in JSON, or functions that
            return such values.
        random_state : int, None, or generator, optional
            Seed. None draws a seed from the operating system.
        model : model of `nbm_xp.boltzmann`, optional
            Model to store in the directory.
        save : callable, optional
            Called with the new folder, before it gets its final name, to write further files into it.

        Returns
        -------
        RunDirectory

        Raises
        ------
        FileExistsError
            If the directory is not empty.
        RunError
            If another process creates the same directory at the same time, or the disk is full.
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
        with disk_errors(place, is_new=True):
            inputs = about, model, save
            lock = _make_objects(place, *inputs) if isinstance(place, ObjectPath) else _make(place, *inputs)
        run = cls(place, about)
        run._lock = lock
        return run._begun(f"{kind} begun")

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Open a run's directory to continue the run; it is locked for this process until `close`.

        Raises the errors of `open`, and `RunError` if another process works on the run.
        """
        run = cls.open(path)
        with disk_errors(run.path), _another(run.path):
            lock = run.path / _LOCK
            run._lock = Lease(lock) if isinstance(lock, ObjectPath) else locked(lock)
        count = sweep(run.path)
        return run._begun("resumed" + (f", {count} unfinished files removed" if count else ""))

    def _begun(self, message: str) -> Self:
        """Append a line to the log, and return the run; release the lock if that fails."""
        try:
            self.log(message)
        except BaseException:
            self.close()
            raise
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str], *kinds: str) -> Self:
        """Read a run's directory without locking it, and verify its input files.

        Parameters
        ----------
        path : path-like
            The directory.
        *kinds : str
            Accepted kinds of run. Defaults to all.

        Raises
        ------
        FileNotFoundError
            If the directory does not exist.
        ValueError
            If it is not a run's directory, has another kind or format, or an input file is damaged or replaced.
        """
        run = cls.read(path)
        if kinds and run.kind not in kinds:
            raise ValueError(f"{run.path} holds a run of {run.kind!r}, not of {' or '.join(map(repr, kinds))}")
        together(run._verify, run._files, run.path)
        return run

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read ``run.json`` only, without verifying the input files."""
        place = place_of(path, "directory")
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
        """Raise `ValueError` if an input file has changed."""
        if digest_of_file(self.path / name) != self._files[name]:
            raise ValueError(f"{self.path / name} is not the file that the run began with: it is damaged or exchanged")

    # Contents

    @property
    def checkpoints(self) -> Place:
        """The folder of the checkpoints, created if it does not exist."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def has_model(self) -> bool:
        """Whether the directory holds a copy of the model that the run started with."""
        return self._model is not None

    def load_model(self, library: str | None = None) -> Model:
        """Return the model that the run started with.

        Parameters
        ----------
        library : str, optional
            Library of its arrays. Defaults to NumPy.
        """
        if self._model is None:
            raise ValueError(f"{self.path} holds no model: the run began without one")
        self._verify(_MODEL)
        return boltzmann.load(self.path / _MODEL, library)

    def log(self, message: str) -> None:
        """Append a line with the current time to ``run.log``."""
        line, place = f"{_now()} {' '.join(message.splitlines())}\n", self.path / _LOG
        with disk_errors(self.path):
            if isinstance(place, ObjectPath):
                (place / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}").write_bytes(line.encode())
            else:
                with open(place, "a", encoding="utf-8") as file:
                    file.write(line)

    @property
    def events(self) -> list[str]:
        """The lines of ``run.log``."""
        place = self.path / _LOG
        if isinstance(place, ObjectPath):
            return [line.read_bytes().decode().rstrip() for line in place.iterdir()]
        return place.read_text(encoding="utf-8").splitlines() if place.is_file() else []

    def check_lock(self) -> None:
        """Raise `RunError` if another process has taken over the run, as it may if this one was suspended."""
        if isinstance(self._lock, Lease):
            with _another(self.path):
                self._lock.check()

    def close(self) -> None:
        """Release the lock, so that other processes can work on the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r}, kind={self.kind!r}, seed={self.seed})"


def check_new(path: str | os.PathLike[str]) -> Place:
    """Return the path of a new run's directory; raise `FileExistsError` if it exists and is not an empty folder."""
    place = place_of(path, "directory")
    with disk_errors(place, is_new=True):
        if place.exists() and not place.is_dir():
            raise FileExistsError(f"{place} is a file, and a run needs a directory")
        if place.is_dir() and any(place.iterdir()):
            how = f"resume the run in it by {resuming(place)}, or " if (place / _ABOUT).is_file() else ""
            raise FileExistsError(f"{place} is not empty: {how}name another directory")
    return place


@contextlib.contextmanager
def _another(place: Place) -> Iterator[None]:
    """Raise `RunError` in place of the error of a lock that another process holds."""
    try:
        yield
    except StoreError:
        raise
    except OSError:
        raise RunError(f"another process works on the run in {place}: wait for it, or end it") from None


def _make_objects(place: ObjectPath, about: dict[str, Any], model: Any, save: Callable[[Place], object] | None) -> Any:
    """Lock an address, and create the objects of a run, ``run.json`` last; return the lock."""
    try:
        lock = Lease(place / _LOCK, is_new=True)
    except BlockingIOError as error:
        raise RunError(f"another process has just begun a run in {place}: wait for it, or name another") from error
    try:
        _write_inputs(place, about, model, save)
    except BaseException:
        lock.close()
        remove_folder(place)
        raise
    return lock


def _write_inputs(place: Place, about: dict[str, Any], model: Any, save: Callable[[Place], object] | None) -> None:
    """Write the inputs of a run and, last, ``run.json``."""
    if model is not None:
        model.save(place / _MODEL)
    if save is not None:
        save(place)
    found = sorted((file for file in place.iterdir() if file.name != _LOCK), key=str)
    digests = together(lambda file: digest_of_file(file) if file.is_file() else None, found, place)
    about["files"] = {file.name: digest for file, digest in zip(found, digests, strict=True) if digest}
    write_json(place / _ABOUT, sealed(about))


def _make(place: pathlib.Path, about: dict[str, Any], model: Any, save: Callable[[Place], object] | None) -> Any:
    """Create a directory under a temporary name, rename it when its files are on disk; return the open lock file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep_beside(place)
    with contextlib.ExitStack() as opened:
        try:
            with replacing_folder(place) as part:
                part.mkdir()
                lock_file = opened.enter_context(locked(part / _LOCK))
                _write_inputs(part, about, model, save)
                with contextlib.suppress(FileNotFoundError):
                    place.rmdir()  # an empty one
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise RunError(f"another process has just begun a run in {place}: wait for it, or name another") from error
        opened.pop_all()  # the lock is held until the run is closed
    return lock_file


def _sweep_beside(place: pathlib.Path) -> None:
    """Remove unfinished directories of processes that died: they are not locked."""
    for part in leftovers(place):
        with contextlib.suppress(OSError):
            # A directory without a lock file is either brand-new, or its process died before creating the file.
            if (part / _LOCK).exists():
                locked(part / _LOCK, "r+").close()
            elif time.time() - part.stat().st_mtime < _NEW:
                continue
            shutil.rmtree(part)


def as_json(value: Any) -> Any:
    """Return a configuration after a round trip through JSON; raise `TypeError` for values without a JSON form."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    """Convert an array, or a scalar of an array, to a JSON value; call a function for its result."""
    if callable(value):
        return value()
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
