"""What seeing more buys."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import sweet_spot
from sweet_spot_page import Study

from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.train.recipe import Recipe
from evener.train.sharding import count_weights


def test_m_learns_from_pairs_that_differ_by_noise_only() -> None:
    noisy, clean = sweet_spot.pairs(3, 4, test=False)

    assert noisy.shape == clean.shape == (4, 2048)
    assert -1 < clean.min() < 0 < clean.max() < 1  # the mean picture is taken from them
    assert (noisy - clean).std().item() == pytest.approx(sweet_spot.NOISE, rel=0.05)
    first = clean[0].reshape(32, 64)
    assert np.array_equal(first[:4, :4], np.full((4, 4), first[0, 0]))


def test_learning_looks_at_pictures_that_it_never_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweet_spot, "TRIAL", {"M": 8})
    monkeypatch.setattr(sweet_spot, "M_RATES", (0.003, 0.001))
    widths = (2048, 24, 2048)

    learned = sweet_spot.learn(
        "M", Topology(shards=4, halo=1), iterations=20, seconds=99.0, widths=widths
    )

    assert [look[0] for look in learned.looks] == list(range(0, 21, 2))
    assert learned.learning_rate in sweet_spot.M_RATES
    assert learned.looks[-1][1] < learned.looks[0][1]
    assert learned.mean_answer < learned.noisy_answer
    assert learned.weights == count_weights(learned.topology, widths)


def test_a_network_is_looked_at_where_its_time_ends() -> None:
    learned = sweet_spot.learn("L", Topology(), iterations=50, seconds=0.0, widths=(2048, 16, 2048))

    assert [look[0] for look in learned.looks] == [0, 1]
    assert learned.model == "L"


def test_digits_are_split_once_and_mixing_keeps_them() -> None:
    plain, mixed = sweet_spot.read("digits"), sweet_spot.read("mixed digits")

    assert len(plain.inputs_BI) == 1200
    assert np.array_equal(np.sort(plain.inputs_BI), np.sort(mixed.inputs_BI))
    assert not np.array_equal(plain.inputs_BI, mixed.inputs_BI)


def test_data_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVENER_TEST_DATA", str(tmp_path))

    with pytest.raises(InputError, match=r"fashion-mnist\.npz is not in the folder that"):
        sweet_spot.read("Fashion-MNIST")


def test_equal_weights_are_equal() -> None:
    make = sweet_spot.make_studies(1)["digits, input in parts, equal weights"]
    weights = [count_weights(shape.topology, shape.widths) for shape in make.keywords["shapes"]]

    assert max(weights) < 1.03 * min(weights)


def test_quick_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweet_spot, "DIGITS", Recipe(epochs=1, batch=600))
    monkeypatch.setattr(sweet_spot, "HALOS", (0, "full"))
    out = tmp_path / "sweet_spot"

    code = sweet_spot.main(
        [
            "--quick",
            "--seeds",
            "2",
            "--cores",
            "1",
            "--kept",
            str(tmp_path / "kept"),
            "-o",
            str(out),
        ]
    )

    assert code == 0
    record = msgspec.json.decode(out.with_suffix(".json").read_bytes())
    studies = msgspec.convert(record["studies"], list[Study])
    assert [one.topology.halo for one in studies[0].found] == [0, "full"]
    text = out.with_suffix(".md").read_text()
    assert "## Digits, input in parts" in text
    assert "± " in text
    assert "- whether M and L learn: left out by --quick" in text
    assert "<svg" in out.with_suffix(".html").read_text()
