"""State goes from frame to frame within one block, and a split network answers as the whole."""

from collections.abc import Sequence
from random import Random

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidNetworkError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.explain import explain
from evener.network.frames import Array, Frame, random_frames
from evener.network.model import Network, parse_network
from evener.network.split import segment_model, segment_states, whole_model
from evener.network.state import likely_states

WEIGHTS = "float[2,2] w = {1,2,3,4}, float[2,2] v = {5,-6,7,8}"
# A dense layer, one that adds what it answered to the frame before, and another dense layer. The
# state is looked at early and written last, as exporters like to have it.
RECURRENT = f"""(float[1,2] x, float[1,2] h) => (float[1,2] hn, float[1,2] y) <{WEIGHTS}> {{
    half = Neg(h)
    a = MatMul(x, w)
    b = MatMul(half, v)
    c = Add(a, b)
    d = Tanh(c)
    y = MatMul(d, v)
    hn = Identity(d)
}}"""


def network(text: str, states: dict[str, str]) -> Network:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return parse_network(model.SerializeToString(), name="net", states=states)


def in_turn(loaded: Network, models: Sequence[bytes], frames: Sequence[Frame]) -> list[list[Array]]:
    """Answer frames with models one after the other, state handed on by name."""
    sessions = [ReferenceEvaluator(model) for model in models]
    kept = {one.input.name: np.zeros(one.input.shape, one.input.dtype) for one in loaded.states}
    answers = []
    for frame in frames:
        names = (tensor.name for tensor in loaded.inputs)
        found = dict(zip(names, frame, strict=True)) | kept
        for session in sessions:
            outputs = session.run(None, {name: found[name] for name in session.input_names})
            found |= dict(zip(session.output_names, outputs, strict=True))
        kept = {one.input.name: found[one.output.name] for one in loaded.states}
        answers.append([found[tensor.name] for tensor in loaded.outputs])
    return answers


def each_block(loaded: Network, blocks: Blocks) -> list[bytes]:
    return [segment_model(loaded, blocks, index, index) for index in range(len(blocks.blocks))]


def test_a_state_is_no_part_of_a_frame_or_an_answer() -> None:
    loaded = network(RECURRENT, {"hn": "h"})

    assert [tensor.name for tensor in loaded.inputs] == ["x"]
    assert [tensor.name for tensor in loaded.outputs] == ["y"]
    assert [(one.output.name, one.input.name) for one in loaded.states] == [("hn", "h")]


def test_what_reads_it_and_what_makes_it_are_one_block_and_no_more_is() -> None:
    loaded = network(RECURRENT, {"hn": "h"})
    blocks = cut_into_blocks(loaded, "strict")

    assert [block.states for block in blocks.blocks] == [0, 1, 0]
    assert [sorted(block.operators) for block in blocks.blocks] == [
        ["MatMul"],
        ["Add", "Identity", "MatMul", "Neg", "Tanh"],
        ["MatMul"],
    ]
    assert [len(segment_states(loaded, blocks, 0, last)) for last in range(3)] == [0, 1, 1]


def test_without_it_both_its_ends_would_have_to_cross_a_cut() -> None:
    cuts = {len(cut_into_blocks(network(RECURRENT, states), "strict").cuts)
            for states in ({}, {"hn": "h"})}  # fmt: skip

    assert cuts == {1, 2}


def test_block_by_block_frames_in_turn_answer_as_the_whole_network_does() -> None:
    loaded = network(RECURRENT, {"hn": "h"})
    frames = random_frames(loaded.inputs, 5, seed=0)

    whole = in_turn(loaded, [whole_model(loaded)], frames)
    split = in_turn(loaded, each_block(loaded, cut_into_blocks(loaded, "strict")), frames)

    np.testing.assert_array_equal(whole, split)
    forgetful = [in_turn(loaded, [whole_model(loaded)], [frame])[0] for frame in frames]
    assert not np.array_equal(whole[1:], forgetful[1:])


def test_why_there_is_no_cut_within_it_is_explained() -> None:
    loaded = network(RECURRENT.replace("d = Tanh(c)", "e = MatMul(c, w) d = Tanh(e)"), {"hn": "h"})

    found = explain(loaded, cut_into_blocks(loaded, "strict"))

    reasons = [one.reason for one in found.no_cuts]
    assert reasons == ["a state that one frame hands to the next is kept in one stage"]


def test_it_is_part_of_the_hash() -> None:
    assert network(RECURRENT, {"hn": "h"}).sha256 != network(RECURRENT, {}).sha256


def layered(random: Random, layers: int) -> tuple[str, dict[str, str]]:
    """Write a network whose nodes read earlier values and states, which late nodes make anew."""
    values, lines, states = ["x"], [], {}
    for layer in range(layers):
        made = f"v{layer}"
        kind = random.choice(["dense", "dense", "join", "state"])
        if kind == "dense":
            lines.append(f"{made} = MatMul({values[-1]}, w)")
        elif kind == "join":
            lines.append(f"{made} = Add({values[-1]}, {random.choice(values)})")
        else:
            states[f"n{layer}"] = f"s{layer}"
            lines.insert(random.randrange(len(lines) + 1), f"o{layer} = Neg(s{layer})")
            lines.append(f"{made} = Sub({values[-1]}, o{layer})")
            lines.append(f"m{layer} = Tanh({random.choice([made, *values])})")
        values.append(made)
    lines += [f"{new} = Identity(m{new[1:]})" for new in states]
    lines.append(f"y = MatMul({values[-1]}, v)")
    inputs = ", ".join(f"float[1,2] {name}" for name in ("x", *states.values()))
    outputs = ", ".join(f"float[1,2] {name}" for name in (*states, "y"))
    return f"({inputs}) => ({outputs}) <{WEIGHTS}> {{ {' '.join(lines)} }}", states


