"""A store in memory whose requests are watched: to count them, or to have them fail."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem


class Watched(MemoryFileSystem):
    """A store whose requests are carried out by `asked`, except those that another one consists of."""

    inside = threading.local()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.partition("://")[2] if "://" in path else path))

    def asked(self, name: str, options: Mapping[str, Any], request: Callable[[], Any]) -> Any:
        """Carry out a request."""
        raise NotImplementedError


def _watched(name: str) -> Any:
    def request(self: Watched, *arguments: Any, **options: Any) -> Any:
        whole = functools.partial(getattr(MemoryFileSystem, name), self, *arguments, **options)
        if getattr(self.inside, "request", False):
            return whole()

        def outermost() -> Any:
            self.inside.request = True
            try:
                return whole()
            finally:
                self.inside.request = False

        return self.asked(name, options, outermost)

    return request


for _name in ("info", "ls", "cat_file", "pipe_file", "rm_file", "rm"):
    setattr(Watched, _name, _watched(_name))
