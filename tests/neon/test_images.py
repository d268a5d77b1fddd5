"""Local response normalization and regions of interest, held to element-by-element reference computations."""

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Autodiff, Backend
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.jax_at_night


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


class TestResponses:
    @pytest.mark.parametrize(("maps", "J"), [(6, 3), (2, 5)])
    def test_values_and_gradient(self, library: Library, maps: int, J: int) -> None:
        be = Backend(default_dtype="float64", library=library.name)
        layer = be.lrn_layer("float64", N=2, C=maps, H=2, W=3, J=J)
        assert (layer.dimI2, layer.dimO2) == ((maps * 6, 2),) * 2 and layer.JTRS == (J, 1, 1, 1)
        inputs, E = be.array(drawn(*layer.dimI2)), be.array(drawn(*layer.dimI2, seed=2))
        outputs, denom, delta = (be.zeros(layer.dimO2) for _ in range(3))
        be.fprop_lrn(layer, inputs, outputs, denom, 1.0, 0.0, 0.7, 0.75)
        be.bprop_lrn(layer, inputs, outputs, E, delta, denom, 1.0, 0.0, 0.7, 0.75)
        with computing():
            x = inputs.get().reshape(maps, -1)
            near = range(-(J // 2), J // 2 + 1)
            scale = np.stack([
                1 + 0.7 / J * sum(x[m + k] ** 2 for k in near if 0 <= m + k < maps) for m in range(maps)
            ])  # fmt: skip
            np.testing.assert_allclose(denom.get().reshape(maps, -1), scale, rtol=1e-12)
            np.testing.assert_allclose(outputs.get().reshape(maps, -1), x * scale**-0.75, rtol=1e-12)
            got, errors = delta.get(), E.get().reshape(maps, -1)
        ours = Backend(default_dtype="float64", library="numpy")
        leaf = ours.array(x)
        band = ours.array(np.asarray([[abs(k - m) <= J // 2 for m in range(maps)] for k in range(maps)], dtype=float))
        tree = leaf * ours.power(1 + ours.dot(band, ours.square(leaf)) * (0.7 / J), -0.75)
        (wanted,) = Autodiff(tree, ours, ours.array(errors)).get_grad_asnumpyarray([leaf])
        np.testing.assert_allclose(got.reshape(maps, -1), wanted, rtol=1e-10, atol=1e-12)

    def test_what_was_held_is_added(self) -> None:
        be = Backend(library="numpy")
        layer = be.lrn_layer("float32", N=1, C=1)
        outputs, denom = be.ones((1, 1)), be.ones((1, 1))
        be.fprop_lrn(layer, be.array([[1.0]]), outputs, denom, alpha=4.0, beta=10.0)
        assert outputs.get() == 12 and denom.get() == 2

    def test_refusals(self) -> None:
        be = Backend(library="numpy")
        with pytest.raises(ValueError, match="J must be odd"):
            be.lrn_layer("float32", N=1, C=4, J=2)
        layer, outputs, denom = be.lrn_layer("float32", N=1, C=4), be.ones((4, 1)), be.ones((4, 1))
        with pytest.raises(TypeError, match="layer must be what lrn_layer returns"):
            be.fprop_lrn(be.pool_layer("float32", "max", 1, 4), outputs, outputs, denom)  # type: ignore[arg-type]
        for given in (
            (be.ones((3, 1)), outputs, denom),
            (outputs, be.ones((3, 1)), denom),
            (outputs, outputs, be.ones((3, 1))),
        ):
            with pytest.raises(ValueError, match="must have shape"):
                be.fprop_lrn(layer, *given)
        with pytest.raises(TypeError, match="bpower must be a number"):
            be.fprop_lrn(layer, outputs, outputs, denom, bpower="x")  # type: ignore[arg-type]
        assert (outputs.get() == 1).all() and (denom.get() == 1).all()


def pooled(maps: np.ndarray, rois: np.ndarray, rows: int, columns: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Each cell by itself."""
    channels, height, width, _ = maps.shape
    values, places = np.zeros((channels, rows, columns, len(rois))), np.full((channels, rows, columns, len(rois)), -1)
    for number, (image, *borders) in enumerate(rois):
        x0, y0, x1, y1 = (round(float(border) * scale) for border in borders)
        wide, high = max(x1 - x0 + 1, 1), max(y1 - y0 + 1, 1)
        for row in range(rows):
            above, below = y0 + row * high // rows, y0 + math.ceil((row + 1) * high / rows)
            for column in range(columns):
                left, right = x0 + column * wide // columns, x0 + math.ceil((column + 1) * wide / columns)
                ys = range(min(max(above, 0), height), min(max(below, 0), height))
                xs = range(min(max(left, 0), width), min(max(right, 0), width))
                for channel in range(channels):
                    found = [(maps[channel, y, x, int(image)], -y * width - x) for y in ys for x in xs]
                    if found:
                        values[channel, row, column, number], place = max(found)
                        places[channel, row, column, number] = -place
    return values, places


class TestRegions:
    ROIS = np.asarray([
        [0, 0, 0, 15, 11], [1, 2, 3, 9, 4], [0, 30, 2, 60, 9], [1, 5, 5, 3, 2], [1, 7, 9, 7, 9], [0, 100, 0, 120, 8],
    ], dtype=float)  # fmt: skip

    def test_values_places_and_gradient(self, library: Library) -> None:
        be = Backend(default_dtype="float64", library=library.name)
        be.bsz = 2
        maps = np.round(drawn(3, 7, 9, 2) * 2)  # with elements as large as others
        count, cells = len(self.ROIS), (3, 2)
        inputs, rois = be.array(maps.reshape(-1, 2)), be.array(self.ROIS)
        outputs, argmax, delta = be.ones((3 * 6, count)), be.zeros((3 * 6, count), dtype="int32"), be.ones((3 * 63, 2))
        be.roipooling_fprop(inputs, rois, outputs, argmax, count, 3, 7, 9, *cells, 0.5)
        errors = drawn(3 * 6, count, seed=3)
        be.roipooling_bprop(be.array(errors), rois, delta, argmax, count, 3, 7, 9, *cells, 0.5)
        values, places = pooled(maps, self.ROIS, *cells, 0.5)
        wanted = np.zeros((3, 63, 2))
        for (channel, row, column, number), place in np.ndenumerate(places):
            if place >= 0:
                error = errors.reshape(3, *cells, count)[channel, row, column, number]
                wanted[channel, place, int(self.ROIS[number, 0])] += error
        with computing():
            np.testing.assert_array_equal(outputs.get().reshape(values.shape), values)
            np.testing.assert_array_equal(argmax.get().reshape(places.shape), places)
            np.testing.assert_allclose(delta.get().reshape(wanted.shape), wanted, rtol=1e-12)

    def test_borders_are_those_of_exact_quotients(self) -> None:
        """Of a row as long as it has cells, each cell is one element, whatever a rounded quotient says."""
        be = Backend(library="numpy")
        be.bsz = 1
        for length in (3, 7, 49, 103):
            row, outputs, at = be.array(np.arange(length)), be.zeros((length, 1)), be.zeros((length, 1), dtype="int32")
            be.roipooling_fprop(row, be.array([[0, 0, 0, length - 1, 0]]), outputs, at, 1, 1, 1, length, 1, length, 1.0)
            np.testing.assert_array_equal(outputs.get()[:, 0], np.arange(length))

    def test_boxes_that_overlap_a_better_one_are_dropped(self, library: Library) -> None:
        rng = np.random.default_rng(5)
        corner, score = rng.random((30, 2)) * 20, rng.random((30, 1))
        boxes = np.concatenate([corner, corner + rng.random((30, 2)) * 20, score], axis=1)

        def share(a: Any, b: Any) -> float:
            wide, high = (max(0.0, min(a[2 + k], b[2 + k]) - max(a[k], b[k]) + 1) for k in (0, 1))
            areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
            return float(wide * high / (sum(areas) - wide * high))

        kept: list[int] = []
        for number in np.argsort(-boxes[:, 4]):
            if all(share(boxes[other], boxes[number]) <= 0.3 for other in kept):
                kept.append(int(number))
        be = Backend(default_dtype="float64", library=library.name)
        with computing():
            assert be.nms(be.array(boxes), 0.3) == kept and 1 < len(kept) < 30

    def test_refusals(self) -> None:
        be: Any = Backend(library="numpy")
        outputs, at = be.ones((4, 1)), be.ones((4, 1), dtype="int32")
        given: Any = (be.ones((9, 1)), be.ones((1, 5)), outputs, at, 1, 1, 3, 3, 2, 2, 1.0)
        with pytest.raises(ValueError, match="set the backend's bsz"):
            be.roipooling_fprop(*given)
        be.bsz = 1
        wrong: list[tuple[int, Any, str]] = [
            (0, be.ones((8, 1)), "I must have shape"), (1, be.ones((1, 4)), "rois must have shape"),
            (2, be.ones((3, 1)), "O must have shape"), (3, be.ones((3, 1)), "argmax must have shape"),
            (5, 0, "C must be 1 or more"), (8, 0, "pooled_height must be 1 or more"),
        ]  # fmt: skip
        for place, value, said in wrong:
            with pytest.raises(ValueError, match=said):
                be.roipooling_fprop(*given[:place], value, *given[place + 1 :])
        with pytest.raises(ValueError, match="boxes must have shape"):
            be.nms(be.ones((3, 4)), 0.5)
        assert (outputs.get() == 1).all() and (at.get() == 1).all()
