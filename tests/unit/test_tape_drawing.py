"""Pictures of graphs: everything is there, nothing overlaps, names are escaped, files are whole or not at all."""

from __future__ import annotations

import itertools
import pathlib
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, gradients, ifelse, placeholder, scan, visualize
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.drawing.layered import laid_out

SVG = "{http://www.w3.org/2000/svg}"


def small_graph() -> tuple[Tensor, Variable]:
    x, w = placeholder((None, 3), name="x"), Variable(np.ones((3, 5), dtype="float32"), name="W")
    h = xp.tanh(x @ w + np.ones(5, dtype="float32"))
    h.name = "h"
    return xp.sum(h * 2.0), w


def texts(file: pathlib.Path) -> list[str]:
    root = ElementTree.parse(file).getroot()
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def classes(file: pathlib.Path) -> list[str]:
    return [element.get("class", "") for element in ElementTree.parse(file).getroot().iter(f"{SVG}rect")]


class TestSvg:
    def test_shows_leaves_operations_shapes_and_results(self, tmp_path: pathlib.Path) -> None:
        file = visualize(small_graph()[0], tmp_path / "graph.svg")
        shown = texts(file)
        for text in ("x", "W", "@", "+", "h = tanh", "· * 2.0", "sum", "float32[?, 3]", "float32[3, 5]", "float32[]"):
            assert text in shown
        kinds = classes(file)
        assert [sum(kind in entry.split() for entry in kinds) for kind in ("operation", "result")] == [5, 1]
        assert "box placeholder" in kinds and "box variable" in kinds and "box constant" in kinds
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
        assert "box loop" in classes(file)

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
        for name in ("graph.png", "graph", "graph.svg.gz"):
            with pytest.raises(ValueError, match=r"path must end in \.svg or \.dot"):
                visualize(placeholder((2,)), tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_only_tensors_are_drawn(self, tmp_path: pathlib.Path) -> None:
        with pytest.raises(TypeError, match="x must be a Tensor"):
            visualize([np.ones(2)], tmp_path / "graph.svg")  # type: ignore[list-item]

    def test_an_old_picture_stays_when_a_new_one_fails(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = visualize(placeholder((2,), name="old"), tmp_path / "graph.svg")
        before = file.read_text()

        def failing(self: pathlib.Path, text: str, **options: str) -> None:
            raise OSError("no room")

        monkeypatch.setattr(pathlib.Path, "write_text", failing)
        with pytest.raises(OSError, match="no room"):
            visualize(placeholder((2,), name="new"), file)
        assert file.read_text() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["graph.svg"]


@pytest.mark.parametrize("seed", range(5))
def test_boxes_do_not_overlap_and_arrows_lead_down(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count = 40
    sizes = [(float(w), float(h)) for w, h in generator.uniform(20, 120, size=(count, 2))]
    arrows = [(int(generator.integers(end)), end) for end in range(1, count) for _ in range(int(generator.integers(3)))]
    boxes, ways = laid_out(sizes, arrows, gap=10.0, rise=15.0)
    for one, other in itertools.combinations(boxes, 2):
        apart = abs(one.x - other.x) >= (one.width + other.width) / 2 + 10 - 1e-6
        above = one.y + one.height + 15 <= other.y + 1e-6 or other.y + other.height + 15 <= one.y + 1e-6
        assert apart or above
    for (start, end), way in zip(arrows, ways, strict=True):
        assert way[0] is boxes[start] and way[-1] is boxes[end]
        assert all(upper.y < lower.y for upper, lower in itertools.pairwise(way))
    assert min(box.x - box.width / 2 for box in boxes) >= -1e-6
