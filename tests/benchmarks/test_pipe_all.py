"""Redoing the Pipe-All paper."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pipe_all
import pipe_all_ways as ways
import pytest
from pipe_all_paper import AVERAGES, BEST, PARALLEL, PEAK, PIPE_ALL, TABLE_1, Found, Way, averages

from evener.artifacts.board import load_board
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.network.model import Network, parse_network
from evener.plan import make_plan
from evener.plan.choose import Method
from evener.plan.problem import Space
from evener.testing import tiny
from evener.workflow.little import Little
from evener.workflow.opened import find_processors

KHADAS = load_board("khadas-vim3")


@pytest.fixture(scope="module")
def mobilenet() -> Network:
    return ways.build("mobilenet")


def way(name: str, rate_hz: float, latency_s: float, p99_s: float | None = None) -> Way:
    return Way(
        name=name,
        outline="",
        rate_hz=rate_hz,
        latency_s=latency_s,
        latency_p50_s=p99_s,
        latency_p99_s=p99_s,
    )


def found(network: str, rates_hz: Sequence[float], *, counts: bool = True) -> Found:
    names = (PEAK, PARALLEL, PIPE_ALL, BEST)
    return Found(
        network=network,
        basis="predicted",
        place="board",
        processors=(way("B", rates_hz[0], 1.0),),
        ways=tuple(way(name, rate_hz, 1.0) for name, rate_hz in zip(names, rates_hz, strict=True)),
        counts=counts,
    )


def test_averages_are_means_of_each_network_s_ratio() -> None:
    made = averages([found("a", (1, 2, 3, 4)), found("b", (10, 10, 20, 20))])

    assert made["rate of Pipe-All over Peak"] == pytest.approx((2 + 1) / 2)
    assert made["rate of Pipe-All over Parallel"] == pytest.approx((0.5 + 1) / 2)
    assert set(made) > set(AVERAGES)


def test_estimated_networks_are_in_no_average() -> None:
    counted = found("a", (1, 2, 3, 4))

    assert averages([counted, found("b", (1, 9, 9, 9), counts=False)]) == averages([counted])
    assert averages([found("b", (1, 9, 9, 9), counts=False)]) == {}


@pytest.mark.parametrize("name", ["squeezenet", "googlenet"])
def test_table_1_is_met(name: str) -> None:
    row = ways.search(ways.build(name), KHADAS)

    assert (row.layers, row.points, row.configurations) == TABLE_1[name][:3]


def test_two_searches_that_disagree_are_an_error(
    mobilenet: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(profile: Profile, *, space: Space = "full", method: Method = "dp") -> Plan:
        plan = make_plan(profile, space=space)
        return msgspec.structs.replace(plan, rate_hz=plan.rate_hz * (1 + (method != "dp")))

    monkeypatch.setattr(ways, "make_plan", wrong)
    with pytest.raises(RuntimeError, match="mobilenet: dynamic programming finds"):
        ways.search(mobilenet, KHADAS)


def test_prediction_is_by_the_board_s_table(mobilenet: Network) -> None:
    one = ways.predict(mobilenet, KHADAS)

    assert one.counts
    assert [each.name for each in one.processors] == ["B", "G", "L"]
    assert one[PEAK].rate_hz == max(each.rate_hz for each in one.processors)
    # Parallel is as late as its slowest copy, and as quick as all of them together.
    assert one[PARALLEL].latency_s == pytest.approx(1 / min(e.rate_hz for e in one.processors))
    assert one[PARALLEL].rate_hz == pytest.approx(sum(each.rate_hz for each in one.processors))
    assert one[BEST].rate_hz >= one[PIPE_ALL].rate_hz > one[PARALLEL].rate_hz
    assert one[PIPE_ALL].latency_s <= 3 / one[PIPE_ALL].rate_hz


def test_a_network_that_the_board_was_not_timed_with_is_estimated_and_says_so() -> None:
    one = ways.predict(ways.build("squeezenet"), KHADAS)

    assert not one.counts
    assert one.estimate == "cost model of khadas-vim3"


def test_a_machine_that_is_too_slow_is_refused_and_not_reported(mobilenet: Network) -> None:
    with pytest.raises(InfeasibleError, match="this machine computed longer"):
        # A board a thousand times as quick as this one is one that nothing here can stand in for.
        ways.simulate(mobilenet, KHADAS, frames=6, slowdowns=[0.001])


def test_quick_makes_every_file_and_takes_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "_COPIED_ROUNDS", 2)  # nobody looks at how near the rates are
    arguments = ["--quick", "--networks", "mobilenet", "--frames", "3"]
    arguments += ["--kept", str(tmp_path / "kept"), "-o", str(tmp_path / "out")]

    assert pipe_all.main(arguments) == 0
    first = capsys.readouterr().out
    assert pipe_all.main(arguments) == 0
    second = capsys.readouterr().out

    assert "simulated mobilenet khadas-vim3" in first
    assert "simulated mobilenet khadas-vim3" not in second
    text = (tmp_path / "out.md").read_text()
    for shown in ("+75.88 %", "+419.87 %", "| mobilenet | Pipe-All |", "2106", "11 h"):
        assert shown in text
    assert "computing on this machine itself: left out by --quick" in text
    html = (tmp_path / "out.html").read_text()
    assert html.count("<svg") == html.count("<figcaption>Figure ") == 2 * 3
    record = msgspec.json.decode((tmp_path / "out.json").read_bytes())
    assert [one["basis"] for one in record["found"]] == ["predicted", "simulated"]
    simulated = record["found"][1]
    assert simulated["max_error"] <= 1e-6
    assert all(each["latency_p99_s"] >= each["latency_p50_s"] for each in simulated["ways"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--networks", "lenet"), "the paper has no network lenet: it has alexnet, googlenet"),
        (("--boards", "pi"), "no board 'pi'"),
    ],
)
def test_bad_options_are_refused(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        pipe_all.main(arguments)

    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_computing_here_runs_a_pipeline_over_the_cores_beside_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cores = find_processors().processors
    if sum(one.units for one in cores) < 2:
        pytest.skip("a pipeline needs two cores")
    network = parse_network(tiny.dense(layers=4), name="dense")

    one = ways.compute(network, place="here", throttled=None, rounds=2)

    assert (one.basis, one.place, one.counts) == ("computed", "here", True)
    assert [each.name for each in one.ways] == [PEAK, PARALLEL, PIPE_ALL, BEST]
    assert one[PIPE_ALL].outline.startswith(("2 stages", "3 stages"))
    assert "copies" in one[PARALLEL].outline
    assert all((each.latency_p99_s or 0) >= (each.latency_p50_s or 0) > 0 for each in one.ways)


def test_where_cores_cannot_be_throttled_they_are_equal_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def refused(_share: float) -> Iterator[Little]:
        raise InputError("this process may not limit a core")
        yield  # what makes it a generator

    monkeypatch.setattr(pipe_all, "little_cores", refused)
    missing: list[str] = []

    with pipe_all.cores_of(0.4, missing) as (place, throttled):
        assert (place, throttled) == ("this machine, equal cores", None)
    assert missing == ["throttled cores: this process may not limit a core; all were equal"]


def test_equal_cores_may_be_asked_for() -> None:
    missing: list[str] = []

    with pipe_all.cores_of(1.0, missing) as (place, throttled):
        assert (place, throttled) == ("this machine, equal cores", None)
    assert missing == []
