"""A search by Algorithm 1 survives being killed, keeps its limits, and says what it is worth."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, weights
from evener.artifacts.project import load_project, parse_project
from evener.artifacts.search_section import SearchSection
from evener.artifacts.table1 import TABLE_1
from evener.errors import InputError, InvalidProjectError
from evener.search.coevolution.algorithm import Settings, coevolve
from evener.search.coevolution.sparsify import Terms
from evener.search.coevolution.trace import Event, Trace
from evener.search.competition import Credit, sweep
from evener.testing import projects
from evener.testing.projects import change
from evener.workflow import coevolution_settings, coevolving, set_competition
from evener.workflow.search import search_project

pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
pytestmark = pytest.mark.usefixtures("simple_models_once")

PROGRAM = Path(__file__).parent / "search_program.py"
ENDS = Ends(features=3, outputs=2)
TOML = """
[data]
source = "rows.csv"
target = "kind"

[search]
algorithm = "coevolution"
population = 3
generations = 2
sets = 2
parents = 2
epochs = 2
depth = 2
widths = [4, 8]
finalists = 1
together = 4

[train]
epochs = 2
"""


def write_project(folder: Path, more: str = "") -> Path:
    return projects.write_project(folder, more, toml=TOML, rows=150)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Search a project that nobody kills or changes."""
    project = write_project(tmp_path_factory.mktemp("coevolved") / "project")
    search_project(project)
    return project


def front_of(project: Path) -> Front:
    return load(project / ".evener" / "front.json", Front).value


