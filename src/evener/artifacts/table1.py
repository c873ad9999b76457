"""The network settings of the paper's Table I, each row of it.

A. Ravishankar et al., Pruned Genetic-NAS on GPU Accelerator Platforms with Chaos-on-Edge
Hyperparameters. What rows leave open, or say against the text, is read as the fields say.
"""

from typing import Final, Literal

import msgspec

Range = tuple[float, float]


class Table1(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Table I, row by row, and from the text how often weights are updated.

    Attributes:
        learning_rate: least and most.
        momentum: least and most.
        back_propagation_cycles: passes over the rows after a connection was cut; fewer than 50.
        encoding: of genomes.
        selection: the best few are parents.
        mutation: each bit is inverted with the mutation rate.
        crossover: bits of one parent up to a point, then of the other.
        mutation_rate: least and most.
        crossover_rate: least and most.
        maximum_depth: hidden layers.
        maximum_nodes: units of all hidden layers together.
        length: l, the bits of a chromosome: 21 for the links among input, output and 5 hidden
            layers, and 2 for the width of each layer.
        population: N, the chromosomes, and the instances that are grown.
        generations: of the chromosomes. The text also says 50 and 200.
        epochs: passes over the rows before a network is scored.
        replacement: children replace everyone, the best too, whatever elitism is.
        rows_per_update: of the weights; 1 is the text's "per-pattern weight update".
    """

    learning_rate: Range = (0.0001, 1.0)
    momentum: Range = (0.0, 0.9)
    back_propagation_cycles: int = 49
    encoding: Literal["binary"] = "binary"
    selection: Literal["elitism"] = "elitism"
    mutation: Literal["binary inversion"] = "binary inversion"
    crossover: Literal["single point"] = "single point"
    mutation_rate: Range = (0.0, 1.0)
    crossover_rate: Range = (0.001, 1.0)
    maximum_depth: int = 5
    maximum_nodes: int = 1024
    length: int = 31
    population: int = 10
    generations: int = 10
    epochs: int = 10
    replacement: Literal["unconditional"] = "unconditional"
    rows_per_update: int = 1


TABLE_1: Final = Table1()
