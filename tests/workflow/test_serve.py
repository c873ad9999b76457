"""A planned network over HTTP: its answers are the plain network's, whoever asks at once."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
import onnxruntime
import psutil
import pytest
from onnx import helper

from evener import workflow
from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.files import file_sha256, save
from evener.artifacts.plan import Plan
from evener.errors import InputError
from evener.network.model import load_network
from evener.runtime.pinning import PROCESS_CORES
from evener.runtime.session import Array
from evener.testing import plans, tiny
from evener.testing.tiny import floats, network
from evener.workflow.cutting import Shapes
from evener.workflow.serve import Serving, serve_network
from evener.workflow.served import Simulation

for _package in ("starlette", "uvicorn", "prometheus_client"):
    pytest.importorskip(_package, reason="the extra `serve` is not installed")

PATIENCE_S = 60.0
CORES = sorted(PROCESS_CORES)


class Enough(Exception):  # noqa: N818 - it is no error
    """What a test raises to end a service that is ready."""


def plan_of(net: str, *shares: tuple[int, list[int]], shapes: Shapes | None = None) -> Plan:
    """Plan stages by hand: how many blocks, and the core of each lane."""
    made = plans.chain(*((blocks, [(core,) for core in cores]) for blocks, cores in shares))
    lanes = [
        msgspec.structs.replace(
            stage,
            lanes=tuple(msgspec.structs.replace(lane, processor="cpu0") for lane in stage.lanes),
        )
        for stage in made.stages
    ]
    return msgspec.structs.replace(
        made,
        network_sha256=load_network(net, shapes=shapes).sha256,
        granularity="paper",
        stages=tuple(lanes),
        rate_hz=1000.0,
    )


@pytest.fixture
def two_stages(net: str, tmp_path: Path) -> Path:
    """Write a plan of two stages, the second of two lanes, on the cores that there are."""
    path = tmp_path / "two.plan.json"
    save(path, plan_of(net, (2, [CORES[0]]), (2, [CORES[0], CORES[-1]])))
    return path


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start `evener serve`, and give what it says once it is ready; kill it at last."""
    command = [sys.executable, "-m", "evener", "serve", *arguments, "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            said = ""
            while line := process.stdout.readline():
                said += line
                if line == "}\n":
                    break
            assert said, process.stderr.read()
            yield process, json.loads(said)
        finally:
            process.kill()


def ask(connection: HTTPConnection, model: str, number: int, x: Array) -> tuple[str, Array]:
    about = {"name": "x", "shape": x.shape, "datatype": "FP32", "data": x.ravel().tolist()}
    connection.request(
        "POST", f"/v2/models/{model}/infer", json.dumps({"id": str(number), "inputs": [about]})
    )
    answer = json.loads(connection.getresponse().read())
    (y,) = answer["outputs"]
    return answer["id"], np.array(y["data"], np.float32).reshape(y["shape"])


def plain(net: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    return onnxruntime.InferenceSession(net, options, providers=["CPUExecutionProvider"])


def test_every_client_gets_its_own_answer_to_the_bit_and_sigterm_ends_it(
    net: str, two_stages: Path
) -> None:
    clients, each = 6, 20
    frames = [x for (x,) in tiny.frames(clients * each)]

    with started(net, "--plan", str(two_stages), "--optimisation", "extended") as (process, said):
        where = urlsplit(said["url"])

        def client(first: int) -> list[tuple[str, Array]]:
            connection = HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_S)
            mine = range(first, first + each)
            answers = [ask(connection, said["model"], n, frames[n]) for n in mine]
            connection.close()
            return answers

        with ThreadPoolExecutor(clients) as pool:
            parts = list(pool.map(client, range(0, clients * each, each)))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)

    session = plain(net)
    for number, (name, answer) in enumerate(one for part in parts for one in part):
        assert name == str(number)
        assert answer.tobytes() == session.run(None, {"x": frames[number]})[0].tobytes()
    assert (said["model"], len(said["stages"])) == ("dense", 2)
    assert (process.returncode, out, err) == (0, "", "")


def stopping(found: list[Serving]) -> Callable[[Serving], None]:
    def ready(serving: Serving) -> None:
        found.append(serving)
        raise Enough

    return ready


def serve_and_stop(net: str, **options: Any) -> Serving:  # noqa: ANN401 - those of the function
    found: list[Serving] = []
    with pytest.raises(Enough):
        serve_network(net, ready=stopping(found), **({"port": 0} | options))
    return found[0]


def test_without_a_plan_it_plans_and_calls_the_network_by_its_name(net: str) -> None:
    serving = serve_and_stop(net, stages=1)

    assert serving.model == "dense"
    assert [tensor.name for tensor in (*serving.inputs, *serving.outputs)] == ["x", "y"]
    assert serving.url.startswith("http://127.0.0.1:")
    assert f"{serving.url}/v2/models/dense/infer" in serving.example
    assert len(serving.plan.stages) == 1


def test_a_port_that_is_taken_is_refused_before_anything_is_planned(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.workflow.served.open_network", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1 port {port}"):
            serve_network(net, port=port, ready=stopping([]))


