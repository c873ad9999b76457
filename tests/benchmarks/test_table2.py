"""The paper's Table II, on rows that take a moment."""

from itertools import combinations, pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
import table2
import table2_page as page
from table2_page import Run
from table2_trial import Trials

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError

CHAIN = LayerGraph(widths=(32, 16), links=((0, 1), (1, 2), (2, 3)))


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return table2.part_of(load_dataset(DataSection(source="digits"), Path()), 120)


def numbers(folder: Path) -> Dataset:
    lines = ["x,y", *(f"{x / 10},{1000 + x}" for x in range(60))]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return load_dataset(DataSection(source="rows.csv", target="y", task="numbers"), folder)


def run_of(set_: str, rate: float, converged: int | None) -> Run:
    return Run(
        set=set_,
        rate=rate,
        seed=0,
        rows={"train": 1},
        passes=1,
        generations=40,
        converged=converged,
        evaluations=1,
        fitness=0.25,
        score=75.0,
        network="layers",
        weights=1,
        test={"accuracy": 0.5},
        course=(0.25,),
        took_s=1.0,
        load=(0.0, 0.0),
        commit="abc",
    )


def test_a_search_converges_once_enough_generations_brought_no_gain() -> None:
    course = [0.5, 0.4] + [0.398] * table2.PATIENCE

    assert table2.converged(course)
    assert table2.last_gain(course) == 2
    assert not table2.converged(course[:-1])
    assert not table2.converged([*course[:-1], 0.39])


def test_the_neurons_that_weigh_least_are_taken_away(digits: Dataset) -> None:
    half = Trials(digits, rate=0.5, passes=1, seed=0).score([CHAIN])[CHAIN.id]
    more = Trials(digits, rate=0.7, passes=1, seed=0).score([CHAIN])[CHAIN.id]

    assert half is not None
    assert more is not None
    assert half.individual.widths == (64, 16, 8, 10)
    assert more.individual.widths == (64, 10, 5, 10)
    assert half.weights == 64 * 16 + 16 + 16 * 8 + 8 + 8 * 10 + 10


def test_fitness_is_the_error_the_complexity_and_what_is_left(digits: Dataset) -> None:
    trials = Trials(digits, rate=0.5, passes=2, seed=0)
    trial = trials.score([CHAIN])[CHAIN.id]

    assert trial is not None
    left = LayerGraph(widths=(16, 8), links=CHAIN.links).macs(64, 10)
    widest = LayerGraph(widths=(256,) * 4, links=tuple(combinations(range(6), 2))).macs(64, 10)
    price = 0.01 * left / widest + 0.01 * 0.5
    assert 0 < trial.fitness - price < 0.18  # answers that know nothing are off by 0.18


def test_numbers_are_scored_in_units_of_their_spread(tmp_path: Path) -> None:
    trials = Trials(numbers(tmp_path), rate=0.5, passes=60, seed=0)
    trial = trials.score([CHAIN])[CHAIN.id]

    assert trial is not None
    assert trial.fitness < 0.5
    assert trials.tested(trial)["r2"] > 0.8


def test_a_search_never_gets_worse_and_tells_what_it_did(digits: Dataset) -> None:
    run = table2.search("digits", digits, rate=0.5, seed=0, density=0.786, passes=1, generations=3)

    assert run.generations == len(run.course) == 3
    assert run.converged is None
    assert all(later <= earlier for earlier, later in pairwise(run.course))
    assert run.score == pytest.approx(100 * (1 - run.fitness))
    assert run.rows == {"train": 120, "validation": 60, "test": 240}
    assert run.test["accuracy"] > 0.2


def test_rows_of_a_part_are_drawn_and_no_row_is_in_two(digits: Dataset) -> None:
    split = digits.split
    every = np.concatenate([split.train, split.validation, split.test])

    assert len(np.unique(every)) == len(every) == 420


def test_the_table_has_the_papers_figures_beside_ours() -> None:
    runs = [run_of("mnist", 0.5, 12), run_of("mnist", 0.7, None)]
    run = {"command": "c", "date": "d", "machine": {"processor": "p"}}

    [table] = page.sections(runs, [], run)[0].tables

    assert list(table.rows[0][:7]) == ["mnist", "124.84", "12", "105.42", "> 40", "96.48", "75.00"]


def test_a_set_that_the_paper_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the paper has no data set 'digits'"):
        table2.read("digits", tmp_path, tmp_path)


def test_searches_are_kept_and_the_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    asked: list[str] = []

    def read(name: str, _sets: Path, _kept: Path) -> Dataset:
        asked.append(name)
        return digits

    monkeypatch.setattr(table2, "read", read)
    arguments = [
        str(tmp_path),
        *("--only", "mnist", "--rates", "0.5", "--rows", "60", "--passes", "1"),
        *("--generations", "2", "--kept", str(tmp_path / "kept"), "-o", str(tmp_path / "out")),
    ]

    assert table2.main(arguments) == table2.main(arguments) == 0

    assert asked == ["mnist"]
    record = msgspec.json.decode((tmp_path / "out.json").read_bytes())
    assert [one["set"] for one in record["runs"]] == ["mnist"]
    assert "| mnist | 124.84 | > 2 |" in (tmp_path / "out.md").read_text()
