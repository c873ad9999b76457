"""What starting at the edge of chaos buys."""

from pathlib import Path

import edge_of_chaos
import msgspec
import numpy as np
import pytest
import torch
from edge_of_chaos_nets import GUESSING, Batch, Rows, draw, make, train
from edge_of_chaos_table import evolve

from evener.artifacts.edge_of_chaos import EdgeOfChaos
from evener.search.chaos.domains import DOMAINS
from evener.search.chaos.table import PAPER, Axis, Grid, Probed, probe_table

WIDTHS = (6, 5, 5, 10)


def rows() -> Rows:
    rng = np.random.default_rng(0)
    inputs = torch.from_numpy(rng.normal(size=(30, 6)).astype(np.float32))
    labels = torch.from_numpy(rng.integers(10, size=30))
    return Rows(inputs, labels, inputs, labels)


def batch(*seeds: int) -> Batch:
    return make([draw("critical", seed) for seed in seeds], WIDTHS, seeds)


def test_networks_side_by_side_learn_what_each_learns_alone() -> None:
    options = {"epochs": 3, "size": 10, "looks": [0, 3]}
    together = train(batch(1, 2, 3), [0.1, 0.01, 0.3], rows(), **options)  # type: ignore[arg-type] # a dict of several types

    for at, (seed, rate) in enumerate([(1, 0.1), (2, 0.01), (3, 0.3)]):
        alone = train(batch(seed), [rate], rows(), **options)  # type: ignore[arg-type] # as above
        assert alone.loss[:, 0] == pytest.approx(together.loss[:, at], rel=1e-5)
        assert alone.gradient[0] == pytest.approx(together.gradient[at], abs=1e-5)


def test_one_that_diverges_spoils_no_other() -> None:
    nets = batch(1, 2)
    with torch.no_grad():
        nets.weights[0][1] = torch.nan

    found = train(nets, [0.1, 0.1], rows(), epochs=2, size=10, looks=[0, 2])

    assert found.diverged.tolist() == [False, True]
    assert found.loss[:, 1].tolist() == [GUESSING, GUESSING]
    assert found.loss[1, 0] < found.loss[0, 0]


def test_missing_links_stay_missing() -> None:
    nets = batch(4, 5, 6, 7)
    away = [~mask for mask in nets.masks]

    train(nets, [0.1] * 4, rows(), epochs=2, size=10, looks=[2])

    assert any(bool(one.any()) for one in away)
    for weights, gone in zip(nets.weights, away, strict=True):
        assert not bool(weights.detach()[gone].any())


@pytest.fixture
def probed() -> Probed:
    def probe(states: np.ndarray) -> np.ndarray:
        gone = states @ np.array([0.4, 0.3, -0.2, 0.1])
        return np.stack([np.ones(len(states)), 1 - 0.5 * gone], axis=1)

    names = ("rate", "momentum", "mutation", "crossover")
    return probe_table(Grid(tuple(Axis(name, (0.0, 0.5, 1.0)) for name in names)), probe)


def test_variants_at_the_best_state_stay_there_if_it_does_not_mutate(probed: Probed) -> None:
    top = np.array([int(np.argmax(probed.learned))])

    begun, ended = evolve(probed, top, 5, np.random.default_rng(0))

    assert probed.best == (1.0, 1.0, 0.0, 1.0)
    assert not begun.any()
    assert not ended.any()


def test_variants_come_nearer_to_the_best_state(probed: Probed) -> None:
    begun, ended = evolve(probed, np.arange(81), 30, np.random.default_rng(1))

    assert begun.shape == ended.shape == (10, 4)
    assert np.abs(ended).mean() < np.abs(begun).mean()


def test_what_is_no_difference_is_said_to_be_none() -> None:
    rng = np.random.default_rng(0)
    same = edge_of_chaos.compared(
        rng.normal(size=10).tolist(), rng.normal(size=10).tolist(), "ours", "theirs"
    )
    lower = edge_of_chaos.compared([*range(10)], [*range(20, 30)], "ours", "theirs")

    assert same.startswith("no difference that 10 seeds can tell (Mann-Whitney, p = ")
    assert lower.startswith("ours is lower (Mann-Whitney, p = ")


def test_quick_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_of_chaos, "STEPS", 10)
    monkeypatch.setattr(edge_of_chaos, "ITERATIONS", 3)
    monkeypatch.setattr(edge_of_chaos, "WIDTH", 12)
    monkeypatch.setattr(
        edge_of_chaos,
        "PAPER",
        Grid(tuple(Axis(axis.name, axis.levels[::2]) for axis in PAPER.axes)),
    )
    out = tmp_path / "edge"

    code = edge_of_chaos.main(
        ["--quick", "--seeds", "2", "--kept", str(tmp_path / "kept"), "-o", str(out)]
    )

    assert code == 0
    record = msgspec.json.decode(out.with_suffix(".json").read_bytes())
    found = msgspec.convert(record["found"], EdgeOfChaos)
    assert [one.domain for one in found.courses] == list(DOMAINS)
    assert [one.domain for one in found.deviations] == ["random", "critical"]
    assert len(found.walks) == len(edge_of_chaos.KINDS)
    assert "- Connectivity: measured critical densities are at most" in out.with_suffix(
        ".md"
    ).read_text(encoding="utf-8")
    assert "<svg" in out.with_suffix(".html").read_text(encoding="utf-8")
