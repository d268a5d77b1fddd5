"""Where a run is computed: threads, a cluster of this machine or another, whose page's address is told."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import Iterator

from nbm_xp.runs import Workers

from .failing import InputError
from .reading import saying

__all__ = ["computers"]

_KINDS = ("threads", "local")


@contextlib.contextmanager
def computers(
    scheduler: str, workers: int | None, memory_limit: str | None, worker_timeout: float = 600.0
) -> Iterator[Workers]:
    """Start what computes; say on stderr, for people to open, where a cluster shows what it does.

    Parameters
    ----------
    scheduler : str
    workers : int or None
    memory_limit : str or None
    worker_timeout : float, optional

    Raises
    ------
    InputError
        If they do not fit together; the message speaks of the options.
    """
    if scheduler not in _KINDS and "://" not in scheduler:
        raise InputError(f"--scheduler must be {', '.join(_KINDS)} or an address tcp://…, got {scheduler}")
    if workers is not None and scheduler not in _KINDS:
        raise InputError(f"--workers is not for a cluster that runs already, got --scheduler {scheduler}")
    if memory_limit is not None:
        if scheduler != "local":
            raise InputError(f"--memory-limit is for --scheduler local, which can keep to one, got {scheduler}")
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?\s*([kMGTP]i?)?B?", memory_limit):
            raise InputError(f"--memory-limit must be a size as 4GB or 500MiB, got {memory_limit}")
    # What it logs of a cluster that is lost, with its traceback, is told in one line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with saying(), Workers(scheduler, workers, memory_limit, worker_timeout=worker_timeout) as started:
        if scheduler != "threads":
            sys.stderr.write(f"dashboard: {started.dashboard}\n")
            sys.stderr.flush()
        yield started
