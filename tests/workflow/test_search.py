"""The search of a project survives being killed, keeps its limits, and says what it is worth."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.search_state import SearchState
from evener.errors import EvenerError
from evener.testing.projects import change, write_project
from evener.workflow.ranks import find_launcher
from evener.workflow.search import SearchResult, search_project
from evener.workflow.searching import Searching
from evener.workflow.trial_batches import TrialBatches

pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
pytestmark = pytest.mark.usefixtures("simple_models_once")

PROGRAM = Path(__file__).parent / "search_program.py"


def front_of(project: Path) -> Front:
    return load(project / ".evener" / "front.json", Front).value


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SearchResult]:
    """Search a project that nobody kills or changes."""
    project = write_project(tmp_path_factory.mktemp("undisturbed") / "project")
    return project, search_project(project)


@pytest.fixture
def searched(undisturbed: tuple[Path, SearchResult], tmp_path: Path) -> Path:
    """Copy the project that was searched."""
    shutil.copytree(undisturbed[0], tmp_path / "project")
    return tmp_path / "project"


def test_it_ends_with_a_front_and_what_it_is_held_against(
    undisturbed: tuple[Path, SearchResult],
) -> None:
    project, result = undisturbed
    found = front_of(project)

    assert result.found == found
    assert result.evaluations == len(found.scored) == len(found.random)
    assert {"random search", "fixed network", "linear", "forest"} <= set(result.baselines)
    assert [one.id for one in result.front] == list(found.front)
    assert [one.macs for one in result.front] == sorted(one.macs for one in result.front)
    assert result.best == max(one.validation for one in result.front)
    (chosen,) = [one for one in result.front if one.chosen]
    assert (chosen.id, chosen.test) == (found.chosen, result.test)
    assert {len(one.validation) for one in found.retrained} == {3}
    assert [one.evaluations for one in found.generations][-1] == result.evaluations
    assert result.elapsed_s > 0


def test_a_search_that_was_done_is_not_done_again(
    searched: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    again = search_project(searched)

    assert again.kept
    assert msgspec.structs.replace(again, kept=False) == undisturbed[1]


def test_killed_at_random_it_goes_on_and_ends_in_the_same_front(
    tmp_path: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    projects = [write_project(tmp_path / name) for name in ("first", "second")]
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "3", "search.json", *map(str, projects)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr

    for project, kills in zip(projects, json.loads(ended.stdout), strict=True):
        search_project(project)

        assert kills
        assert front_of(project) == undisturbed[1].found


def test_any_number_of_processes_finds_the_same(
    tmp_path: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    project = write_project(tmp_path / "project")

    assert search_project(project, workers=2).found == undisturbed[1].found


def test_a_search_of_more_generations_goes_on_from_the_last(
    searched: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    change(searched, "generations = 5", "generations = 7")

    result = search_project(searched)

    before = undisturbed[1].found
    assert not result.kept
    assert result.found.scored[: len(before.scored)] == before.scored
    assert len(result.found.generations) > len(before.generations)


def test_a_rank_that_is_killed_loses_nothing(
    tmp_path: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    try:
        find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))
    project = write_project(tmp_path / "project")
    state = project / ".evener" / "search.json"
    command = [sys.executable, "-m", "evener", "search", str(project), "--ranks", "2"]
    program = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not state.exists() and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    worker = next(one for one in ranks_of(program.pid) if rank_of(one) == "1")

    worker.kill()
    _, err = program.communicate(timeout=120)

    assert program.returncode == 0, err
    assert "a rank ended; the search goes on from the last generation" in err
    assert front_of(project) == undisturbed[1].found


def ranks_of(pid: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(pid).children(recursive=True) if rank_of(one)]


def rank_of(process: psutil.Process) -> str:
    environment: dict[str, str] = process.environ()
    return environment.get("PMI_RANK", environment.get("OMPI_COMM_WORLD_RANK", ""))


class Ticking:
    """A clock that begins now, and by which each look takes some seconds."""

    def __init__(self, each_s: float) -> None:
        self._ticks: Iterator[int] = count()
        self._begun, self._each_s = time.time(), each_s

    def __call__(self) -> float:
        return self._begun + next(self._ticks) * self._each_s


def test_generations_end_when_their_share_of_the_budget_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    monkeypatch.setattr("evener.workflow.learn.Searching", partial(Searching, clock=Ticking(60.0)))

    found = search_project(project, budget="8 min").found

    assert 1 <= len(found.generations) < 5
    assert found.chosen in found.front


def test_the_first_generation_of_slow_networks_is_small_and_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    monkeypatch.setattr(TrialBatches, "epoch_s", lambda *_: 60.0)

    search_project(project, budget="4 min")

    state = load(project / ".evener" / "search.json", SearchState).value
    assert state.epochs == 1
    # Two children, and twice as many to begin with; the later ones follow the true speed.
    assert state.generations[0].evaluations == 4


def test_another_course_of_a_search_begins_as_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    monkeypatch.setattr(TrialBatches, "epoch_s", lambda *_: 60.0)
    search_project(project, budget="4 min")
    change(project, "population = 4", "population = 6")

    search_project(project, budget="4 min")

    state = load(project / ".evener" / "search.json", SearchState).value
    assert state.generations[0].evaluations == 4


def test_much_less_time_shortens_trials_of_another_course(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    monkeypatch.setattr(TrialBatches, "epoch_s", lambda *_: 60.0)
    search_project(project, budget="600 min")
    change(project, "population = 4", "population = 6")

    found = search_project(project, budget="4 min").found

    state = load(project / ".evener" / "search.json", SearchState).value
    assert (state.epochs, state.budget_s) == (1, 240.0)
    assert len(found.warnings) == 1


def test_where_not_even_an_epoch_fits_trials_learn_from_fewer_rows_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    monkeypatch.setattr("evener.workflow.pace._LEAST_ROWS", 5)
    with monkeypatch.context() as slow:
        slow.setattr(TrialBatches, "epoch_s", lambda *_: 60.0)
        short = search_project(project, budget="4 min").found
        again = search_project(project, budget="5 min").found
    state = load(project / ".evener" / "search.json", SearchState).value

    long = search_project(project, budget="10 min").found

    after = load(project / ".evener" / "search.json", SearchState).value
    # 180 of 240 s for 24 networks of 60 s: an eighth of the rows.
    train = load(project / ".evener" / "dataset.json", DatasetFacts).value.rows["train"]
    assert (state.epochs, state.rows, state.budget_s) == (1, train // 8, 240.0)
    [said] = short.warnings
    assert said.startswith(f"budget: trials have 1 epoch over {train // 8} rows in place of 3")
    assert {one.score.id for one in short.scored} <= {one.score.id for one in again.scored}
    # With more than twice the time the short trials are not worth keeping.
    assert (after.epochs, after.rows, long.warnings) == (3, None, ())


def test_what_a_search_depends_on_is_in_its_state(searched: Path) -> None:
    state = load(searched / ".evener" / "search.json", SearchState)
    change(searched, "epochs = 3", "epochs = 2")

    search_project(searched)

    after = load(searched / ".evener" / "search.json", SearchState)
    assert state.made_from != after.made_from


def test_a_finalist_that_memory_does_not_hold_is_set_apart_and_another_is_chosen(
    tmp_path: Path, undisturbed: tuple[Path, SearchResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evener.train import fit, retrain

    first = undisturbed[1].found.chosen
    train_network = fit.train_network

    def fail(network: Any, *args: Any, **choices: Any) -> Any:  # noqa: ANN401 - a stand-in
        if network.id == first:
            raise MemoryError("no room for 8 GB")
        return train_network(network, *args, **choices)

    monkeypatch.setattr(retrain, "train_network", fail)
    project = write_project(tmp_path / "project")

    result = search_project(project)

    told = {(one.id, one.of, one.message) for one in result.found.set_apart}
    assert (first, "front", "no room for 8 GB") in told
    assert result.found.chosen != first
    assert result.test is not None
    assert result.found.scored == undisturbed[1].found.scored


def test_where_time_is_up_finalists_count_by_the_seeds_that_there_was_time_for(
    tmp_path: Path, undisturbed: tuple[Path, SearchResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = undisturbed[1].found.retrained
    networks = len({one.id for one in whole})
    assert networks > 2

    all_once = found_in_time(tmp_path / "most", networks + 1, monkeypatch)
    first_alone = found_in_time(tmp_path / "least", 1, monkeypatch)

    assert all_once.set_apart == ()
    assert {(one.id, one.of) for one in all_once.retrained} == {(one.id, one.of) for one in whole}
    counts = {one.id: len(one.validation) for one in all_once.retrained}
    assert sorted(counts.values()) == [1] * (networks - 1) + [2]
    by_id = {one.id: one for one in whole}
    for one in all_once.retrained:
        assert one.validation == by_id[one.id].validation[: counts[one.id]]
        assert one.test == by_id[one.id].test[: counts[one.id]]
    assert {one.id for one in first_alone.retrained} == {first_alone.chosen}
    late = {one.id for one in first_alone.set_apart}
    assert late == {one.id for one in whole} - {first_alone.chosen}


def found_in_time(folder: Path, trainings: int, monkeypatch: pytest.MonkeyPatch) -> Front:
    """Search a project which has time for so many trainings in full."""
    from evener.train import fit, retrain

    left = iter(range(trainings))

    def train(*args: Any, **choices: Any) -> Any:  # noqa: ANN401 - a stand-in
        if next(left, None) is None:
            raise retrain._LateError
        return fit.train_network(*args, **choices)

    monkeypatch.setattr(retrain, "train_network", train)
    return search_project(write_project(folder)).found


def count_trials(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let trials be written down by the id of their network."""
    from evener.train import trials

    score_rows, tried = trials.score_rows, list[str]()

    def count(rows: Any, terms: Any, go_on: Any, deadline: Any, batch: Any) -> Any:  # noqa: ANN401
        tried.extend(one.network.id for one in batch)
        return score_rows(rows, terms, go_on, deadline, batch)

    monkeypatch.setattr(trials, "score_rows", count)
    return tried


