"""Networks that a search divides into shards are scored, trained in full and delivered as such."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, chain_of, stored, topology_of
from evener.artifacts.search_section import SearchSection
from evener.artifacts.topology import Topology
from evener.artifacts.trace import Trace
from evener.errors import EvenerError, InputError
from evener.testing.projects import change, write_project
from evener.workflow.build import build_project
from evener.workflow.ranks import find_launcher
from evener.workflow.search import search_project
from evener.workflow.search_setup import limits_of, space_of
from evener.workflow.training import prepare_training
from evener.workflow.training_wish import TrainingWish

pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
pytestmark = pytest.mark.usefixtures("simple_models_once")

PROGRAM = Path(__file__).parent / "search_program.py"
GENES = '[search]\nlinks = "chain"\nshards = [1, 2, 4]\nhalos = [0, 1, "full"]\n'
ALWAYS = """[search]
links = "chain"
shards = [4]
halos = [0]
activations = ["gelu"]
"""


def project_of(folder: Path, genes: str = GENES, more: str = "") -> Path:
    project = write_project(folder, more)
    change(project, "[search]\n", genes)
    return project


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return search_project(project_of(tmp_path_factory.mktemp("divided") / "project")).found


def test_some_are_divided_and_each_is_scored_and_trained_in_full(undisturbed: Front) -> None:
    tried = (*undisturbed.scored, *undisturbed.random)

    divided = [one for one in tried if topology_of(one.architecture) is not None]
    assert 0 < len(divided) < len(tried)
    assert {one.score.status for one in tried} == {"ok"}
    for one in divided:
        assert isinstance(one.architecture, LayerGraph)
        assert one.score.macs == one.architecture.macs(3, 2)
    assert not undisturbed.set_apart
    assert {one.of for one in undisturbed.retrained} == {"front", "random", "fixed"}


def test_a_search_of_shards_that_was_killed_goes_on_to_the_same_front(
    tmp_path: Path, undisturbed: Front
) -> None:
    project = project_of(tmp_path / "project")
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "2", "search.json", str(project)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr

    assert json.loads(ended.stdout) != [0]
    assert search_project(project, workers=2).found == undisturbed


def test_children_of_divided_networks_inherit_what_they_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path / "project", GENES + "inherit = true\n")
    from evener.train.population.inherit import inherit
    from evener.train.population.weights import Weights

    begun: list[bool] = []

    def watch(*given: Any, **named: Any) -> Weights:  # noqa: ANN401 - handed on
        found = inherit(*given, **named)
        begun.append(bool(found.masks))
        return found

    monkeypatch.setattr("evener.train.trials.inherit", watch)

    found = search_project(project, workers=1).found

    assert {one.score.status for one in found.scored} == {"ok"}
    assert any(begun)


def test_plans_of_divided_networks_are_made_cheap(tmp_path: Path) -> None:
    board = '\n[plan]\nboard = "khadas-vim3"\n'
    project = project_of(tmp_path / "project", GENES + 'cost = "period"\n', board)

    found = search_project(project).found

    divided = [one for one in found.scored if topology_of(one.architecture) is not None]
    assert found.objectives == ("error", "period")
    assert divided
    assert all(one.objectives[1] > 0 for one in divided)


@pytest.fixture
def built(tmp_path: Path, short: None) -> Path:  # noqa: ARG001 - measured as little as possible
    project = project_of(tmp_path / "project", ALWAYS)
    change(project, "widths = [4, 8, 16, 32]", "widths = [32, 64]")
    change(project, "generations = 5", "generations = 2")
    change(project, "epochs = 4", "epochs = 6\nlearning_rate = 0.03")
    return project


def test_a_build_delivers_the_network_that_was_divided_and_goes_on_where_it_was_stopped(
    built: Path,
) -> None:
    whole = build_project(built)

    front = load(built / ".evener" / "front.json", Front).value
    chosen = front.architecture
    assert topology_of(chosen) == Topology(shards=4, halo=0)
    assert whole.card.topology == Topology(shards=4, halo=0)
    assert whole.card.architecture == chain_of(chosen)
    full = front.retrained_of(front.chosen)
    assert full is not None
    assert whole.card.validation == {"accuracy": full.quality}  # before it saw these rows
    trace = load(built / ".evener" / "trace.json", Trace).value
    assert trace.quality == pytest.approx(whole.card.test, abs=1e-6)
    content = whole.network.read_bytes()
    assert "evener.topology" in {one.key for one in onnx.load_from_string(content).metadata_props}

    whole.network.unlink()
    told: list[int] = []

    def stop(message: str, done: int, _total: int) -> None:
        told.append(done)
        if message.startswith("training") and done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_project(built, progress=stop)
    told.clear()

    assert build_project(built, progress=lambda _, done, __: told.append(done)).ran == ("train",)
    assert told[0] == 5
    assert whole.network.read_bytes() == content

    job = prepare_training(TrainingWish(project=built))
    assert job.shape.topology == Topology(shards=4, halo=0)
    other = prepare_training(TrainingWish(project=built, topology=Topology(halo=1), shards=2))
    assert other.shape.topology == Topology(shards=2, halo=1)
    dense = prepare_training(TrainingWish(project=built, topology=Topology()))
    assert dense.shape.topology.dense


def test_ranks_write_the_file_that_one_process_does(built: Path) -> None:
    try:
        find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))
    alone = build_project(built)
    content = alone.network.read_bytes()
    change(built, "epochs = 6\n", "epochs = 6\nranks = 2\n")
    alone.network.unlink()

    assert "train" in build_project(built).ran
    assert alone.network.read_bytes() == content


def test_a_limit_on_the_size_counts_the_zeros_of_a_file() -> None:
    ends = Ends(features=3, outputs=2)
    row = LayerGraph(
        widths=(64, 64), links=((0, 1), (1, 2), (2, 3)), topology=Topology(shards=2, halo=1)
    )

    broken = limits_of(4096 + 4 * (stored(row, ends) - 1), ends)(row)

    assert broken > 0
    assert limits_of(4096 + 4 * stored(row, ends), ends)(row) == 0


def test_blocks_of_convolutions_are_not_divided() -> None:
    section = SearchSection(links="chain", shards=(1, 2), halos=(1,))

    with pytest.raises(InputError, match=r"search\.shards divides layers, and these networks are"):
        space_of(section, Ends(features=784, outputs=10, picture=(1, 28, 28)))


def test_numbers_are_not_learned_by_shards(tmp_path: Path) -> None:
    project = project_of(tmp_path / "project")
    change(project, 'target = "kind"', 'target = "c"\ndrop = ["kind"]\ntask = "numbers"')

    with pytest.raises(InputError, match=r"this dataset's task is numbers; .* search\.shards"):
        search_project(project)
