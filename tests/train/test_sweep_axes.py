"""What a sweep trains: every combination of the values of some settings, each network once."""

import pytest

from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.train.sweep_axes import AXES, parse_axis, topologies_of

SHARDED = Topology(shards=4, halo=0, input="sharded")


def test_every_setting_of_a_topology_can_be_swept() -> None:
    assert set(AXES) == set(Topology.__struct_fields__)


def test_a_setting_takes_each_of_its_values() -> None:
    found = topologies_of([parse_axis("halo=0,boundary,full")], SHARDED)

    assert [(one.halo, one.shards, one.input) for one in found] == [
        (0, 4, "sharded"),
        (1, 4, "sharded"),
        ("full", 4, "sharded"),
    ]
    assert parse_axis("shards=1,64").values == (1, 64)
    assert parse_axis("coarse=0,2").values == (0, 2)
    assert parse_axis("shuffle=off,on").values == (False, True)
    assert parse_axis("input=sharded").values == ("sharded",)


def test_several_settings_give_all_combinations_but_a_dense_network_once() -> None:
    axes = [parse_axis("halo=1,full"), parse_axis("shuffle=off,on"), parse_axis("coarse=0,2")]

    found = topologies_of(axes, SHARDED)

    assert [(one.halo, one.shuffle, one.coarse) for one in found] == [
        *((1, False, 0), (1, False, 2), (1, True, 0), (1, True, 2)),
        ("full", False, 0),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width=1,2", "'width=1,2' is nothing to sweep: give halo, shards, coarse, shuffle or inp"),
        ("halo", "'halo' is nothing to sweep"),
        ("halo=", "'halo=' is nothing to sweep"),
        ("halo=1,1", "names 1 twice"),
        ("halo=1,boundary", "names boundary twice"),
        ("halo=1,wide", "'wide' is no halo"),
        ("shards=2,few", "'few' in 'shards=2,few' is no number of shards"),
        ("shuffle=yes", "'yes' in 'shuffle=yes' is neither off nor on"),
    ],
)
def test_what_cannot_be_swept_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_axis(text)


def test_values_out_of_range_and_settings_given_twice_are_refused() -> None:
    with pytest.raises(InputError, match="0 shards: a network has 1 or more"):
        topologies_of([parse_axis("shards=0,1")], SHARDED)
    with pytest.raises(InputError, match="halo is swept twice: give all its values at once"):
        topologies_of([parse_axis("halo=0"), parse_axis("halo=1")], SHARDED)
