"""What a stage of a graph costs."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from evener.errors import EvenerError, InfeasibleError, InputError
from evener.plan.dag import Dag, Kind, Tensor, members

# Four nodes that fork and join again, on two accelerators and a CPU.
DAG = Dag(
    tensors=(Tensor(0, (1, 2), 10.0), Tensor(1, (3,), 20.0), Tensor(2, (3,), 40.0)),
    kinds=(Kind(2, (1.0, 2.0, 3.0, 4.0)), Kind(1, (5.0,) * 4, moves=False)),
    sizes_bytes=(1.0, 1.0, 1.0, 1.0),
)


def test_a_stage_pays_for_its_nodes_and_what_enters_and_leaves() -> None:
    assert DAG.load_s(0, 0b0010) == 2 + 10 + 20


def test_a_tensor_that_several_nodes_read_is_paid_for_once() -> None:
    assert DAG.load_s(0, 0b0001) == 1 + 10
    assert DAG.load_s(0, 0b0110) == 2 + 3 + 10 + 20 + 40


def test_a_tensor_that_is_read_inside_and_outside_leaves() -> None:
    assert DAG.load_s(0, 0b0011) == 1 + 2 + 10 + 20


def test_where_the_tensors_lie_nothing_is_moved() -> None:
    assert DAG.load_s(1, 0b0110) == 10


def test_a_stage_that_takes_too_much_memory_cannot_run() -> None:
    small = replace(DAG, kinds=(Kind(2, (1.0,) * 4, memory_bytes=2.0), Kind(1, (5.0,) * 4)))

    assert small.load_s(0, 0b0110) < inf
    assert small.load_s(0, 0b0111) == inf
    assert small.load_s(1, 0b0111) < inf


def test_a_node_that_a_device_cannot_run_keeps_its_stage_off_it() -> None:
    picky = replace(DAG, kinds=(Kind(1, (1.0, inf, 1.0, 1.0)), Kind(1, (5.0,) * 4)))

    assert picky.load_s(0, 0b0011) == inf
    assert picky.load_s(0, 0b1100) < inf


def test_the_best_ratio_of_a_kind_counts() -> None:
    assert DAG.ratios == (1.0, 4 / 5)


def test_members_are_listed_in_order() -> None:
    assert list(members(0)) == []
    assert list(members(1 << 70 | 0b11)) == [0, 1, 70]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kinds": (Kind(1, (1.0,)),)}, InputError, "kind 0 of device gives 1 times for 4 nodes"),
        ({"kinds": (Kind(0, (1.0,) * 4),)}, InputError, "has a count of 0 and times from 1.0 s"),
        (
            {"kinds": (Kind(1, (1.0, -2.0, 1.0, 1.0)),)},
            InputError,
            "kind 0 of device has a count of 1 and times from -2.0 s",
        ),
        (
            {"kinds": (Kind(1, (1.0, inf, 1.0, inf)),)},
            InfeasibleError,
            r"nodes \[1, 3\] run on none of the 1 kinds of devices",
        ),
        (
            {"tensors": (Tensor(0, (4,), 1.0),)},
            InputError,
            r"a tensor from node 0 to \[4\] of 4 nodes takes 1.0 s: nodes count from 0",
        ),
        ({"tensors": (Tensor(0, (1,), inf),)}, InputError, "takes inf s"),
        ({"tensors": (Tensor(0, (1,), -1.0),)}, InputError, "takes -1.0 s"),
    ],
)
def test_what_cannot_be_is_refused(
    changes: dict[str, Any], error: type[EvenerError], message: str
) -> None:
    with pytest.raises(error, match=message):
        replace(DAG, **changes)
