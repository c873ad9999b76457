"""Ask every individual of a population for its answers, stack by stack."""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from evener.train.population.convolutional import Convolutional
from evener.train.population.dense import Dense
from evener.train.population.kinds import Kind, TraineeT
from evener.train.population.losses import LossName, answers_of
from evener.train.population.training import Member, by_kind
from evener.train.population.weights import Weights

_TOGETHER: Final = 256  # rows that go forward at a time
_CHUNK: Final = 16  # individuals likewise: values are small beside weights


def answer_population(
    individuals: Sequence[Member],
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
        >>> from evener.train.population.individual import Individual
        >>> from evener.train.population.weights import draw_weights
        >>> one = Individual(widths=(2, 4, 3))
        >>> [answer] = answer_population([one], [draw_weights(one)], torch.ones(5, 2), "squared")
        >>> tuple(answer.shape)
        (5, 3)
    """
    given = torch.split(inputs.to(device), _TOGETHER)
    dense, conv = by_kind(individuals)
    answers = _answers(Dense(), dense, weights, given, loss)
    answers |= _answers(Convolutional(), conv, weights, given, loss)
    return [answers[index] for index in range(len(individuals))]


def _answers(
    kind: Kind[TraineeT],
    individuals: Mapping[int, TraineeT],
    weights: Sequence[Weights],
    given: Sequence[Tensor],
    loss: LossName,
) -> dict[int, Tensor]:
    """Return the answers of the individuals of one kind, by their numbers."""
    numbers = list(individuals)
    for index, one in individuals.items():
        kind.check(one, weights[index])
    answers: dict[int, Tensor] = {}
    for group in kind.groups([individuals[index] for index in numbers]):
        for first in range(0, len(group.members), _CHUNK):
            members = [numbers[one] for one in group.members[first : first + _CHUNK]]
            some = [individuals[index] for index in members]
            mine = [weights[index] for index in members]
            stack = group.form.pack(some, mine, given[0].dtype, given[0].device)
            parts = []
            for part in given:
                passes = group.form.passes(some, stack, len(part))
                with torch.no_grad():
                    sums = passes.forward(part.expand(len(some), -1, -1))
                parts.append(answers_of(loss, sums).cpu())
            answers |= dict(zip(members, torch.cat(parts, 1), strict=True))
    return answers
