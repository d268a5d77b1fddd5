"""`visualize`: a graph as a picture in a file."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence

from nbm_xp.namespace.files import replacing
from nbm_xp.namespace.paths import local_path
from nbm_xp.tape.tensor import Tensor

from .diagram import Diagram, diagram
from .dot import dot
from .svg import svg

__all__ = ["visualize"]

_FORMATS: dict[str, Callable[[Diagram], str]] = {".svg": svg, ".dot": dot}
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
        The file, written whole or not at all: ``.svg`` for a picture, ``.dot`` for text that Graphviz reads.

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

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nbm_xp.tape import placeholder, visualize
    >>> x = placeholder((None, 3), name="x")
    >>> file = visualize(x @ x.T, pathlib.Path(tempfile.mkdtemp()) / "graph.svg")
    >>> file.read_text()[:4]
    '<svg'
    """
    file = local_path(path)
    write = _FORMATS.get(file.suffix.lower())
    if write is None:
        raise ValueError(f"path must end in {' or '.join(_FORMATS)}, got {os.fspath(path)!r}")
    tensors = [x] if isinstance(x, Tensor) else list(x)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"x must be a Tensor or a sequence of Tensors, got {type(tensor).__name__}")
    drawn = diagram([tensor.node for tensor in tensors])
    if write is svg and drawn.count() > _MOST_BOXES:
        raise ValueError(
            f"x is computed in {drawn.count()} steps, and a picture shows at most {_MOST_BOXES}: draw a part of it, or "
            "write it as .dot"
        )
    text = write(drawn)
    with replacing(file) as part:
        part.write_text(text, encoding="utf-8")
    return file
