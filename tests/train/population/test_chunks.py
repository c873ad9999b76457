"""How many individuals are trained at a time."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from evener.train.population import chunks
from evener.train.population.buckets import plan_buckets
from evener.train.population.chunks import cache_bytes, cached, chunks_of, held, in_halves
from evener.train.population.individual import Individual
from evener.train.population.layout import Layout

CPU, GPU = torch.device("cpu"), torch.device("cuda")
POPULATION = [Individual(widths=(784, 64, 32, 10), seed=seed) for seed in range(7)]
[BUCKET] = plan_buckets(POPULATION)
WEIGHTS = 784 * 64 + 64 * 32 + 32 * 10 + 106


def test_bytes_are_those_of_weights_velocity_masks_and_values() -> None:
    each = Layout(BUCKET).bytes_each(POPULATION, 32, torch.float32)

    assert each == 4 * (3 * WEIGHTS + 32 * (784 + 3 * 106 + 10))


def test_chunks_hold_as_many_as_are_given_and_differ_by_one_at_most() -> None:
    assert chunks_of([6, 5, 4, 3, 2, 1, 0], 3) == [(6, 5), (4, 3), (2, 1, 0)]


def test_on_cores_the_cache_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "cache_bytes", lambda: 6000)
    monkeypatch.setattr(chunks, "free_bytes", lambda _: 20_000)

    assert cached(1000, CPU) == 3
    assert cached(1000, GPU) == 10
    assert cached(9000, CPU) == 1


def test_memory_counts_where_it_is_scarcer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "free_bytes", lambda _: 2000)

    assert cached(1000, CPU) == 1
    with pytest.raises(MemoryError, match="an individual takes 0 MB to train, and 0 MB are free"):
        held(1001, CPU)


def test_threads_have_equally_many_chunks_where_none_becomes_small() -> None:
    assert [len(one) for one in chunks_of(range(24), 10, threads=2)] == [6, 6, 6, 6]
    assert [len(one) for one in chunks_of(range(24), 10, threads=4)] == [6, 6, 6, 6]
    assert [len(one) for one in chunks_of(range(15), 10, threads=4)] == [7, 8]


def test_the_last_cache_counts_where_the_system_tells_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_CACHES", tmp_path)

    assert cache_bytes() == 8 << 20

    for level, size in (("1", "32K"), ("3", "4096K"), ("2", "512K")):
        folder = tmp_path / f"index{level}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        (folder / "size").write_text(f"{size}\n")
    assert cache_bytes() == 4 << 20


def test_halves_are_halved_until_they_fit() -> None:
    def act(members: Sequence[int]) -> int:
        if len(members) > 2 or 3 in members:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return sum(members)

    found = list(in_halves([0, 1, 2, 3, 4], act))

    assert [list(members) for members, _ in found] == [[0, 1], [2], [3], [4]]
    assert [result for _, result in found if isinstance(result, int)] == [1, 2, 4]
    assert str(found[2][1]) == "CUDA out of memory"
