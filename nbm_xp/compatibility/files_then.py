"""h5py's module as programs for h5py 2 use it: text can be decoded, datasets have a ``value``, files are made.

h5py 3 reads as text what attributes held as bytes, and as bytes what datasets hold as text. The text here answers both
as text and, by ``decode``, as those bytes.
Files that were opened without a mode could be written to, and were made where there was none. Datasets took floats with
whole values as indices.
Whatever is opened by the module's `File` is so, down to the last group.
"""

from __future__ import annotations

from collections.abc import Callable
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


def _text(found: Any, kind: Any, text_of: Callable[[Any], Any]) -> Any:
    """What a dataset of a dtype holds, with text for what h5py 3 reads as bytes, in the fields of records too."""
    if isinstance(found, bytes) and text_of(kind.base) is str:
        return Text(found, "utf-8", "surrogateescape")
    if not kind.hasobject or not hasattr(found, "dtype"):
        return found
    if found.dtype.names is not None:  # h5py reads some fields through this twice, and one alone without its name
        for name in found.dtype.names:
            found[name] = _text(found[name], kind[name], text_of)
    elif kind.names is None and text_of(kind.base) is str:
        for place, item in enumerate(found.flat):
            found.flat[place] = _text(item, kind, text_of)
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
            found = super().__getitem__(_in_integers(place), *options, **named)
            return _text(found, self.dtype, lambda kind: module.check_dtype(vlen=kind))

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
