"""Turning networks into ncnn's form, with scripts that stand in for pnnx's program."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from evener.errors import RuntimeFailedError
from evener.runtime import pnnx
from evener.testing import tiny

# What pnnx leaves of a network with one input and one output.
MADE = """
echo "############# pass_ncnn" >&2
echo "ignore Some operator" >&2
printf '7767517\\n2 2\\nInput in0 0 1 in0\\nTanH t 1 1 in0 out0\\n' > network.ncnn.param
printf 'w' > network.ncnn.bin
printf 'ex.input("in0", ncnn.Mat(in0.numpy(), batch_index=233).clone())\\n' > network_ncnn.py
printf 'out.append(torch.from_numpy(out0.numpy(batch_index=0)))\\n' >> network_ncnn.py
"""


class Program:
    """A script in the place of pnnx's program."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def does(self, script: str) -> None:
        self.path.write_text(f"#!/bin/sh\necho run >> {self.path}.log\n{script}\n")
        self.path.chmod(0o755)

    @property
    def runs(self) -> int:
        log = Path(f"{self.path}.log")
        return len(log.read_text().splitlines()) if log.is_file() else 0


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(pnnx, "version", lambda _: "20261020")
    made = Program(tmp_path / "pnnx")
    monkeypatch.setattr(pnnx, "program", lambda: made.path)
    return made


def test_a_network_is_converted_once_and_its_answers_are_kept(program: Program) -> None:
    program.does(MADE)

    for _ in range(2):
        with pnnx.converted(tiny.dense()) as network:
            assert network.layers == {"Input", "TanH"}
            assert network.weights.read_bytes() == b"w"
            assert (network.ports.reads, network.ports.writes) == (((0, 233),), ((0, 0),))
            assert [one.name for one in network.ports.outputs] == ["y"]
            (answer,) = network.expected
            assert answer.shape == network.ports.outputs[0].shape
            assert np.ptp(answer) > 0

    assert program.runs == 1


def test_another_version_of_the_program_converts_anew(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.does(MADE)
    for number in ("1", "2"):
        monkeypatch.setattr(pnnx, "version", lambda _, number=number: number)
        with pnnx.converted(tiny.dense()):
            pass

    assert program.runs == 2


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "printf '\\033[0;93munknown thing\\033[m' >&2; exit 3",
            "pnnx ended with 3: unknown thing; run this part",
        ),
        ("kill -SEGV $$", "pnnx ended with -11: it said nothing"),
        ("exit 0", "pnnx ended with 0: it said nothing"),
        (
            f"{MADE}\nprintf 'nothing' > network_ncnn.py",
            r"0 inputs and 0 outputs from one of 1 and 1 \(ignore Some operator\)",
        ),
    ],
    ids=["refuses", "crashes", "makes nothing", "makes another"],
)
def test_what_the_program_cannot_do_is_refused_with_its_words(
    program: Program, script: str, message: str
) -> None:
    program.does(script)

    with pytest.raises(RuntimeFailedError, match=message), pnnx.converted(tiny.dense()):
        pass


def test_a_program_that_does_not_end_is_stopped(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.does("exec sleep 60")
    monkeypatch.setattr(pnnx, "_LIMIT_S", 0.2)

    with (
        pytest.raises(RuntimeFailedError, match="did not end well.*timed out"),
        pnnx.converted(tiny.dense()),
    ):
        pass


def test_a_program_that_is_missing_is_said_to_be_installed(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pnnx, "program", lambda: None)

    with (
        pytest.raises(RuntimeFailedError, match="pip install --no-deps pnnx"),
        pnnx.converted(tiny.dense()),
    ):
        pass
    assert program.runs == 0


def softmax(shape: tuple[int, ...], opset: int, **attributes: int) -> onnx.ModelProto:
    node = helper.make_node("Softmax", ["r"], ["y"])
    node.attribute.extend(helper.make_attribute(name, axis) for name, axis in attributes.items())
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"]), node],
        "tiny",
        [tiny.floats("x", *shape)],
        [tiny.floats("y", *shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    ("shape", "opset", "given", "named"),
    [
        ((1, 9, 1, 1), 9, {}, 1),  # over 9, 1 and 1 elements: along axis 1
        ((1, 9), 9, {}, 1),
        ((1, 3, 9), 11, {"axis": -1}, 2),
        ((1, 3, 9), 9, {}, None),  # over 27 elements: along no axis
        ((1, 9, 1, 1), 13, {}, None),  # along the last one by itself
    ],
)
def test_an_old_softmax_gets_the_axis_that_it_works_along(
    shape: tuple[int, ...], opset: int, given: dict[str, int], named: int | None
) -> None:
    model = softmax(shape, opset, **given)

    pnnx._name_axes(model)

    assert [one.i for one in model.graph.node[1].attribute] == ([] if named is None else [named])
