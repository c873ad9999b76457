"""Redoing the tables of the Blue Gene paper."""

from pathlib import Path

import msgspec
import pytest
import scaling
from scaling_page import WAYS
from scaling_paper import COMMUNICATION, MODELS, TIMES_S, WEIGHTS, Point, workers
from scaling_rank import Timing, main

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.topology import Topology
from evener.errors import EvenerError
from evener.train.sharding import count_weights

LINK = Link(name="MPI here", latency_s=2e-6, gap_s=1e-6, bandwidth_bytes_per_s=1e10, measured=True)
CALIBRATION = Calibration(
    processor="a core",
    updates=(Rate(1e6, 2e10),),
    reads=(Rate(1e6, 1e10),),
    products=(Rate(1, 1e10),),
    dense_layer_s=1e-5,
    sharded_layer_s=3e-5,
    shard_s=1e-6,
    link=LINK,
)
TIMING = Timing(
    weights=57_536,
    iterations=9,
    low_s=1e-4,
    median_s=2e-4,
    high_s=3e-4,
    communication_max_s=5e-5,
    communication_mean_s=4e-5,
    bytes_per_iteration=512,
)


def test_the_weights_are_those_of_table_1() -> None:
    assert {name: count_weights(Topology(), widths) for name, widths in MODELS.items()} == WEIGHTS


def test_the_shares_of_table_4_are_its_longest_times_over_those_of_table_3() -> None:
    for count, (longest_s, mean_s, share) in COMMUNICATION.items():
        assert mean_s < longest_s
        assert 100 * longest_s / TIMES_S["L"][count] == pytest.approx(share, abs=0.006)


def test_beyond_the_paper_only_the_large_networks_go() -> None:
    assert max(workers("S")) == 32
    assert max(workers("L")) == 4096


def test_one_and_two_ranks_train_the_same_network() -> None:
    wanted = scaling.to_measure("M")

    networks = {(one.ranks, one.shards, one.halo) for one in wanted}
    assert {(1, 1, "full"), (1, 32, 1), (2, 32, 1), (2, 2, "full")} <= networks
    assert len(wanted) == len(set(map(str, wanted)))


def test_the_dense_network_is_timed_on_two_ranks_in_every_way_that_has_a_name() -> None:
    def ways(model: str) -> list[str]:
        asked = scaling.to_measure(model)
        return [one.carriage for one in asked if (one.ranks, one.shards) == (2, 2)]

    assert ways("M") == list(WAYS)
    assert ways("L") == ["cheapest", "gather", "broadcast"]  # its layers grow narrower: sums


def test_a_projection_says_what_it_is_of() -> None:
    point = scaling.project("S", 8, 1, LINK, CALIBRATION)

    assert (point.basis, point.ranks, point.link) == ("projected", 8, "MPI here")
    assert point.weights == count_weights(Topology(shards=8, halo=1), MODELS["S"])
    assert 0 < point.share < 1


def test_a_measured_point_stands_beside_the_cost_model() -> None:
    asked = scaling.Asked("S", 2, 2, "full", "gather")
    point = scaling.measured(asked, TIMING, CALIBRATION)

    assert (point.basis, point.link, point.iteration_s) == ("measured", "MPI on this machine", 2e-4)
    assert point.share == pytest.approx(0.25)
    assert point.predicted_s is not None
    unlinked = msgspec.structs.replace(CALIBRATION, link=None)
    assert scaling.measured(asked, TIMING, unlinked).predicted_s is None
    assert (point.carriage, point.bytes_per_iteration) == ("gather", 512)


def test_one_rank_times_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    widths = ",".join(map(str, MODELS["S"]))

    assert main(["--widths", widths, "--shards", "32", "--halo", "1", "--seconds", "0.01"]) == 0

    found = msgspec.json.decode(capsys.readouterr().out, type=Timing)
    assert found.weights == 2880
    assert 0 < found.low_s <= found.median_s <= found.high_s
    assert found.iterations >= 5
    assert found.communication_max_s >= found.communication_mean_s


def test_every_file_is_written_and_pieces_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[scaling.Asked] = []

    def measure(asked: scaling.Asked, _: float) -> Timing:
        ran.append(asked)
        if asked.ranks == 2:
            raise EvenerError("there is no MPI")
        return TIMING

    monkeypatch.setattr(scaling, "calibrate", lambda: CALIBRATION)
    monkeypatch.setattr(scaling, "measure", measure)
    options = ["--quick", "--kept", str(tmp_path / "kept"), "-o", str(tmp_path / "scaling")]

    assert scaling.main(options) == 0
    first = len(ran)
    assert scaling.main(options) == 0

    assert ran[first:] == [one for one in ran[:first] if one.ranks == 2]
    record = msgspec.json.decode((tmp_path / "scaling.json").read_bytes())
    points = msgspec.convert(record["points"], list[Point])
    assert {one.basis for one in points} == {"measured", "projected"}
    assert "there is no MPI" in record["missing"][0]
    text = (tmp_path / "scaling.md").read_text()
    assert "| 32 | 2,880 | 35.4 ms | 200 µs m |" in text
    assert "Table IV" not in text  # of L, which --quick leaves out
    assert "<svg" in (tmp_path / "scaling.html").read_text()


def test_table_4_is_projected_for_l(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "calibrate", lambda: CALIBRATION)
    monkeypatch.setattr(scaling, "measure", lambda *_: TIMING)
    monkeypatch.setattr(scaling, "workers", lambda _: [32])
    kept = str(tmp_path / "kept")

    scaling.main(["--models", "L", "--kept", kept, "-o", str(tmp_path / "scaling")])

    text = (tmp_path / "scaling.md").read_text()
    assert "## Table IV: communication of L" in text
    assert "| 32 | 76,836,864 | 21.4 s | 7.93 s | 1.0 % |" in text
    assert "| dense, values broadcast in turn | 2 |" in text
    assert "10 Gb/s Ethernet, dense, values gathered: workers" in text


def test_an_unknown_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        scaling.main(["--models", "XL"])

    assert ended.value.code == 2
    assert "the paper has no model XL: it has S, M, L" in capsys.readouterr().err


def test_a_process_that_fails_is_named_with_what_it_said() -> None:
    with pytest.raises(EvenerError, match="ended with 2: .*halo"):
        scaling.measure(scaling.Asked("S", 1, 4, "wide"), 0.1)  # type: ignore[arg-type] # no halo is so called
