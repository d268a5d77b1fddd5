"""Pictures of graphs: everything is there, names are escaped, files are whole or not at all."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, gradients, ifelse, placeholder, scan, visualize
from nbm_xp.tape import namespace as xp

SVG = "{http://www.w3.org/2000/svg}"


def small_graph() -> tuple[Tensor, Variable]:
    x, w = placeholder((None, 3), name="x"), Variable(np.ones((3, 5), dtype="float32"), name="W")
    h = xp.tanh(x @ w + np.ones(5, dtype="float32"))
    h.name = "h"
    return xp.sum(h * 2.0), w


def texts(file: pathlib.Path) -> list[str]:
    root = ElementTree.parse(file).getroot()
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


@pytest.mark.skipif(importlib.util.find_spec("pygraphviz") is None, reason="pygraphviz is not installed")
class TestPicture:
    def test_shows_leaves_operations_shapes_and_results(self, tmp_path: pathlib.Path) -> None:
        file = visualize(small_graph()[0], tmp_path / "graph.svg")
        shown = texts(file)
        for text in ("x", "W", "@", "+", "h = tanh", "· * 2.0", "sum", "float32[?, 3]", "float32[3, 5]", "float32[]"):
            assert text in shown
        assert "blue: input, green: variable, grey: constant" in shown
        assert "recorded at" in file.read_text()

    def test_names_are_escaped(self, tmp_path: pathlib.Path) -> None:
        x = placeholder((2,), name='<x> & "y" </svg> é')
        file = visualize(x + x, tmp_path / "graph.svg")
        assert '<x> & "y" </svg> é' in texts(file)

    def test_a_loop_is_a_box_around_its_step(self, tmp_path: pathlib.Path) -> None:
        rows, u = placeholder((None, 4), name="rows"), Variable(np.ones((4, 4), dtype="float32"), name="U")
        outputs, _ = scan(lambda r, h: xp.tanh(r + h @ u), sequences=rows, outputs_info=xp.zeros(4), name="rnn")
        file = visualize([outputs[-1], gradients(xp.sum(outputs[-1]), u)], tmp_path / "graph.svg")
        shown = texts(file)
        assert any(text.startswith("rnn") for text in shown)
        assert any(text.startswith("gradient of rnn") for text in shown)
        assert any(text.startswith("tanh →") for text in shown)

    def test_several_results_and_branches(self, tmp_path: pathlib.Path) -> None:
        x = placeholder((3, 3), name="x")
        q, r = xp.linalg.qr(ifelse(xp.sum(x) > 1, x, -x))
        shown = texts(visualize([q @ r, q], tmp_path / "graph.svg"))
        assert "ifelse" in shown and "[0]" in shown and "[1]" in shown

    def test_of_one_leaf(self, tmp_path: pathlib.Path) -> None:
        assert "x" in texts(visualize(placeholder((2,), name="x"), tmp_path / "graph.svg"))

    def test_of_a_long_chain(self, tmp_path: pathlib.Path) -> None:
        x = placeholder((2,), name="x")
        y = x
        for _ in range(300):
            y = xp.sin(y)
        assert texts(visualize(y + x, tmp_path / "graph.svg")).count("sin") == 300
        for _ in range(2000):
            y = xp.sin(y)
        with pytest.raises(ValueError, match="at most 2000"):
            visualize(y, tmp_path / "long.svg")
        assert (visualize(y, tmp_path / "long.dot")).read_text().count("->") == 2300

    @pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".PDF", b"%PDF")])
    def test_in_other_formats(self, tmp_path: pathlib.Path, suffix: str, begins: bytes) -> None:
        assert visualize(small_graph()[0], tmp_path / f"graph{suffix}").read_bytes().startswith(begins)


def test_without_graphviz_the_extra_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ModuleNotFoundError, match=r"install nbm_xp\[drawing\], or write the graph as \.dot"):
        visualize(placeholder((2,)), tmp_path / "graph.svg")
    assert not list(tmp_path.iterdir())


class TestDot:
    def test_is_written_for_its_suffix(self, tmp_path: pathlib.Path) -> None:
        loss, w = small_graph()
        text = visualize([loss, gradients(loss, w)], tmp_path / "graph.DOT").read_text()
        assert text.startswith("digraph {") and text.endswith("}\n")
        assert 'label="W\\nfloat32[3, 5]"' in text

    def test_quotes(self, tmp_path: pathlib.Path) -> None:
        text = visualize(placeholder((2,), name='a"b\\'), tmp_path / "graph.dot").read_text()
        assert 'label="a\\"b\\\\\\nfloat32[2]"' in text


class TestFile:
    def test_other_suffixes_are_refused(self, tmp_path: pathlib.Path) -> None:
        for name in ("graph.jpg", "graph", "graph.svg.gz"):
            with pytest.raises(ValueError, match=r"path must end in \.dot, \.svg, \.png or \.pdf"):
                visualize(placeholder((2,)), tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_only_tensors_are_drawn(self, tmp_path: pathlib.Path) -> None:
        with pytest.raises(TypeError, match="x must be a Tensor"):
            visualize([np.ones(2)], tmp_path / "graph.dot")  # type: ignore[list-item]

    def test_an_old_picture_stays_when_a_new_one_fails(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = visualize(placeholder((2,), name="old"), tmp_path / "graph.dot")
        before = file.read_text()

        def failing(self: pathlib.Path, contents: bytes) -> None:
            raise OSError("no room")

        monkeypatch.setattr(pathlib.Path, "write_bytes", failing)
        with pytest.raises(OSError, match="no room"):
            visualize(placeholder((2,), name="new"), file)
        assert file.read_text() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["graph.dot"]
