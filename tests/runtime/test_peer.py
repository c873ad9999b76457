"""OpenVINO spreading a network by itself: every answer, by its number, with its times."""

from collections.abc import Sequence

import numpy as np
import pytest

from evener.errors import RuntimeFailedError
from evener.runtime import get_runtime
from evener.runtime import peer as under_test
from evener.runtime.peer import Peer, known_peers
from evener.runtime.pinning import PROCESS_CORES, pinned
from evener.runtime.session import Array, empty
from evener.testing.tiny import dense

pytest.importorskip("openvino", reason="the peers are OpenVINO's own ways")


def frames(count: int) -> list[dict[str, Array]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.normal(size=(2, 8)).astype(np.float32)} for _ in range(count)]


def unsplit(given: Sequence[dict[str, Array]]) -> list[Array]:
    core = (min(PROCESS_CORES),)
    answers = []
    with pinned(core):
        session = get_runtime("onnxruntime").open(dense(), cores=core)
        for frame in given:
            output = [empty(tensor) for tensor in session.outputs]
            session.run([frame["x"]], output)
            answers.append(output[0])
        session.close()
    return answers


@pytest.mark.parametrize("name", known_peers())
def test_a_peer_answers_every_frame_as_the_default_runtime_does(name: str) -> None:
    given = frames(9)
    answers: dict[int, Array] = {}
    peer = Peer(name, dense())

    granted_s, done_s = peer.run(
        given, lambda number, answer: answers.update({number: answer[0].copy()})
    )
    peer.close()

    for number, expected in enumerate(unsplit(given)):
        np.testing.assert_allclose(answers[number], expected, atol=1e-5)
    assert len(granted_s) == len(done_s) == 9
    assert all(taken < done for taken, done in zip(granted_s, done_s, strict=True))
    assert list(granted_s) == sorted(granted_s)


def test_a_peer_runs_again_and_counts_anew() -> None:
    peer = Peer("openvino THROUGHPUT", dense())

    assert len(peer.run(frames(5))[0]) == 5
    assert len(peer.run(frames(3))[1]) == 3
    assert peer.requests >= 1
    peer.close()


def test_what_openvino_refuses_is_told() -> None:
    with pytest.raises(RuntimeFailedError, match="openvino cannot open the network"):
        Peer("openvino LATENCY", b"no network")


def test_a_frame_that_does_not_fit_is_told() -> None:
    peer = Peer("openvino LATENCY", dense())

    with pytest.raises(RuntimeFailedError, match="openvino failed in the network"):
        peer.run([{"x": np.zeros((3, 3), np.float32)}])
    peer.close()


def test_no_peer_is_known_where_openvino_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "find_spec", lambda _: None)

    assert known_peers() == ()
