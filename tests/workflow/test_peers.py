"""Peers take turns with pipelines, and say why where they cannot."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import sched_setaffinity
from pathlib import Path

import numpy as np
import pytest

from evener.errors import EvenerError, RuntimeFailedError
from evener.network.frames import random_frames
from evener.runtime.peer import Peer, known_peers
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.session import Array
from evener.runtime.throttle import Throttle
from evener.testing import tiny
from evener.workflow import peers as under_test
from evener.workflow import race
from evener.workflow.opening import open_network
from evener.workflow.peers import PeerRunner, find_peers

pytest.importorskip("openvino", reason="the peers are OpenVINO's own ways")

PATIENCE_S = 20.0


class LatePeer(Peer):
    """Answers frame 0 after frame 1."""

    requests = 2

    def __init__(self) -> None:
        """Open nothing."""

    def run(self, frames: object, emit: object = None) -> tuple[list[float], list[float]]:  # noqa: ARG002 - as its parent
        return [0.0, 1.0, 2.0, 3.0], [5.0, 2.0, 6.0, 7.0]


def test_an_answer_is_out_once_those_before_it_are() -> None:
    trace = PeerRunner(LatePeer(), ["x"]).run([], lambda *_: None)

    assert trace.frames == 4
    assert trace.elapsed_s == 7.0
    assert trace.rate_hz == 1.5  # from 5 s to 6 s, all of the third frame and half of the fourth
    assert trace.latency_p50_s == 4.0  # of 5, 4, 4, 4


class PinningPeer(Peer):
    """Computes in a thread that it pins to one core after another, and lets go at last."""

    requests = 1
    name = "pinning"

    def __init__(self, follow: Callable[[], None]) -> None:
        """Open nothing."""
        self._follow = follow

    def run(self, frames: object, emit: object = None) -> tuple[list[float], list[float]]:  # noqa: ARG002 - as its parent
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self._follow).result()
        return [0.0], [1.0]


@pytest.fixture
def cores() -> tuple[int, int]:
    """Return a core to be full and one to be throttled."""
    if len(PROCESS_CORES) < 2:
        pytest.skip("a throttled core beside a full one takes two, and there is one")
    full, little, *_ = sorted(PROCESS_CORES)
    return full, little


def throttle_of(little: int) -> Throttle:
    return Throttle(by_core={little: Path("little")}, free=Path("free"), home=Path("home"))


def test_a_thread_of_a_peer_is_throttled_as_the_core_is_that_it_is_pinned_to(
    cores: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    full, little = cores
    groups: dict[int, str] = {}
    monkeypatch.setattr(
        "evener.runtime.throttle.move_thread", lambda thread, to: groups.update({thread: to.name})
    )
    seen = []

    def follow() -> None:
        thread = threading.get_native_id()
        for pinned, wanted in (
            ({little}, "little"),
            ({full}, "home"),
            (set(PROCESS_CORES), "free"),
            ({little}, "little"),
        ):
            sched_setaffinity(0, pinned)
            deadline = time.monotonic() + PATIENCE_S
            while groups.get(thread) != wanted and time.monotonic() < deadline:
                time.sleep(0.001)
            seen.append(groups.get(thread))

    PeerRunner(PinningPeer(follow), ["x"], throttle=throttle_of(little)).run([], lambda *_: None)

    assert seen == ["little", "home", "free", "little"]
    assert groups[threading.get_native_id()] == "home"


def test_a_peer_whose_threads_cannot_be_followed_fails(
    cores: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = threading.Event()

    def move(_: int, to: Path) -> None:
        if to.name == "little":
            refused.set()
            raise OSError("the group is gone")

    def follow() -> None:
        sched_setaffinity(0, {cores[1]})
        assert refused.wait(PATIENCE_S)

    monkeypatch.setattr("evener.runtime.throttle.move_thread", move)

    with pytest.raises(EvenerError, match="a thread cannot be put .*the group is gone"):
        PeerRunner(PinningPeer(follow), ["x"], throttle=throttle_of(cores[1])).run(
            [], lambda *_: None
        )


def test_every_peer_answers_the_frames_of_the_network(net: str) -> None:
    opened = open_network(net)
    frames = random_frames(opened.network.inputs, 3, seed=0)

    able, reasons = find_peers(opened, frames)

    assert tuple(able) == known_peers()
    assert reasons == {}
    answers: dict[str, list[Array]] = {}
    for name, one in able.items():
        found: dict[int, Array] = {}

        def note(number: int, answer: tuple[Array, ...], to: dict[int, Array] = found) -> None:
            to[number] = answer[0].copy()

        with one.open() as runner:
            trace = runner.run(frames, note)
            assert runner.credits >= 1
        assert trace.frames == 3
        answers[name] = [found[number] for number in range(3)]
    first, *others = answers.values()
    for other in others:
        np.testing.assert_allclose(first, other, atol=1e-5)


def test_a_network_with_state_has_no_peers(write: Callable[[str, bytes], str]) -> None:
    net = write("state.onnx", tiny.branching())
    opened = open_network(net, states={"sum": "a"})

    able, reasons = find_peers(opened, [])

    assert able == {}
    assert set(reasons.values()) == {"it would not hand the state of one frame on to the next"}


def test_a_peer_that_refuses_a_network_is_left_out_with_its_reason(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, model: bytes) -> Peer:
        raise RuntimeFailedError(f"{name} refuses {len(model) > 0}", runtime="openvino")

    monkeypatch.setattr(under_test, "Peer", refuse)
    able, reasons = find_peers(open_network(net), [])

    assert able == {}
    assert reasons == {name: f"{name} refuses True" for name in known_peers()}


def test_a_peer_too_big_for_the_memory_is_not_opened(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "free_bytes_now", lambda: 1000)
    opened = open_network(net)

    able, reasons = find_peers(opened, [])

    assert able == {}
    assert all("of memory, 1 kB are free" in reason for reason in reasons.values())
