"""A network as plain PyTorch, which needs Evener no more."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Network
from evener.artifacts.project import DataSection, TrainSection
from evener.data.load import load_dataset
from evener.errors import EvenerError, InputError
from evener.train.export import export_onnx
from evener.train.fit import train_network
from evener.train.torch_export import write_torch
from evener.train.torch_source import torch_source
from evener.train.verify import answers

PROGRAM = """
import json, os, sys
import numpy as np
import torch

told = {}
for folder in sys.argv[1:]:
    os.chdir(folder)
    sys.modules.pop("network", None)
    from network import load
    told[os.path.basename(folder)] = load()(torch.from_numpy(np.load("rows.npy"))).tolist()
strangers = [name for name in sys.modules if name.split(".")[0] in ("evener", "onnx", "onnx_ir")]
print(json.dumps({"answers": told, "strangers": strangers}))
"""
STACK = ConvStack(
    blocks=(
        Block(kind="conv3x3", channels=4, stride=2),
        Block(kind="conv3x3", channels=4, residual=True),
        Block(kind="depthwise3x3", channels=6),
        Block(kind="pool3x3", channels=6, stride=2),
        Block(kind="conv1x1", channels=5),
    ),
    hidden=7,
    activation="tanh",
)
FLAT = ConvStack(blocks=STACK.blocks, head="flatten")


def trained(found: Network, folder: Path) -> bytes:
    digits = replace(load_dataset(DataSection(source="digits"), folder), picture=(1, 8, 8))
    return export_onnx(train_network(found, digits, TrainSection(epochs=1)))


def test_they_answer_in_a_process_that_knows_no_evener(tmp_path: Path) -> None:
    networks: dict[str, Network] = {
        "chain": Architecture(hidden=(16, 12), activation="gelu"),
        "linear": Architecture(family="linear"),
        "graph": LayerGraph(
            widths=(16, 12),
            links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)),
            activation="sigmoid",
        ),
        "blocks": STACK,
        "flat": FLAT,
    }
    rows = np.random.default_rng(1).normal(5, 3, (7, 64)).astype(np.float32)
    expected = {}
    for name, found in networks.items():
        content, folder = trained(found, tmp_path), tmp_path / name
        assert write_torch(content, folder, name="mine") < 1e-5, name
        assert sorted(one.name for one in folder.iterdir()) == ["network.py", "weights.pt"]
        np.save(folder / "rows.npy", rows)
        expected[name] = answers(content, rows, 10)
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *(str(tmp_path / name) for name in networks)],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )

    told = json.loads(ran.stdout)
    assert told["strangers"] == []
    for name, found_here in expected.items():
        np.testing.assert_allclose(told["answers"][name], found_here, atol=1e-5, err_msg=name)


def test_the_source_reads_as_a_person_would_write_it(tmp_path: Path) -> None:
    found = torch_source(trained(Architecture(hidden=(16,)), tmp_path), name='a "net"\n')

    assert found.source.startswith('"""a net in plain PyTorch; made by Evener')
    assert "self.layers_0 = nn.Linear(64, 16)\n" in found.source
    assert "gemm_2 = self.layers_0(mul_1)\n        relu_3 = functional.relu(gemm_2)" in found.source
    assert sorted(found.state) == [
        "layers_0.bias",
        "layers_0.weight",
        "layers_2.bias",
        "layers_2.weight",
        "mean",
        "scale",
    ]


def file_of(
    *nodes: onnx.NodeProto, **constants: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"
) -> bytes:
    graph = helper.make_graph(
        list(nodes),
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    content: bytes = model.SerializeToString()
    return content


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            helper.make_node("Erf", ["x"], ["y"], "odd"),
            r"the node 'odd' \(Erf\), which has no line",
        ),
        (
            helper.make_node("Gemm", ["x", "w"], ["y"], "odd", alpha=2.0),
            r"'odd' \(Gemm\), and only plain products with weights are written; run its ONNX file",
        ),
        (
            helper.make_node("Flatten", ["x"], ["y"], "odd", axis=0),
            r"'odd' \(Flatten\), and only behind the first axis",
        ),
        (
            helper.make_node("Gemm", ["x", "x"], ["y"], "odd"),
            r"whose input 1 is computed, and must be constant",
        ),
    ],
)
def test_what_has_no_line_is_refused_by_name(node: onnx.NodeProto, message: str) -> None:
    weights = {"w": np.ones((4, 4), np.float32)} if "w" in node.input else {}

    with pytest.raises(InputError, match=message):
        torch_source(file_of(node, **weights), name="mine")


def test_names_that_python_keeps_or_that_are_equal_but_for_case_stay_apart() -> None:
    content = file_of(
        helper.make_node("Add", ["x", "lambda"], ["a"], "Sum"),
        helper.make_node("Add", ["a", "LAMBDA"], ["y"], "sum"),
        **{"lambda": np.ones(4, np.float32), "LAMBDA": np.full(4, 2, np.float32)},
    )

    found = torch_source(content, name="mine")

    assert sorted(found.state) == ["_lambda", "_lambda_"]
    assert "sum_ = sum + self._lambda_" in found.source


def test_nothing_is_written_where_answers_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = trained(Architecture(hidden=(16,)), tmp_path)
    right = torch_source(content, name="mine")
    wrong = {name: array * 2 for name, array in right.state.items()}
    monkeypatch.setattr(
        "evener.train.torch_export.torch_source",
        lambda *_args, **_kwargs: type(right)(right.source, wrong),
    )

    with pytest.raises(EvenerError, match="the ONNX file of mine answers otherwise"):
        write_torch(content, tmp_path / "torch", name="mine")

    assert not (tmp_path / "torch").exists()
