"""`visualize`: a graph as a picture in a file, which Graphviz draws."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

from nbm_xp.files import local_path, replacing
from nbm_xp.tape.tensor import Tensor

from .dot import dot

__all__ = ["visualize"]

_SUFFIXES = (".dot", ".svg", ".png", ".pdf")
_MOST_BOXES = 2000


def visualize(x: Tensor | Sequence[Tensor], path: str | os.PathLike[str]) -> pathlib.Path:
    """Draw what Tensors are computed from, to a file.

    Inputs, variables and constants are marked; every value shows its dtype and shape, unknown lengths as ``?``; a loop
    is a box around one step. In an SVG picture, the line that recorded a value shows when the pointer rests on it.

    Parameters
    ----------
    x : Tensor, or sequence of Tensors
        What to draw.
    path : path-like
        The file, written whole or not at all: ``.dot`` for text that Graphviz reads; ``.svg``, ``.png`` or ``.pdf`` for
        a picture, which Graphviz draws here where the package pygraphviz is installed (``nbm_xp[drawing]``).

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    TypeError
        If `x` holds anything but Tensors.
    ValueError
        If the path ends in another suffix, or there are too many values to be drawn as a picture.
    ModuleNotFoundError
        If a picture is asked for, and pygraphviz is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nbm_xp.tape import placeholder, visualize
    >>> x = placeholder((None, 3), name="x")
    >>> file = visualize(x @ x.T, pathlib.Path(tempfile.mkdtemp()) / "graph.dot")
    >>> file.read_text()[:9]
    'digraph {'
    """
    file = local_path(path)
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(f"path must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, got {os.fspath(path)!r}")
    tensors = [x] if isinstance(x, Tensor) else list(x)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"x must be a Tensor or a sequence of Tensors, got {type(tensor).__name__}")
    text, count = dot([tensor.node for tensor in tensors])
    if suffix != ".dot" and count > _MOST_BOXES:
        raise ValueError(
            f"x is computed in {count} steps, and a picture shows at most {_MOST_BOXES}: draw a part of it, or "
            "write it as .dot"
        )
    contents = text.encode() if suffix == ".dot" else _picture(text, suffix[1:])
    with replacing(file) as part:
        part.write_bytes(contents)
    return file


def _picture(text: str, kind: str) -> bytes:
    try:
        import pygraphviz
    except ModuleNotFoundError as error:
        if error.name != "pygraphviz":
            raise
        raise ModuleNotFoundError(
            f"Graphviz draws .{kind} by way of pygraphviz: install nbm_xp[drawing], or write the graph as .dot",
            name=error.name,
        ) from error
    contents: bytes = pygraphviz.AGraph(string=text).draw(format=kind, prog="dot")
    return contents
