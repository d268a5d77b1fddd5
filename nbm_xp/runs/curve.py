"""A learning curve on disk: a line of JSON for each look at a model in training, with a digest of the look."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from nbm_xp.files import sealed, unsealed, write_whole

from .directory import finite_json

__all__ = ["Curve"]


class Curve:
    """The looks at a model in training, in a file that grows by a line at a time.

    Parameters
    ----------
    path : pathlib.Path
        The file; without one, the curve begins.

    Examples
    --------
    >>> import tempfile
    >>> curve = Curve(pathlib.Path(tempfile.mkdtemp()) / "curve.jsonl")
    >>> curve.add({"epoch": 1, "seconds": 0.5})
    >>> curve.add({"epoch": 2, "seconds": 1.0})
    >>> curve.back_to(1)
    >>> curve.looks, curve.path.read_text().count(chr(10))
    ([{'epoch': 1, 'seconds': 0.5}], 1)
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.looks: list[dict[str, Any]] = []
        if path.is_file():
            # A process that was killed may have left a part of a last line.
            try:
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                self.looks = [unsealed(json.loads(line), path) for line in lines if line[-1:] == "\n"]
            except (RecursionError, json.JSONDecodeError, UnicodeDecodeError) as error:
                raise ValueError(f"{path} is damaged: {error}") from error

    def add(self, look: Mapping[str, Any]) -> None:
        """Add a look, and write it."""
        self.looks.append(dict(look))
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(_line(look))

    def back_to(self, passes: int) -> None:
        """Forget looks later than so many passes, which a training that goes on takes anew."""
        self.looks = [look for look in self.looks if look["epoch"] <= passes]
        write_whole(self.path, "".join(map(_line, self.looks)).encode())

    @property
    def seconds(self) -> float:
        """Seconds of learning up to the last look."""
        return float(self.looks[-1]["seconds"]) if self.looks else 0.0


def _line(look: Mapping[str, Any]) -> str:
    return json.dumps(sealed(finite_json(look))) + "\n"
