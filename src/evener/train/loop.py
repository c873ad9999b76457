"""Train a network on rows in memory, the same way every time.

AdamW (Loshchilov and Hutter, 2019), unless a network has a recipe of its own, under a one-cycle
learning rate (Smith and Topin, 2018); label smoothing (Szegedy et al., 2016) and noise on the
inputs (Bishop, 1995), or other views of pictures, keep a network from growing sure of few rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor

from evener.artifacts.layer_graph import Recipe
from evener.errors import DivergedError
from evener.train.augment import Augmentation
from evener.train.head import INPUT_NOISE
from evener.train.model import Classifier

WEIGHT_DECAY: Final = 0.01

OnEpoch = Callable[[int, float], None]
"""Called after each pass with its number, from 1, and the mean loss of its steps."""


def train(
    model: Classifier,
    x_BF: NDArray[np.float32],
    targets_BO: NDArray[np.float32],
    *,
    epochs: int,
    batch: int,
    learning_rate: float,
    seed: int,
    recipe: Recipe | None = None,
    augmentation: Augmentation | None = None,
    on_epoch: OnEpoch | None = None,
    on_step: Callable[[], object] | None = None,
) -> None:
    """Change a model's weights until it answers the targets.

    One thread computes, since the order of additions, and so the last bits, would depend on how
    many there are; networks of this size are no faster on more.

    Args:
        model: changed in place.
        x_BF: features.
        targets_BO: what is to be answered.
        epochs: passes over the rows.
        batch: rows per step; the last step of a pass takes what is left.
        learning_rate: at its peak.
        recipe: rule and rate that take the place of AdamW and the learning rate.
        augmentation: how rows, which are pictures, are seen anew in each pass; None for noise.
        seed: what the order of the rows and the noise or the views are drawn from.
        on_epoch: called after each pass; what it raises ends the training.
        on_step: called before each step, likewise.

    Raises:
        DivergedError: the loss is no number any more.
    """
    x, wanted = torch.tensor(x_BF), model.head.wanted(targets_BO)
    generator = torch.Generator().manual_seed(seed)
    see = _blurring(model, generator) if augmentation is None else _moving(augmentation, generator)
    optimiser = _optimiser(model, recipe)
    peak = learning_rate if recipe is None else recipe.learning_rate
    steps = -(-len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, peak, total_steps=steps * epochs, cycle_momentum=recipe is None
    )
    model.train()
    with one_thread():
        for epoch in range(1, epochs + 1):
            total = torch.zeros(())
            for rows in torch.split(torch.randperm(len(x), generator=generator), batch):
                if on_step is not None:
                    on_step()
                sums = model.sums(see(x[rows]))
                loss = model.head.loss(sums, wanted[rows])
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
                schedule.step()
                total += loss.detach()
            mean_loss = float(total) / steps
            if not np.isfinite(mean_loss):
                raise DivergedError(
                    f"training diverged in epoch {epoch} of {epochs}: the loss is {mean_loss}. "
                    f"Lower {'train.learning_rate' if recipe is None else 'its learning rate'}, "
                    f"which is {peak:g}.",
                    epoch=epoch,
                )
            if on_epoch is not None:
                on_epoch(epoch, mean_loss)
    model.eval()


def _optimiser(model: Classifier, recipe: Recipe | None) -> torch.optim.Optimizer:
    if recipe is None:
        return torch.optim.AdamW(model.parameters(), weight_decay=WEIGHT_DECAY)
    if recipe.optimiser == "adam":
        return torch.optim.Adam(model.parameters(), weight_decay=recipe.weight_decay)
    return torch.optim.SGD(
        model.parameters(), lr=1.0, momentum=recipe.momentum, weight_decay=recipe.weight_decay
    )


def _blurring(model: Classifier, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
    """Return what adds noise to rows, as much as the task takes."""
    noise = INPUT_NOISE[model.head.task]
    if not noise:
        return lambda x_BF: x_BF
    return lambda x_BF: (
        x_BF + torch.randn(x_BF.shape, generator=generator) * noise / model.per_deviation
    )


def _moving(augmentation: Augmentation, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
    """Return what shows each picture in one of its views."""
    sources_VF = augmentation.sources()

    def moved(x_BF: Tensor) -> Tensor:
        views_B = torch.randint(len(sources_VF), (len(x_BF),), generator=generator)
        return torch.gather(x_BF, 1, sources_VF.index_select(0, views_B))

    return moved


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch and NumPy compute with one thread, and give them back those they had."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
