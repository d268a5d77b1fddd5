"""h5py's module as programs for h5py 2 use it: text can be decoded, datasets have a ``value``, files are made.

h5py 3 reads as text what h5py 2 read as bytes. The text here answers both as text and, by ``decode``, as those bytes.
Files that were opened without a mode could be written to, and were made where there was none. Datasets took floats with
whole values as indices.
Whatever is opened by the module's `File` is so, down to the last group.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Text", "names"]


class Text(str):
    """Text that can be asked to be decoded, as the bytes that it once was.

    Examples
    --------
    >>> Text("2.0.6").decode("utf8")
    '2.0.6'
    """

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text itself."""
        return str(self)


def _decodable(found: Any) -> Any:
    """What an attribute holds, with text that can be decoded."""
    if isinstance(found, str):
        return Text(found)
    if getattr(getattr(found, "dtype", None), "kind", "") == "O":
        for place, item in enumerate(found.flat):
            found.flat[place] = Text(item) if isinstance(item, str) else item
    return found


def _in_integers(place: Any) -> Any:
    """An index with integers for floats that are whole, such as one read from a dataset and counted on."""
    if isinstance(place, tuple):
        return tuple(map(_in_integers, place))
    return int(place) if isinstance(place, (float, np.floating)) and place.is_integer() else place


def names(module: ModuleType) -> dict[str, Any]:
    """What a program of then finds in h5py in place of what is there today."""

    class Attributes(module.AttributeManager):  # type: ignore[misc, name-defined]
        def __getitem__(self, name: str) -> Any:
            return _decodable(super().__getitem__(name))

    class Dataset(module.Dataset):  # type: ignore[misc, name-defined]
        @property
        def attrs(self) -> Any:
            return Attributes(self)

        def __getitem__(self, place: Any, *options: Any, **named: Any) -> Any:
            return super().__getitem__(_in_integers(place), *options, **named)

        def __setitem__(self, place: Any, value: Any) -> None:
            super().__setitem__(_in_integers(place), value)

        @property
        def value(self) -> Any:
            return self[()]

    class Group(module.Group):  # type: ignore[misc, name-defined]
        @property
        def attrs(self) -> Any:
            return Attributes(self)

        def __getitem__(self, name: Any) -> Any:
            found = super().__getitem__(name)
            then = {module.Dataset: Dataset, module.Group: Group}.get(type(found))
            return found if then is None else then(found.id)

        def create_dataset(self, *args: Any, **options: Any) -> Any:
            return Dataset(super().create_dataset(*args, **options).id)

    class File(Group, module.File):  # type: ignore[misc, name-defined]
        def __init__(self, name: Any, mode: str | None = None, *args: Any, **options: Any) -> None:
            """Opened to be written to, and made where it is not there, unless a mode says otherwise, until h5py 3."""
            super().__init__(name, mode or "a", *args, **options)

        @property
        def attrs(self) -> Any:
            return self["/"].attrs

    return {"File": File}
