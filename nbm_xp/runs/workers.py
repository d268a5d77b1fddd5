"""Workers that compute the tasks of runs: threads, a local Dask cluster, or an existing cluster.

Contract: arguments are checked before anything is started. What is started for runs is stopped at their end.
"""

from __future__ import annotations

import os
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeAlias

import dask

from nbm_xp.namespace.errors import positive_int

from .cluster_pool import ClusterPool
from .connections import Connection
from .pools import ThreadPool

_KINDS: tuple[str, ...] = ("threads", "local")
_OWN_PAGE = "127.0.0.1:0"

Pool: TypeAlias = ThreadPool | ClusterPool


@dataclass(eq=False)
class Workers:
    """Workers that compute the tasks of runs.

    They are started on first use, and stopped at the end of the run, or of a ``with`` statement around several runs.

    Parameters
    ----------
    scheduler : str or cluster, optional
        - ``"threads"``: threads of this process.
        - ``"local"``: a Dask cluster of processes on this machine, whose workers are monitored, limited in memory, and
          restarted when they die.
        - ``"tcp://host:port"``, or another address that `distributed.Client` accepts: an existing cluster. Its workers
          must have this package installed and access the run's directory under the same path (a shared folder), or its
          address.
        - A cluster that another package started, for instance a ``dask_jobqueue.SLURMCluster``: the same, with its
          address and its security.
    n_workers : int, optional
        Number of tasks that run at once. Defaults to the number of cores. Not allowed for an existing cluster.
    memory_limit : int or str, optional
        For ``"local"``: memory limit of each worker, in bytes or as a string such as ``"4GB"``. A worker that comes
        close to it is restarted. For ``"threads"``: memory that a run may need in addition to what this process has;
        by default what is free. A run that needs more raises an error before it begins.
    dashboard_address : str, optional
        For ``"local"``: address of the cluster's dashboard, as ``"host:port"``. Defaults to any free port, accessible
        from this machine only. Anyone with access to the dashboard can inspect the computation; ``":8787"`` makes it
        accessible to all machines that can reach this one.
    worker_timeout : float, optional
        Seconds to wait for a new worker when a cluster has lost its last one, and for a scheduler at the same address
        when an existing cluster has lost its scheduler. Defaults to 600.

    Attributes
    ----------
    scheduler : str
    dashboard : str or None
        Address of the cluster's dashboard.

    Raises
    ------
    ValueError
        If an argument is invalid.
    ModuleNotFoundError
        If a cluster is requested and the package distributed is not installed.
    RunError
        If there is no cluster at the address.

    Notes
    -----
    The processes of a local cluster import the program's main module, which must therefore start its work under
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> with Workers("threads", n_workers=2) as workers:
    ...     workers.scheduler, workers.dashboard
    ('threads', None)
    """

    scheduler: Any = "threads"
    n_workers: int | None = None
    memory_limit: int | str | None = None
    _: KW_ONLY
    dashboard_address: str | None = None
    worker_timeout: float = 600.0

    def __post_init__(self) -> None:
        self._security = getattr(self.scheduler, "security", None)
        self.scheduler = getattr(self.scheduler, "scheduler_address", self.scheduler)  # of a cluster
        existing, given = self.scheduler not in _KINDS, self.dashboard_address
        if existing and "://" not in str(self.scheduler):
            kinds = "'threads', 'local' (processes of this machine) or an address tcp://…"
            raise ValueError(f"scheduler must be {kinds}, got {self.scheduler!r}")
        if self.n_workers is not None:
            positive_int(self.n_workers, "n_workers")
            if existing:
                raise ValueError(f"n_workers must not be given with the cluster {self.scheduler}: it has its own")
        for name, possible in (("memory_limit", _KINDS), ("dashboard_address", ("local",))):
            if getattr(self, name) is not None and self.scheduler not in possible:
                wanted = " or ".join(map(repr, possible))
                raise ValueError(f"{name} is for scheduler={wanted}, not for {self.scheduler!r}")
        try:
            dask.utils.parse_bytes(self.memory_limit or 0)
        except ValueError as error:
            raise ValueError(f"memory_limit must be a size in bytes or as '4GB', got {self.memory_limit!r}") from error
        if given is not None and not re.fullmatch(r"[^:\s/]*:[0-9]{1,5}", str(given)):
            raise ValueError(f"dashboard_address must be as '127.0.0.1:8787' or ':8787', got {given!r}")
        seconds: Any = self.worker_timeout
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise ValueError(f"worker_timeout must be a number of seconds, at least 0, got {seconds!r}")
        self._pool: Pool | None = None
        self._users = 0

    @classmethod
    def of(cls, scheduler: str | Workers) -> Workers:
        """Return `scheduler` if it is a `Workers` object, else workers for its name or address."""
        return scheduler if isinstance(scheduler, Workers) else cls(scheduler)

    @property
    def pool(self) -> Pool:
        """The executor of tasks, started on first access."""
        if self._pool is None:
            count = self.n_workers or os.cpu_count() or 1
            if self.scheduler == "threads":
                self._pool = ThreadPool(count, dask.utils.parse_bytes(self.memory_limit or 0))
            elif self.scheduler == "local":
                address = self.dashboard_address or _OWN_PAGE
                self._pool = ClusterPool.local(count, self.memory_limit, address, self.worker_timeout)
            else:
                self._pool = ClusterPool(Connection.open(self.scheduler, self.worker_timeout, self._security))
        return self._pool

    @property
    def planned(self) -> list[tuple[str, int, int | None]]:
        """The processes as `ThreadPool.processes`, of which none is started."""
        if self.scheduler not in _KINDS:
            return self.pool.processes
        count = self.n_workers or os.cpu_count() or 1
        return [("this process", count, None)] if self.scheduler == "threads" else [("a worker", 1, None)] * count

    @property
    def dashboard(self) -> str | None:
        """Address of the cluster's dashboard; None for threads."""
        return self.pool.dashboard

    def close(self) -> None:
        """Stop the workers; an existing cluster keeps running."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __enter__(self) -> Self:
        self._users += 1
        return self

    def __exit__(self, *reason: object) -> None:
        self._users -= 1
        if not self._users:
            self.close()
