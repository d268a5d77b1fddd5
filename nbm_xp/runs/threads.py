"""One thread of linear algebra in each task, where several tasks run side by side.

That is as fast as several threads in each, and gives the same bits whatever the number of cores: how a product is
divided among threads may change how it rounds.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from nbm_xp.namespace.needs import need

__all__ = ["one_thread"]

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run with one thread of linear algebra; tasks in several threads may be inside at once."""
    global _inside, _limits
    with _lock:
        if not _inside:
            _limits = need("threadpoolctl").threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limits.restore_original_limits()
