"""Parts of the paper's algorithm, switched off one at a time, in a short run."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import ablation
import ablation_algorithm as algorithm
import ablation_page as page
import msgspec
import numpy as np
import pytest
from ablation_algorithm import PARTS, TABLE, WHOLE, Part, Run, Watched
from ablation_page import Found, Interval
from ablation_search import Ended, Searched
from sections import markdown

from evener.artifacts.layer_graph import LayerGraph
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.search.chaos.table import PAPER, Probed, probe_table
from evener.workflow.coevolution import weight_sets_of

SHORT = msgspec.structs.replace(
    TABLE, population=2, generations=1, epochs=1, maximum_nodes=32, back_propagation_cycles=1
)
CHAIN = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return ablation.digits()


@pytest.fixture(scope="module")
def probed() -> Probed:
    return probe_table(PAPER, lambda states: np.array([[1.0, 0.5]] * len(states)))


def short(part: Part, **rows: int) -> Part:
    generations = min(part.course.table.generations, 1)
    table = msgspec.structs.replace(SHORT, generations=generations, **rows)
    return replace(part, course=replace(part.course, table=table))


@pytest.mark.parametrize("name", PARTS)
def test_each_part_ends_with_a_network_and_its_error(
    name: str, digits: Dataset, probed: Probed
) -> None:
    found = algorithm.run(short(PARTS[name]), digits, probed, 0)

    assert 0 <= found.test_error < 0.9
    assert found.fitness > 0
    assert found.macs > 0
    assert found.passes > 0


def test_each_part_differs_from_the_whole_in_one_thing() -> None:
    whole = msgspec.to_builtins(PARTS["whole"])
    assert PARTS["whole"] == Part(WHOLE)
    for name, part in PARTS.items():
        other = msgspec.to_builtins(part)
        courses = (other.pop("course"), {**whole}.pop("course"))
        apart = [key for key in other if other[key] != whole[key]]
        apart += [key for key in courses[0] if courses[0][key] != courses[1][key]]
        assert len(apart) == (name != "whole")


def test_what_stands_beside_a_part_is_trained_as_much(digits: Dataset, probed: Probed) -> None:
    longer = partial(
        short,
        population=3,
        maximum_nodes=96,
        back_propagation_cycles=TABLE.back_propagation_cycles,
    )
    passes = {
        name: algorithm.run(longer(PARTS[name]), digits, probed, seed=2).passes
        for name in ("whole", page.PRUNED_ALIKE, "no pruning", page.COMPETED, page.ALONE)
    }

    assert passes[page.PRUNED_ALIKE] == passes["whole"] > passes["no pruning"]
    assert passes[page.COMPETED] == passes[page.ALONE] > passes["whole"]


def test_who_forgets_passes_nothing_on(digits: Dataset) -> None:
    sets = weight_sets_of(digits, WHOLE)
    forgetful = Watched(sets, np.random.default_rng(0))
    begun = forgetful.begin([CHAIN], seed=1)
    trained = forgetful.train([CHAIN], begun, [algorithm.SAME], passes=6, seed=1)

    forgotten = forgetful.inherit([CHAIN], trained)

    assert forgetful.passes == 6
    known = sets.score([CHAIN], trained)
    assert sets.score([CHAIN], Watched(sets).inherit([CHAIN], trained)) == known
    assert sets.score([CHAIN], forgotten)[0] > 2 * known[0]


@pytest.mark.parametrize("compete", [True, False])
def test_going_on_never_ends_with_more_errors_on_the_rows_to_choose_by(
    compete: bool, digits: Dataset
) -> None:
    sets = weight_sets_of(digits, WHOLE)
    trained = sets.train([CHAIN], sets.begin([CHAIN], seed=1), [algorithm.SAME], passes=4, seed=1)
    individual, weights = sets.parent(trained[0])

    after, gained = algorithm.finish(individual, weights, digits, compete_=compete)
    hopeless = msgspec.structs.replace(individual, learning_rate=1e3)
    kept, nothing = algorithm.finish(hopeless, weights, digits, compete_=compete)

    assert gained > 0
    assert not np.array_equal(after.links[0, 1], weights.links[0, 1])
    assert nothing == 0
    assert kept is weights


def test_hyperparameters_from_anywhere_are_in_the_papers_ranges() -> None:
    rng = np.random.default_rng(0)

    drawn = [algorithm.anywhere(rng) for _ in range(200)]

    assert 1e-4 <= min(one.learning_rate for one in drawn) < 1e-3
    assert 0.1 < max(one.learning_rate for one in drawn) <= 1
    assert max(one.momentum for one in drawn) <= 0.9


def test_an_interval_is_students() -> None:
    found = page.interval([1.0, 2.0, 3.0, 4.0])

    assert found.mean == 2.5
    assert found.high - 2.5 == pytest.approx(3.182 * 1.29099 / 2, rel=1e-3)


def test_a_difference_is_seen_where_its_interval_holds_no_zero() -> None:
    assert page.verdict(Interval(0.1, -0.1, 0.3)) == "no difference seen"
    assert page.verdict(Interval(0.2, 0.1, 0.3)) == "more errors"
    assert page.verdict(Interval(-0.2, -0.3, -0.1)) == "fewer errors"


def run_of(error: float) -> Run:
    return Run(test_error=error, fitness=error / 10, macs=1000, passes=10, cpu_s=1.0)


def searched(cached: float, uncached: float, proposals: int = 60) -> Searched:
    return Searched(
        proposals=proposals,
        cached=Ended(error=cached, test_error=cached, networks=60),
        uncached=Ended(error=uncached, test_error=uncached, networks=30),
        cpu_s=1.0,
    )


FOUND = Found(
    runs={
        "whole": {0: run_of(0.05), 1: run_of(0.07), 2: run_of(0.06)},
        "no pruning": {0: run_of(0.07), 1: run_of(0.09)},
        page.COMPETED: {0: run_of(0.05)},
    },
    searches={
        "whole": {0: searched(0.04, 0.04), 1: searched(0.05, 0.05)},
        "paper": {0: searched(0.04, 0.05, 120), 1: searched(0.05, 0.07, 120)},
    },
    tables={"cifar10": {"paper": {0: searched(0.1, 0.2, 80), 1: searched(0.1, 0.2, 80)}}},
)


def test_parts_are_compared_over_the_seeds_that_both_have() -> None:
    rows = {(row.of, row.part): row for row in page.rows_of(FOUND)}

    pruned = rows[page.ALGORITHM, "no pruning"]
    assert pruned.seeds == 2
    assert pruned.more is not None
    assert pruned.more.mean == pytest.approx(0.02)
    assert rows[page.ALGORITHM, "whole"].more is None
    assert (page.ALGORITHM, page.COMPETED) not in rows  # one seed says nothing
    assert (page.SEARCH, "paper") not in rows  # another algorithm is no part


def test_what_a_cache_saves_is_told_by_repeats_and_by_errors_without_it() -> None:
    rows = {(row.of, row.part): row for row in page.rows_of(FOUND)}

    paper, default = rows[page.DIGITS, "paper"], rows[page.DIGITS, page.DEFAULT]
    assert (paper.repeats, default.repeats) == (0.5, 0.0)
    assert paper.more is not None
    assert paper.more.mean == pytest.approx(0.015)
    assert rows["cifar10", "paper"].repeats == 0.25


def test_the_page_says_nulls_as_plainly_as_what_was_seen() -> None:
    about = {"command": "python x", "date": "2026-01-01", "machine": {"processor": "abacus"}}
    counts = {"train": 1, "validation": 2, "test": 3}

    text = markdown(page.sections(page.rows_of(FOUND), counts, ["b: no time"], about))

    assert "- Algorithm 1, more errors: no pruning.\n" in text
    assert "- b: no time\n" in text
    assert "| no pruning | whole | more errors | 8.00 (-4.71 to 20.71) | +2.00" in text
    assert "| digits | screened | no difference seen | 0% |" in text
    assert "| cifar10 | paper | more errors | 25% |" in text


def test_it_goes_on_where_it_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probed: Probed
) -> None:
    done: list[tuple[Part, int]] = []

    def count(part: Part, _dataset: Dataset, _probed: Probed, seed: int) -> Run:
        done.append((part, seed))
        return run_of(0.05 + seed / 100)

    monkeypatch.setattr(algorithm, "run", count)
    monkeypatch.setattr(ablation, "_probed", lambda: probed)
    arguments = ["--kinds", "algorithm", "--only", "no evolution", "--kept", str(tmp_path)]
    record = tmp_path / "x.json"

    assert ablation.main([*arguments, "--seeds", "2", "--minutes", "-1"]) == 1
    assert not done
    assert ablation.main([*arguments, "--seeds", "2"]) == 0
    assert done == [(PARTS[name], seed) for seed in (0, 1) for name in ("whole", "no evolution")]
    assert ablation.main([*arguments, "--seeds", "3", "-o", str(record)]) == 0
    assert len(done) == 6

    found = msgspec.json.decode(record.read_bytes())
    assert [row["part"] for row in found["found"]] == ["whole", "no evolution"]
    assert found["found"][1]["more"]["mean"] == 0
    assert found["rows"] == {"train": 540, "validation": 359, "test": 898}
    assert "| no evolution | whole | no difference seen |" in record.with_suffix(".md").read_text()


@pytest.mark.parametrize(
    "arguments", [["--only", "no purning"], ["--kinds", "digits"], ["--seeds", "1"]]
)
def test_what_it_has_not_is_refused(arguments: list[str]) -> None:
    with pytest.raises(InputError, match="there is no|takes 2 or more"):
        ablation.main(arguments)
