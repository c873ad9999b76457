"""A training is read and checked as a whole before anything starts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.files import save
from evener.artifacts.front import Front, Scored
from evener.artifacts.score import Score
from evener.artifacts.topology import Topology
from evener.errors import InputError, InvalidFileError
from evener.workflow.training import prepare_training
from evener.workflow.training_wish import Optimiser, TrainingWish

DIGITS = {"widths": (64, 20, 10), "data": "digits"}


@pytest.mark.parametrize(
    ("wish", "ranks", "message"),
    [
        ({}, 1, "give either the folder of a project, or --shape"),
        ({"project": Path("p"), "widths": (3, 2)}, 1, "give either the folder of a project"),
        ({"project": Path("p"), "data": "digits"}, 1, "a project names its data itself"),
        (DIGITS | {"iterations": 3, "epochs": 1}, 1, "leave out one"),
        (DIGITS | {"resume": True}, 1, "name its folder by --checkpoint"),
        (DIGITS | {"shards": 2}, 3, "3 ranks for 2 shards"),
        (DIGITS | {"replicas": 2}, 3, "3 ranks for 2 replicas: each .* give --ranks 2 or a mul"),
        (DIGITS | {"replicas": 2, "shards": 2}, 6, "3 ranks for 2 shards"),
        ({"widths": (4, 2), "replicas": 2, "batch": 1}, 2, "2 replicas and batches of 1 row: .*"),
        (
            {"widths": (60, 20, 10), "data": "digits"},
            1,
            "begins with 60 and ends with 10: give 64,20,10",
        ),
        ({"widths": (4, 2), "data": "rows.xlsx"}, 1, "is no known source"),
        ({"widths": (4, 3, 2), "layout": "paper"}, 5, "4 workers and a layer of 2 neurons"),
        ({"widths": (4, 8, 8), "layout": "paper", "shards": 2}, 5, "2 workers on 5 ranks"),
        (
            DIGITS
            | {"layout": "paper", "topology": Topology(halo=2, shuffle=True), "optimiser": "adamw"}
            | {"replicas": 2}
            | {"checkpoint": Path("c"), "out": Path("o.onnx"), "activation": "tanh"},
            1,
            "leave out --halo, --shuffle, --replicas, --optimiser, --activation, --checkpoint",
        ),
        (
            DIGITS | {"log": Path("a.jsonl"), "out": Path("./a.jsonl")},
            1,
            "--log and -o both write a.jsonl: give each a file of its own",
        ),
        (DIGITS | {"checkpoint": Path(__file__)}, 1, "py is no folder that you may write to"),
        (DIGITS | {"log": Path(__file__) / "a.jsonl"}, 1, "py is no folder that you may write to"),
        (DIGITS | {"topology": Topology(), "learning_rate": -1.0}, 1, "a learning rate of -1.0"),
    ],
)
def test_what_cannot_be_trained_is_refused(wish: dict[str, Any], ranks: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_training(TrainingWish(**wish), ranks=ranks)


def test_a_checkpoint_is_gone_on_from_only_if_that_is_asked_for(tmp_path: Path) -> None:
    wish = TrainingWish(widths=(3, 2), checkpoint=tmp_path, resume=True)
    prepare_training(wish)  # there is none yet: it begins anew
    (tmp_path / "step-000000007").mkdir()
    (tmp_path / "step-000000007" / "manifest.json").touch()

    prepare_training(wish)
    with pytest.raises(InvalidFileError, match="holds the checkpoint step-000000007: add --resume"):
        prepare_training(TrainingWish(widths=(3, 2), checkpoint=tmp_path))


def test_a_project_gives_its_data_and_the_architecture_that_its_build_chose(tmp_path: Path) -> None:
    (tmp_path / "evener.toml").write_text('[data]\nsource = "digits"\n')
    with pytest.raises(InputError, match=r"has no architecture yet: run evener build"):
        prepare_training(TrainingWish(project=tmp_path))
    chosen = Architecture(hidden=(30, 20), activation="tanh")
    scored = Scored(architecture=chosen, score=Score(id=chosen.id))
    save(
        tmp_path / ".evener" / "front.json",
        Front(scored=(scored,), front=(chosen.id,), chosen=chosen.id),
    )

    prepared = prepare_training(TrainingWish(project=tmp_path / "evener.toml"))

    assert prepared.shape.widths == (64, 30, 20, 10)
    assert prepared.shape.activations == ("tanh", "tanh", "softmax")


def test_rows_are_scaled_and_as_many_steps_as_rows_need_are_an_epoch() -> None:
    prepared = prepare_training(TrainingWish(**DIGITS), ranks=3)  # type: ignore[arg-type] # above

    assert prepared.shape.topology == Topology(shards=3)
    assert prepared.recipe.batch == 32
    assert prepared.iterations == -(-len(prepared.rows.inputs) // 32)
    assert abs(prepared.rows.inputs.mean()) < 1e-6
    assert prepared.rows.wanted.sum(1).tolist() == [1.0] * len(prepared.rows.inputs)


def test_without_data_rows_are_random_and_the_same_on_every_rank() -> None:
    first, second = (prepare_training(TrainingWish(widths=(5, 4, 3), seed=1)) for _ in range(2))

    assert np.array_equal(first.rows.inputs, second.rows.inputs)
    assert first.rows.inputs.shape == (1, 5)
    assert first.iterations == 20
    assert first.shape.activations == ("relu", "identity")


@pytest.mark.parametrize(
    ("optimiser", "name", "momentum", "rate"),
    [("sgd", "sgd", 0.0, 0.1), ("momentum", "sgd", 0.9, 0.01), ("adamw", "adamw", 0.0, 0.003)],
)
def test_each_optimiser_has_its_usual_rate(
    optimiser: Optimiser, name: str, momentum: float, rate: float
) -> None:
    recipe = prepare_training(TrainingWish(widths=(5, 4, 3), optimiser=optimiser)).recipe

    assert (recipe.optimiser, recipe.momentum, recipe.learning_rate) == (name, momentum, rate)
