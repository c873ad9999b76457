"""Networks written in parts: run in a row, the parts answer as the whole does."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from evener.artifacts.files import file_sha256, load
from evener.artifacts.split import Split
from evener.errors import InputError, InvalidFileError, InvalidNetworkError
from evener.network.blocks import Blocks
from evener.network.frames import random_frames
from evener.network.model import Network, load_network
from evener.network.split import segment_model, whole_model
from evener.runtime.session import Array
from evener.testing import tiny
from evener.workflow import split as under_test
from evener.workflow.split import split_network


def answers(content: bytes, given: dict[str, Array]) -> dict[str, Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


@pytest.mark.parametrize(("net", "cuts"), [("squeezenet", [4, 9, 17]), ("resnet50", [0, 11])])
def test_the_parts_in_a_row_answer_as_the_whole_does_to_the_bit(
    net: str, cuts: list[int], tmp_path: Path
) -> None:
    network = load_network(net)
    (frame,) = random_frames(network.inputs, 1, seed=3)
    given = {tensor.name: array for tensor, array in zip(network.inputs, frame, strict=True)}

    split = split_network(net, cuts=cuts, folder=tmp_path / "parts")

    handed_on = given
    for part in split.parts:
        wanted = {tensor.name: handed_on[tensor.name] for tensor in part.inputs}
        handed_on = answers((tmp_path / "parts" / part.file).read_bytes(), wanted)
        assert [(name, array.shape) for name, array in handed_on.items()] == [
            (tensor.name, tensor.shape) for tensor in part.outputs
        ]
    whole = answers(whole_model(network), given)
    assert handed_on.keys() == whole.keys()
    assert all(np.array_equal(handed_on[name], whole[name]) for name in whole)


def test_the_manifest_is_an_artifact_that_names_the_files(net: str, tmp_path: Path) -> None:
    folder = tmp_path / "parts"

    split = split_network(net, cuts=[0, 2], folder=folder)

    assert load(folder / "dense.split.json", Split).value == split
    assert [(part.first_block, part.last_block) for part in split.parts] == [(0, 0), (1, 2), (3, 3)]
    assert [part.file for part in split.parts] == ["dense.0.onnx", "dense.1.onnx", "dense.2.onnx"]
    assert all(file_sha256(folder / part.file) == part.sha256 for part in split.parts)
    assert {path.name for path in folder.iterdir()} == {
        "dense.split.json",
        *(part.file for part in split.parts),
    }


def test_without_cuts_the_whole_network_is_one_part(net: str, tmp_path: Path) -> None:
    (part,) = split_network(net, cuts=[], folder=tmp_path / "parts").parts

    assert (part.first_block, part.last_block) == (0, 3)


def test_progress_is_told(net: str, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    split_network(net, cuts=[1], folder=tmp_path / "p", progress=lambda *each: told.append(each))

    assert told == [("writing the parts", 0, 2), ("writing the parts", 1, 2)]


def test_nothing_is_overwritten(net: str, tmp_path: Path) -> None:
    split_network(net, cuts=[1], folder=tmp_path / "parts")

    with pytest.raises(InvalidFileError, match="parts exists already, and nothing is overwritten"):
        split_network(net, cuts=[1], folder=tmp_path / "parts")


def test_cuts_that_are_none_leave_nothing(net: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no cut 3: dense in 4 blocks has the cuts 0 to"):
        split_network(net, cuts=[3], folder=tmp_path / "new" / "parts")

    assert not (tmp_path / "new").exists()


def test_a_part_that_cannot_be_written_leaves_nothing(
    net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_the_second(
        network: Network, blocks: Blocks, first: int, last: int, *, passing: bool
    ) -> bytes:
        if first != 0:
            raise InvalidNetworkError("the segment exceeds 2 GiB")
        return segment_model(network, blocks, first, last, passing=passing)

    monkeypatch.setattr(under_test, "segment_model", fail_at_the_second)
    before = set(tmp_path.iterdir())

    with pytest.raises(InvalidNetworkError, match="exceeds 2 GiB"):
        split_network(net, cuts=[1], folder=tmp_path / "parts")

    assert set(tmp_path.iterdir()) == before


def test_parts_by_the_rule_node_hand_on_what_only_passes_them(
    write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    net = write("unet.onnx", tiny.unet(depth=2))
    network = load_network(net)
    ((frame,),) = random_frames(network.inputs, 1, seed=0)

    split = split_network(
        net, cuts=[0, 2, 3], folder=tmp_path / "parts", granularity="node", max_live=3
    )

    handed_on = {"x": frame}
    for part in split.parts:
        handed_on = answers((tmp_path / "parts" / part.file).read_bytes(), handed_on)
    assert [len(part.outputs) for part in split.parts] == [1, 3, 2, 1]
    assert np.array_equal(handed_on["y"], answers(whole_model(network), {"x": frame})["y"])
