"""Parts of the paper's algorithm, switched off one at a time, in a short run."""

from dataclasses import replace
from pathlib import Path

import ablation
import msgspec
import numpy as np
import pytest
from ablation import PARTS, TABLE, WHOLE, Part

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.search.chaos.table import PAPER, Probed, probe_table
from evener.workflow.coevolution import weight_sets_of

SHORT = msgspec.structs.replace(TABLE, population=2, generations=1, epochs=1, maximum_nodes=32)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def probed() -> Probed:
    return probe_table(PAPER, lambda states: np.array([[1.0, 0.5]] * len(states)))


@pytest.mark.parametrize("name", PARTS)
def test_each_part_ends_with_a_network_and_its_error(
    name: str, digits: Dataset, probed: Probed
) -> None:
    part = PARTS[name]
    generations = min(part.course.table.generations, 1)
    table = msgspec.structs.replace(SHORT, generations=generations)

    found = ablation.run(replace(part, course=replace(part.course, table=table)), digits, probed, 0)

    assert 0 <= found["test_error"] <= 1
    assert found["fitness"] > 0
    assert found["macs"] > 0


def test_each_part_differs_from_the_whole_in_one_thing() -> None:
    whole = msgspec.to_builtins(PARTS["whole"])
    assert PARTS["whole"] == Part(WHOLE)
    for name, part in PARTS.items():
        other = msgspec.to_builtins(part)
        courses = (other.pop("course"), {**whole}.pop("course"))
        apart = [key for key in other if other[key] != whole[key]]
        apart += [key for key in courses[0] if courses[0][key] != courses[1][key]]
        assert len(apart) == (name != "whole")


def test_who_forgets_passes_nothing_on(digits: Dataset) -> None:
    sets = weight_sets_of(digits, WHOLE)
    forgetful = ablation.Forgetful(sets, np.random.default_rng(0))
    chain = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))
    begun = forgetful.begin([chain], seed=1)
    trained = forgetful.train([chain], begun, [ablation.SAME], passes=3, seed=1)

    forgotten = forgetful.inherit([chain], trained)

    assert sets.score([chain], sets.inherit([chain], trained)) == sets.score([chain], trained)
    assert sets.score([chain], forgotten)[0] > 2 * sets.score([chain], trained)[0]


def test_hyperparameters_from_anywhere_are_in_the_papers_ranges() -> None:
    rng = np.random.default_rng(0)

    drawn = [ablation.anywhere(rng) for _ in range(200)]

    assert 1e-4 <= min(one.learning_rate for one in drawn) < 1e-3
    assert 0.1 < max(one.learning_rate for one in drawn) <= 1
    assert max(one.momentum for one in drawn) <= 0.9


def test_an_interval_is_students() -> None:
    found = ablation.interval([1.0, 2.0, 3.0, 4.0])

    assert found["mean"] == 2.5
    assert found["high"] - 2.5 == pytest.approx(3.182 * 1.29099 / 2, rel=1e-3)


def test_the_whole_stands_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["ablation.py", "--seeds", "2", "--only", "no evolution", "-o", "x.json"]
    )
    monkeypatch.setattr(
        ablation,
        "run",
        lambda part, *_: {"test_error": 0.1, "fitness": 0.2, "macs": part.course.table.generations},
    )

    assert ablation.main() == 0

    record = msgspec.json.decode(Path("x.json").read_bytes())
    assert [*record["parts"]] == ["whole", "no evolution"]
    assert record["parts"]["no evolution"]["more_than_whole"]["mean"] == 0
