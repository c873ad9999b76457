"""Peers take turns with pipelines, and say why where they cannot."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from os import sched_setaffinity
from pathlib import Path

import numpy as np
import pytest

from evener.errors import InputError, RuntimeFailedError
from evener.network.frames import random_frames
from evener.runtime.peer import Peer, known_peers
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.session import Array
from evener.runtime.throttle import throttled
from evener.testing import tiny
from evener.workflow import peers as under_test
from evener.workflow import race
from evener.workflow.opening import open_network
from evener.workflow.peers import PeerRunner, find_peers

pytest.importorskip("openvino", reason="the peers are OpenVINO's own ways")


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


class PinnedPeer(Peer):
    """Computes in a thread that is pinned to a core, and notes whether a group has it."""

    requests = 1

    def __init__(self, core: int, group: Path, patience_s: float) -> None:
        """Open nothing."""
        self._core, self._group, self._patience_s = core, group, patience_s
        self.throttled = False

    def run(self, frames: Iterable[object], emit: object = None) -> tuple[list[float], list[float]]:  # noqa: ARG002 - as its parent
        with ThreadPoolExecutor(
            1, initializer=sched_setaffinity, initargs=(0, {self._core})
        ) as pool:
            thread = pool.submit(threading.get_native_id).result()
            for _ in frames:
                begun = time.monotonic()
                while time.monotonic() < begun + self._patience_s and not self.throttled:
                    self.throttled = str(thread) in self._group.read_text().split()
        return [0.0], [1.0]


def test_a_thread_that_a_peer_pins_is_throttled_as_its_core_is() -> None:
    full, *others = sorted(PROCESS_CORES)
    if not others:
        pytest.skip("a throttled core beside a full one takes two, and there is one")
    little = others[0]
    try:
        with throttled({little: 0.9}, (full, little)) as throttle:
            slow = PinnedPeer(little, throttle.by_core[little], patience_s=20.0)
            quick = PinnedPeer(full, throttle.by_core[little], patience_s=0.1)
            for peer in (slow, quick):
                PeerRunner(peer, ["x"], throttle=throttle).run(
                    [(np.zeros(1),)] * 2, lambda *_: None
                )
    except InputError as error:
        pytest.skip(str(error))

    assert slow.throttled
    assert not quick.throttled


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
