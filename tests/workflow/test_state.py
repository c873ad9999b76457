"""A network with state, from the file to the answers."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from evener.artifacts.files import load
from evener.artifacts.split import Split
from evener.network.model import load_network
from evener.network.split import whole_model
from evener.runtime import get_runtime, pinning
from evener.workflow import opened as hints
from evener.workflow import run_network, split_network
from evener.workflow.opening import open_network

CORE = min(pinning.PROCESS_CORES)
# Three dense layers; the second adds what it answered to the frame before.
RECURRENT = """g (float[1,8] x, float[1,8] h, float rate) => (float[1,8] y, float[1,8] hn) {
    a = MatMul(x, w)
    b = Mul(h, rate)
    c = Add(a, b)
    d = MatMul(c, v)
    hn = Tanh(d)
    y = MatMul(hn, u)
}"""
STATES = {"hn": "h"}
FIXED = {"rate": 0.5}


@pytest.fixture
def recurrent(tmp_path: Path) -> Path:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {RECURRENT}')
    rng = np.random.default_rng(0)
    for name in "wvu":
        weights = rng.normal(size=(8, 8)).astype(np.float32) / 3
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    path = tmp_path / "recurrent.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hints._hint.cache_clear()
    yield
    hints._hint.cache_clear()


def by_hand(path: Path, frames: np.ndarray) -> list[np.ndarray]:
    """Answer frames with the whole network in one session, the state handed on by hand."""
    network = load_network(path, fixed=FIXED)
    kept = np.zeros((1, 8), np.float32)
    answers = []
    with pinning.pinned((CORE,)):
        session = get_runtime("onnxruntime").open(
            whole_model(network), cores=(CORE,), optimisation="extended"
        )
        for frame in frames:
            y, new = (np.empty((1, 8), np.float32) for _ in range(2))
            session.run([frame, kept], [y, new])
            kept = new
            answers.append(y)
    return answers


def test_frames_of_a_file_are_answered_in_turn_from_a_state_of_zero(
    recurrent: Path, tmp_path: Path
) -> None:
    frames = np.random.default_rng(1).normal(size=(30, 1, 8)).astype(np.float32)
    np.savez(tmp_path / "frames.npz", x=frames)

    result = run_network(
        str(recurrent),
        frames=tmp_path / "frames.npz",
        out=tmp_path / "answers.npz",
        optimisation="extended",
        fixed=FIXED,
        states=STATES,
    )

    with np.load(tmp_path / "answers.npz") as answers:
        assert list(answers) == ["y"]
        np.testing.assert_array_equal(answers["y"], by_hand(recurrent, frames))
    assert result.trace.equal


def test_more_frames_than_are_drawn_go_round_and_the_state_goes_on(recurrent: Path) -> None:
    result = run_network(
        str(recurrent), frames=150, optimisation="extended", fixed=FIXED, states=STATES
    )

    assert (result.trace.frames, result.trace.equal, result.holds) == (150, True, True)


def test_the_parts_of_a_split_say_which_of_them_keeps_the_state(
    recurrent: Path, tmp_path: Path
) -> None:
    split = split_network(
        str(recurrent), cuts=[0, 1], folder=tmp_path / "parts", fixed=FIXED, states=STATES
    )

    assert [part.states for part in split.parts] == [{}, {"hn": "h"}, {}]
    assert load(tmp_path / "parts" / "recurrent.split.json", Split).value == split


def test_a_network_that_looks_as_if_it_had_state_is_said_to_once(
    recurrent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for states in (STATES, {}, {}):
            open_network(str(recurrent), fixed=FIXED, states=states)

    assert [record.getMessage() for record in caplog.records] == [
        "it looks as if recurrent hands state from frame to frame: if so, give --state hn=h"
    ]


def test_a_plan_without_the_state_is_of_another_network(recurrent: Path) -> None:
    plain = open_network(str(recurrent), fixed=FIXED)
    kept = open_network(str(recurrent), fixed=FIXED, states=STATES)

    assert plain.network.sha256 != kept.network.sha256