def test_another_training_in_full_trains_no_candidate_again(
    searched: Path, undisturbed: tuple[Path, SearchResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(searched, "[train]\nepochs = 4", "[train]\nepochs = 5")
    tried = count_trials(monkeypatch)

    found = search_project(searched).found

    before = undisturbed[1].found
    assert before.fixed is not None
    assert set(tried) <= {before.fixed.score.id}
    assert (found.scored, found.random, found.front) == (
        before.scored,
        before.random,
        before.front,
    )
    assert found.retrained != before.retrained


def test_another_requirement_on_the_quality_uses_what_is_known_and_ends_as_a_new_search_does(
    searched: Path, undisturbed: tuple[Path, SearchResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = '\n[requirements]\naccuracy = ">= 0.8"\n'
    project = write_project(searched.parent / "new", limit)
    (searched / "evener.toml").write_text((project / "evener.toml").read_text())
    before = undisturbed[1].found
    known = {one.score.id for one in (*before.scored, *before.random)}
    tried = count_trials(monkeypatch)

    found = search_project(searched).found

    assert not set(tried) & known
    fresh = search_project(project).found
    assert [one.score.id for one in found.scored] == [one.score.id for one in fresh.scored]
    assert [one.score.quality for one in found.scored] == pytest.approx(
        [one.score.quality for one in fresh.scored]
    )
    assert (found.front, found.chosen) == (fresh.front, fresh.chosen)


def test_what_an_earlier_search_knew_is_not_forgotten_when_it_was_not_needed(
    searched: Path, undisturbed: tuple[Path, SearchResult]
) -> None:
    change(searched, "population = 4", "population = 3")

    search_project(searched)

    state = load(searched / ".evener" / "search.json", SearchState).value
    before = undisturbed[1].found
    assert {one.score.id for one in (*before.scored, *before.random)} <= {
        one.id for one in state.all_scores
    }


@pytest.fixture(scope="module")
def heirs(tmp_path_factory: pytest.TempPathFactory) -> Front:
    """Search a project whose networks inherit."""
    project = write_project(tmp_path_factory.mktemp("heirs") / "project")
    change(project, "[search]\n", "[search]\ninherit = true\n")
    return search_project(project).found


def test_children_begin_from_what_their_parents_learned(
    heirs: Front, undisturbed: tuple[Path, SearchResult]
) -> None:
    anew = {one.score.id: one.score for one in undisturbed[1].found.scored}
    both = [one for one in heirs.scored if one.score.id in anew]

    drawn = [one for one in both if not one.parents]
    assert drawn
    assert all(one.score == anew[one.score.id] for one in drawn)
    assert any(one.parents for one in heirs.scored)


def test_what_is_inherited_is_the_same_on_any_number_of_processes_and_after_a_stop(
    tmp_path: Path, heirs: Front
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", "[search]\ninherit = true\n")
    change(project, "generations = 5", "generations = 2")
    search_project(project, workers=2)
    change(project, "generations = 2", "generations = 5")

    found = search_project(project).found

    assert (found.scored, found.front) == (heirs.scored, heirs.front)
    assert (found.chosen, found.fixed) == (heirs.chosen, heirs.fixed)


def test_where_what_was_learned_is_gone_the_search_begins_anew(
    tmp_path: Path, heirs: Front
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", "[search]\ninherit = true\n")
    change(project, "generations = 5", "generations = 2")
    search_project(project)
    change(project, "generations = 2", "generations = 5")
    shutil.rmtree(project / ".evener" / "learned")

    found = search_project(project).found

    assert (found.scored, found.front) == (heirs.scored, heirs.front)
    assert (found.chosen, found.fixed) == (heirs.chosen, heirs.fixed)


def test_what_was_learned_is_removed_by_a_search_that_does_not_go_on_from_it(
    tmp_path: Path,
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", "[search]\ninherit = true\n")
    change(project, "generations = 5", "generations = 1")
    change(project, "epochs = 4", "epochs = 1")
    search_project(project)
    assert any((project / ".evener" / "learned").iterdir())

    change(project, "inherit = true\n", "")
    search_project(project)

    assert not (project / ".evener" / "learned").exists()