@pytest.mark.usefixtures("patient")
def test_on_simulated_processors_it_answers_the_same_and_says_so(net: str, board: str) -> None:
    serving = serve_and_stop(net, simulation=Simulation(board=board))
    slower = serve_and_stop(net, simulation=Simulation(board=board, slowdown=2.0, compute=False))

    assert (serving.board, serve_and_stop(net, stages=1).board) == ("toy", None)
    assert {lane.processor for stage in serving.plan.stages for lane in stage.lanes} <= {
        "big",
        "gpu",
    }
    assert slower.plan.rate_hz == pytest.approx(serving.plan.rate_hz / 2)

    frames = [x for (x,) in tiny.frames(4)]
    with started(net, "--board", board, "--optimisation", "extended") as (_, said):
        where = urlsplit(said["url"])
        connection = HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_S)
        answers = [ask(connection, "dense", n, x)[1] for n, x in enumerate(frames)]
        connection.request("GET", "/v2/models/dense")
        page = json.loads(connection.getresponse().read())
        connection.close()

    assert said["board"] == "toy"
    assert page["properties"] == {"simulated_board": "toy"}
    session = plain(net)
    for x, answer in zip(frames, answers, strict=True):
        assert answer.tobytes() == session.run(None, {"x": x})[0].tobytes()


@pytest.mark.usefixtures("two_cores")
def test_with_supervision_a_stage_that_is_killed_costs_no_answer(net: str, tmp_path: Path) -> None:
    save(tmp_path / "plan.json", plan_of(net, (2, [CORES[0]]), (2, [CORES[-1]])))
    frames = [x for (x,) in tiny.frames(6)]
    arguments = ("--optimisation", "extended", "--transport", "processes", "--supervise")
    with started(net, "--plan", str(tmp_path / "plan.json"), *arguments) as (process, said):
        where = urlsplit(said["url"])
        connection = HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_S)
        answers = [ask(connection, "dense", n, x)[1] for n, x in enumerate(frames[:3])]
        psutil.Process(process.pid).children()[-1].kill()
        answers += [ask(connection, "dense", n, x)[1] for n, x in enumerate(frames[3:])]
        connection.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0
    session = plain(net)
    for x, answer in zip(frames, answers, strict=True):
        assert answer.tobytes() == session.run(None, {"x": x})[0].tobytes()


def test_a_queue_that_memory_could_not_hold_is_refused(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.workflow.serve.free_bytes_now", lambda: 10_000)

    frame = 2 * tiny.WIDTH * 4  # bytes
    with pytest.raises(
        InputError,
        match=rf"a queue of 1000 requests of {frame} B each may take .* and 10 kB are free: "
        rf"give a --queue up to {8000 // frame}",
    ):
        serve_network(net, port=0, stages=1, queue=1000, ready=stopping([]))


def test_a_plan_and_how_to_plan_exclude_each_other(net: str, two_stages: Path) -> None:
    with pytest.raises(InputError, match="a plan file already fixes its stages"):
        serve_network(net, plan=two_stages, stages=2, ready=stopping([]))


def build(folder: Path, *, board: bool = False, plan: bool = True) -> None:
    """Make what a build leaves: a network of one open dimension, its card and its plan."""
    state = folder / ".evener"
    state.mkdir(parents=True)
    settings = '[data]\nsource = "digits"\n[serve]\nport = 0\nqueue = 3\n'
    (folder / "evener.toml").write_text(
        settings + '[plan]\nboard = "khadas-vim3"\nprocessors = ["big"]\n' * board
    )
    path = state / "network.onnx"
    relu = helper.make_node("Relu", ["features"], ["scores"])
    path.write_bytes(
        network(
            [relu], inputs=[floats("features", "rows", 4)], outputs=[floats("scores", "rows", 4)]
        )
    )
    made = plan_of(str(path), (1, [CORES[0]]), shapes={"features": (1, 4)})
    (stage,) = made.stages
    stage = msgspec.structs.replace(stage, inputs=("features",), outputs=("scores",))
    card = Card(
        network_sha256=file_sha256(path),
        network_bytes=100,
        architecture=Architecture(family="linear"),
        weights=0,
        features=4,
        data_sha256="ab" * 32,
        rows={},
        classes=("0", "1"),
        seed=0,
        epochs=1,
        validation={},
        test={},
        export_error=0.0,
        baselines=(),
    )
    save(state / "card.json", card)
    if plan:
        save(state / "plan.json", msgspec.structs.replace(made, stages=(stage,)))


def test_a_project_is_served_under_its_name_by_its_plan_and_settings(tmp_path: Path) -> None:
    build(tmp_path / "my digits")

    for net in (tmp_path / "my digits", tmp_path / "my digits" / "evener.toml"):
        serving = serve_and_stop(str(net), port=None)
        assert serving.model == "my digits"
        assert serving.inputs[0].shape == (1, 4)
        assert serving.plan.method == "hand"
        assert "models/my%20digits/infer" in serving.example


def test_a_project_for_a_board_gets_a_plan_of_this_machine(tmp_path: Path) -> None:
    build(tmp_path / "p", board=True)

    assert serve_and_stop(str(tmp_path / "p")).plan.method != "hand"


@pytest.mark.parametrize("plan", [True, False])
def test_a_project_that_was_not_built_says_how(tmp_path: Path, plan: bool) -> None:
    build(tmp_path, plan=plan)
    if plan:
        (tmp_path / ".evener" / "card.json").unlink()

    with pytest.raises(InputError, match=f"{tmp_path} was not built to its end: evener build "):
        serve_network(str(tmp_path), ready=stopping([]))


def test_the_call_is_public() -> None:
    assert workflow.serve_network is serve_network