def count_trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let trials that begin from a weight set be written down by the id of their network."""
    from evener.train import trials

    score_rows, tried = trials.score_rows, list[str]()

    def count(rows: Any, terms: Any, go_on: Any, deadline: Any, batch: Any) -> Any:  # noqa: ANN401
        tried.extend(one.network.id for one in batch if one.start is not None)
        return score_rows(rows, terms, go_on, deadline, batch)

    monkeypatch.setattr(trials, "score_rows", count)
    return tried


def test_it_ends_with_a_front_and_random_search_had_as_many_evaluations(searched: Path) -> None:
    found = front_of(searched)

    last = found.generations[-1]
    # Development: 4 rounds at most; then 3 chromosomes with 2 weight sets, twice; then pruning.
    assert [one.evaluations for one in found.generations][:1] == [3]
    assert last.evaluations >= 3 + 2 * 3 * 2
    assert len(found.random) == last.evaluations
    assert found.chosen in found.front
    assert any(one.parents for one in found.scored)
    assert all(isinstance(one.architecture, LayerGraph) for one in found.scored)
    assert {one.of for one in found.retrained} == {"front", "random", "fixed"}
    ids = [one.score.id for one in found.scored]
    assert ids == [one.architecture.id for one in found.scored]
    assert len(ids) == len(set(ids))


def test_a_network_of_the_front_is_dominated_by_none(searched: Path) -> None:
    found = front_of(searched)
    by_id = {one.score.id: one.objectives for one in found.scored if one.objectives}

    for id_ in found.front:
        better = [
            one
            for one in by_id.values()
            if one != by_id[id_] and all(a <= b for a, b in zip(one, by_id[id_], strict=True))
        ]
        assert not better


def test_killed_at_random_it_goes_on_and_ends_in_the_same_front(
    tmp_path: Path, searched: Path
) -> None:
    killed = [write_project(tmp_path / name) for name in ("first", "second")]
    ended = subprocess.run(
        # Whenever a training is over.
        [sys.executable, str(PROGRAM), "2", "coevolved/*.npz", *map(str, killed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr

    for project, kills in zip(killed, json.loads(ended.stdout), strict=True):
        search_project(project)

        assert kills
        assert front_of(project) == front_of(searched)


def test_what_was_trained_is_not_trained_again(
    tmp_path: Path, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(searched, tmp_path / "project")
    for name in ("search.json", "front.json"):
        (tmp_path / "project" / ".evener" / name).unlink()
    tried = count_trainings(monkeypatch)

    search_project(tmp_path / "project")

    assert not tried
    assert front_of(tmp_path / "project") == front_of(searched)


def test_a_damaged_file_is_trained_again(
    tmp_path: Path, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(searched, tmp_path / "project")
    state = tmp_path / "project" / ".evener"
    (state / "front.json").unlink()
    damaged = min((state / "coevolved").glob("*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    tried = count_trainings(monkeypatch)

    search_project(tmp_path / "project")

    assert tried
    assert front_of(tmp_path / "project") == front_of(searched)


def test_any_number_of_processes_finds_the_same(tmp_path: Path, searched: Path) -> None:
    project = write_project(tmp_path / "project")

    search_project(project, workers=2)

    assert front_of(project) == front_of(searched)


def test_of_more_generations_only_the_new_ones_are_trained(
    tmp_path: Path, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "generations = 2", "generations = 1")
    search_project(project)
    change(project, "generations = 1", "generations = 2")
    tried = count_trainings(monkeypatch)

    search_project(project)

    assert len(tried) < front_of(searched).generations[-1].evaluations
    assert front_of(project) == front_of(searched)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("generations = 1\nseed = 1", "generations = 3\nseed = 1"),
        ("generations = 3\nseed = 1", "generations = 1\nseed = 1"),
        ("generations = 2\nevaluations = 9", "generations = 2\nevaluations = 30"),
        ("generations = 2\nevaluations = 18", "generations = 2\nevaluations = 13"),
    ],
)
def test_with_other_bounds_it_ends_as_a_new_search_does(
    tmp_path: Path, before: str, after: str
) -> None:
    changed, new = (write_project(tmp_path / name) for name in ("changed", "new"))
    change(new, "generations = 2", after)
    change(changed, "generations = 2", before)
    search_project(changed)
    change(changed, before, after)

    search_project(changed)
    search_project(new)

    assert front_of(changed) == front_of(new)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("depth = 2", "depth = 2\nmax_nodes = 3", "search.max_nodes = 3 allows fewer units"),
        ("[train]", '[requirements]\nsize = "<= 1 kB"\n\n[train]', "loosen the limit, or write"),
    ],
)
def test_a_limit_that_no_network_keeps_is_said_with_what_to_change(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    project = write_project(tmp_path / "project")
    change(project, old, new)

    with pytest.raises(InputError, match=told):
        search_project(project)


@pytest.mark.parametrize("evaluations", [3, 9, 14])
def test_it_ends_before_there_are_more_evaluations_than_wanted(
    tmp_path: Path, evaluations: int
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "generations = 2", f"generations = 2\nevaluations = {evaluations}")

    found = search_project(project).found

    assert 3 <= found.generations[-1].evaluations <= evaluations
    assert len(found.random) == found.generations[-1].evaluations


def test_a_network_above_the_limit_on_the_size_is_never_trained(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", '\n[requirements]\nsize = "<= 4.35 kB"\n')

    found = search_project(project).found

    assert max(4096 + 4 * weights(one.architecture, ENDS) for one in found.scored) <= 4350
    assert len(found.scored) > 1


def test_rates_evolve_within_table_i_where_recipes_do(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    change(project, "generations = 2", "generations = 1\nrecipes = true")

    found = search_project(project).found

    recipes = [one.architecture.recipe for one in found.scored]  # type: ignore[union-attr] # graphs
    low, high = TABLE_1.learning_rate
    assert all(one is not None and low <= one.learning_rate <= high for one in recipes)
    assert len({one.learning_rate for one in recipes if one is not None}) > 1


def test_another_algorithm_removes_the_weight_sets(tmp_path: Path, searched: Path) -> None:
    shutil.copytree(searched, tmp_path / "project")
    sets = tmp_path / "project" / ".evener" / "coevolved"
    assert any(sets.iterdir())
    change(tmp_path / "project", "generations = 2", "generations = 1")

    found = search_project(tmp_path / "project", algorithm="random").found

    assert not sets.exists()
    # What began from others' weights is no score of a network that is trained from drawn ones.
    assert all(not one.parents for one in found.scored)


def test_numbers_are_predicted_too(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    path = project / "rows.csv"
    path.write_text(path.read_text().replace("in\n", "1.5\n").replace("out\n", "-0.25\n"))
    change(project, "generations = 2", "generations = 1")
    change(project, 'target = "kind"', 'target = "kind"\ntask = "numbers"')

    assert search_project(project).metric == "r2"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"networks": "blocks"}, 'search.networks = "blocks" does not go with algorithm'),
        ({"links": "chain"}, 'search.links = "chain" does not go with algorithm'),
        ({"halving": True}, "search.halving = true does not go with algorithm"),
        ({"inherit": True}, "search.inherit = true does not go with algorithm"),
        ({"sets": 0}, "search.sets = 0 must be at least 1"),
        ({"evaluations": 2}, "search.evaluations = 2 must be at least the population, 10"),
        ({"parents": 11}, "search.parents = 11 must be at most the population"),
    ],
)
def test_what_it_cannot_do_is_refused(given: dict[str, Any], told: str) -> None:
    raw = {"data": {"source": "digits"}, "search": {"algorithm": "coevolution"} | given}

    with pytest.raises(InvalidProjectError, match=told):
        parse_project(raw)


def test_shards_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[train]\n", "[train]\nshards = 2\n")

    with pytest.raises(InputError, match="search.algorithm = 'coevolution' wires layers as a"):
        search_project(project)
    assert not (project / ".evener" / "search.json").exists()


def test_the_preset_of_table_i_goes_with_it(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", '[search]\npreset = "table1"\n')

    section = load_project(project).search

    assert (section.algorithm, section.recipes, section.density) == ("coevolution", True, 0.786)
    assert SearchSection().sets == 3


def test_competing_layers_change_its_course_and_it_goes_on_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, project = (write_project(tmp_path / name) for name in ("alone", "project"))
    change(alone, "sets = 2", "sets = 3")
    change(project, "sets = 2", "sets = 3\ncompete = true")
    for each in (alone, project):
        change(each, "epochs = 2\ndepth", "epochs = 10\ndepth")
    found = search_project(project).found
    for name in ("search.json", "front.json"):
        (project / ".evener" / name).unlink()
    tried = count_trainings(monkeypatch)

    again = search_project(project).found

    assert not tried
    assert again == found
    assert found.scored != search_project(alone).found.scored


@pytest.mark.parametrize("recipes", [False, True])
def test_only_weight_sets_of_one_chromosome_compete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, recipes: bool
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "sets = 2", f"sets = 2\ncompete = true\nrecipes = {str(recipes).lower()}")
    change(project, "generations = 2", "generations = 1")
    contest, groups = set_competition.contest, list[list[str]]()

    def record(found: Any, judge: Any, *, credit: Credit) -> Any:  # noqa: ANN401
        groups.append([one.score.id for one in found])
        return contest(found, judge, credit=credit)

    monkeypatch.setattr(set_competition, "contest", record)

    search_project(project)

    assert groups
    assert all(len(group) == 2 and len(set(group)) == 1 for group in groups)


def test_another_number_of_competing_sets_ends_as_a_new_search_does(tmp_path: Path) -> None:
    changed, new = (write_project(tmp_path / name) for name in ("changed", "new"))
    for project, sets in ((changed, 2), (new, 3)):
        change(project, "sets = 2", f"sets = {sets}\ncompete = true")
        change(project, "generations = 2", "generations = 1")
        search_project(project)
    change(changed, "sets = 2", "sets = 3")

    search_project(changed)

    assert front_of(changed) == front_of(new)


def test_a_search_that_is_refused_removes_no_weight_sets(tmp_path: Path, searched: Path) -> None:
    shutil.copytree(searched, tmp_path / "project")
    sets = tmp_path / "project" / ".evener" / "coevolved"
    before = sorted(path.name for path in sets.iterdir())
    change(tmp_path / "project", 'algorithm = "coevolution"', 'networks = "blocks"')

    with pytest.raises(InputError, match="blocks"):
        search_project(tmp_path / "project")

    assert before
    assert sorted(path.name for path in sets.iterdir()) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"algorithm": "nsga2", "compete": True},
            r'search.compete = true needs algorithm = "coevolution".*"nsga2" has one of each',
        ),
        (
            {"algorithm": "coevolution", "sets": 10**9},
            "search.sets = 1000000000 must be at most 100",
        ),
        ({"population": 10**9}, "search.population = 1000000000 must be at most 10000"),
    ],
)
def test_competing_without_sets_and_numbers_without_end_are_refused(
    given: dict[str, Any], message: str
) -> None:
    raw = {"data": {"source": "digits"}, "search": given}
    with pytest.raises(InvalidProjectError, match=message):
        parse_project(raw)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Write down what lines of Algorithm 1 a search carries out."""
    heard = list[Event]()

    def listen(*args: Any, trace: Trace, **named: Any) -> Any:  # noqa: ANN401
        def both(event: Event) -> None:
            heard.append(event)
            trace(event)

        return coevolve(*args, trace=both, **named)

    monkeypatch.setattr(coevolving, "coevolve", listen)
    return heard


