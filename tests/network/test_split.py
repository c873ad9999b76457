"""Segments as models of their own: chained they answer what the whole network answers."""

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidNetworkError
from evener.network import proto
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import Array, Frame, random_frames
from evener.network.light import FILES
from evener.network.model import Network, parse_network
from evener.network.split import segment_model, whole_model
from evener.testing import tiny

Loader = Callable[[str], Network]
BASIC = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
EXTENDED = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL

TWO_WAYS = """(float[1,2] x, float[1,2] late) => (float[1,2] y, float[1,2] z)
<float[2,2] w = {1,2,3,4}, float[2,2] v = {5,6,7,8}> {
    a = MatMul(x, w)
    b = Add(a, late)
    c = MatMul(b, w)
    y = MatMul(c, v)
    z = Neg(c)
}"""


def network(text: str) -> Network:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return parse_network(model.SerializeToString(), name="net")


def run(content: bytes, frame: Frame, level: object) -> Frame:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options)
    names = [info.name for info in session.get_inputs()]
    return tuple(session.run(None, dict(zip(names, frame, strict=True))))


def chained(loaded: Network, blocks: Blocks, frame: Frame, level: object) -> Frame:
    for index in range(len(blocks.blocks)):
        frame = run(segment_model(loaded, blocks, index, index), frame, level)
    return frame


def answer(loaded: Network, seed: int) -> NDArray[np.float32]:
    (frame,) = random_frames(loaded.inputs, 1, seed)
    return run(whole_model(loaded), frame, EXTENDED)[0]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "googlenet", "resnet50"])
def test_all_blocks_one_after_the_other_answer_as_the_whole_to_the_bit(
    light_network: Loader, name: str
) -> None:
    loaded = light_network(name)
    (frame,) = random_frames(loaded.inputs, 1, 0)

    answers = chained(loaded, cut_into_blocks(loaded, "paper"), frame, EXTENDED)

    assert np.array_equal(answers[0], run(whole_model(loaded), frame, EXTENDED)[0])


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_at_the_level_all_they_agree_within_a_millionth(light_network: Loader, name: str) -> None:
    loaded = light_network(name)
    (frame,) = random_frames(loaded.inputs, 1, 0)
    whole = run(whole_model(loaded), frame, ALL)[0]

    answers = chained(loaded, cut_into_blocks(loaded, "paper"), frame, ALL)

    assert np.abs(answers[0] - whole).max() <= 1e-6 * np.abs(whole).max()


@pytest.mark.parametrize("name", ["alexnet", "googlenet", "resnet50", "squeezenet", "shufflenet"])
def test_different_frames_get_clearly_different_answers(light_network: Loader, name: str) -> None:
    first, second = (answer(light_network(name), seed) for seed in (0, 1))

    assert np.isfinite(first).all()
    assert first.sum() == pytest.approx(1, abs=1e-4)
    assert np.abs(first - second).max() > 1e-3 * first.max()
    assert first.max() > 2 / first.size  # a network that knows nothing answers 1 / size


def test_every_pair_of_blocks_makes_a_model_that_the_checker_accepts(
    light_network: Loader,
) -> None:
    loaded = light_network("squeezenet")
    blocks = cut_into_blocks(loaded, "paper")
    count = len(blocks.blocks)

    for first in range(0, count, 4):
        for last in range(first, count, 3):
            model = onnx.ModelProto.FromString(segment_model(loaded, blocks, first, last))
            onnx.checker.check_model(model, full_check=True)
            shapes = [
                [size.dim_value for size in info.type.tensor_type.shape.dim]
                for info in (*model.graph.input, *model.graph.output)
            ]
            ends = (*blocks.blocks[first].inputs, *blocks.blocks[last].outputs)
            assert shapes == [list(tensor.shape) for tensor in ends]


def test_a_segment_holds_only_the_constants_that_it_reads_and_copies_shared_ones() -> None:
    loaded = network(TWO_WAYS)
    blocks = cut_into_blocks(loaded, "paper")

    held = [
        [tensor.name for tensor in onnx.ModelProto.FromString(content).graph.initializer]
        for content in (segment_model(loaded, blocks, index, index) for index in range(3))
    ]

    assert held == [["w"], ["w"], ["v"]]


