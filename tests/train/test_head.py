"""What makes answers of a network's sums, for each task."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional

from evener.artifacts.dataset import Task
from evener.artifacts.train_section import ClassWeight
from evener.train.evaluator import LOSS
from evener.train.head import Head, importance, smoothed, target_scaling
from evener.train.population.losses import compare

CLASSES = np.eye(3, dtype=np.float32)[[0, 0, 0, 0, 1, 1, 2, 2]]
LABELS = np.array([[0, 1], [0, 1], [0, 0], [1, 0]], np.float32)
NUMBERS = np.array([[10, 3], [30, 3]], np.float32)
SUMS = torch.tensor([[0.5, -1.0, 2.0], [1.0, 1.0, 0.0]])


def test_classes_are_told_apart_by_a_softmax() -> None:
    head = Head("classes", CLASSES)

    assert torch.equal(head(SUMS), torch.softmax(SUMS, 1))


def test_the_loss_of_classes_is_that_of_their_numbers() -> None:
    expected = functional.cross_entropy(SUMS, torch.tensor([2, 0]), label_smoothing=0.1)

    found = Head("classes", CLASSES).loss(SUMS, torch.eye(3)[[2, 0]])

    assert float(found) == pytest.approx(float(expected))


def test_each_label_has_a_probability_of_its_own() -> None:
    head = Head("labels", LABELS)

    assert torch.equal(head(SUMS[:, :2]), torch.sigmoid(SUMS[:, :2]))


def test_numbers_are_learned_scaled_and_answered_in_their_own_units() -> None:
    head = Head("numbers", NUMBERS)

    wanted = head.wanted(NUMBERS)

    assert wanted.tolist() == [[-1, 0], [1, 0]]
    assert torch.equal(head(wanted), torch.from_numpy(NUMBERS))
    assert float(head.loss(wanted, wanted)) == 0


def test_balanced_classes_count_alike() -> None:
    weights = importance("classes", CLASSES, "balanced")

    assert weights * CLASSES.sum(axis=0) == pytest.approx([8 / 3] * 3)
    assert importance("classes", CLASSES, "none").tolist() == [1, 1, 1]


def test_a_balanced_label_counts_as_much_where_it_is_as_where_it_is_not() -> None:
    assert importance("labels", LABELS, "balanced").tolist() == [3, 1]


def test_a_row_of_a_rare_class_pulls_harder() -> None:
    plain, balanced = (Head("classes", CLASSES, class_weight=w) for w in ("none", "balanced"))
    rare, common = torch.eye(3)[[2]], torch.eye(3)[[0]]
    sums = torch.zeros(1, 3)

    assert float(balanced.loss(sums, rare)) > float(plain.loss(sums, rare))
    assert float(balanced.loss(sums, common)) < float(plain.loss(sums, common))


@pytest.mark.parametrize("weight", ["none", "balanced"])
@pytest.mark.parametrize(
    ("task", "targets"), [("classes", CLASSES), ("labels", LABELS), ("numbers", NUMBERS)]
)
def test_the_loss_is_that_of_the_trials_of_a_search(
    task: Task, targets: NDArray[np.float32], weight: ClassWeight
) -> None:
    head = Head(task, targets, class_weight=weight)
    wanted = head.wanted(targets)
    sums = torch.linspace(-2, 3, wanted.numel()).reshape(wanted.shape).requires_grad_()
    learned = smoothed(wanted) if task == "classes" else wanted
    gradient = torch.empty(1, *sums.shape)

    loss = head.loss(sums, wanted)
    torch.autograd.backward(loss)
    found = compare(LOSS[task], sums.detach()[None], learned[None], gradient, head.importance)

    torch.testing.assert_close(found[0], loss.detach())
    torch.testing.assert_close(gradient[0], sums.grad)


def test_the_spread_of_what_does_not_vary_is_one() -> None:
    assert target_scaling(NUMBERS)[1].tolist() == [10, 1]
