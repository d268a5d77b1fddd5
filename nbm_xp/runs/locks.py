"""Locks of runs: a locked file of a directory; at an address, a numbered object that its owner renews.

Contract: at most one process owns a run. The owner is whoever created the object of the highest number, on condition
that there was none. It is renewed every `RENEWAL` seconds; a process may create the next one if the last is released,
or if it has not changed for `LEASE` seconds of its own clock, so that clocks are never compared. Processes of one
machine need not wait: the owner also locks a file there, which the system unlocks when the process ends. An owner that
was suspended for as long finds the next object, and ends.
"""

from __future__ import annotations

import contextlib
import errno
import pathlib
import tempfile
import threading
import time
import uuid
from typing import Any

from nbm_xp.objects import CONDITION, ObjectPath, StoreError

RENEWAL, LEASE = 10.0, 60.0  # seconds
_RELEASED = b"released"


def locked(path: pathlib.Path, mode: str = "a") -> Any:
    """Return a file that is locked while it is open; raise `OSError` if another process holds the lock.

    On systems without `fcntl`, nothing is locked.
    """
    file = open(path, mode)  # noqa: SIM115  (it stays open while the lock is held)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ModuleNotFoundError:
        pass
    except OSError:
        file.close()
        raise
    return file


class Lease:
    """The lock of a run at an address, renewed by a thread until it is closed.

    Parameters
    ----------
    folder : ObjectPath
        Address of the lock's objects.
    is_new : bool, optional
        Whether there must never have been another owner.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    """

    def __init__(self, folder: ObjectPath, is_new: bool = False) -> None:
        last = None if is_new else max(folder.entries(), default=None)
        if last is not None:
            _wait(folder / last)
        number = int(last or 0) + 1
        self._token, self._count = uuid.uuid4().hex, 0
        self._own, self._next = folder / f"{number:09d}", folder / f"{number + 1:09d}"
        self._file = _file_of(self._token)
        self._lock = locked(self._file)
        try:
            self._own.create(self._content)
            if is_new:
                self._check_store()
        except BaseException as error:
            self._remove_file()
            if not isinstance(error, FileExistsError):
                raise
            raise BlockingIOError(f"{self._own} was just taken") from None
        self._renewed, self._stopping, self._is_lost = time.monotonic(), threading.Event(), False
        self._thread = threading.Thread(target=self._renew_all, name="nbm_xp lease", daemon=True)
        self._thread.start()

    def _check_store(self) -> None:
        """Raise `StoreError` if the store creates an object where there is one."""
        with contextlib.suppress(FileExistsError):
            self._own.create(b"another")
            self._own.unlink()
            raise StoreError(errno.ENOTSUP, CONDITION, self._own.address)

    @property
    def _content(self) -> bytes:
        return f"{self._token} {self._count}".encode()

    def _renew_all(self) -> None:
        while not self._stopping.wait(RENEWAL):
            with contextlib.suppress(OSError):  # `check` reports a store that fails for long
                self._renew()

    def _renew(self) -> None:
        began = time.monotonic()
        self._is_lost = self._is_lost or self._next.exists()
        if not self._is_lost:
            self._count += 1
            self._own.write_bytes(self._content)
            self._renewed = began

    def check(self) -> None:
        """Raise `BlockingIOError` if another process owns the run now; `StoreError` if that cannot be found out."""
        if time.monotonic() - self._renewed > LEASE / 2:
            self._renew()
        if self._is_lost:
            raise BlockingIOError(f"{self._next} was taken while this process did not answer")

    def close(self) -> None:
        """Release the lock."""
        self._stopping.set()
        self._thread.join(LEASE)
        with contextlib.suppress(OSError):
            self._own.write_bytes(_RELEASED)
        self._remove_file()

    def _remove_file(self) -> None:
        self._file.unlink(missing_ok=True)
        self._lock.close()


def _file_of(token: str) -> pathlib.Path:
    return pathlib.Path(tempfile.gettempdir()) / f"nbm_xp-{token}.lock"


def _wait(last: ObjectPath) -> None:
    """Wait until the owner of a lock is known to have ended; raise `BlockingIOError` if it has not."""
    content, began = last.read_bytes(), time.monotonic()
    if content == _RELEASED:
        return
    with contextlib.suppress(FileNotFoundError, PermissionError, ModuleNotFoundError):
        import fcntl  # noqa: F401  (without it, a file tells nothing)

        file = _file_of(content.split()[0].decode())
        locked(file, "r+").close()
        file.unlink(missing_ok=True)
        return
    while time.monotonic() - began < LEASE:
        time.sleep(RENEWAL / 2)
        if (now := last.read_bytes()) == _RELEASED:
            return
        if now != content:
            raise BlockingIOError(f"{last} is renewed")
