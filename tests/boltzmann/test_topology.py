"""Layers and connections: how they fall into groups, and what makes no machine."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.boltzmann import Topology


@pytest.mark.parametrize(
    ("sizes", "connections", "groups"),
    [
        ([4, 3], None, ((0,), (1,))), ([4, 3, 2], None, ((0, 2), (1,))), ([9, 8, 7, 6, 5], None, ((0, 2, 4), (1, 3))),
        ([4, 3, 2], [(0, 1), (1, 2), (0, 2)], ((0,), (1,), (2,))), ([4, 3, 2], [(2, 0), (1, 0)], ((0,), (1, 2))),
        ([4, 3, 2, 2], [(0, 3), (3, 1), (1, 2)], ((0, 1), (2, 3))),
    ],
)  # fmt: skip
def test_layers_fall_into_groups(sizes: list[int], connections: Any, groups: Any) -> None:
    topology = Topology(sizes, connections)
    assert topology.groups == groups
    assert topology.sweep == (*groups[1:], groups[0])
    assert topology.retained == tuple(sorted(set(range(len(sizes))) - set(groups[1])))


@given(st.data())
def test_no_group_has_connected_layers_and_two_groups_do_for_a_tree(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 7))
    tree = {(data.draw(st.integers(0, layer - 1)), layer) for layer in range(1, count)}
    more = data.draw(st.sets(st.sampled_from(list(itertools.combinations(range(count), 2)))))
    assert len(Topology([1] * count, tree).groups) == 2
    topology = Topology([1] * count, tree | more)
    assert sorted(itertools.chain(*topology.groups)) == list(range(count))
    assert 0 in topology.groups[0]
    assert not [pair for pair in topology.connections for group in topology.groups if set(pair) <= set(group)]


def test_topologies_are_equal_by_what_they_say() -> None:
    assert Topology([4, 3, 2]) == Topology((4, 3, 2), [(2, 1), [0, 1]])
    assert Topology([4, 3]) != Topology([4, 3], visible="gaussian")
    assert [units.name for units in Topology([3, 2, 2], visible="gaussian").units] == ["gaussian", "binary", "binary"]
    assert hash(Topology([4, 3])) == hash(Topology([4, 3]))


@pytest.mark.parametrize(
    ("sizes", "connections", "message"),
    [
        (5, None, "layers must be a list of sizes, the visible layer first, got 5"),
        ("45", None, "layers must be a list of sizes"),
        ([5], None, "layers must be at least two, a visible and a hidden one, got 1"),
        ([5, 0], None, "layers must be sizes, whole numbers of at least 1, got 0"),
        ([5, 2.5], None, "layers must be sizes, whole numbers of at least 1, got 2.5"),
        ([5, True], None, "layers must be sizes, whole numbers of at least 1, got True"),
        ([5, 4, 3], [(0, 1), (1, 3)], r"connections must join layers from 0 to 2, got 3 in \(1, 3\)"),
        ([5, 4, 3], [(0, 1), (1, -1)], r"connections must join layers from 0 to 2, got -1"),
        ([5, 4, 3], [(0, 1), (1, "2")], r"connections must join layers from 0 to 2, got '2'"),
        ([5, 4], [(0, 1), (1, 1)], r"connections must join two layers, got \(1, 1\), which joins layer 1 to itself"),
        ([5, 4], [(0, 1), (1, 0)], r"connections must name each pair of layers once, got \(1, 0\) twice"),
        ([5, 4], [(0, 1, 2)], r"connections must be pairs of layers, got \(0, 1, 2\)"),
        ([5, 4], [3], "connections must be pairs of layers, got 3"),
        ([5, 4, 3], [(0, 1)], "connections must reach every layer from layer 0, but none reaches layer 2"),
        ([5, 4, 3, 2], [(0, 1), (2, 3)], "none reaches layer 2"),
        ([5, 4], [], "none reaches layer 1"),
    ],
)
def test_what_makes_no_machine_is_refused(sizes: Any, connections: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Topology(sizes, connections)
