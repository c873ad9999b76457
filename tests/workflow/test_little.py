"""A machine with throttled cores has a big and a little processor of its own."""

from collections.abc import Callable, Iterator

import pytest

from evener.errors import InputError
from evener.plan.decide import make_baseline
from evener.profile import timing
from evener.runtime.cgroup import find_hierarchy, limited
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.throttle import ThrottledRuntime
from evener.testing import tiny
from evener.workflow.bench import bench_networks, over_all_cores
from evener.workflow.little import Little, little_cores
from evener.workflow.opening import open_network
from evener.workflow.profile import profile_opened


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "THROTTLED_SPAN_S", 0.001)
    monkeypatch.setattr(timing, "ENOUGH_S", 0.002)


@pytest.fixture
def net(write: Callable[[str, bytes], str]) -> str:
    """Return the path of a network of two blocks."""
    return write("dense.onnx", tiny.dense(layers=2))


@pytest.fixture
def possible() -> None:
    """Skip a test that needs two cores and the right to throttle one."""
    if len(PROCESS_CORES) < 2:
        pytest.skip("a throttled core beside a full one takes two, and there is one")
    try:
        with limited(find_hierarchy(), {"probe": 0.9}):
            pass
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def little(possible: None) -> Iterator[Little]:  # noqa: ARG001 - asked for its skip
    with little_cores(0.4) as made:
        yield made


def test_big_and_little_are_two_processors_with_times_of_their_own(
    net: str, little: Little
) -> None:
    plain = open_network(net)
    opened = little.on(plain)

    big, small = opened.machine.processors[:2]
    assert (big.name, big.share) == ("big", 1.0)
    assert (small.name, small.share) == ("little", 0.4)
    assert all(isinstance(one, ThrottledRuntime) for one in opened.runtimes.values())
    profile = profile_opened(opened)
    assert {one.processor for one in profile.value.segments} == {"big", "little"}
    assert profile.sha256 == profile_opened(opened).sha256  # kept, and found again
    assert profile_opened(plain).sha256 != profile.sha256


def test_processors_are_chosen_by_their_new_names(net: str, little: Little) -> None:
    opened = little.on(open_network(net), ["little"])

    assert [one.name for one in opened.machine.processors] == ["little"]
    with pytest.raises(InputError, match=r"no processor 'cpu0' on .*; it has big, little"):
        little.on(open_network(net), ["cpu0"])


def test_one_session_over_all_cores_spans_full_and_throttled_ones(net: str, little: Little) -> None:
    opened = little.on(open_network(net))
    copies = make_baseline(profile_opened(opened).value, "copies")

    plan = over_all_cores(opened.machine, copies)

    (lane,) = plan.stages[0].lanes
    assert lane.processor == "big+little"
    assert set(lane.cores) == {core for one in opened.machine.processors for core in one.cores}
    assert (plan.what, plan.credits) == ("all_cores", 1)


@pytest.mark.usefixtures("possible")
def test_a_bench_with_a_little_core_and_a_relative_limit_says_how_it_was_kept(net: str) -> None:
    found = bench_networks([net], rounds=2, little=0.5, max_latency_share=50.0)

    assert found.little == 0.5
    kinds = {row.kind: row for row in found.rows}
    assert {"plan", "single", "all_cores", "copies"} <= set(kinds)
    assert kinds["all_cores"].predicted_rate_hz is None
    (limit,) = found.limits
    assert limit.copies_p99_s is not None
    assert limit.max_latency_s == pytest.approx(50 * limit.copies_p99_s)
    assert limit.latency_p99_s == kinds["plan"].latency_p99_s


@pytest.mark.usefixtures("possible")
def test_without_a_runtime_that_spans_them_all_cores_is_left_out(net: str) -> None:
    pytest.importorskip("openvino", reason="the one runtime that cannot")

    found = bench_networks([net], rounds=2, little=0.5, runtimes=["openvino"])

    assert "all_cores" not in {row.kind for row in found.rows}
    assert [one.name for one in found.left_out] == ["all_cores"]
    assert "only onnxruntime keeps one thread on each" in found.left_out[0].reason
