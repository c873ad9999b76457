"""Cuts that a user names."""

import pytest

from evener.errors import InputError
from evener.network.cuts import segments_between


def test_cuts_leave_every_block_in_one_segment() -> None:
    assert segments_between([0, 2], blocks=4, network="toy") == (
        range(1),
        range(1, 3),
        range(3, 4),
    )


def test_cuts_in_different_branches_do_not_follow_each_other() -> None:
    with pytest.raises(InputError, match="the cuts 1 and 2 of toy do not follow each other: some "):
        segments_between([1, 2], blocks=4, network="toy", formed=lambda *ends: ends != (2, 2))

    assert segments_between([2], blocks=4, network="toy", formed=lambda *ends: ends != (2, 2))


def test_no_cuts_leave_the_whole() -> None:
    assert segments_between([], blocks=3, network="toy") == (range(3),)


@pytest.mark.parametrize(
    ("cuts", "blocks", "message"),
    [
        ([3], 4, "there is no cut 3: toy in 4 blocks has the cuts 0 to 2; see them with"),
        ([-1, 1, 9], 4, "there is no cut -1, 9: toy in 4 blocks has the cuts 0 to 2"),
        ([0], 1, "there is no cut 0: toy in 1 block cannot be cut"),
        ([2, 1], 4, "the cuts 2, 1 do not ascend: name each once, smallest first"),
        ([1, 1], 4, "the cuts 1, 1 do not ascend"),
    ],
)
def test_cuts_that_are_none_are_refused(cuts: list[int], blocks: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        segments_between(cuts, blocks=blocks, network="toy")
