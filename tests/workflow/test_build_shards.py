"""A build whose network is trained by shards, over ranks too."""

from pathlib import Path

import msgspec
import pytest

from evener.artifacts.files import load
from evener.artifacts.topology import Topology
from evener.artifacts.trace import Trace
from evener.errors import EvenerError
from evener.testing.projects import change
from evener.workflow.build import build_project
from evener.workflow.ranks import find_launcher

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def test_a_network_that_ranks_trained_flows_on_and_is_that_of_one_rank(built: Path) -> None:
    try:
        find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))
    change(built, "epochs = 6", "epochs = 6\nranks = 2\nshards = 4\nhalo = 1")

    first = build_project(built)

    trace = load(built / ".evener" / "trace.json", Trace).value
    judged = ("profile", "plan", "run", "compare", "judge", "report")
    assert first.ran == ("search", "train", *judged)
    assert first.kept == ("data", "baselines")
    assert trace.quality == pytest.approx(first.card.test, abs=1e-6)
    assert first.card.topology == Topology(shards=4, halo=1)
    assert not (built / ".evener" / "training").exists()

    change(built, "ranks = 2\n", "")  # who computes makes no other network
    assert build_project(built).ran == ()

    together = first.network.read_bytes()
    first.network.unlink()
    alone = build_project(built)
    assert first.network.read_bytes() == together
    assert alone.ran == ("train", "report")  # which shows how long ranks waited, and one does not
    assert msgspec.structs.replace(first.card, communication_share=None) == alone.card


def test_a_build_of_shards_that_was_stopped_goes_on_from_its_checkpoint(built: Path) -> None:
    change(built, "epochs = 6", "epochs = 6\nshards = 4\nhalo = 1")
    undisturbed = build_project(built).network
    before = undisturbed.read_bytes()
    undisturbed.unlink()
    other = built / ".evener" / "training" / "of-another-training"
    other.mkdir(parents=True)
    told: list[int] = []

    def stop(message: str, done: int, _total: int) -> None:
        told.append(done)
        if message.startswith("training") and done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_project(built, progress=stop)
    assert not other.exists()
    told.clear()

    assert build_project(built, progress=lambda _, done, __: told.append(done)).ran == ("train",)
    assert told[0] == 5
    assert undisturbed.read_bytes() == before


def test_what_a_stopped_training_by_shards_left_is_removed_by_the_next_build(built: Path) -> None:
    stopped = built / ".evener" / "training" / "abc"
    stopped.mkdir(parents=True)

    assert build_project(built).ran == ()
    assert not stopped.parent.exists()
