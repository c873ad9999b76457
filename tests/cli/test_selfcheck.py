"""`evener selfcheck` says what was measured, and starts ranks where they are wanted."""

import json
from collections.abc import Callable, Sequence

import pytest

from evener import workflow
from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.ring_check import RingCheck
from evener.comm.communicator import Communicator
from evener.workflow import SelfCheck, ranks

Evener = Callable[..., tuple[int, str, str]]
ALONE = SelfCheck(
    versions={"torch": "2.13.0", "mpi4py": None},
    ranks=1,
    calibration=Calibration(
        processor="a core, 2 cores",
        updates=(Rate(262144, 4e10), Rate(2**28, 2e10)),
        reads=(Rate(262144, 3e10), Rate(2**28, 1.3e10)),
        products=(Rate(64, 8.5e10),),
        dense_layer_s=1.1e-5,
        sharded_layer_s=4e-5,
        shard_s=1e-6,
    ),
    rings=(),
)
LINKED = SelfCheck(
    versions={},
    ranks=2,
    calibration=Calibration(
        processor="a core, 2 cores",
        updates=(Rate(1, 2e10),),
        reads=(Rate(1, 1e10),),
        products=(Rate(1, 1e10),),
        dense_layer_s=1e-5,
        sharded_layer_s=1e-5,
        shard_s=1e-6,
        link=Link(
            name="MpiRank, 2 ranks",
            latency_s=9e-6,
            gap_s=5e-6,
            bandwidth_bytes_per_s=1.3e10,
            measured=True,
        ),
    ),
    rings=(RingCheck(name="Neighbor_alltoall", ranks=1, right=True),),
)
BROKEN = SelfCheck(
    versions={},
    ranks=2,
    calibration=LINKED.calibration,
    rings=(*LINKED.rings, RingCheck(name="Ineighbor_alltoall", ranks=2, right=False)),
)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[SelfCheck], None]:
    """Have the workflow find something."""

    def find(check: SelfCheck) -> None:
        def check_self(_: Communicator) -> SelfCheck:
            return check

        monkeypatch.setattr(workflow, "check_self", check_self)

    return find


def test_one_core_is_told_of_and_what_is_missing(
    evener: Evener, found: Callable[[SelfCheck], None]
) -> None:
    found(ALONE)

    code, out, _ = evener("selfcheck")

    assert code == 0
    assert "mpi4py    missing" in out
    assert "262 kB 30 GB/s 40 GB/s" in " ".join(out.split())
    assert "85 GFLOP/s" in out
    assert (
        "a layer costs 11 µs beside its weights, 40 µs where shards see a part, and 1 µs each"
        in out
    )
    assert "messages between ranks were not measured: give --mpi" in out


def test_a_link_is_told_of_and_wrong_collectives_are_named(
    evener: Evener, found: Callable[[SelfCheck], None]
) -> None:
    found(LINKED)
    right = evener("selfcheck")[1]
    found(BROKEN)
    wrong = evener("selfcheck")[1]

    assert "MpiRank, 2 ranks: 9 µs a message, 5 µs each further one, 13 GB/s" in right
    assert "neighbourhood collectives are right on small rings" in right
    assert "Ineighbor_alltoall gives wrong values on a ring of 2; Evener does not use it" in wrong
    assert "are right" not in wrong


def test_json_holds_everything(evener: Evener, found: Callable[[SelfCheck], None]) -> None:
    found(BROKEN)

    printed = json.loads(evener("selfcheck", "--json")[1])

    assert set(printed) == {"versions", "ranks", "calibration", "rings"}
    assert printed["calibration"]["link"]["latency_s"] == 9e-6
    assert printed["rings"][1] == {"name": "Ineighbor_alltoall", "ranks": 2, "right": False}


@pytest.mark.parametrize(
    ("arguments", "count"), [(("--mpi",), 2), (("--ranks", "3"), 3), (("--mpi", "--ranks", "4"), 4)]
)
def test_ranks_are_started_with_the_same_words(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], count: int
) -> None:
    started: list[tuple[int, Sequence[str]]] = []

    def start(number: int, words: Sequence[str], *, outliving: bool) -> int:
        assert not outliving
        started.append((number, words))
        return 7

    monkeypatch.setattr(ranks, "start_ranks", start)

    assert evener("selfcheck", *arguments)[0] == 7
    assert started == [(count, ("selfcheck", *arguments))]


def test_one_rank_is_no_link(evener: Evener) -> None:
    code, _, err = evener("selfcheck", "--ranks", "1")

    assert code == 2
    assert "1 is not in the range x>=2" in err
