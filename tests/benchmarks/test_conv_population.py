"""Timing convolutional networks one at a time and in groups."""

import conv_population
import torch


def test_ways_take_turns_over_the_same_network() -> None:
    case = conv_population.Case(((4, 2), (6, 1)), batch=4, steps=2)
    before = torch.get_num_threads()

    row = conv_population.measure(case, rounds=3)

    assert torch.get_num_threads() == before
    assert all(len(one) == 3 for one in row["seconds"].values())
    assert set(row["seconds"]) == {"plain PyTorch", "one at a time", "4 side by side"}
    for low, middle, high in row["ratios"].values():
        assert low <= middle <= high
    weights = sum(one.numel() for one in case.alone[0][0].parameters())
    own = case.population[0].weighted
    assert weights == sum(torch.Size(one.shape).numel() + one.outputs for one in own)
    assert "4/2 6/1, batch 4, 4 networks" in conv_population.lines(row)[0]
