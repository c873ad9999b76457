"""Train networks in full, from scratch, to see what is left of how good they seemed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import msgspec

from evener.artifacts.dataset import MAIN_METRIC
from evener.artifacts.layer_graph import Spread
from evener.artifacts.networks import Network, chain_of, topology_of
from evener.artifacts.project import TrainSection
from evener.comm.alone import Alone
from evener.data.dataset import Dataset
from evener.train.fit import Trained, train_network
from evener.train.sharded_fit import ShardedFit, fit_sharded
from evener.train.shrink import Shrink
from evener.train.trial_rows import Rows


class Full(msgspec.Struct, frozen=True, kw_only=True):
    """A network to be trained in full once.

    Attributes:
        network: any that a population can be of.
        spread: of the weights that it begins with.
        seed: that they are drawn from.
    """

    network: Network
    spread: Spread
    seed: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a network trained in full comes to.

    Attributes:
        validation: quality on the validation split.
        test: quality on the test split.
        unpruned: on the validation split before units were taken out; None if none were.
    """

    validation: float
    test: float
    unpruned: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A training in full that came to nothing.

    Attributes:
        message: why, for people.
    """

    message: str


LATE = Gone("the budget was spent before its training ended; raise search.budget")


class _LateError(Exception):
    """The time is up."""


def train_in_full(
    rows: Rows,
    section: TrainSection,
    deadline: float | None,
    one: Full,
    *,
    shrink: Shrink | None = None,
) -> Found | Gone:
    """Train a network as the final one will be, but for the rows that it is to be chosen by.

    Args:
        rows: where a process gets them from.
        section: how the final network is trained; its seed is replaced.
        deadline: in seconds since 1970, kept to within a step; None for none.
        one: the network.
        shrink: says which units go, where some are to.

    Returns:
        Why there is nothing to tell, if the time was up, or its training failed in any way: one
        network that memory does not hold, or whose answers are no numbers, ends no other's.

    Raises:
        InputError: the rows cannot be loaded, or changed.
    """
    dataset = rows.dataset()

    def see() -> None:
        if deadline is not None and time.time() >= deadline:
            raise _LateError

    try:
        see()  # before a network is made
        trained = _trained(
            one, dataset, msgspec.structs.replace(section.chooses, seed=one.seed), see, shrink
        )
    except _LateError:
        return LATE
    except Exception as error:  # noqa: BLE001 - the contract: a failure is told, and ends no other
        return Gone(str(error) or type(error).__name__)
    metric = MAIN_METRIC[dataset.task]
    pruned = trained.pruned if isinstance(trained, Trained) else None
    unpruned = None if pruned is None else pruned.validation[metric]
    found = Found(trained.validation[metric], trained.test[metric], unpruned)
    if not (isfinite(found.validation) and isfinite(found.test)):
        return Gone("its answers, trained in full, are no finite numbers; lower its learning rate")
    return found


def _trained(
    one: Full,
    dataset: Dataset,
    section: TrainSection,
    see: Callable[[], object],
    shrink: Shrink | None,
) -> Trained | ShardedFit:
    """Train a network the way in which the final one of its kind is."""
    topology = topology_of(one.network)
    if topology is None:
        return train_network(
            one.network, dataset, section, spread=one.spread, on_step=see, shrink=shrink
        )
    return fit_sharded(
        chain_of(one.network),
        dataset,
        section.of(topology),
        Alone(),
        spread=one.spread,
        on_step=see,
    )