def again_with(tmp_path: Path, searched: Path, keys: str) -> Path:
    """Return a project that was searched, with other keys."""
    project = tmp_path / "project"
    shutil.copytree(searched, project)
    change(project, "sets = 2", f"sets = 2\n{keys}")
    return project


def test_the_search_breaks_below_the_fitness_threshold(
    tmp_path: Path, searched: Path, events: list[Event]
) -> None:
    project = again_with(tmp_path, searched, "fitness_threshold = 1e3")

    found = search_project(project).found

    lines = [one.line for one in events]
    assert lines[-1] == "break"
    assert "break" not in lines[:-1]
    assert found.generations[-1].evaluations <= front_of(searched).generations[-1].evaluations


def test_nothing_is_sparsified_above_the_error_threshold(
    tmp_path: Path, searched: Path, events: list[Event]
) -> None:
    project = again_with(tmp_path, searched, "error_threshold = 1e-6")

    found = search_project(project).found

    assert not {"sparsify", "toggle"} & {one.line for one in events}
    assert found.generations[-1].evaluations <= front_of(searched).generations[-1].evaluations
    new = write_project(tmp_path / "new")
    change(new, "sets = 2", "sets = 2\nerror_threshold = 1e-6")
    assert search_project(new).found == found


def test_thresholds_certainty_and_cycles_reach_the_algorithm(
    tmp_path: Path, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = "error_threshold = 0.5\nfitness_threshold = 0.25\ncertainty = 0.75\ncycles = 7"
    project = again_with(tmp_path, searched, keys)
    given = list[Settings]()

    def record(grounds: Any, epochs: int) -> Settings:  # noqa: ANN401
        given.append(coevolution_settings.settings_from_project(grounds, epochs))
        return given[-1]

    monkeypatch.setattr(coevolving, "settings_from_project", record)
    search_project(project)

    assert given[0].terms == Terms(error_threshold=0.5, fitness_threshold=0.25, sure=0.75)
    assert (given[0].table.back_propagation_cycles, given[0].table.epochs) == (7, 2)


def test_it_begins_with_base_models(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    change(project, "generations = 2", 'generations = 1\nbase_models = ["8-4 relu", "9 relu"]')

    found = search_project(project).found

    first = {one.architecture.widths for one in found.scored if one.generation == 0}  # type: ignore[union-attr] # graphs
    assert first == {(8, 4), (8,), (4,)}


@pytest.mark.parametrize("model", ["8-4-8", "conv3x3(8), flattened, relu"])
def test_a_base_model_that_no_instance_can_be_is_refused(tmp_path: Path, model: str) -> None:
    project = write_project(tmp_path / "project")
    change(project, "generations = 2", f'generations = 2\nbase_models = ["{model}"]')

    with pytest.raises(InputError, match=r"search\.base_models names"):
        search_project(project)


def test_credit_reaches_the_competition_and_tells_kept_work_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "sets = 2", "sets = 2\ncompete = true")
    change(project, "generations = 2", "generations = 1")
    search_project(project)
    change(project, "compete = true", 'compete = true\ncredit = "leave-one-out"')
    tried, credits_ = count_trainings(monkeypatch), set[str]()

    def record(*args: Any, credit: Credit) -> Any:  # noqa: ANN401
        credits_.add(credit)
        return sweep(*args, credit=credit)

    monkeypatch.setattr(set_competition, "sweep", record)
    search_project(project)

    assert tried
    assert credits_ == {"leave-one-out"}
