"""Convolutions of single places with a stride are trained without a kernel that spoils memory."""

import numpy as np
import torch

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import Spread
from evener.train.conv_model import ConvLayers
from evener.train.loop import one_thread
from evener.train.population.course import Course, Rows
from evener.train.population.decoded import conv_individual_of
from evener.train.population.training import Place, train_population

PICTURE = (1, 8, 8)
STACK = ConvStack(
    blocks=(
        Block(kind="conv1x1", channels=4),
        Block(kind="conv1x1", channels=32, stride=2),
        Block(kind="depthwise3x3", channels=4, stride=2),
    )
)
X_BF = torch.from_numpy(np.random.default_rng(0).standard_normal((64, 64))).float()


def test_sums_in_training_are_those_of_a_file() -> None:
    model = ConvLayers(STACK, PICTURE, 3, seed=1, spread=Spread())

    trained = model.train()(X_BF)

    torch.testing.assert_close(model.eval()(X_BF), trained, rtol=1e-6, atol=1e-6)


def test_a_population_of_few_channels_comes_to_what_double_precision_does() -> None:
    one = conv_individual_of(STACK, PICTURE, 3, seed=1)
    rows = Rows(X_BF, torch.eye(3)[torch.arange(64) % 3])
    course = Course(epochs=20, batch=64)

    with one_thread():
        [single] = train_population([one], rows, course)
        [double] = train_population([one], rows, course, place=Place(dtype=torch.float64))

    for link, kernel in single.weights.links.items():
        np.testing.assert_allclose(kernel, double.weights.links[link], atol=1e-4)
    for bias, exact in zip(single.weights.biases, double.weights.biases, strict=True):
        np.testing.assert_allclose(bias, exact, atol=1e-4)


def test_its_gradient_in_training_in_full_is_that_of_double_precision() -> None:
    gradients = []
    for dtype in (torch.float32, torch.float64):
        model = ConvLayers(STACK, PICTURE, 3, seed=1, spread=Spread()).to(dtype)
        for _ in range(20):
            model.zero_grad()
            model(X_BF.to(dtype)).square().mean().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])

    for single, double in zip(*gradients, strict=True):
        torch.testing.assert_close(single, double.float(), rtol=1e-4, atol=1e-6)