def test_several_inputs_and_outputs_keep_their_names_and_order() -> None:
    loaded = network(TWO_WAYS)
    blocks = cut_into_blocks(loaded, "paper")

    head = onnx.ModelProto.FromString(segment_model(loaded, blocks, 0, 0)).graph
    tail = onnx.ModelProto.FromString(segment_model(loaded, blocks, 2, 2)).graph

    assert [info.name for info in head.input] == ["x", "late"]
    assert [info.name for info in head.output] == ["b"]
    assert [info.name for info in tail.output] == ["y", "z"]


def test_networks_with_branches_loops_and_quantised_weights_are_split_as_they_are() -> None:
    # At the extended level onnxruntime multiplies by 8-bit weights more coarsely, unless they are
    # shared as here: a segment that holds them alone would differ.
    loaded = network(
        """(float[1,2] x, bool c) => (float[1,2] y)
        <int8[2,2] w = {1,2,3,4}, float s = {0.5}, int8 z = {0}, float[1,2] o = {7,9},
         int64 n = {3}, bool t = {1}, float[1,2] l> {
            d = DequantizeLinear(w, s, z)
            a = MatMul(x, d)
            b = If(c) <
                then_branch = yes () => (float[1,2] p) { p = Add(a, o) },
                else_branch = no () => (float[1,2] q) { q = MatMul(a, d) }>
            m = MatMul(b, d)
            l = Loop(n, t, m) <body = g (int64 i, bool go, float[1,2] u) => (bool on, float[1,2] v)
                { on = Identity(go) r = MatMul(u, d) v = Add(r, o) }>
            y = MatMul(l, d)
        }"""
    )
    blocks = cut_into_blocks(loaded, "paper")
    assert len(blocks.cuts) == 2

    for condition in (True, False):
        frame = (np.array([[1, 2]], np.float32), np.array(condition))
        assert np.array_equal(
            chained(loaded, blocks, frame, BASIC)[0], run(whole_model(loaded), frame, BASIC)[0]
        )


def test_half_precision_networks_are_split() -> None:
    loaded = network(
        "(float16[1,2] x) => (float16[1,2] y) <float[2,2] v = {1,2,3,4}>"
        "{ w = Cast<to = 10>(v) a = MatMul(x, w) y = MatMul(a, w) }"
    )
    frame: tuple[Array, ...] = (np.array([[1, 2]], np.float16),)
    blocks = cut_into_blocks(loaded, "paper")

    assert len(blocks.cuts) == 1
    assert chained(loaded, blocks, frame, EXTENDED)[0].dtype == np.float16
    assert chained(loaded, blocks, frame, EXTENDED)[0].tolist() == [[37.0, 54.0]]


def test_a_constant_among_the_answers_is_answered() -> None:
    loaded = network(
        "(float[2] x) => (float[2] y, float[2] k) <float[2] k = {3, 4}> { y = Neg(x) }"
    )
    frame: tuple[Array, ...] = (np.array([1, 2], np.float32),)

    assert [one.tolist() for one in run(whole_model(loaded), frame, EXTENDED)] == [[-1, -2], [3, 4]]


def test_the_same_blocks_give_the_same_bytes(light_network: Loader) -> None:
    loaded = light_network("squeezenet")
    blocks = cut_into_blocks(loaded, "paper")

    assert segment_model(loaded, blocks, 2, 9) == segment_model(loaded, blocks, 2, 9)
    assert whole_model(loaded) == whole_model(loaded)


def test_a_written_network_is_read_as_it_was(light_network: Loader) -> None:
    loaded = light_network("shufflenet")

    again = parse_network(whole_model(loaded), name="again")

    assert (again.inputs, again.outputs) == (loaded.inputs, loaded.outputs)
    assert cut_into_blocks(again, "paper") == cut_into_blocks(loaded, "paper")


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (0, 3), (2, 1)])
def test_blocks_that_do_not_exist_are_refused(first: int, last: int) -> None:
    loaded = network(TWO_WAYS)

    with pytest.raises(InputError, match=f"has blocks 0 to 2, and {first} to {last} are asked for"):
        segment_model(loaded, cut_into_blocks(loaded, "paper"), first, last)


