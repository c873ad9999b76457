"""Writing a sharded network as ONNX."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train import sharded_onnx
from evener.train.activations import Activation
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharded_onnx import DENSE_FROM, TOPOLOGY, export_sharded, gather_parts
from evener.train.twin import Twin
from evener.train.views import Part

WIDTHS = (12, 40, 37, 50, 23)
TOPOLOGIES = [
    Topology(shards=1),
    Topology(shards=8),
    Topology(shards=8, halo=0, input="sharded"),
    Topology(shards=8, halo=1),
    Topology(shards=8, halo=1, shuffle=True, coarse=1, input="sharded"),
    Topology(shards=30, halo=2),
]
ACTIVATIONS: list[tuple[Activation, ...]] = [
    ("tanh", "sigmoid", "relu", "identity"),
    ("gelu", "relu", "tanh", "softmax"),
]
ROWS = np.random.default_rng(0).normal(size=(5, 12)).astype(np.float32)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def on_ranks(ranks: int, program: Callable[[Communicator], Any]) -> list[Any]:
    return [program(Alone())] if ranks == 1 else run_ranks(ranks, program)


def exported(
    shape: Shape, ranks: int = 1, *, dense_from: float = DENSE_FROM
) -> tuple[bytes, list[RankedNetwork]]:
    loss = "cross-entropy" if shape.activations[-1] == "softmax" else "squared"

    def program(communicator: Communicator) -> tuple[list[list[Part]] | None, RankedNetwork]:
        network = RankedNetwork(shape, communicator, loss=loss)  # type: ignore[arg-type] # mypy sees a str
        return gather_parts(network), network

    found = on_ranks(ranks, program)
    assert all(parts is None for parts, _ in found[1:])
    content = export_sharded(shape, found[0][0], dense_from=dense_from)
    return content, [network for _, network in found]


def answers(content: bytes, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found: NDArray[np.float32] = session.run(None, {"features": rows})[0]
    return found


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("activations", ACTIVATIONS, ids=lambda one: one[-1])
@pytest.mark.parametrize("dense_from", [0.0, 2.0])
def test_the_file_answers_as_the_trained_network(
    topology: Topology, activations: tuple[Activation, ...], dense_from: float
) -> None:
    shape = Shape(WIDTHS, activations, topology, seed=1)
    content, networks = exported(shape, dense_from=dense_from)
    expected = Twin(shape, networks).forward(torch.from_numpy(ROWS)).detach().numpy()

    for rows in (5, 1):
        np.testing.assert_allclose(answers(content, ROWS[:rows]), expected[:rows], atol=2e-6)


@pytest.mark.parametrize("topology", [*TOPOLOGIES[1:4], TOPOLOGIES[4]], ids=str)
def test_any_number_of_ranks_write_the_same_file(topology: Topology) -> None:
    shape = Shape(WIDTHS, ACTIVATIONS[0], topology)

    one, _ = exported(shape)

    assert all(exported(shape, ranks)[0] == one for ranks in (2, 5))


def weights_of(content: bytes) -> int:
    model = onnx.load_from_string(content)
    return sum(
        int(np.prod(one.dims)) for one in model.graph.initializer if one.name.endswith("weight")
    )


def test_absent_weights_are_left_out_where_few_exist() -> None:
    few = Shape((64, 64, 64), ("tanh", "tanh"), Topology(shards=8, halo=1))
    many = Shape((64, 64, 64), ("tanh", "tanh"), Topology(shards=8, halo=16))

    # The first layer sees the whole input, and of the second 8 * 8 * 10 weights exist.
    assert weights_of(exported(few)[0]) == 64 * 64 + 640
    assert weights_of(exported(many)[0]) == 64 * 64 * 2


def test_the_topology_stands_in_the_file() -> None:
    topology = Topology(shards=8, halo=1, shuffle=True)
    content, _ = exported(Shape(WIDTHS, ACTIVATIONS[0], topology))

    metadata = {one.key: one.value for one in onnx.load_from_string(content).metadata_props}

    assert Topology(**json.loads(metadata[TOPOLOGY])) == topology


@pytest.mark.parametrize("topology", [TOPOLOGIES[1], TOPOLOGIES[3]], ids=str)
def test_the_file_can_be_planned(topology: Topology, tmp_path: Path) -> None:
    import evener

    content, _ = exported(Shape((16, 64, 64, 8), ("relu", "relu", "softmax"), topology))
    path = tmp_path / "network.onnx"
    path.write_bytes(content)

    plan = evener.plan_network(str(path), board="khadas-vim3", shapes={"features": (1, 16)})

    assert plan.stages


def test_more_weights_than_a_file_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded_onnx, "_LARGEST_BYTES", 1000)

    with pytest.raises(InputError, match="an ONNX file holds 2 GB; export a network"):
        exported(Shape(WIDTHS, ACTIVATIONS[0]))
