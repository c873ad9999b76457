"""The card of a network."""

import hashlib
from pathlib import Path

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Baseline, Card
from evener.artifacts.files import load, save
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.train.card import make_card
from evener.train.fit import train_network


def test_it_says_what_the_network_is_and_how_it_was_made(rings: Dataset, tmp_path: Path) -> None:
    trained = train_network(
        Architecture(hidden=(4,)), rings, TrainSection(epochs=2, seed=7, refit=False)
    )
    baseline = Baseline(name="linear", validation=0.5, test={"accuracy": 0.5}, size_bytes=9)

    card = make_card(trained, rings, b"onnx", export_error=1e-7, baselines=[baseline])

    assert card.network_sha256 == hashlib.sha256(b"onnx").hexdigest()
    assert card.network_bytes == 4
    assert card.data_sha256 == rings.sha256
    assert card.rows == {"train": 180, "validation": 60, "test": 60}
    assert (card.seed, card.epochs, card.classes) == (7, 2, ("disc", "ring"))
    assert (card.validation, card.test) == (trained.validation, trained.test)
    assert card.learned_from == ("train",)
    assert card.baselines == (baseline,)
    save(tmp_path / "card.json", card)
    assert load(tmp_path / "card.json", Card).value == card


def test_of_a_refitted_network_it_says_what_it_came_to_before(rings: Dataset) -> None:
    trained = train_network(Architecture(hidden=(4,)), rings, TrainSection(epochs=2))

    card = make_card(
        trained, rings, b"onnx", export_error=0.0, baselines=[], before={"accuracy": 0.75}
    )

    assert card.learned_from == ("train", "validation")
    assert (card.validation, card.test) == ({"accuracy": 0.75}, trained.test)