@settings(deadline=None, max_examples=40)
@given(layers=st.integers(1, 9), random=st.randoms(use_true_random=False))
def test_whatever_reads_and_makes_states_a_split_answers_as_the_whole(
    layers: int, random: Random
) -> None:
    text, states = layered(random, layers)
    loaded = network(text, states)
    blocks = cut_into_blocks(loaded, "strict")
    frames = random_frames(loaded.inputs, 3, seed=0)

    split = in_turn(loaded, each_block(loaded, blocks), frames)

    np.testing.assert_array_equal(split, in_turn(loaded, [whole_model(loaded)], frames))
    touching = [
        {index for index, part in enumerate(blocks.nodes) if node.name in part}
        for state in loaded.states
        for node in loaded.model.graph
        if {state.input.name, state.output.name}
        & {value.name for value in (*node.inputs, *node.outputs) if value is not None}
    ]
    assert {place for places in touching for place in places} == {
        index for index, block in enumerate(blocks.blocks) if block.states
    }


@settings(deadline=None, max_examples=40)
@given(layers=st.integers(1, 9), random=st.randoms(use_true_random=False))
def test_by_the_rule_node_too(layers: int, random: Random) -> None:
    text, states = layered(random, layers)
    loaded = network(text, states)
    blocks = cut_into_blocks(loaded, "node")
    frames = random_frames(loaded.inputs, 3, seed=0)
    whole = in_turn(loaded, [whole_model(loaded)], frames)
    last = len(blocks.blocks) - 1

    for cut in range(last):
        halves = [
            segment_model(loaded, blocks, *ends, passing=True)
            for ends in ((0, cut), (cut + 1, last))
        ]
        np.testing.assert_array_equal(in_turn(loaded, halves, frames), whole)
        for first, end in ((0, cut), (cut + 1, last)):
            kept = segment_states(loaded, blocks, first, end)
            assert sum(block.states for block in blocks.blocks[first : end + 1]) == len(kept)


@settings(deadline=None, max_examples=40)
@given(layers=st.integers(1, 9), random=st.randoms(use_true_random=False))
def test_nodes_still_stand_behind_what_they_read(layers: int, random: Random) -> None:
    text, states = layered(random, layers)
    model = network(text, states).model
    made: set[ir.Value] = {*model.graph.inputs, *model.graph.initializers.values()}

    for node in model.graph:
        assert made.issuperset(value for value in node.inputs if value is not None)
        made.update(node.outputs)
    assert len(model.graph) == len(network(text, {}).model.graph)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"hn2": "h"}, "a state names the output 'hn2', which the network has not; did you mean"),
        ({"hn": "i"}, "a state names the input 'i', which the network has not; inputs: x, h"),
        ({"hn": "h", "y": "h"}, "two states feed 'h', one of them 'y': give each input one"),
        ({"hn": "h", "y": "x"}, "every input is fed from frame to frame (x, h), so that a frame"),
    ],
)  # fmt: skip
def test_states_that_cannot_be_are_refused(states: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        network(RECURRENT, states)

    assert message in str(caught.value)


def test_a_frame_needs_an_answer() -> None:
    text = "(float[1,2] x, float[1,2] h) => (float[1,2] hn) { hn = Add(x, h) }"

    with pytest.raises(InvalidNetworkError, match="every output is kept from frame to frame .hn."):
        network(text, {"hn": "h"})


def test_a_state_of_another_shape_or_type_is_refused() -> None:
    text = (
        "(float[1,2] x, float[2] h) => (float[1,2] hn, float[1,2] y) { hn = Add(x, h) y = Neg(hn) }"
    )

    with pytest.raises(InvalidNetworkError) as caught:
        network(text, {"hn": "h"})
    assert "'hn' is float32 [1, 2], and 'h', which it is to feed, is float32 [2]" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("{ hn = Neg(x) y = Neg(x) }", "no node reads 'h'"),
        ("{ y = Add(x, h) }", "no node that depends on a frame or a state makes 'hn'"),
    ],
)
def test_a_state_that_carries_nothing_is_refused(text: str, lacks: str) -> None:
    constant = "" if "hn =" in text else "<float[1,2] hn = {1,2}>"
    head = "(float[1,2] x, float[1,2] h) => (float[1,2] hn, float[1,2] y)"

    with pytest.raises(
        InvalidNetworkError, match="carries nothing from frame to frame: "
    ) as caught:
        network(f"{head} {constant} {text}", {"hn": "h"})
    assert lacks in str(caught.value)


def tensor(name: str, *shape: int) -> Tensor:
    return Tensor(name=name, shape=shape, dtype="float32")


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        (["x", "state"], ["y", "stateN"], {"stateN": "state"}),
        (["x", "h", "c"], ["y", "hn", "cn"], {"hn": "h", "cn": "c"}),
        (["x", "h_in"], ["y", "h_out"], {"h_out": "h_in"}),
        (["input"], ["output"], {}),
        (["x_in"], ["x_out"], {}),
        (["x", "h"], ["y", "h_next", "h_new"], {}),
    ],
)
def test_names_that_say_old_and_new_hint_at_a_state(
    inputs: list[str], outputs: list[str], expected: dict[str, str]
) -> None:
    read, made = ([tensor(name, 1, 2) for name in names] for names in (inputs, outputs))

    assert likely_states(read, made) == expected


def test_tensors_that_differ_are_no_likely_state() -> None:
    assert likely_states([tensor("x", 1), tensor("h", 1)], [tensor("y", 1), tensor("hn", 2)]) == {}
