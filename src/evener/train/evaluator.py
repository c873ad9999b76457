"""Score architectures by a short training: what `search` is handed as its `evaluate`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from evener.artifacts.dataset import MAIN_METRIC
from evener.artifacts.networks import Network, macs
from evener.artifacts.project import SearchSection, TrainSection
from evener.artifacts.score import Score
from evener.data.dataset import Dataset
from evener.errors import DivergedError
from evener.train.fit import ends_of, train_network
from evener.train.loop import one_thread
from evener.train.metrics import standard_error
from evener.train.model import predict


def make_evaluate(
    dataset: Dataset,
    search: SearchSection,
    train: TrainSection,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> "TrainingEvaluator":
    """Bind a dataset into an `evener.search.evaluate.Evaluate`.

    Args:
        dataset: trained on its training split, scored on its validation split.
        search: epochs per architecture.
        train: batch and learning rate.
        clock: seconds that only go forward, for the budget.
    """
    section = msgspec.structs.replace(train, epochs=search.epochs)
    return TrainingEvaluator(dataset=dataset, section=section, clock=clock)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingEvaluator:
    """Trains each architecture for a few epochs and scores its main metric on validation rows.

    Attributes:
        dataset: what is learned from.
        section: how each architecture is trained; its seed is replaced.
        clock: seconds that only go forward.
    """

    dataset: Dataset
    section: TrainSection
    clock: Callable[[], float]

    def __call__(
        self, batch: Sequence[Network], *, budget_s: float | None, seed: int
    ) -> list[Score]:
        """Score each architecture, in the order of the batch; raises nothing.

        Args:
            batch: the architectures. A score does not depend on which others are in the batch.
            budget_s: longest time for all of them, in seconds, kept to within one epoch.
            seed: what the weights and the order of the rows are drawn from.
        """
        deadline = float("inf") if budget_s is None else self.clock() + budget_s
        return [self._score(architecture, deadline, seed) for architecture in batch]

    def _score(self, architecture: Network, deadline: float, seed: int) -> Score:
        def stop_when_late(epoch: int, loss: float) -> None:  # noqa: ARG001 - given by the loop
            if self.clock() >= deadline:
                raise _OutOfBudgetError

        own_seed = np.random.SeedSequence([seed, int(architecture.id, 16)]).generate_state(1)
        section = msgspec.structs.replace(self.section, seed=int(own_seed[0]))
        try:
            stop_when_late(0, 0.0)
            trained = train_network(architecture, self.dataset, section, on_epoch=stop_when_late)
        except _OutOfBudgetError:
            return Score(
                id=architecture.id,
                status="out_of_budget",
                message="the time was up before its training ended; raise search.budget",
            )
        except DivergedError as error:
            return Score(id=architecture.id, status="diverged", message=str(error))
        except Exception as error:  # noqa: BLE001 - the contract: a failure is a score
            return Score(
                id=architecture.id, status="failed", message=str(error) or type(error).__name__
            )
        features, targets = self.dataset.examples("validation")
        with one_thread():
            answered = predict(trained.model, features)
        return Score(
            id=architecture.id,
            quality=trained.validation[MAIN_METRIC[self.dataset.task]],
            quality_error=standard_error(self.dataset.task, targets, answered),
            macs=macs(architecture, ends_of(self.dataset)),
            weights=trained.weights,
        )


class _OutOfBudgetError(Exception):
    """The time for all architectures is over."""
