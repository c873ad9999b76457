"""Go forward and back through a stack of convolutional networks that have one shape.

Channels of all individuals stand side by side, and convolutions of groups keep them apart; of one
individual they are plain ones. Gradients are autograd's, added where the optimiser keeps them.
Shapes in names: P individuals, B rows of a batch, I inputs, O outputs, C channels, H height, W
width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from evener.train.conv_layers import ConvLayer, Picture
from evener.train.population.activate import ACTIVATIONS
from evener.train.population.individual import ActivationName
from evener.train.population.losses import LossName, compare
from evener.train.population.optimiser import Optimiser
from evener.train.population.stack import Stack
from evener.train.strided import taken_places, takes_places


class ConvPasses:
    """The way through a stack and back; see `evener.train.population.kinds.Way`.

    Args:
        layers: of every individual.
        picture: that a row holds.
        activation: of every individual.
        weights: of the stack.
    """

    def __init__(
        self,
        layers: Sequence[ConvLayer],
        picture: Picture,
        activation: ActivationName,
        weights: Stack,
    ) -> None:
        self._layers, self._picture = layers, picture
        self._activate = ACTIVATIONS[activation]
        # Leaves of autograd over the same memory, which the optimiser moves.
        self._kernels = [one.detach().requires_grad_() for one in weights.links.values()]
        self._biases = weights.blocks[-1].detach().requires_grad_()
        self._outputs = [layer.outputs for layer in layers if layer.shape]
        self._count = len(weights.blocks[0])
        self._sums: list[Tensor] = []  # of each layer that has weights
        self._output = self._gradient = weights.blocks[0].new_empty(())

    def forward(self, x_PBI: Tensor, *_: object) -> Tensor:
        """Return the sums (P, B, O) of the output.

        Args:
            x_PBI: rows for each individual.
        """
        self._sums = []
        y = kept = self._pictures(x_PBI)
        biases = torch.split(self._biases.unsqueeze(1), self._outputs, 2)
        weighted = iter(zip(self._kernels, biases, strict=True))
        for layer in self._layers:
            if layer.opens:
                kept = y
            if layer.operation == "pool":
                y = functional.avg_pool2d(y, 3, layer.stride, 1, count_include_pad=False)
            else:
                y = self._sum(layer, y, *next(weighted))
                self._sums.append(y.detach())
            if layer.activates:
                y = self._activate(y)
            if layer.adds:
                y = y + kept
        self._output = y
        return self._sums[-1]

    def compare(
        self, loss: LossName, wanted_PBO: Tensor, importance_O: Tensor | None = None
    ) -> Tensor:
        """Return the loss (P,) of what went forward last, and remember which way is down."""
        self._gradient = torch.empty_like(self._sums[-1])
        return compare(loss, self._sums[-1], wanted_PBO, self._gradient, importance_O)

    def backward(self, optimiser: Optimiser, *_: object) -> None:
        """Move the weights by the gradient of the loss that was compared last."""
        gradient = optimiser.gradient
        for block in range(len(gradient.blocks)):
            optimiser.begin(block)
        for kernel, own in zip(self._kernels, gradient.links.values(), strict=True):
            kernel.grad = own
        self._biases.grad = gradient.blocks[-1]
        torch.autograd.backward(self._output, self._gradient)
        for block in range(len(gradient.blocks)):
            optimiser.step(block)

    def first_without_numbers(self) -> Tensor:
        """Return the first layer whose sums are no finite numbers, (P,); the last where all are."""
        found_P = torch.full((self._count,), len(self._sums), device=self._gradient.device)
        for number in range(len(self._sums), 0, -1):
            sums = self._sums[number - 1]
            if sums.ndim == 4:
                sums = torch.unflatten(sums, 1, (self._count, -1)).transpose(0, 1)
            finite_P = torch.isfinite(sums).flatten(1).all(1)
            found_P = torch.where(finite_P, found_P, number)
        return found_P

    def _pictures(self, x_PBI: Tensor) -> Tensor:
        """Return pictures (B, P x C, H, W) of rows, the channels of a place side by side."""
        channels, height, width = self._picture
        x_PBCHW = torch.unflatten(x_PBI, 2, (channels, height, width))
        x_BCHW = x_PBCHW.transpose(0, 1).reshape(-1, self._count * channels, height, width)
        return x_BCHW.contiguous(memory_format=torch.channels_last)

    def _sum(self, layer: ConvLayer, y: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        if layer.operation == "dense":
            if y.ndim == 4:
                y = y if layer.flattens else y.mean((2, 3))
                y = torch.unflatten(y, 1, (self._count, -1)).transpose(0, 1).flatten(2)
            return torch.baddbmm(bias, y, kernel)
        groups = self._count * (layer.inputs if layer.operation == "depthwise" else 1)
        stride = layer.stride
        if takes_places(layer):
            y, stride = taken_places(y, layer), 1
        return functional.conv2d(
            y, kernel, bias.reshape(-1), stride, layer.kernel // 2, groups=groups
        )
