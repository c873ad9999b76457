"""Layers wired as a graph, as a torch module: each node is one product with all that feed it.

Shapes in names: B rows of a batch, I inputs of a node, O its neurons.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evener.artifacts.layer_graph import LayerGraph, Spread
from evener.errors import InputError
from evener.train.leave_out import LeaveOut
from evener.train.population.activate import ACTIVATIONS
from evener.train.population.decoded import individual_of
from evener.train.population.weights import Weights, draw_weights


class GraphLayers(nn.Module):
    """The layers of a graph; it starts from the weights that a population draws for it.

    A node that several feed multiplies their values, one behind another, by one matrix: the sum of
    what each gives through weights of its own.

    Args:
        graph: the layers; each is fed by another.
        features: inputs.
        outputs: how many.
        seed: what weights are drawn from.
        spread: how widely.
        dropout: probability with which a hidden unit is left out of a step.

    Raises:
        InputError: a layer that nothing feeds, or layers that are divided into shards.
    """

    def __init__(
        self,
        graph: LayerGraph,
        features: int,
        outputs: int,
        *,
        seed: int,
        spread: Spread,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self._sources = [
            [start for start, end in graph.links if end == node]
            for node in range(1, graph.output + 1)
        ]
        if graph.divided is not None:
            raise InputError(f"{graph}: shards are trained by `evener.train.sharded_fit`, not here")
        if not all(self._sources):
            raise InputError(
                f"{graph}: a layer that nothing feeds; leave out what computes nothing"
            )
        self._activation = ACTIVATIONS[graph.activation]
        self._leave_out = LeaveOut(dropout, seed=seed)
        individual = individual_of(
            graph,
            features,
            outputs,
            seed=seed,
            weight_variance=spread.weight_variance,
            bias_variance=spread.bias_variance,
        )
        self._widths = individual.widths
        self.nodes = nn.ModuleList(
            _linear(sum(self._widths[one] for one in sources), width)
            for sources, width in zip(self._sources, self._widths[1:], strict=True)
        )
        self.fill(draw_weights(individual))

    def fill(self, weights: Weights) -> None:
        """Take the weights of an individual of this graph."""
        for node, (linear, sources) in enumerate(zip(self.nodes, self._sources, strict=True), 1):
            weights_IO = np.concatenate([weights.links[one, node] for one in sources])
            with torch.no_grad():
                for parameter, array in zip(
                    linear.parameters(), (weights_IO.T, weights.biases[node - 1]), strict=True
                ):
                    parameter.copy_(torch.from_numpy(array))

    def read(self, *, gradients: bool = False) -> Weights:
        """Return the weights, or the gradients that were found last, as those of an individual."""
        links, biases = {}, []
        for node, (linear, sources) in enumerate(zip(self.nodes, self._sources, strict=True), 1):
            weight, bias = (array_of(one, gradients=gradients) for one in linear.parameters())
            ends = np.cumsum([self._widths[one] for one in sources])[:-1]
            for one, part in zip(sources, np.split(weight.T, ends), strict=True):
                links[one, node] = part
            biases.append(bias)
        return Weights(links, tuple(biases))

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return the sums (B, O) of the output."""
        values = [x_BF]
        for linear, sources in zip(self.nodes, self._sources, strict=True):
            fed_BI = [values[one] for one in sources]
            sums_BO: Tensor = linear(fed_BI[0] if len(fed_BI) == 1 else torch.cat(fed_BI, 1))
            if len(values) == len(self._sources):
                return sums_BO
            values.append(self._leave_out(self._activation(sums_BO)))
        return values[-1]


def array_of(parameter: nn.Parameter, *, gradients: bool) -> NDArray[np.float32]:
    """Return a copy of a parameter, or of its gradient that was found last; zeros if none was."""
    if not gradients:
        found = parameter.detach()
    else:
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    copied: NDArray[np.float32] = found.numpy().copy()
    return copied


def _linear(inputs: int, outputs: int) -> nn.Linear:
    # Made without values first, so that no global random state is read or moved.
    return nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
