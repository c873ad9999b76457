"""Layers wired as a graph, as a torch module: each node is one product with all that feed it.

Shapes in names: B rows of a batch, I inputs of a node, O its neurons.
"""

import numpy as np
import torch
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
        InputError: a layer that nothing feeds.
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
        drawn = draw_weights(individual)
        self.nodes = nn.ModuleList(
            _linear(drawn, node, sources) for node, sources in enumerate(self._sources, 1)
        )

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


def _linear(drawn: Weights, node: int, sources: list[int]) -> nn.Linear:
    weights_IO = np.concatenate([drawn.links[one, node] for one in sources])
    # Made without values first, so that no global random state is read or moved.
    linear = nn.Linear(weights_IO.shape[0], weights_IO.shape[1], device="meta").to_empty(
        device="cpu"
    )
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weights_IO.T))
        linear.bias.copy_(torch.from_numpy(drawn.biases[node - 1]))
    return linear
