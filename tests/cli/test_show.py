"""`evener show` explains every kind of artifact, and nothing that is damaged."""

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import evener.artifacts
from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.dataset import SplitName
from evener.artifacts.files import Artifact, Kept, save
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.topology import Topology
from evener.cli.tables import lay_out
from evener.network.draft import draft_file, draft_network

Evener = Callable[..., tuple[int, str, str]]


def kinds_in_the_package() -> set[str]:
    modules = [
        importlib.import_module(f"evener.artifacts.{one.name}")
        for one in pkgutil.iter_modules(evener.artifacts.__path__)
    ]
    own = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    kinds = [getattr(value, "kind", None) for value in own]
    return {kind for kind in kinds if isinstance(kind, str)}


def test_every_kind_of_artifact_is_tried_here(artifacts: tuple[Artifact, ...]) -> None:
    assert {one.kind for one in artifacts} == kinds_in_the_package()


def test_every_kind_is_explained_with_its_origin(
    artifacts: tuple[Artifact, ...], evener: Evener, tmp_path: Path
) -> None:
    for one in artifacts:
        path = tmp_path / f"{one.kind}.json"
        sha256 = save(path, one, made_from={"network": "ab" * 32}, took_s=2.5)

        code, out, err = evener("show", path)

        assert (code, err) == (0, "")
        assert f"{one.kind} {sha256[:12]}, made 20" in out
        assert "in 2.5 s from network abababababab" in out
        assert len(out.splitlines()) > 1


def test_a_card_says_where_simple_models_learned_from_fewer_rows(
    artifacts: tuple[Artifact, ...], evener: Evener, tmp_path: Path
) -> None:
    plain = next(one for one in artifacts if isinstance(one, Card))
    linear = Architecture(family="linear")
    both: tuple[SplitName, ...] = ("train", "validation")
    refitted = msgspec.structs.replace(plain, architecture=linear, learned_from=both)

    def shown(card: Card) -> str:
        save(tmp_path / "card.json", card)
        return " ".join(evener("show", tmp_path / "card.json")[1].split())

    assert "on train rows" in shown(plain)
    assert "learned from the training rows alone" not in shown(plain)
    assert "the ONNX file differs from the trained network by" in shown(plain)
    assert "on train and validation rows" in shown(refitted)
    assert "linear (learned from the training rows alone)" in shown(refitted)
    assert "the ONNX file differs from the trained model by" in shown(refitted)


def test_a_card_says_which_neurons_see_which_where_not_all_see_all(
    artifacts: tuple[Artifact, ...], evener: Evener, tmp_path: Path
) -> None:
    (card,) = [one for one in artifacts if isinstance(one, Card)]
    save(tmp_path / "c.json", msgspec.structs.replace(card, topology=Topology(shards=4, halo=2)))

    _, out, _ = evener("show", tmp_path / "c.json")

    assert "6,570 weights in 4 shards, halo 2, input replicated, trained in 60 epochs" in out


def test_a_block_of_few_operations_is_not_shown_as_one_of_none(
    evener: Evener, tmp_path: Path, kept_profile: Kept[Profile]
) -> None:
    block = msgspec.structs.replace(kept_profile.value.blocks[0], macs=2_368)
    save(tmp_path / "p.json", msgspec.structs.replace(kept_profile.value, blocks=(block,)))

    assert "2.37 k" in evener("show", tmp_path / "p.json")[1]


def test_json_is_the_file_itself(
    artifacts: tuple[Artifact, ...], evener: Evener, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    save(path, artifacts[0])

    assert json.loads(evener("show", path, "--json")[1]) == json.loads(path.read_text())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "holds no JSON object"),
        ("{}", "holds JSON of no kind; this version knows architecture"),
        ('{"kind": "poem"}', "holds the unknown kind 'poem'; this version knows architecture"),
        ('{"kind": ["plan"]}', "holds the unknown kind ['plan']"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    content: str, message: str, evener: Evener, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)

    code, out, err = evener("show", path)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_changed_file_is_refused(evener: Evener, tmp_path: Path, plan: Plan) -> None:
    path = tmp_path / "a.json"
    save(path, plan)
    path.write_text(path.read_text().replace('"credits": 2', '"credits": 9'))

    code, _, err = evener("show", path)

    assert code == 2
    assert "does not match its own sha256" in err


def test_a_missing_file_is_named(evener: Evener, tmp_path: Path) -> None:
    code, _, err = evener("show", tmp_path / "none.json")

    assert code == 2
    assert f"cannot read {tmp_path / 'none.json'}: No such file or directory" in err


def test_what_has_no_layout_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="int has no layout; register one in evener.cli.run_tables"):
        lay_out(3)


def test_by_the_rule_node_a_profile_holds_steps_from_place_to_place(
    evener: Evener, tmp_path: Path, kept_profile: Kept[Profile]
) -> None:
    by_places = msgspec.structs.replace(kept_profile.value, granularity="node", max_live=2)
    save(tmp_path / "p.json", by_places)

    assert "tiny in 1 step on lab" in evener("show", tmp_path / "p.json")[1]


@pytest.fixture
def network(tmp_path: Path) -> Path:
    draft = draft_network(LayerGraph(), Ends(features=4, outputs=3))
    path = tmp_path / "network.onnx"
    path.write_bytes(draft_file(draft))
    return path


def test_a_network_is_written_as_pytorch(evener: Evener, network: Path, tmp_path: Path) -> None:
    code, out, err = evener("show", network, "--torch", tmp_path / "plain")
    told = json.loads(evener("show", network, "--torch", tmp_path / "again", "--json")[1])

    assert (code, err) == (0, "")
    assert "which need PyTorch alone; answers differ from the ONNX file's by " in out
    assert sorted(told) == ["files", "max_error"]
    assert [Path(one).name for one in told["files"]] == ["network.py", "weights.pt"]
    assert (tmp_path / "plain/network.py").read_text() == Path(told["files"][0]).read_text()


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["trace"], [], "--torch is for a network, and takes no other option"),
        ([], ["--from", "3"], "--torch is for a network, and takes no other option"),
    ],
)
def test_what_is_no_network_is_not_written_as_pytorch(
    evener: Evener,
    network: Path,
    tmp_path: Path,
    words: list[str],
    options: list[str],
    message: str,
) -> None:
    code, _, err = evener("show", *words, network, "--torch", tmp_path / "plain", *options)

    assert code == 2
    assert message in err
    assert not (tmp_path / "plain").exists()


def test_a_folder_that_is_there_is_not_written_over(
    evener: Evener, network: Path, tmp_path: Path
) -> None:
    code, _, err = evener("show", network, "--torch", tmp_path)

    assert code == 2
    assert "--torch" in err
