"""Blocks of convolutions as a torch module, trained and exported."""

from math import ceil

import msgspec
import numpy as np
import onnx
import pytest
import torch

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, BlockKind, ConvStack, HeadKind
from evener.artifacts.layer_graph import Activation, Recipe, Spread
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.network.blocks import cut_into_blocks
from evener.network.model import parse_network
from evener.train.card import make_card
from evener.train.conv_model import ConvLayers, picture_standardisation
from evener.train.export import export_onnx
from evener.train.fit import train_network
from evener.train.head import Head
from evener.train.model import Classifier, predict
from evener.train.population.answers import answer_population
from evener.train.population.conv_weights import draw_conv_weights
from evener.train.population.decoded import conv_individual_of
from evener.train.verify import verify_export

PICTURE = (2, 7, 6)
EVERY_KIND = ConvStack(
    blocks=(
        Block(kind="conv3x3", channels=4, stride=2),
        Block(kind="conv3x3", channels=4, residual=True),
        Block(kind="depthwise3x3", channels=6),
        Block(kind="depthwise3x3", channels=6, residual=True),
        Block(kind="pool3x3", channels=6, residual=True),
        Block(kind="pool3x3", channels=6, stride=2),
        Block(kind="conv1x1", channels=5),
    ),
    hidden=8,
)
X_BF = np.random.default_rng(0).normal(5, 3, (30, 84)).astype(np.float32)


@pytest.mark.parametrize("head", ["mean", "flatten"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu", "sigmoid"])
def test_it_computes_what_the_population_computes(activation: Activation, head: HeadKind) -> None:
    stack = ConvStack(blocks=EVERY_KIND.blocks, head=head, hidden=8, activation=activation)
    individual = conv_individual_of(
        stack, PICTURE, 3, seed=5, weight_variance=1.5, bias_variance=0.1
    )
    x_BF = torch.from_numpy(X_BF)
    spread = Spread(weight_variance=1.5, bias_variance=0.1)

    found = ConvLayers(stack, PICTURE, 3, seed=5, spread=spread)(x_BF)

    [expected] = answer_population([individual], [draw_conv_weights(individual)], x_BF, "squared")
    assert float(found.detach().std()) > 0.01
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("head", ["mean", "flatten"])
@pytest.mark.parametrize("hidden", [0, 8])
def test_the_stack_counts_the_weights_that_there_are(head: HeadKind, hidden: int) -> None:
    stack = ConvStack(blocks=EVERY_KIND.blocks, head=head, hidden=hidden)
    model = ConvLayers(stack, PICTURE, 3, seed=0, spread=Spread())

    assert sum(one.numel() for one in model.parameters()) == stack.weights(*PICTURE, 3)


@pytest.mark.parametrize("kind", ["conv1x1", "conv3x3", "depthwise3x3", "pool3x3"])
@pytest.mark.parametrize("stride", [1, 2])
def test_only_the_stride_shrinks_a_picture(kind: BlockKind, stride: int) -> None:
    stack = ConvStack(blocks=(Block(kind=kind, channels=2, stride=1 if stride == 1 else 2),))
    layers = ConvLayers(stack, PICTURE, 3, seed=0, spread=Spread())
    seen: list[torch.Size] = []
    torch_mean = torch.Tensor.mean

    def mean(tensor: torch.Tensor, places: tuple[int, int]) -> torch.Tensor:
        seen.append(tensor.shape)
        return torch_mean(tensor, places)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "mean", mean)
        layers(torch.from_numpy(X_BF))

    assert seen == [(30, 2, ceil(7 / stride), ceil(6 / stride))]


def test_weights_come_from_the_seed_alone() -> None:
    state = torch.random.get_rng_state()

    one, same, other = (
        Classifier(
            EVERY_KIND,
            X_BF,
            Head("classes", np.eye(2, dtype=np.float32)),
            seed=seed,
            picture=PICTURE,
        )
        for seed in (1, 1, 2)
    )

    assert np.array_equal(predict(one, X_BF), predict(same, X_BF))
    assert not np.array_equal(predict(one, X_BF), predict(other, X_BF))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_each_channel_is_standardised() -> None:
    mean_F, scale_F = picture_standardisation(X_BF, PICTURE)

    x_BCP = ((X_BF - mean_F) * scale_F).reshape(30, 2, 42)
    np.testing.assert_allclose(x_BCP.mean((0, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(x_BCP.std((0, 2)), 1, rtol=1e-6)


@pytest.mark.parametrize("head", ["mean", "flatten"])
def test_it_learns_and_its_file_answers_alike(bars: Dataset, head: HeadKind) -> None:
    blocks = (
        Block(kind="conv3x3", channels=8),
        Block(kind="conv3x3", channels=8, residual=True),
        Block(kind="conv3x3", channels=8, stride=2),
    )
    stack = ConvStack(blocks=blocks, head=head, recipe=Recipe(learning_rate=0.05, momentum=0.9))

    trained = train_network(stack, bars, TrainSection(epochs=20))

    content = export_onnx(trained)
    error = verify_export(content, trained, bars)
    card = make_card(trained, bars, content, export_error=error, baselines=())
    assert trained.test["accuracy"] >= 0.95
    assert error <= 1e-5
    assert card.architecture == stack
    assert card.weights == stack.weights(1, 8, 8, 2)


def test_views_take_the_place_of_noise(bars: Dataset) -> None:
    stack = ConvStack(blocks=(Block(kind="conv3x3", channels=8, stride=2),))
    section = TrainSection(epochs=2)
    moved = msgspec.structs.replace(section, shift=1, mirror=True)

    plain, one, same = (train_network(stack, bars, each) for each in (section, moved, moved))

    assert one.losses == same.losses
    assert one.losses != plain.losses


def test_views_of_rows_that_are_no_pictures_are_refused(rings: Dataset) -> None:
    with pytest.raises(InputError, match="train.shift = 1 and train.mirror = false are for pictur"):
        train_network(Architecture(hidden=(4,)), rings, TrainSection(epochs=1, shift=1))


def test_a_file_has_an_operator_for_each_layer_and_cuts_between_blocks(bars: Dataset) -> None:
    stack = ConvStack(blocks=EVERY_KIND.blocks, hidden=8)
    trained = train_network(stack, bars, TrainSection(epochs=1))

    content = export_onnx(trained)

    model = onnx.load_from_string(content)
    operators = [node.op_type for node in model.graph.node]
    assert operators.count("Conv") == 7
    assert operators.count("AveragePool") == 2
    assert operators.count("ReduceMean") == 1
    assert operators.count("Gemm") == 2
    assert operators.count("Transpose") == 0
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    network = parse_network(content, name="net", shapes={"features": (1, 64)})
    cuts = cut_into_blocks(network, "strict").cuts
    # Behind each block and the hidden layer, and amid depthwise blocks that add nothing.
    assert [tensor.name.split("_")[0] for (tensor,) in cuts] == [
        "Relu",
        "Add",
        "Conv",
        "Relu",
        "AveragePool",
        "ReduceMean",
        "Relu",
    ]


def test_rows_that_are_no_pictures_are_refused(rings: Dataset) -> None:
    with pytest.raises(InputError, match="reads pictures, and a row is"):
        train_network(EVERY_KIND, rings, TrainSection(epochs=1))
