"""Op-trees are computed on assignment or conversion, by one plan for all trees of the same structure."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Backend, OpTree
from nbm_xp.tape import evaluation
from tests.helpers.libraries import Library, computing


@pytest.fixture
def be() -> Backend:
    return Backend(rng_seed=1, library="numpy")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """The plans created during a test."""
    made: dict[Any, Any] = {}
    monkeypatch.setattr(evaluation, "_plans", made)
    return made


class TestPlans:
    def test_numbers_do_not_make_new_plans(self, be: Backend, plans: dict[Any, Any]) -> None:
        w, g, v = be.ones((2, 2)), be.ones((2, 2)), be.zeros((2, 2))
        expected = 0.0
        for step in range(1, 6):
            rate, momentum = 0.1 / step, 1 - 0.7**step
            v[:] = v * momentum - g * rate + 0.5 * (w * rate)
            expected = expected * momentum - rate + 0.5 * rate
        assert len(plans) == 1
        np.testing.assert_allclose(v.get(), expected, rtol=1e-5)

    def test_parts_of_buffers_do_not_make_new_plans(self, be: Backend, plans: dict[Any, Any]) -> None:
        values = np.arange(36, dtype="float32").reshape(3, 12)
        x, h = be.array(values), be.zeros((3, 12))
        for step in range(6):  # like the time steps of a recurrent layer
            part, before = slice(2 * step, 2 * step + 2), slice(2 * step - 2, 2 * step)
            h[:, part] = x[:, part] + (h[:, before] * 0.5 if step else x[:, part] * 0.5)
            values[:, part] += 0.5 * (values[:, before] if step else values[:, part])
        np.testing.assert_array_equal(h.get(), values)
        other = be.zeros((2, 3))
        other[:] = x[:, 0:2].T + x.share((2, 3)) * 0.5  # of another shape and memory layout
        assert len(plans) == 2

    def test_a_recorded_part_is_that_of_the_buffer_now(self, library: Library) -> None:
        be = Backend(library=library.name)
        x, y = be.zeros((2, 3)), be.zeros((2, 3))
        tree = be.add(x[:, 1:2], x.T[2:3, :].T)  # recorded before the whole buffer is written
        for value in (1.0, 2.0):
            x[:] = be.add(be.ones((2, 3)) * value, y)
            x[:, 1] = 5
            with computing():
                assert tree.get().tolist() == [[5 + value]] * 2
                y[:, 0] = x[:, 0]
                assert y.get().tolist() == [[value, 0, 0]] * 2
            y[:] = 0

    def test_structures_are_told_apart(self, be: Backend, plans: dict[Any, Any]) -> None:
        a, b = be.array([[2.0]]), be.array([[3.0]])
        results = [a - b, b - a, a - 3, a - 3.0, a**2, a**3, a[0:1] - b, be.sum(a, axis=0), be.sum(a, axis=1)]
        assert [float(tree.get()[0, 0]) for tree in results] == [-1, 1, -1, -1, 4, 8, -1, 2, 2]
        assert len(plans) < len(results)  # a - b and b - a have one structure with different buffers

    def test_equal_numbers_are_equal_in_each_tree(self, be: Backend, plans: dict[Any, Any]) -> None:
        a = be.array([[4.0]])
        for first, second in ((1.0, 1.0), (1.0, 2.0), (0.0, -0.0), (math.nan, 2.0), (2.0, 2.0)):
            got = float((a * first - a / second if second else a * first + a * second).get()[0, 0])
            want = 4 * first - 4 / second if second else 4 * first + 4 * second
            assert got == want or math.isnan(want)
        zero = (be.zeros((1, 1)) + -0.0) * -0.0
        assert math.copysign(1, float(zero.get()[0, 0])) == -1

    def test_an_error_says_where_the_tree_was_recorded(self, be: Backend) -> None:
        out = be.zeros((5, 1))
        tree = be.take(be.zeros((2, 1)), [4, 4, 4, 4, 4], axis=0)
        with pytest.raises(IndexError) as caught:
            out[:] = tree
        (note,) = caught.value.__notes__
        assert "take of float32[2, 1] and int32[5], recorded at" in note and "test_optrees.py" in note
        assert out.get().tolist() == [[0]] * 5


class TestTrees:
    def test_operators_give_trees(self, be: Backend) -> None:
        x, y = be.array([[-1.0, 2.0]]), be.array([[3.0, -4.0]])
        trees: list[tuple[Any, Any]] = [
            (x + y, [2, -2]), (1 - x, [2, -1]), (2 * y, [6, -8]), (x / 2, [-0.5, 1]), (2**x, [0.5, 4]),
            (-x, [1, -2]), (abs(y), [3, 4]), ((x > y) * 2, [0, 2]), ((x < 0) + (y < 0), [1, 1]),
            (1 - (x == x), [0, 0]), ((x > 0) - (y > 0), [-1, 1]), (-(x > 0), [0, -1]),
        ]  # fmt: skip
        for tree, wanted in trees:
            assert type(tree) is OpTree
            assert tree.get().tolist() == [wanted]

    def test_in_place_operators_give_another_tree(self, be: Backend) -> None:
        x = kept = be.array([[1.0, 2.0]])
        x += 1
        assert kept.get().tolist() == [[1, 2]] and x.get().tolist() == [[2, 3]]
        kept[:] += 1
        kept[:, 0] *= 5
        assert kept.get().tolist() == [[10, 3]]
        kept.__isub__(1)
        assert kept.get().tolist() == [[9, 2]]
        with pytest.raises(TypeError, match="an op-tree cannot be assigned to"):
            (kept * 2).__iadd__(1)

    def test_are_computed_when_they_are_asked_for(self, library: Library) -> None:
        be = Backend(library=library.name)
        x, out = be.ones((2, 2)), be.zeros((2, 2))
        tree = x[0:1] * 2 + x.T
        x[:] = 3
        out[:] = tree
        x[0, 0] = 0
        with computing():
            assert out.get().tolist() == [[9, 9], [9, 9]]
            assert tree.get().tolist() == [[0, 9], [3, 9]]

    def test_out_may_be_an_operand(self, library: Library) -> None:
        be = Backend(library=library.name)
        x = be.array(library.array(np.arange(9.0).reshape(3, 3)))
        be.dot(x, x, out=x)
        be.subtract(x, x.T, out=x)
        be.maximum(x[0:1], x, out=x)
        with computing():
            got = x.get()
        a = np.arange(9.0).reshape(3, 3)
        a = a @ a
        a = a - a.T
        np.testing.assert_array_equal(got, np.maximum(a[0:1], a))

    def test_execute_wants_an_assignment(self, be: Backend) -> None:
        x, out = be.ones((1, 2)), be.zeros((1, 2))
        assert be.execute(OpTree({"op": "assign"}, out, x + 1)) is out
        assert be.execute(OpTree({"op": "assign"}, out, 5.0)).get().tolist() == [[5, 5]]
        with pytest.raises(ValueError, match="assignment at its top"):
            be.execute(x + 1)
        with pytest.raises(TypeError, match="must be an op-tree"):
            be.execute(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a must be a Buffer to assign to"):
            OpTree({"op": "assign"}, x + 1, x)
        with pytest.raises(TypeError, match="cannot be assigned to"):
            (x + 1)[:] = 2

    def test_operations_by_neons_names(self, be: Backend) -> None:
        x, y, out = be.array([[1.0, -2.0]]), be.array([[3.0, 4.0]]), be.zeros((1, 2))
        for op, wanted in {"add": [4, 2], "sub": [-2, -6], "div": [1 / 3, -0.5], "pow": [1, 16], "lt": [1, 1]}.items():
            np.testing.assert_allclose(OpTree.build(op, x, y).get(), [wanted], rtol=1e-6)
        assert OpTree.build("sqr", x, None, out=out) is out and out.get().tolist() == [[1, 4]]
        assert OpTree.build("assign", out, x + 1) is out and out.get().tolist() == [[2, -1]]
        assert OpTree.build("sum", x, None, axis=1).get().tolist() == [[-1]]
        assert OpTree.build("transpose", x + y, None).shape == OpTree({"op": "transpose"}, x).shape == (2, 1)
        assert OpTree({"op": "assign"}, out, y).execute() is out and out.get().tolist() == [[3, 4]]
        with pytest.raises(ValueError, match=r"op must be assign, transpose or one of abs, div.*got 'array'"):
            OpTree.build("array", x, y)
        with pytest.raises(TypeError, match="a or b must be a Buffer or an op-tree, got int and NoneType"):
            OpTree.build("neg", 3, None)

    def test_nodes_of_neons_own_stand_for_trees(self, library: Library) -> None:
        be = Backend(library=library.name)
        x, out = be.array([[1.0, 2.0]]), be.zeros((1, 2))
        node: Any = ({"op": "mul", "shape": (1, 2)}, ({"op": "add", "shape": (1, 2)}, x, 1), x)
        values = []
        out[:] = node
        for tree in (out + 0, x + node, be.negative(node), OpTree.build("sub", node, x * 2)):
            with computing():
                values.append(tree.get().tolist())
        assert values == [[[2, 6]], [[3, 8]], [[-2, -6]], [[0, 2]]]
        assert be.execute(({"op": "assign"}, out, node)) is out  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="assignment at its top"):
            be.execute(node)

    def test_can_be_read(self, be: Backend) -> None:
        x, y = be.ones((1, 2), name="x"), be.ones((1, 2), name="y")
        tree = be.exp(x * 2.0) - y
        assert tree.pp() == "(exp(x * 2.0) - y)"
        stack = tree.traverse([])
        assert stack[0] is x and stack[1] == 2.0 and stack[4] is y
        assert [entry["op"] for entry in stack if isinstance(entry, dict)] == ["multiply", "exp", "subtract"]
        again, other = be.exp(x * 2.0) - y, be.exp(y * 2.0) - x
        assert len({tree.key(), again.key()}) == 1 and len({tree.key(), other.key(), (x * 2.0).key()}) == 3
        held, node = x, x.node
        del x, stack, held  # the tree stays printable after its buffer is freed
        assert tree.traverse([])[0].node is node

    @pytest.mark.parametrize("floating", ["float16", "float32", "float64"])
    def test_new_buffers_have_the_default_dtype(self, floating: str) -> None:
        be = Backend(default_dtype=floating, library="numpy")
        x = be.array([[1, 2]], dtype="int32")
        for tree in (x + x, be.mean(x, axis=1), be.argmax(x), x > 1, be.exp(x)):
            assert tree.astensor().dtype == tree.get().dtype == floating

    def test_a_product_of_matrices_that_do_not_fit(self, be: Backend) -> None:
        with pytest.raises(ValueError, match="3"):
            be.dot(be.zeros((2, 3)), be.zeros((4, 4)))
        with pytest.raises(TypeError, match="out must be a Buffer"):
            be.add(be.zeros((1, 1)), 1, out=np.zeros((1, 1)))
        with pytest.raises(ValueError, match=r"what goes to out must fit the shape \(1, 1\), got \(2, 3\)"):
            be.exp(be.zeros((2, 3)), out=be.zeros((1, 1)))
        with pytest.raises(TypeError, match="operand"):
            be.exp("text")

    @pytest.mark.parametrize("axis", ["0", 0.5, True])
    def test_axes_are_integers(self, be: Backend, axis: Any) -> None:
        x = be.ones((2, 3))
        for reduce in (be.sum, be.max, be.mean, be.var, be.argmax, be.argmin):
            with pytest.raises(TypeError, match="axis must be an integer"):
                reduce(x, axis=axis)

    @pytest.mark.parametrize("indices", [None, "0", 0.5, [0.5]])
    def test_indices_are_integers(self, be: Backend, indices: Any) -> None:
        with pytest.raises(TypeError, match="indices must be integers"):
            be.take(be.ones((2, 3)), indices, axis=0)


class TestOneHot:
    def test_takes_its_classes_from_the_buffer(self, library: Library) -> None:
        be = Backend(library=library.name)
        tree = be.onehot(be.array([[2, 0]], dtype="int32"), axis=0)
        for classes in (3, 4):
            out = be.zeros((classes, 2))
            out[:] = tree
            with computing():
                assert out.get().argmax(axis=0).tolist() == [2, 0] and out.get().sum() == 2

    def test_has_no_shape_before(self, be: Backend) -> None:
        tree = be.onehot([1, 0], axis=1)
        uses: list[Callable[[], Any]] = [
            lambda: tree.shape, lambda: tree + 1, lambda: tree.get(), lambda: be.sum(tree), lambda: be.add(tree, 1),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(ValueError, match="assign it to one"):
                use()

    def test_what_is_no_class(self, be: Backend) -> None:
        with pytest.raises(ValueError, match=r"out must have the classes along axis 0, got shape \(0, 3\)"):
            be.onehot([0, 1, 0], axis=0, out=be.zeros((0, 3)))
        with pytest.raises(IndexError):
            be.onehot([5], axis=0, out=be.zeros((3, 1)))
        with pytest.raises(TypeError, match="integers"):
            be.onehot([0.5], axis=0)
        with pytest.raises(ValueError, match="axis must be 0 or 1"):
            be.onehot([1], axis=2)
