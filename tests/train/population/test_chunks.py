"""How many individuals are trained at a time."""

import os
from collections.abc import Sequence

import pytest
import torch

from evener.train.population import chunks
from evener.train.population.buckets import plan_buckets
from evener.train.population.chunks import bytes_each, cache_bytes, chunks_of, in_halves
from evener.train.population.individual import Individual

CPU, SINGLE = torch.device("cpu"), torch.float32
POPULATION = [Individual(widths=(784, 64, 32, 10), seed=seed) for seed in range(7)]
[BUCKET] = plan_buckets(POPULATION)
WEIGHTS = 784 * 64 + 64 * 32 + 32 * 10 + 106


def test_bytes_are_those_of_weights_velocity_masks_and_values() -> None:
    each = bytes_each(BUCKET, POPULATION[0], 32, SINGLE, dropout=False)

    assert each == 4 * (3 * WEIGHTS + 32 * (784 + 3 * 106 + 10))


def test_chunks_hold_what_the_cache_holds_and_differ_by_one_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = bytes_each(BUCKET, POPULATION[0], 32, SINGLE, dropout=False)
    monkeypatch.setattr(chunks, "cache_bytes", lambda: 6 * each)

    found = chunks_of(BUCKET, POPULATION, 32, CPU, SINGLE)

    assert [len(one) for one in found] == [2, 2, 3]
    assert [index for one in found for index in one] == list(BUCKET.members)


def test_memory_counts_where_it_is_scarcer(monkeypatch: pytest.MonkeyPatch) -> None:
    each = bytes_each(BUCKET, POPULATION[0], 32, SINGLE, dropout=False)
    monkeypatch.setattr(chunks, "free_bytes", lambda _: 2 * each)

    assert [len(one) for one in chunks_of(BUCKET, POPULATION, 32, CPU, SINGLE)] == [1] * 7


def test_a_chunk_can_be_given() -> None:
    assert [len(one) for one in chunks_of(BUCKET, POPULATION, 32, CPU, SINGLE, 4)] == [3, 4]


def test_a_system_that_does_not_tell_its_cache_has_a_small_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)

    assert cache_bytes() == 8 << 20


def test_halves_are_halved_until_they_fit() -> None:
    def act(members: Sequence[int]) -> int:
        if len(members) > 2 or 3 in members:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return sum(members)

    found = list(in_halves([0, 1, 2, 3, 4], act))

    assert [list(members) for members, _ in found] == [[0, 1], [2], [3], [4]]
    assert [result for _, result in found if isinstance(result, int)] == [1, 2, 4]
    assert str(found[2][1]) == "CUDA out of memory"
