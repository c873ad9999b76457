"""The record of a topology."""

from typing import Any

import msgspec
import pytest

from evener.artifacts.topology import Topology, parse_halo
from evener.errors import InputError


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shards": 0}, "0 shards: a network has 1 or more"),
        ({"halo": -1}, "a halo of -1: give 0 or more neurons, or full"),
        ({"coarse": -2}, "-2 coarse values: give 0 or more"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Topology(**wrong)


@pytest.mark.parametrize("text", ["", "-1", "half", "1.5", "²"])
def test_what_is_no_halo_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is no halo: give a number of neurons"):
        parse_halo(text)


def test_it_is_the_same_after_being_written_and_read() -> None:
    topology = Topology(shards=4, halo=2, shuffle=True, coarse=1, input="sharded")

    assert msgspec.json.decode(msgspec.json.encode(topology), type=Topology) == topology


def test_dense_is_a_full_halo_or_one_shard() -> None:
    dense = [Topology(), Topology(shards=4), Topology(shards=1, halo=0)]

    assert [one.dense for one in dense] == [True, True, True]
    assert not Topology(shards=2, halo=9).dense
