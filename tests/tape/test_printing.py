"""Text of Tensors, of bounded length and without computation, and graphs for Graphviz."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, checkpoint, function, gradients, ifelse, placeholder, scan, visualize
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library


def named() -> tuple[Tensor, Variable, Variable]:
    x = placeholder((None, 3), name="x")
    return x, Variable(np.ones((3, 5), dtype="float32"), name="W"), Variable([0.0, 1.0], name="b")


class TestRepr:
    def test_of_leaves(self) -> None:
        x, w, b = named()
        assert repr(x) == "<Tensor 'x' placeholder: float32[?, 3]>"
        assert repr(w) == "<Variable 'W': float32[3, 5] in numpy>"
        assert repr(b) == "<Variable 'b' = [0.0, 1.0]: float32[2] in numpy>"
        assert repr(xp.asarray(np.asarray([1, 2]))) == "<Tensor = [1, 2]: int64[2]>"
        assert repr(xp.asarray(np.ones((30, 2)))) == "<Tensor constant: float64[30, 2]>"

    def test_of_expressions(self) -> None:
        x, w, _ = named()
        h = xp.tanh(x @ w + 1.0)
        assert repr(h) == "<Tensor = tanh((x @ W) + 1.0): float32[?, 5]>"
        h.name = "h"
        assert repr(h) == "<Tensor 'h' = tanh((x @ W) + 1.0): float32[?, 5]>"
        assert repr(xp.sum(h * 2.0)) == "<Tensor = sum(h * 2.0): float32[]>"
        assert repr(xp.sum(-h, axis=1)) == "<Tensor = sum(-h, axis=1): float32[?]>"
        assert repr(h[1:, None, ..., ::2]) == "<Tensor = h[1:, None, ::2]: float32[?, 1, 3]>"
        assert repr(xp.linalg.svd(w)[1]) == "<Tensor = linalg.svd(W, full_matrices=True)[1]: float32[3]>"
        assert "ifelse(sum(h) > 1" in repr(ifelse(xp.sum(h) > 1, h, -h))

    def test_of_loops_and_gradients(self) -> None:
        x, w, _ = named()
        outputs, _ = scan(lambda row, state: row + state, sequences=x, outputs_info=xp.zeros(3))
        assert repr(outputs[-1]).startswith("<Tensor = scan(…)")
        assert "W" in repr(gradients(xp.sum(xp.tanh(x @ w)), w))

    def test_of_checkpoints_and_their_errors(self) -> None:
        x, w, _ = named()
        assert repr(checkpoint(lambda a: xp.exp(a) @ w)(x)).startswith("<Tensor = checkpoint(…)")
        with pytest.raises(ValueError, match="broadcast") as error:
            function([x], checkpoint(lambda a: xp.exp(a) + xp.ones((2, 3)))(x))(np.ones((5, 3), dtype="float32"))
        assert [note.split(" of ")[0] for note in error.value.__notes__] == ["add", "checkpoint"]

    def test_is_bounded_however_deep_and_wide(self) -> None:
        x = placeholder((None,), name="x")
        y = x
        for _ in range(5000):
            y = xp.sin(y) + x
        assert repr(y) == "<Tensor = sin(sin(sin(…) + x) + x) + x: float32[?]>"
        wide = xp.concat([y + float(i) for i in range(500)])
        assert len(repr(wide)) < 200
        x.name = "x" * 1000
        assert len(repr(y)) < 200

    def test_computes_nothing(self, library: Library) -> None:
        small = Variable(library.array(np.ones(2)))  # the tests' guard fails on an implicit compute of Dask
        assert f"float64[2] in {library.name}" in repr(small)
        assert ("[1.0, 1.0]" in repr(small)) == (library.name == "numpy")
        assert "float64[2]" in repr(xp.asarray(library.array(np.ones(2))) * 2.0)
        assert str(xp.sum(small)) == repr(xp.sum(small)) == f"{xp.sum(small)}"


class TestFormat:
    def test_asks_for_the_number(self) -> None:
        x = Variable(2.5)
        assert f"{x * 2.0:.3f} {x:>6}" == "5.000    2.5"

    def test_of_an_array_is_refused(self) -> None:
        with pytest.raises(TypeError, match="without axes"):
            f"{Variable([1.0, 2.0]):.3f}"


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
