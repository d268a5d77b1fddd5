"""The connection of a run to the scheduler of a Dask cluster, opened again when the scheduler is lost.

Contract: a run waits for at most `patience` seconds in a row, in which there is no scheduler or no worker. A scheduler
that starts again at its address knows nothing of earlier tasks: the run submits again what was not done.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from nbm_xp.package import need

from .directory import RunError

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

ATTEMPT = 10.0  # seconds, at most, of one attempt to connect again
PAUSE = 0.2  # seconds between attempts


class Connection:
    """A client of a cluster.

    Attributes
    ----------
    client : distributed.Client
        The present client: another one after the scheduler was lost.
    address : str or None
        The scheduler's address; None for a cluster of this process, whose scheduler cannot come back.
    """

    def __init__(self, client: Any, address: str | None, patience: float, security: Any = None) -> None:
        self.client, self.address, self._patience, self._security = client, address, patience, security
        self.alone_since: float | None = None
        self.has_failed = False  # a request: a client does not know that a scheduler was shut down

    @classmethod
    def open(cls, address: str, patience: float, security: Any) -> Self:
        """Connect to an existing cluster; raise `RunError` if there is none."""
        try:
            return cls(_client(address, security=security), address, patience, security)
        except (OSError, ValueError) as error:
            raise RunError(f"there is no Dask cluster at {address}: {error}") from error

    def __str__(self) -> str:
        return "on this machine" if self.address is None else f"at {self.address}"

    @property
    def is_open(self) -> bool:
        """Whether the scheduler can be reached, as far as is known."""
        return not self.has_failed and self.client.status == "running"

    def _left(self, lost: str) -> float:
        """Return the seconds left to wait for workers; raise `RunError` if there are none."""
        now = time.monotonic()
        self.alone_since = now if self.alone_since is None else self.alone_since
        left = self.alone_since + self._patience - now
        if left <= 0:
            raise RunError(lost)
        return left

    def restore(self) -> bool:
        """Connect again if the scheduler was lost, and return whether it was.

        Raises
        ------
        RunError
            If the scheduler does not come back in time.
        """
        if self.is_open:
            return False
        if self.address is None:
            raise RunError(f"the scheduler {self} is gone: resume the run")
        lost = f"the scheduler {self} is gone, and none came back in {self._patience:g} seconds"
        while not self.is_open:
            left = self._left(f"{lost}: resume the run when there is one again")
            if self.has_failed or self.client.status != "connecting":  # else the client tries, for some time
                with contextlib.suppress(OSError):
                    # In the thread of the present one: each attempt would leave a thread of its own behind.
                    loop, timeout = self.client.loop, min(left, ATTEMPT)
                    client = _client(self.address, loop=loop, timeout=timeout, security=self._security)
                    self.client.close()
                    self.client, self.has_failed = client, False
                    break
            time.sleep(PAUSE)
        return True

    def ask(self, request: Callable[[Any], _T]) -> _T:
        """Return the result of a function of the client, which is called again if the scheduler was lost."""
        while True:
            self.restore()
            try:
                return request(self.client)
            except OSError:
                self.has_failed = True

    def look_for_workers(self) -> bool:
        """Return whether there are workers; raise `RunError` if there have been none for longer than the patience."""
        if self.ask(lambda client: client.nthreads()):
            self.alone_since = None
            return True
        gone = f"the cluster {self} has had no workers for {self._patience:g} seconds"
        self._left(f"{gone}: start some, and resume the run")
        return False

    def wait_for_workers(self) -> None:
        """Wait for a worker. A task waits for it too, so that an adaptive cluster starts one."""
        if not self.look_for_workers():
            _LOG.warning("the cluster %s has no workers: waiting for some", self)
            task = self.ask(lambda client: client.submit(os.getpid, pure=False))
            while not self.look_for_workers():
                time.sleep(PAUSE)
            del task

    def left_with_notice(self, worker: str) -> bool:
        """Return whether a worker that is gone had said that it would leave."""
        events: Any = self.ask(lambda client: client.get_events(worker))
        return any(isinstance(said, Mapping) and said.get("action") == "closing-worker" for _, said in events)


def _client(address: str, **options: Any) -> Any:
    return need("distributed").Client(address, set_as_default=False, **options)
