"""Blocks of convolutions as a torch module that reads flattened pictures.

Shapes in names: B rows of a batch, F numbers of a picture, C channels, P places, O outputs.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import Spread
from evener.train.conv_layers import ConvLayer, Picture
from evener.train.graph import array_of
from evener.train.population.activate import ACTIVATIONS
from evener.train.population.conv_weights import draw_conv_weights
from evener.train.population.decoded import conv_individual_of
from evener.train.population.weights import Array, Weights
from evener.train.strided import taken_places, takes_places


class ConvLayers(nn.Module):
    """The layers of blocks; they start from the weights that a population draws for them.

    Args:
        stack: the blocks.
        picture: channels, height and width of a row.
        outputs: how many.
        seed: what weights are drawn from.
        spread: how widely.
    """

    def __init__(
        self, stack: ConvStack, picture: Picture, outputs: int, *, seed: int, spread: Spread
    ) -> None:
        super().__init__()
        individual = conv_individual_of(
            stack,
            picture,
            outputs,
            seed=seed,
            weight_variance=spread.weight_variance,
            bias_variance=spread.bias_variance,
        )
        self._layers, self._picture = individual.layers, picture
        self._activation = ACTIVATIONS[stack.activation]
        self.weighted = nn.ModuleList(_module(one) for one in individual.weighted)
        self.fill(draw_conv_weights(individual))

    def fill(self, weights: Weights) -> None:
        """Take the weights of an individual with these blocks."""
        arrays = zip(self.weighted, weights.links.values(), weights.biases, strict=True)
        for module, kernel, bias in arrays:
            _fill(module, kernel, bias)

    def read(self, *, gradients: bool = False) -> Weights:
        """Return the weights, or the gradients that were found last, as those of an individual."""
        links, biases = {}, []
        for node, module in enumerate(self.weighted):
            weight, bias = (array_of(one, gradients=gradients) for one in module.parameters())
            links[node, node + 1] = weight.T if isinstance(module, nn.Linear) else weight
            biases.append(bias)
        return Weights(links, tuple(biases))

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return the sums (B, O) of the output."""
        # Processors convolve quickest with channels last. ONNX knows one order, and no such step.
        y = torch.unflatten(x_BF, 1, self._picture)
        y = y.contiguous(memory_format=torch.channels_last)
        kept = y
        weighted = iter(self.weighted)
        for layer in self._layers:
            if layer.opens:
                kept = y
            if layer.operation == "pool":
                y = functional.avg_pool2d(y, 3, layer.stride, 1, count_include_pad=False)
            else:
                if layer.operation == "dense" and y.ndim == 4:
                    y = y.flatten(1) if layer.flattens else y.mean((2, 3))
                y = self._sums(layer, next(weighted), y)
            if layer.activates:
                y = self._activation(y)
            if layer.adds:
                y = y + kept
        return y

    def _sums(self, layer: ConvLayer, module: nn.Module, y: Tensor) -> Tensor:
        if self.training and takes_places(layer):  # a file has one operator for it
            weight, bias = module.parameters()
            return functional.conv2d(taken_places(y, layer), weight, bias)
        sums: Tensor = module(y)
        return sums


def picture_standardisation(
    x_BF: NDArray[np.float32], picture: Picture
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return mean and one over the standard deviation of each number's channel, (F,) both.

    A number by itself may hardly vary, as at the edges of written digits: to divide by that would
    make much of noise.

    Args:
        x_BF: pictures.
        picture: channels, height and width.

    Example:
        >>> x_BF = np.array([[0, 0, 0, 8]], np.float32)
        >>> mean_F, scale_F = picture_standardisation(x_BF, (2, 1, 2))
        >>> mean_F.tolist(), scale_F.tolist()
        ([0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 0.25, 0.25])
    """
    channels, height, width = picture
    x_BCP = x_BF.reshape(len(x_BF), channels, height * width)
    mean_C = x_BCP.mean(axis=(0, 2), dtype=np.float64)
    deviation_C = np.sqrt(x_BCP.var(axis=(0, 2), dtype=np.float64))
    scale_C = 1 / np.where(deviation_C > np.finfo(np.float32).tiny, deviation_C, 1.0)
    mean_F, scale_F = (np.repeat(one, height * width) for one in (mean_C, scale_C))
    return mean_F.astype(np.float32), scale_F.astype(np.float32)


def _module(layer: ConvLayer) -> nn.Linear | nn.Conv2d:
    # Made without values first, so that no global random state is read or moved.
    if layer.operation == "dense":
        return nn.Linear(layer.inputs, layer.outputs, device="meta").to_empty(device="cpu")
    groups = layer.inputs if layer.operation == "depthwise" else 1
    convolution = nn.Conv2d(
        layer.inputs,
        layer.outputs,
        layer.kernel,
        layer.stride,
        layer.kernel // 2,
        groups=groups,
        device="meta",
    ).to_empty(device="cpu")
    weight = convolution.weight.detach().contiguous(memory_format=torch.channels_last)
    convolution.weight = nn.Parameter(weight)
    return convolution


def _fill(module: nn.Module, kernel: Array, bias: Array) -> None:
    weight = kernel.T if isinstance(module, nn.Linear) else kernel
    with torch.no_grad():
        for parameter, array in zip(module.parameters(), (weight, bias), strict=True):
            parameter.copy_(torch.from_numpy(array))
