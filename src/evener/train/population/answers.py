"""Ask every individual of a population for its answers, stack by stack."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from evener.train.population.buckets import plan_buckets
from evener.train.population.individual import Individual
from evener.train.population.losses import LossName, answers_of
from evener.train.population.passes import Passes
from evener.train.population.stack import Layout
from evener.train.population.weights import Weights, check_weights

_TOGETHER: Final = 256  # rows that go forward at a time
_CHUNK: Final = 16  # individuals likewise: values are small beside weights


def answer_population(
    individuals: Sequence[Individual],
    weights: Sequence[Weights],
    inputs: Tensor,
    loss: LossName,
    *,
    device: str = "cpu",
) -> list[Tensor]:
    """Return what each individual answers to the same rows, (rows, outputs), on the CPU.

    Args:
        individuals: the population.
        weights: of each.
        inputs: (rows, features); answers have their type.
        loss: by which they were trained: "cross-entropy" answers with probabilities of classes,
            "binary" with a probability for each output, "squared" with numbers.
        device: that computes.

    Raises:
        InputError: weights that are not the individuals', or an unknown loss.

    Example:
        >>> from evener.train.population.weights import draw_weights
        >>> one = Individual(widths=(2, 4, 3))
        >>> [answer] = answer_population([one], [draw_weights(one)], torch.ones(5, 2), "squared")
        >>> tuple(answer.shape)
        (5, 3)
    """
    for one, own in zip(individuals, weights, strict=True):
        check_weights(one, own)
    given = torch.split(inputs.to(device), _TOGETHER)
    answers: list[Tensor] = [inputs.new_empty(0)] * len(individuals)
    for bucket in plan_buckets(individuals):
        layout = Layout(bucket)
        for first in range(0, len(bucket.members), _CHUNK):
            members = bucket.members[first : first + _CHUNK]
            some = [individuals[index] for index in members]
            mine = [weights[index] for index in members]
            stack = layout.pack(some, mine, inputs.dtype, torch.device(device))
            parts = []
            for part in given:
                passes = Passes(layout, some, stack, len(part))
                sums = passes.forward(part.expand(len(some), -1, -1))
                parts.append(answers_of(loss, sums).cpu())
            for index, answer in zip(members, torch.cat(parts, 1), strict=True):
                answers[index] = answer
    return answers