def test_more_weights_than_a_message_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = network(TWO_WAYS)
    monkeypatch.setattr(proto, "LARGEST_BYTES", 31)

    with pytest.raises(InvalidNetworkError, match="'net' holds .* of weights .* smaller segments"):
        whole_model(loaded)


def test_every_light_network_is_known_by_name() -> None:
    assert {"alexnet", "googlenet", "resnet50", "squeezenet", "shufflenet"} <= FILES.keys()


def in_two(loaded: Network, blocks: Blocks, cut: int, frame: Frame) -> Frame:
    """Answer a frame by the two segments of a cut, the first's answers handed on by name."""
    count = len(blocks.blocks)
    parts = [segment_model(loaded, blocks, *ends) for ends in ((0, cut), (cut + 1, count - 1))]
    there = dict(zip((tensor.name for tensor in loaded.inputs), frame, strict=True))
    for part in parts:
        graph = onnx.ModelProto.FromString(part).graph
        answers = run(part, tuple(there[info.name] for info in graph.input), EXTENDED)
        there |= zip((info.name for info in graph.output), answers, strict=True)
    return tuple(there[tensor.name] for tensor in loaded.outputs)


@pytest.mark.parametrize(
    ("name", "every"), [("squeezenet", 1), ("shufflenet", 1), ("googlenet", 13), ("resnet50", 27)]
)
def test_two_segments_of_any_place_answer_as_the_whole_to_the_bit(
    light_network: Loader, name: str, every: int
) -> None:
    loaded = light_network(name)
    blocks = cut_into_blocks(loaded, "node")
    (frame,) = random_frames(loaded.inputs, 1, 0)
    whole = run(whole_model(loaded), frame, EXTENDED)

    for cut in range(0, len(blocks.cuts), every):
        assert np.array_equal(in_two(loaded, blocks, cut, frame)[0], whole[0]), blocks.cuts[cut]


def test_two_segments_of_any_place_of_a_u_net_answer_as_the_whole_to_the_bit() -> None:
    loaded = parse_network(tiny.unet(depth=3), name="unet")
    blocks = cut_into_blocks(loaded, "node", max_live=4)
    (frame,) = random_frames(loaded.inputs, 1, 0)
    whole = run(whole_model(loaded), frame, EXTENDED)

    assert max(len(cut) for cut in blocks.cuts) == 4
    for cut in range(len(blocks.cuts)):
        assert np.array_equal(in_two(loaded, blocks, cut, frame)[0], whole[0]), blocks.cuts[cut]


def test_a_segment_neither_reads_nor_answers_what_only_passes_by_unless_asked_to() -> None:
    loaded = parse_network(tiny.unet(depth=2), name="unet")
    blocks = cut_into_blocks(loaded, "node", max_live=3)
    (first,) = (at for at, block in enumerate(blocks.blocks) if block.name == "c_bottom")

    silent, passing = (
        onnx.ModelProto.FromString(segment_model(loaded, blocks, first, first, passing=asked)).graph
        for asked in (False, True)
    )

    assert [info.name for info in blocks_ends(blocks, first)] == ["s0", "s1", "s0", "s1", "bottom"]
    assert [[one.name for one in side] for side in (silent.input, silent.output)] == [
        ["s1"],
        ["bottom"],
    ]
    assert [[one.name for one in side] for side in (passing.input, passing.output)] == [
        ["s0", "s1"],
        ["s0", "s1", "bottom"],
    ]


def blocks_ends(blocks: Blocks, at: int) -> tuple[Tensor, ...]:
    return (*blocks.blocks[at].inputs, *blocks.blocks[at].outputs)


def test_places_that_are_not_nested_make_no_segment(light_network: Loader) -> None:
    loaded = light_network("googlenet")
    blocks = cut_into_blocks(loaded, "node")
    wrong = next(at for at in range(len(blocks.blocks)) if not blocks.form_segment(at, at))

    with pytest.raises(
        InputError, match=f"blocks {wrong} to {wrong} of 'googlenet' are no segment"
    ):
        segment_model(loaded, blocks, wrong, wrong)
