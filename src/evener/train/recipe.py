"""How a network is trained: for how long, by which rule, and how far each step goes."""

from math import cos, inf, pi
from typing import Literal

import msgspec

from evener.errors import InputError
from evener.train.mixed import Precision, check_precision

OptimiserName = Literal["sgd", "adam", "adamw"]
ScheduleName = Literal["constant", "cosine", "one-cycle"]


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to train a network, whoever computes it.

    Attributes:
        epochs: passes over the rows.
        batch: rows of a step; the last step of a pass takes what is left.
        learning_rate: at its highest.
        optimiser: "sgd", "adam" (Kingma and Ba, 2015) or "adamw" (Loshchilov and Hutter, 2019).
        momentum: of sgd.
        weight_decay: of weights and biases; as the optimiser of that name in PyTorch takes it.
        clip: largest norm of the gradient of all weights and biases; None for any.
        schedule: "constant"; "cosine", down to 0 (Loshchilov and Hutter, 2017); or "one-cycle", up
            for three tenths and down (Smith and Topin, 2018).
        warm_up: steps in which the rate grows to what the schedule says.
        dropout: probability with which a hidden neuron is left out of a step.
        precision: of products; weights, sums over a batch and the loss keep the network's own.
        input_noise: spread of the normal numbers that a step adds to its rows (Bishop, 1995).
    """

    epochs: int = 1
    batch: int = 1
    learning_rate: float = 0.1
    optimiser: OptimiserName = "sgd"
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip: float | None = None
    schedule: ScheduleName = "constant"
    warm_up: int = 0
    dropout: float = 0.0
    precision: Precision = "float32"
    input_noise: float = 0.0

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a number that no training can be done with.
        """
        check_precision(self.precision)
        if self.epochs < 1 or self.batch < 1:
            raise InputError(
                f"{self.epochs} epochs of batches of {self.batch}: give 1 or more of either"
            )
        if not self.learning_rate > 0:
            raise InputError(f"a learning rate of {self.learning_rate}: give a number above 0")
        if not 0 <= self.momentum < 1 or not 0 <= self.dropout < 1:
            raise InputError(
                f"momentum {self.momentum} and dropout {self.dropout}: give either 0 or more, and "
                "less than 1"
            )
        if self.momentum and self.optimiser != "sgd":
            raise InputError(
                f"a momentum of {self.momentum} with {self.optimiser}, which has its own: leave "
                "momentum out, or choose sgd"
            )
        if not 0 <= self.input_noise < inf:
            raise InputError(f"an input noise of {self.input_noise}: give a number of 0 or more")
        if not self.weight_decay >= 0 or self.warm_up < 0:
            raise InputError(
                f"a weight decay of {self.weight_decay} and {self.warm_up} steps of warm-up: give "
                "0 or more"
            )
        if self.clip is not None and not self.clip > 0:
            raise InputError(f"gradients clipped at a norm of {self.clip}: give a number above 0")

    @property
    def plain(self) -> bool:
        """Whether a step is the gradient times the rate and nothing else."""
        return (
            self.optimiser == "sgd"
            and self.momentum == 0
            and self.weight_decay == 0
            and self.clip is None
        )

    def steps_per_epoch(self, rows: int) -> int:
        """Return how many steps a pass over so many rows takes."""
        return -(-rows // self.batch)

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate of a step: a function of its number, so that it can be resumed.

        Args:
            step: from 0.
            steps: how many there are.

        Example:
            >>> recipe = Recipe(schedule="cosine", warm_up=2)
            >>> [round(recipe.rate(step, 4), 4) for step in range(4)]
            [0.05, 0.0854, 0.05, 0.0146]
        """
        scale = 1.0
        if self.schedule == "cosine":
            scale = _cosine(1.0, 0.0, step / steps)
        elif self.schedule == "one-cycle":
            scale = _one_cycle(step, steps)
        if step < self.warm_up:
            scale *= (step + 1) / self.warm_up
        return self.learning_rate * scale


_RISE, _BEGIN, _END = 0.3, 1 / 25, 1 / 250_000  # as torch.optim.lr_scheduler.OneCycleLR


def _one_cycle(step: int, steps: int) -> float:
    top = _RISE * steps - 1
    if step <= top:
        return _cosine(_BEGIN, 1.0, step / top if top > 0 else 1.0)
    return _cosine(1.0, _END, (step - top) / (steps - 1 - top))


def _cosine(first: float, last: float, share: float) -> float:
    return last + (first - last) / 2 * (1 + cos(pi * share))
