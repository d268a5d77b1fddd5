"""A run's directory: what was asked for, with what, what happened, and what came of it.

Contract: a directory is there whole or not at all; it says of itself what it is, so that a run
can go on years later, and goes on only as what it is, with what it began with; two processes never work on one run at a
time.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import pathlib
import platform
from collections.abc import Callable, Mapping
from typing import Any, Self

from nbm_xp import boltzmann
from nbm_xp.files import digest_of_file, digest_of_record, local_path, read_record, sweep, unsealed
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace.version import __version__

from .asked import as_json, differences
from .failing import OtherRunError, Parameter, RunError, needing_room
from .making import ABOUT, locked, make

__all__ = ["RunDirectory"]

FORMAT = "nbm_xp.run 1"

_LOG = "run.log"
_PACKAGES = ("numpy", "dask", "distributed", "zarr", "cupy", "torch", "jax")


class RunDirectory:
    """The directory of one run.

    Made by `begin`, which makes a directory or goes on with one, by `resume`, which goes on with whatever run there is,
    or by `open`, which looks at one. It holds

    - ``run.json``: the format, the kind of run, its configuration, its seed, the versions of the packages that it began
      with, the time it was created, what class of model it holds, the digests of the files that it began with, and
      its own;
    - ``run.log``: a line, with its time, for whatever happened;
    - the model's copy, where the run began with one;
    - ``checkpoints/``: where each part of the run is, while it is not finished;
    - the results, under names of their own.

    Attributes
    ----------
    path : pathlib.Path
    kind : str
        What was run: ``"sample"``, ``"evaluate"``, ``"train"``.
    configuration : dict
        What the result depends on, as JSON has it.
    seed : int
    versions : dict of str
        The versions of the packages that the run began with.
    created : str
        When, in UTC.
    identity : str
        What tells the run from all that were asked for otherwise: a digest of its kind, configuration and seed. Its
        checkpoints bear it.
    result_identity : str
        The same without how often there were checkpoints, which results do not depend on. Results bear it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "first"
    >>> with RunDirectory.begin(place, "train", {"n_iter": 3}, seed=7) as run:
    ...     run.log("pass 1 is done")
    >>> with RunDirectory.begin(place, "train", {"n_iter": 3}, resume=True) as run:
    ...     run.seed, run.kind
    (7, 'train')
    >>> RunDirectory.begin(place, "train", {"n_iter": 4}, resume=True)
    Traceback (most recent call last):
    ...
    nbm_xp.runs.failing.OtherRunError: ...first holds another run: n_iter is 3 there, and 4 was asked for
    """

    path: pathlib.Path
    kind: str
    configuration: dict[str, Any]
    seed: int
    versions: dict[str, str]
    created: str
    identity: str
    result_identity: str

    def __init__(self, path: pathlib.Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.kind = about["kind"]
        self.configuration = about["configuration"]
        self.seed = int(about["seed"])
        self.versions = about["versions"]
        self.created = about["created"]
        self._model = about["model"]
        for name in ("configuration", "versions", *(("model",) if self._model is not None else ())):
            if not isinstance(about[name], Mapping):
                raise TypeError(f"{name} must be a mapping, got {about[name]!r}")
        if self._model is not None and not {"class", "file"} <= self._model.keys():
            raise TypeError(f"model must have a class and a file, got {self._model!r}")
        self._files = about["files"]
        if not isinstance(self._files, Mapping) or any(pathlib.PurePath(name).name != name for name in self._files):
            raise TypeError(f"files must be digests by the names of files, got {self._files!r}")
        asked = {"kind": self.kind, "configuration": self.configuration, "seed": self.seed}
        counts = {name: value for name, value in self.configuration.items() if name != "checkpoint_every"}
        self.identity = digest_of_record(asked)
        self.result_identity = digest_of_record(asked | {"configuration": counts})
        self._locked: Any = None

    # How one comes about

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        kind: str,
        configuration: Mapping[str, Any],
        *,
        seed: Any = None,
        model: Any = None,
        resume: bool = False,
        also: Callable[[pathlib.Path], object] | None = None,
    ) -> Self:
        """Make a run's directory, or go on with it; it is locked for this process until `close`.

        Parameters
        ----------
        path : path-like
            The directory; with `resume` one that may exist, else one that must not, or be empty.
        kind : str
        configuration : mapping
            What the result depends on: names, and values that JSON can tell.
        seed : int, None, or generator, optional
            None takes the seed of the run to go on with, or one that nobody can foresee.
        model : model of `nbm_xp.boltzmann`, optional
            Copied into a new directory; its `save` and `load` are used.
        resume : bool, optional
            Go on with the run if there is one, else begin it.
        also : callable, optional
            Called with the folder that is to become a new run's directory, to write more into it.

        Returns
        -------
        RunDirectory

        Raises
        ------
        FileExistsError
            If something is there already and `resume` is False.
        ValueError
            If there is another run: of another kind, seed or configuration. The message says what differs.
        RunError
            If another process works on the run.
        """
        place = local_path(path, "directory")
        wanted = as_json(configuration)
        if place.exists() and not place.is_dir():
            raise FileExistsError(f"{place} is a file, and a run needs a directory")
        if place.is_dir() and any(place.iterdir()):
            if not resume:
                raise FileExistsError(f"{place} is not empty: go on with the run in it by resume=True, or name another")
            run = cls.open(place)
            run._same(kind, wanted, None if seed is None else _seed(seed))
            return run._going_on()
        about = {
            "format": FORMAT,
            "kind": kind,
            "configuration": wanted,
            "seed": _seed(seed),
            "versions": _versions(),
            "created": _now(),
            "model": None if model is None else {"class": type(model).__name__, "file": "model.safetensors"},
        }
        with needing_room(place):
            held = make(place, about, model, also)
        run = cls(place, about)
        run._locked = held
        run.log(f"{kind} begun")
        return run

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Go on with a run, whatever it is; it is locked for this process until `close`.

        Raises
        ------
        FileNotFoundError, ValueError
            As `open`.
        RunError
            If another process works on the run.
        """
        return cls.open(path)._going_on()

    def _going_on(self) -> Self:
        self._lock()
        left = sweep(self.path)
        self.log("going on" + (f", {left} unfinished files swept away" if left else ""))
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str], kind: str | None = None) -> Self:
        """Look at a run's directory, without locking it; what it began with must be there as it was.

        Parameters
        ----------
        path : path-like
        kind : str, optional
            What kind of run it must be.

        Raises
        ------
        FileNotFoundError
            If there is none.
        ValueError
            If it is no run's directory, or of another kind or format, or what it began with is damaged or exchanged.
        """
        run = cls.read(path)
        if kind is not None and run.kind != kind:
            raise ValueError(f"{run.path} holds a run of {run.kind!r}, not of {kind!r}")
        for name in run._files:
            run._check(name)
        return run

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """What a run's directory says of itself; the files that it began with are not looked at.

        Raises
        ------
        FileNotFoundError, ValueError
            As `open`.
        """
        place = local_path(path, "directory")
        if not (place / ABOUT).is_file():
            if not place.exists():
                raise FileNotFoundError(f"there is no run's directory {place}")
            raise ValueError(f"{place} is no run's directory: it has no {ABOUT}")
        about = read_record(place / ABOUT)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            found = about.get("format") if isinstance(about, dict) else about
            raise ValueError(f"{place / ABOUT} must have the format {FORMAT!r}, got {found!r}")
        try:
            run = cls(place, about)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{place / ABOUT} is damaged: {error!r}") from error
        unsealed(about, place / ABOUT)
        return run

    def _check(self, name: str) -> None:
        """Refuse a file that is not the one that the run began with."""
        if digest_of_file(self.path / name) != self._files[name]:
            raise ValueError(f"{self.path / name} is not the file that the run began with: it is damaged or exchanged")

    def _same(self, kind: str, configuration: Mapping[str, Any], seed: int | None) -> None:
        """Refuse to go on as something else."""
        there, asked = ({}, {}) if seed is None else ({"seed": self.seed}, {"seed": seed})
        found: list[tuple[str | Parameter, ...]] = list(differences(there, asked))
        if kind == self.kind:
            found += differences(self.configuration, configuration)
        else:
            found.insert(0, (f"it is a run of {self.kind!r}, and {kind!r} was asked for",))
        if found:
            *others, last = found
            parts = [part for (*first, phrase) in others for part in (*first, f"{phrase};")]
            raise OtherRunError(f"{self.path} holds another run:", *parts, *last)

    def agree(self, said: Mapping[str, Any], seed: Any = None) -> None:
        """Refuse what is said otherwise than the run was asked for; what is not said is as it was.

        Parameters
        ----------
        said : mapping
            A part of a configuration.
        seed : int, None, or generator, optional

        Raises
        ------
        ValueError
            If something differs; the message says what.
        """
        self._same(self.kind, self.configuration | as_json(said), None if seed is None else _seed(seed))

    # What is in it

    @property
    def checkpoints(self) -> pathlib.Path:
        """The folder that says where each part of the run is; made when first asked for."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def has_model(self) -> bool:
        """Whether the run began with a model, whose copy it holds."""
        return self._model is not None

    @property
    def model_path(self) -> pathlib.Path:
        """The file of the model's copy.

        Raises
        ------
        ValueError
            If the run has none.
        """
        if self._model is None:
            raise ValueError(f"{self.path} holds no model: the run began without one")
        return self.path / str(self._model["file"])

    def load_model(self, library: str | None = None) -> Any:
        """The model that the run began with.

        Parameters
        ----------
        library : str, optional
            Where its arrays are to live; host memory by default.
        """
        path, name = self.model_path, str(self._model["class"])
        if name not in boltzmann.__all__:
            raise ValueError(f"{self.path} holds a model of class {name!r}, which nbm_xp.boltzmann does not have")
        self._check(path.name)
        return getattr(boltzmann, name).load(path, library)

    def log(self, message: str) -> None:
        """Append a line to ``run.log``, with its time."""
        with open(self.path / _LOG, "a", encoding="utf-8") as file:
            file.write(f"{_now()} {' '.join(message.splitlines())}\n")

    # One process at a time

    def _lock(self) -> None:
        """Keep other processes from working on the run; the system lets go when this process ends, however it ends."""
        try:
            self._locked = locked(self.path)
        except OSError:
            raise RunError(f"another process works on the run in {self.path}: wait for it, or end it") from None

    def close(self) -> None:
        """Let other processes work on the run."""
        if self._locked is not None:
            self._locked.close()
            self._locked = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r}, kind={self.kind!r}, seed={self.seed})"


def _seed(seed: Any) -> int:
    """The number that stands for a seed."""
    try:
        return entropy_of(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("random_state", "seed")) from None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "nbm_xp": __version__}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
