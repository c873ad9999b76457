"""How far the training of one individual has come, and why it ended."""

from dataclasses import dataclass
from typing import Literal

from evener.train.population.trainee import Trainee
from evener.train.population.weights import Weights

Status = Literal["training", "trained", "stopped", "out_of_time", "diverged", "failed"]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What is known of one individual after some epochs; training can go on from it.

    Attributes:
        weights: those it has come to; of one that diverged or failed, those it last went on from.
        memory: what its optimiser remembers, in the shapes of the weights; none before a step.
        epochs: that it was trained for.
        losses: mean loss of each, as its steps found it.
        status: "training" while it goes on; "trained" at its end; "stopped" if it was not chosen
            to go on; "out_of_time"; "diverged" if its numbers ended; "failed" if memory did not
            hold it.
        message: why, for people; "" where there is nothing to say.
        step: at which its numbers ended, from 1; 0 if they did not.
        layer: the first node that had none, the one behind the input being 1; 0 likewise.
    """

    weights: Weights
    memory: tuple[Weights, ...] = ()
    epochs: int = 0
    losses: tuple[float, ...] = ()
    status: Status = "training"
    message: str = ""
    step: int = 0
    layer: int = 0


def why_diverged(individual: Trainee, step: int, steps: int, layer: int, *, what: str) -> str:
    """Return what is told of an individual whose numbers ended.

    Args:
        individual: which.
        step: from 1.
        steps: of the whole training.
        layer: from 1.
        what: of the layer ended: its "sums" or its "weights".
    """
    return (
        f"training diverged at step {step} of {steps}: the {what} of layer {layer} of "
        f"{individual.depth} are no finite numbers. Lower its learning rate, which is "
        f"{individual.learning_rate:g}."
    )
