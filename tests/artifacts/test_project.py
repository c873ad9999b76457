"""`evener.toml` is read with its defaults, and a wrong key names the nearest known one."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener.artifacts.project import (
    DataSection,
    PlanSection,
    SearchSection,
    ServeSection,
    TrainSection,
    load_project,
    parse_project,
)
from evener.artifacts.topology import Topology
from evener.errors import InvalidFileError, InvalidProjectError

DIGITS: dict[str, Any] = {"data": {"source": "digits"}}
DIVIDED: dict[str, Any] = DIGITS | {
    "search": {"links": "chain", "shards": [1, 2, 4], "halos": ["full", 1]}
}


def test_a_project_may_be_two_lines(tmp_path: Path) -> None:
    (tmp_path / "evener.toml").write_text('[data]\nsource = "digits"\n')

    project = load_project(tmp_path)

    assert project.data.source == "digits"
    assert project == load_project(tmp_path / "evener.toml")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "section \\[data\\] is missing"),
        ({"data": {"target": "label"}}, "required field `source`"),
        (DIGITS | {"trian": {}}, "unknown section 'trian'; did you mean 'train'"),
        (
            DIGITS | {"train": {"epoch": 3}},
            "unknown key 'train.epoch'; did you mean 'train.epochs'",
        ),
        (DIGITS | {"train": {"zzz": 3}}, "known: train.epochs"),
        (DIGITS | {"train": {"epochs": "3"}}, "Expected `int`, got `str` - at `train.epochs`"),
        (DIGITS | {"train": {"epochs": 0}}, "train.epochs = 0 must be at least 1"),
        (DIGITS | {"train": {"learning_rate": 0.0}}, "must be above 0"),
        ({"data": {"source": "a.csv", "only": ["colour"]}}, "is no column and its value: write"),
        ({"data": {"source": "a.csv", "target": []}}, "one of them has no name; write it"),
        ({"data": {"source": "a.csv", "size": [0, 8]}}, "must be a width and a height above 0"),
        (DIGITS | {"search": {"cost": []}}, r"search.cost = \[\] is empty: write what is to be"),
        (
            DIGITS | {"search": {"cost": ["macs", "macs"]}},
            r'search.cost = \["macs","macs"\] names a cost twice',
        ),
        ({"data": {"source": "a.csv", "separator": ""}}, "data.separator is empty: write what"),
        (DIGITS | {"train": 3}, "must be a section: write \\[train\\]"),
        (DIGITS | {"search": {"budget": "10"}}, "search.budget: '10' has no unit"),
        (DIGITS | {"search": {"budget": "0 min"}}, "search.budget = '0 min' must be above 0"),
        (DIGITS | {"search": {"seed": -1}}, "search.seed = -1 must be at least 0 and below"),
        (DIGITS | {"train": {"seed": 2**32}}, "train.seed = 4294967296 must be at least 0"),
        (DIGITS | {"train": {"ranks": 0}}, "train.ranks = 0 must be at least 1"),
        (DIGITS | {"train": {"shards": 0}}, "train.shards = 0 must be at least 1"),
        (DIGITS | {"train": {"shards": 2, "halo": -1}}, "train.halo = -1 must be at least 0"),
        (
            DIGITS | {"train": {"halo": "ful"}},
            "'ful' - at `train.halo`; did you mean \"full\"\\? known: a whole number, ",
        ),
        (
            DIGITS | {"train": {"ranks": 3, "replicas": 2}},
            "train.ranks = 3 and train.replicas = 2: .* give 2 ranks or a multiple of it",
        ),
        (
            DIGITS | {"train": {"ranks": 4, "replicas": 4, "batch": 3}},
            "each replica takes a part of a batch; give a batch of 4 or more",
        ),
        (
            DIGITS | {"train": {"ranks": 4, "shards": 3}},
            "train.shards = 3 and 4 ranks for each replica: .* give 4 shards or more",
        ),
        (
            DIGITS | {"train": {"ranks": 3, "halo": 2}},
            "train.halo = 2 without train.shards: shards say .* write shards = 3, or more",
        ),
        (DIGITS | {"train": {"shift": -1}}, "train.shift = -1 must be at least 0"),
        (
            DIGITS | {"train": {"shift": 1, "ranks": 2}},
            "train.shift = 1 is for one rank: leave it out, or train.ranks",
        ),
        (
            DIVIDED | {"train": {"shards": 4, "halo": 1}},
            "train.shards = 4 divides the network that se",
        ),
        (DIVIDED | {"train": {"dropout": 0.1}}, "train.dropout = 0.1 is for networks that are not"),
        (DIVIDED | {"train": {"ranks": 3}}, "train.ranks = 3 has 3 ranks .* give 3 shards or more"),
        (DIGITS | {"train": {"mirror": True, "shards": 2}}, "train.mirror = true is for one rank"),
        ({"data": {"source": "digits", "seed": -1}}, "data.seed = -1 must be at least 0"),
        (DIGITS | {"plan": {"processors": "cpu0"}}, 'neither "all" nor .* write \\["cpu0"\\]'),
        (DIGITS | {"plan": {"processors": []}}, 'processors = \\[\\] is neither "all" nor a list'),
        (DIGITS | {"plan": {"board": ""}}, "plan.board is empty: write the name of a board"),
        (DIGITS | {"plan": {"objective": "speed"}}, "Invalid enum value 'speed'"),
        (DIGITS | {"serve": {"port": -1}}, "serve.port = -1 must be at least 0"),
        (DIGITS | {"serve": {"port": 65_536}}, "serve.port = 65536 must be at most 65535"),
        (DIGITS | {"serve": {"queue": -1}}, "serve.queue = -1 must be at least 0"),
        (DIGITS | {"serve": {"host": ""}}, 'serve.host is empty: write "127.0.0.1"'),
        (DIGITS | {"serve": {"prot": 1}}, "unknown key 'serve.prot'; did you mean 'serve.port'"),
        (DIGITS | {"requirements": {"accuracy": 0.97}}, "must be text with a relation"),
        (DIGITS | {"requirements": {"latency_p99": "<= 5 kg"}}, "has the unit 'kg'"),
        ({"data": {"source": "digits", "test_share": 1.5}}, "must lie between 0 and 1"),
        (
            {"data": {"source": "digits", "test_share": 0.5, "validation_share": 0.5}},
            "leaves no row to train on",
        ),
    ],
)
def test_a_wrong_entry_says_where_and_what(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProjectError, match=message):
        parse_project(raw)


def test_an_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "evener.toml").write_text("[data]\nsorce = 'digits'\n")

    with pytest.raises(InvalidProjectError, match="evener.toml: unknown key 'data.sorce'"):
        load_project(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot read"), (b"[data", "is not TOML"), (b"\xff", "not TOML")],
)
def test_a_file_that_is_no_toml_is_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "evener.toml").write_bytes(content)

    with pytest.raises(InvalidFileError, match=message):
        load_project(tmp_path)


@pytest.mark.parametrize(
    ("section", "shards", "sharded"),
    [
        (TrainSection(), 1, False),
        (TrainSection(epochs=3), 1, False),
        (TrainSection(ranks=6, replicas=2), 3, True),
        (TrainSection(shards=4, halo=2), 4, True),
    ],
)
def test_shards_are_one_for_each_rank_of_a_replica_unless_they_are_said(
    section: TrainSection, shards: int, sharded: bool
) -> None:
    assert (section.topology.shards, section.sharded) == (shards, sharded)
    assert not section.plain.sharded


def test_a_network_that_is_divided_already_brings_its_shards_and_halo() -> None:
    section = TrainSection(epochs=3, ranks=2)

    assert section.of(Topology(shards=4, halo=2)) == TrainSection(
        epochs=3, ranks=2, shards=4, halo=2
    )
    assert section.of(None) == section


def test_a_network_depends_on_its_halo_and_its_shards_and_not_on_ranks() -> None:
    dense, halo = TrainSection(ranks=2), TrainSection(shards=4, halo=1)

    assert dense.network == TrainSection(ranks=6, replicas=3).network
    assert halo.network == TrainSection(shards=4, halo="boundary", ranks=4, replicas=2).network
    assert halo.network != TrainSection(shards=8, halo=1).network


def test_a_network_depends_on_whether_it_is_refitted_and_is_by_default() -> None:
    section = parse_project({"data": {"source": "digits"}, "train": {"shards": 4, "halo": 1}}).train

    assert section.refit
    assert section.network.refit
    assert section.chooses.network != section.network
    delivers = msgspec.structs.replace(section, deliver="recommended")
    assert delivers.network == section.network  # whichever is best, the network stays that
    assert section.chooses.sharded


def test_no_board_has_times_of_what_may_be_no_network() -> None:
    raw = {"data": {"source": "digits"}, "train": {"deliver": "recommended"}}
    assert parse_project(raw).train.deliver == "recommended"

    with pytest.raises(InvalidProjectError, match="has times of networks alone") as caught:
        parse_project(raw | {"plan": {"board": "khadas-vim3"}})
    assert caught.value.key == "train.deliver"


CHOICES = [
    (name, field.name, values)
    for name, section in (
        ("data", DataSection),
        ("search", SearchSection),
        ("train", TrainSection),
        ("plan", PlanSection),
        ("serve", ServeSection),
    )
    for field in msgspec.structs.fields(section)
    if "Literal[" in str(field.type) and (values := re.findall(r"'(\w+)'", str(field.type)))
]


@pytest.mark.parametrize(("section", "key", "values"), CHOICES)
def test_of_several_values_all_are_named_where_another_stands(
    section: str, key: str, values: list[str]
) -> None:
    wrong: Any = ["no such"] if key in ("activations", "halos") else "no such"
    raw: dict[str, Any] = {"data": {"source": "digits"}}
    raw[section] = raw.get(section, {}) | {key: wrong}

    with pytest.raises(InvalidProjectError) as caught:
        parse_project(raw)

    assert all(one in str(caught.value) for one in values), str(caught.value)


def test_there_are_settings_of_several_values_in_most_sections() -> None:
    assert {section for section, _, _ in CHOICES} >= {"data", "search", "train", "plan"}
