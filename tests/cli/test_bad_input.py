"""Whatever is wrong with what the user gives: one line that says so, and nothing changes."""

import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper

from evener.artifacts.files import save
from evener.artifacts.plan import Plan
from evener.runtime.cgroup import Hierarchy
from evener.runtime.pinning import PROCESS_CORES
from evener.testing.tiny import dense

pytestmark = pytest.mark.usefixtures("unchanged")
Evener = Callable[..., tuple[int, str, str]]
NETWORK_VERBS = [
    ("profile",),
    ("plan",),
    ("split", "--cuts", "0", "-o", "parts"),
    ("run", "--frames", "4"),
    ("bench",),
]
SERVES = all(map(find_spec, ("starlette", "uvicorn", "prometheus_client")))
if SERVES:
    NETWORK_VERBS.append(("serve", "--port", "0"))
needs_serve = pytest.mark.skipif(not SERVES, reason="the extra `serve` is not installed")


def custom_operator() -> bytes:
    node = helper.make_node("Teleport", ["x"], ["y"], domain="com.example")
    return serialised(node, ["N", 4], domain="com.example")


def open_shape() -> bytes:
    return serialised(helper.make_node("Relu", ["x"], ["y"]), ["batch", 4])


def serialised(node: NodeProto, shape: list[int | str], domain: str = "") -> bytes:
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opsets = [helper.make_opsetid("", 17)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    written: bytes = model.SerializeToString()
    return written


def refused(evener: Evener, *arguments: str | Path, message: str, code: int = 2) -> None:
    ended, out, err = evener(*arguments)

    *progress, line = err.splitlines()
    assert (ended, out) == (code, ""), err
    assert line.startswith(f"evener {arguments[0]}: ")
    assert message in line
    assert set(progress) <= {"reading the data"}


@pytest.mark.parametrize("verb", NETWORK_VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.onnx", None, "missing.onnx"),
        ("resnet51", None, "resnet51"),
        ("empty.onnx", b"", "empty.onnx"),
        ("text.onnx", b"this is no network at all", "text.onnx"),
        ("cut.onnx", dense(layers=2)[:-40], "cut.onnx"),
        ("custom.onnx", custom_operator(), "Teleport"),
        ("open.onnx", open_shape(), "--shape"),
    ],
)
def test_a_network_that_cannot_be_used_is_refused(
    verb: tuple[str, ...],
    name: str,
    content: bytes | None,
    message: str,
    evener: Evener,
    unchanged: Callable[[], None],
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    unchanged()

    refused(evener, *verb, name, message=message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shape", "x=3,8"), "x"),
        (("--shape", "z=2,8"), "z"),
        (("--fix", "z=1"), "'z' is fixed to 1, and is no input; inputs: x"),
        (("--state", "z=x"), "a state names the output 'z'"),
        (("--state", "y=x"), "every input is fed from frame to frame (x)"),
        (("--processors", "gpu7"), "gpu7"),
        (("--max-live", "3"), "by the rule 'paper' one tensor crosses each cut, and 3 are allowed"),
        (("--max-live", "0", "--granularity", "node"), "0 is not in the range x>=1"),
    ],
)
def test_an_option_that_does_not_fit_the_network_or_machine_is_refused(
    options: tuple[str, ...], message: str, evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    unchanged()

    refused(evener, "plan", "model.onnx", *options, message=message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--cuts", "0", "--on", "cpu0,cpu0"),
            "model is one block by the rule 'paper' and cannot be cut: it has a single main layer",
        ),
        (("--on", "cpu0,cpu0"), "stages by the cuts: 1, processors named: 2 (cpu0, cpu0)"),
        (("--on", "gpu7:2"), "there is no processor 'gpu7'"),
    ],
)
def test_a_plan_by_hand_that_cannot_be_is_refused_before_anything_is_measured(
    options: tuple[str, ...], message: str, evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    unchanged()

    refused(evener, "plan", "model.onnx", *options, message=message)


@pytest.mark.parametrize(
    ("cuts", "folder", "message"),
    [
        ("0", "there", "there exists already, and nothing is overwritten"),
        ("0", "model.onnx", "model.onnx exists already"),
        ("0", "model.onnx/parts", "model.onnx is no place you may write to"),
        ("0", "new/parts", "new; make it first, or choose another"),
        ("1", "parts", "there is no cut 1: model in 2 blocks has the cuts 0 to 0"),
    ],
)
def test_a_split_that_cannot_be_is_refused(
    cuts: str, folder: str, message: str, evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense(layers=2))
    Path("there").mkdir()
    Path("there/mine.txt").write_text("keep")
    unchanged()

    ended, out, err = evener("split", "model.onnx", "--cuts", cuts, "-o", folder)

    assert (ended, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_plan_of_another_network_is_refused(
    evener: Evener, plan: Plan, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    save(Path("other.json"), plan)
    unchanged()

    refused(
        *(evener, "run", "model.onnx", "--frames", "4", "--plan", "other.json"),
        message="the plan is of tiny",
    )


@needs_serve
def test_what_cannot_be_served_is_refused(
    evener: Evener, plan: Plan, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    save(Path("other.json"), plan)
    Path("evener.toml").write_text('[data]\nsource = "digits"\n')
    unchanged()

    model = (evener, "serve", "model.onnx", "--port", "0")
    refused(*model, "--plan", "other.json", message="the plan is of tiny")
    refused(*model, "--plan", "other.json", "--stages", "2", message="already fixes its stages")
    refused(*model, "--host", "192.0.2.1", message="cannot listen at 192.0.2.1 port 0: ")
    refused(*model, "--host", "", message="the name is empty")
    queue = "is not a length of the queue: give a whole number from 0 to 1000000, such as 64"
    for length in ("-1", "1000001", "9" * 30, "1.5"):
        refused(*model, "--queue", length, message=f"'{length}' {queue}")
    port = "is not a port: give a whole number from 0 to 65535, such as 8080, or 0 for any that is"
    for number in ("65536", "x", "", "9" * 5000):
        refused(evener, "serve", "model.onnx", "--port", number, message=port)
    refused(*model, "--no-standby", message="without --supervise nothing is held ready; leave out")
    refused(*model, "--slowdown", "2", message="--transfers, --no-compute and --slowdown need a")
    board = (*model, "--board", "khadas-vim3")
    refused(*board, "--profile", "p.json", message="a board has times of its own: give --board or")
    refused(*board, "--supervise", message="a board is simulated in threads, which nobody has to")
    refused(*board, "--transport", "processes", message="leave out --transport and --supervise, or")
    refused(evener, "serve", ".", message=". was not built to its end: evener build .")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(*model[:-1], port, message=f"cannot listen at 127.0.0.1 port {port}: Address alr")


@pytest.mark.parametrize("option", ["--plan", "--profile"])
def test_a_file_that_is_no_artifact_is_refused(
    option: str, evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    Path("text.json").write_text("poem")
    unchanged()

    for name, message in [("text.json", "is not JSON"), ("none.json", "cannot read none.json")]:
        refused(evener, "run", "model.onnx", "--frames", "4", option, name, message=message)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (None, "frames.npz"),
        ({}, "frames.npz"),
        ({"x": np.zeros((3, 2, 9), np.float32)}, "x"),
        ({"x": np.zeros((0, 2, 8), np.float32)}, "frames.npz"),
        ({"x": np.array([["a"]])}, "x"),
    ],
)
def test_frames_that_do_not_fit_are_refused(
    arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] | None,
    message: str,
    evener: Evener,
    unchanged: Callable[[], None],
) -> None:
    Path("model.onnx").write_bytes(dense())
    if arrays is None:
        Path("frames.npz").write_bytes(b"PK no zip")
    else:
        with Path("frames.npz").open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
    unchanged()

    refused(evener, "run", "model.onnx", "--frames", "frames.npz", message=message)


def test_missing_frames_are_named(evener: Evener, unchanged: Callable[[], None]) -> None:
    Path("model.onnx").write_bytes(dense())
    unchanged()

    refused(evener, "run", "model.onnx", "--frames", "none.npz", message="none.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[data]\nsource = "digits"\ntaget = "label"', "did you mean 'data.target'?"),
        ('[data]\nsource = "digits"\n[serch]', "did you mean 'search'?"),
        ('[data]\nsource = "digits"\n[requirements]\nsize = "<= 2 ms"', "has the unit 'ms'"),
        ('[data]\nsource = "digits"\n[requirements]\nbeauty = ">= 1"', "no known requirement"),
        ('[data]\nsource = "digits"\n[train]\nbatch = "many"', "train"),
        ('[data]\nsource = "digits"\n[search]\nprobe = "yes"', "search.probe"),
        ('[data]\nsource = "none.csv"', "none.csv"),
        ("[data", "is not TOML"),
        ("", "the section [data] is missing"),
    ],
)
def test_a_project_that_cannot_be_built_is_refused(
    text: str, message: str, evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("evener.toml").write_text(text)
    unchanged()

    refused(evener, "build", ".", message=message)


def test_a_folder_without_a_project_is_refused(
    evener: Evener, unchanged: Callable[[], None]
) -> None:
    unchanged()

    refused(evener, "build", "nowhere", message="give a folder that holds an evener.toml")


def test_a_limit_that_no_plan_meets_ends_with_1_and_names_the_best(
    evener: Evener, unchanged: Callable[[], None]
) -> None:
    Path("model.onnx").write_bytes(dense())
    evener("profile", "model.onnx")

    code, out, err = evener("plan", "model.onnx", "--max-latency", "1 ns")
    unchanged()

    assert (code, out) == (1, "")
    assert err.count("evener plan: ") == 1
    assert "no plan keeps a latency of 0.001 µs: the shortest is" in err


def test_a_core_that_cannot_be_throttled_is_bad_input(
    evener: Evener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(PROCESS_CORES) < 2:
        pytest.skip("with one core there is no half to throttle, which is said first")
    folder = tmp_path / "no-kernel"
    folder.mkdir()
    monkeypatch.setattr(
        "evener.runtime.throttle.find_hierarchy", lambda: Hierarchy(folder, version=1)
    )

    code, out, err = evener("bench", "squeezenet", "--little", "0.4")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no core can be limited:" in err
    assert "root or a delegated group" in err
    assert list(folder.iterdir()) == []
    folder.rmdir()


def test_workers_and_ranks_do_not_search_together(
    evener: Evener, unchanged: Callable[[], None]
) -> None:
    unchanged()

    code, _, err = evener("search", "p", "--ranks", "2", "--workers", "3")

    assert code == 2
    assert "--workers 3 and ranks of MPI" in err
