"""Where the tasks of a run are computed: in threads, on a cluster of this machine, or on another one.

Contract: whatever computes them, tasks of one block come one after the other and all blocks get
their turn; a worker that dies costs its tasks' last segments and no more; when the run is interrupted, or cannot go on,
nothing keeps running that was started for it.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Any, Self

from nbm_xp.machines.rows import positive_int

from .pools import ClusterPool, Pool, ThreadPool

__all__ = ["Workers"]

_KINDS = ("threads", "local")
_OWN_PAGE = "127.0.0.1:0"


class Workers:
    """What computes the tasks of runs, started once for several runs.

    Parameters
    ----------
    scheduler : str, optional
        - ``"threads"``: threads of this process.
        - ``"local"``: a Dask cluster of processes on this machine, whose workers are watched, limited in memory, and
          started anew when they die.
        - ``"tcp://host:port"``, or another address that `distributed.Client` takes: a cluster that runs already. Its
          workers must see the run's directory under the same path (a shared folder), and have this package installed.
    n_workers : int, optional
        How many tasks run at once, by default as many as there are cores; not for a cluster that runs already.
    memory_limit : int or str, optional
        For ``"local"``: the most memory that each worker may use, in bytes or as ``"4GB"``. A worker that comes close
        to it is started anew.
    dashboard_address : str, optional
        For ``"local"``: where the page that shows what the cluster does is to be seen, as ``"host:port"``. By default
        on this machine alone, at any free port. Whoever can see the page can look into what is computed; ``":8787"``
        shows it to all machines that reach this one.
    worker_timeout : float, optional
        How many seconds to wait for a cluster that has lost its last worker to have one again, ten minutes by default.

    Attributes
    ----------
    scheduler : str
    dashboard : str or None
        The address of the page that shows what a cluster does.

    Raises
    ------
    ValueError
        If an argument is not what it must be.
    ModuleNotFoundError
        If a cluster needs the package distributed, and it is not installed.
    RunError
        If there is no cluster at the address.

    Notes
    -----
    Processes and local clusters import the program's main module: like all such programs, it must begin its work under
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> with Workers("threads", n_workers=2) as workers:
    ...     workers.scheduler, workers.dashboard
    ('threads', None)
    """

    def __init__(
        self,
        scheduler: str = "threads",
        n_workers: int | None = None,
        memory_limit: int | str | None = None,
        *,
        dashboard_address: str | None = None,
        worker_timeout: float = 600.0,
    ) -> None:
        if scheduler not in _KINDS and "://" not in str(scheduler):
            kinds = "'threads', 'local' (processes of this machine) or an address tcp://…"
            raise ValueError(f"scheduler must be {kinds}, got {scheduler!r}")
        existing = scheduler not in _KINDS
        if existing and n_workers is not None:
            raise ValueError(f"n_workers must not be given with the cluster {scheduler}: it has its own")
        if memory_limit is not None and scheduler != "local":
            raise ValueError(f"memory_limit is for scheduler='local', which can keep to one, not for {scheduler!r}")
        if dashboard_address is not None and scheduler != "local":
            raise ValueError(f"dashboard_address is for scheduler='local', not for {scheduler!r}")
        if dashboard_address is not None and not re.fullmatch(r"[^:\s/]*:[0-9]{1,5}", str(dashboard_address)):
            raise ValueError(f"dashboard_address must be as '127.0.0.1:8787' or ':8787', got {dashboard_address!r}")
        seconds: Any = worker_timeout
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise ValueError(f"worker_timeout must be a number of seconds, at least 0, got {worker_timeout!r}")
        self.worker_timeout = seconds
        self.scheduler = scheduler
        self.n_workers = None if n_workers is None else positive_int(n_workers, "n_workers")
        self.memory_limit = memory_limit
        self.dashboard_address = _OWN_PAGE if dashboard_address is None else dashboard_address
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        """What runs tasks, started when first asked for."""
        if self._pool is None:
            count = self.n_workers or os.cpu_count() or 1
            if self.scheduler == "threads":
                self._pool = ThreadPool(count)
            elif self.scheduler == "local":
                self._pool = ClusterPool.local(count, self.memory_limit, self.dashboard_address, self.worker_timeout)
            else:
                self._pool = ClusterPool.existing(self.scheduler, self.worker_timeout)
        return self._pool

    @property
    def dashboard(self) -> str | None:
        """The address of the page that shows what a cluster does."""
        return self.pool.dashboard

    def close(self) -> None:
        """End what was started; a cluster that ran before goes on."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


@contextlib.contextmanager
def workers_of(scheduler: Any, n_workers: int | None, memory_limit: int | str | None) -> Any:
    """The workers that an argument `scheduler` names, or is; those that are begun here end here."""
    if isinstance(scheduler, Workers):
        if n_workers is not None or memory_limit is not None:
            raise ValueError("n_workers and memory_limit must not be given with Workers: they have their own")
        yield scheduler
        return
    with Workers(scheduler, n_workers, memory_limit) as workers:
        yield workers
