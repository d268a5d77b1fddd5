"""Graphs for Graphviz: everything is there, names are escaped, files are whole or not at all."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, gradients, ifelse, placeholder, scan, visualize
from nbm_xp.tape import namespace as xp


def text_of(x: Tensor | list[Tensor], folder: pathlib.Path) -> str:
    return visualize(x, folder / "graph.dot").read_text(encoding="utf-8")


def small_graph() -> tuple[Tensor, Variable]:
    x, w = placeholder((None, 3), name="x"), Variable(np.ones((3, 5), dtype="float32"), name="W")
    h = xp.tanh(x @ w + np.ones(5, dtype="float32"))
    h.name = "h"
    return xp.sum(h * 2.0), w


def test_shows_leaves_operations_shapes_and_results(tmp_path: pathlib.Path) -> None:
    loss, w = small_graph()
    text = text_of([loss, gradients(loss, w)], tmp_path)
    assert text.startswith("digraph {") and text.endswith("}\n")
    for label in ("x\\nfloat32[?, 3]", "W\\nfloat32[3, 5]", "x @ W", "h = tanh", "h * 2.0", "sum"):
        assert f'label="{label}' in text
    assert "recorded at" in text


def test_names_are_escaped(tmp_path: pathlib.Path) -> None:
    assert 'label="a\\"b\\\\\\nfloat32[2]"' in text_of(placeholder((2,), name='a"b\\'), tmp_path)


def test_a_loop_is_a_box_around_its_step(tmp_path: pathlib.Path) -> None:
    rows, u = placeholder((None, 4), name="rows"), Variable(np.ones((4, 4), dtype="float32"), name="U")
    outputs, _ = scan(lambda r, h: xp.tanh(r + h @ u), sequences=rows, outputs_info=xp.zeros(4), name="rnn")
    text = text_of([outputs[-1], gradients(xp.sum(outputs[-1]), u)], tmp_path)
    assert 'label="rnn' in text and 'label="gradient of rnn' in text and 'label="tanh(…) →' in text


def test_several_results_and_branches(tmp_path: pathlib.Path) -> None:
    x = placeholder((3, 3), name="x")
    q, r = xp.linalg.qr(ifelse(xp.sum(x) > 1, x, -x))
    text = text_of([q @ r, q], tmp_path)
    assert 'label="ifelse' in text and 'label="linalg.qr' in text


def test_of_a_long_chain(tmp_path: pathlib.Path) -> None:
    y = x = placeholder((2,), name="x")
    for _ in range(2300):
        y = xp.sin(y)
    total = y + x
    assert text_of(total, tmp_path).count(" -> n") == 2302


def test_other_suffixes_raise(tmp_path: pathlib.Path) -> None:
    for name in ("graph.jpg", "graph", "graph.svg"):
        with pytest.raises(ValueError, match=r"path must end in \.dot"):
            visualize(placeholder((2,)), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_only_tensors_are_drawn(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match="x must be a Tensor"):
        visualize([np.ones(2)], tmp_path / "graph.dot")  # type: ignore[list-item]
