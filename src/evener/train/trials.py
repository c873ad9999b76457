"""Score networks by a short training, all of them in one batch.

What a network comes to depends on itself and the seed alone, to rounding: whoever is trained beside
it, and whatever goes wrong there.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.dataset import Task
from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.networks import Ends, Network, macs, topology_of, weights
from evener.artifacts.score import Score
from evener.artifacts.train_section import ClassWeight
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train.evaluator import LOSS, Evaluation, Evaluator
from evener.train.fit import augmentation_of, ends_of
from evener.train.head import importance, smoothed, target_scaling
from evener.train.loop import one_thread
from evener.train.model import standardisation_for
from evener.train.population.course import Course
from evener.train.population.course import Rows as Lesson
from evener.train.population.decoded import member_of
from evener.train.population.divided import draw_divided, masks_of
from evener.train.population.individual import Individual
from evener.train.population.inherit import inherit
from evener.train.population.state import State
from evener.train.population.training import Member, Place, train_population
from evener.train.population.weights import Weights
from evener.train.trial_rows import Rows as Rows

GoOn = Callable[[Sequence[tuple[float, ...]]], Sequence[bool]]
"""Says which networks go on, given the validation error and the costs of each."""

_CHUNK: Final = 8  # dense ones that step together: a size that does not differ by the day
_STATUS: Final = {"trained": "ok", "out_of_time": "out_of_budget"}


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A network to be scored.

    Attributes:
        network: layers or blocks.
        spread: of the weights that it begins with.
        costs: what counts beside its error where only some go on.
        parents: networks of layers whose learning it begins from, and what they have learned; none
            for weights that are drawn.
        homologies: what it has of each parent; none where layers of the same number are the same.
        start: weights that layers begin from, in place of all that; None if not.
        seed: what its chance is drawn from, in place of the seed of all and its id; None if not.
    """

    network: Network
    spread: Spread
    costs: tuple[float, ...] = ()
    parents: tuple[tuple[LayerGraph, Weights], ...] = ()
    homologies: tuple[Homology, ...] = ()
    start: Weights | None = None
    seed: int | None = None


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What all trials have in common.

    Attributes:
        epochs: passes over the training split.
        batch: rows of a step.
        learning_rate: of Adam, at its peak, for networks without a recipe.
        seed: what all chance is drawn from, with a network's id.
        rungs: epochs after which only some go on.
        device: that computes, such as "cpu" or "cuda".
        shift: by how many places pictures are moved in each pass, at most.
        mirror: whether left and right of a picture may change places.
        dropout: probability with which a hidden unit of layers is left out of a step.
        class_weight: whether rare classes, or labels, count as much as common ones.
        rows: of the training split that all learn from, drawn once; None for all of them.
    """

    epochs: int
    batch: int
    learning_rate: float
    seed: int
    rungs: tuple[int, ...] = ()
    device: str = "cpu"
    shift: int = 0
    mirror: bool = False
    dropout: float = 0.0
    class_weight: ClassWeight = "none"
    rows: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """What a trial came to.

    Attributes:
        score: of the network.
        learned: the weights that it ended with; None where it has no quality, or of blocks.
        difference: between answers to the validation rows and what was wanted, see `Evaluation`;
            infinite where it has no quality.
    """

    score: Score
    learned: Weights | None = None
    difference: float = inf


def score_rows(
    rows: Rows, terms: Terms, go_on: GoOn | None, deadline: float | None, trials: Sequence[Trial]
) -> list[Tried]:
    """Score networks in a process of its own; see `try_together`.

    Args:
        rows: where it gets them from.
        terms: of the trials.
        go_on: decides at each rung.
        deadline: in seconds since 1970, which all processes agree on.
        trials: the networks.

    Raises:
        InputError: the rows cannot be loaded, or changed; there is no such device.
    """
    if terms.device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"search.device = '{terms.device}', and torch {torch.__version__} finds no such device "
            'on this machine: write "cpu", or install a torch that was built for it'
        )
    return try_together(trials, rows.dataset(), terms, go_on=go_on, deadline=deadline)


def score_together(
    trials: Sequence[Trial],
    dataset: Dataset,
    terms: Terms,
    *,
    go_on: GoOn | None = None,
    deadline: float | None = None,
    clock: Callable[[], float] = time.time,
) -> list[Score]:
    """Return the scores that `try_together` finds, in order."""
    tried = try_together(trials, dataset, terms, go_on=go_on, deadline=deadline, clock=clock)
    return [one.score for one in tried]


def try_together(
    trials: Sequence[Trial],
    dataset: Dataset,
    terms: Terms,
    *,
    go_on: GoOn | None = None,
    deadline: float | None = None,
    clock: Callable[[], float] = time.time,
) -> list[Tried]:
    """Train networks on the training split and score them on the validation split.

    Args:
        trials: the networks.
        dataset: what they learn; the test split is not looked at.
        terms: how.
        go_on: decides at each rung.
        deadline: when, by the clock, training ends, to within a step of a few networks; None for
            never.
        clock: seconds.

    Returns:
        What each came to, in order. What fails is a score with a status, and changes no other.
    """
    late = partial(_late, deadline, clock)
    try:
        return _scored(trials, dataset, terms, go_on, late)
    except Exception as error:  # noqa: BLE001 - the contract: a failure is a score
        if len(trials) > 1:  # the others are not at fault
            return [
                tried
                for trial in trials
                for tried in try_together(
                    [trial], dataset, terms, go_on=go_on, deadline=deadline, clock=clock
                )
            ]
        message = str(error) or type(error).__name__
        return [
            Tried(Score(id=trial.network.id, status="failed", message=message)) for trial in trials
        ]


def own_seed(seed: int, id_: str) -> int:
    """Return the seed of one network: a function of the search's and of its id.

    Example:
        >>> own_seed(0, "ab12") == own_seed(0, "ab12") != own_seed(1, "ab12")
        True
    """
    return int(np.random.SeedSequence([seed, int(id_, 16)]).generate_state(1)[0])


def _late(deadline: float | None, clock: Callable[[], float]) -> bool:
    return deadline is not None and clock() >= deadline


def _scored(
    trials: Sequence[Trial],
    dataset: Dataset,
    terms: Terms,
    go_on: GoOn | None,
    late: Callable[[], bool],
) -> list[Tried]:
    ends, task = ends_of(dataset), dataset.task
    individuals = [_individual(trial, ends, terms) for trial in trials]
    features, targets_RO = dataset.examples("train")
    mean, scale = _standardisation(trials, features, ends, dataset.words)
    scaling = target_scaling(targets_RO)
    wanted = (targets_RO - scaling[0]) / scaling[1] if task == "numbers" else targets_RO
    learned = _drawn(len(features), terms)
    answers = torch.from_numpy(wanted[learned].astype(np.float32))
    # The loss is that of the final training. Noise on the inputs is left to that: drawn for each
    # network by its own seed, as all chance here is (`evener.train.draw.input_noise`), it took
    # twice as long as the training of eight small networks of the digits.
    lesson = Lesson(
        torch.from_numpy((features[learned] - mean) * scale),
        smoothed(answers) if task == "classes" else answers,
    )
    seen, expected_RO = dataset.examples("validation")
    inputs = torch.from_numpy((seen - mean) * scale)
    evaluator = Evaluator(individuals, task, inputs, expected_RO, scaling, terms.device)

    def goes_on(which: Sequence[int], states: Sequence[State]) -> Sequence[bool]:
        errors = [1 - one.quality for one in evaluator.qualities(which, states)]
        told = [(error, *trials[index].costs) for error, index in zip(errors, which, strict=True)]
        return [True] * len(which) if go_on is None else go_on(told)

    course = Course(
        epochs=terms.epochs,
        batch=terms.batch,
        loss=LOSS[task],
        schedule="one-cycle",
        augmentation=augmentation_of(terms, dataset),
        importance=_importance(task, targets_RO, terms.class_weight),
    )
    with one_thread():
        states = train_population(
            individuals,
            lesson,
            course,
            starts=[
                _begun(trial, one, ends, terms)
                for trial, one in zip(trials, individuals, strict=True)
            ],
            rungs=terms.rungs,
            goes_on=goes_on if terms.rungs else None,
            out_of_time=late,
            place=Place(device=terms.device, chunk=_chunk(trials, terms)),
        )
        good = [index for index, one in enumerate(states) if one.status in ("trained", "stopped")]
        found = evaluator.qualities(good, [states[index] for index in good])
    qualities = dict(zip(good, found, strict=True))
    return [
        _tried(trial, ends, states[index], qualities.get(index))
        for index, trial in enumerate(trials)
    ]


def _importance(
    task: Task, targets_RO: NDArray[np.float32], class_weight: ClassWeight
) -> tuple[float, ...] | None:
    """Return how much each class, or label, counts, as in the training of the final network."""
    if class_weight == "none" or task == "numbers":
        return None
    return tuple(importance(task, targets_RO, class_weight).tolist())


def _drawn(count: int, terms: Terms) -> slice | NDArray[np.int64]:
    """Return which training rows all networks learn from, in ascending order."""
    if terms.rows is None or terms.rows >= count:
        return slice(None)
    rng = np.random.default_rng([terms.seed, count])
    return np.sort(rng.choice(count, terms.rows, replace=False))


def _chunk(trials: Sequence[Trial], terms: Terms) -> int | None:
    """Return how many step together, so that all comes to the same on every day.

    Convolutions on cores are about as quick one by one, and are then the same to the bit.
    """
    if not isinstance(trials[0].network, ConvStack):
        return _CHUNK
    return 1 if terms.device == "cpu" else _CHUNK


def _standardisation(
    trials: Sequence[Trial], features: NDArray[np.float32], ends: Ends, words: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what the final training of such networks standardises by."""
    if len({isinstance(one.network, ConvStack) for one in trials}) > 1:
        raise InputError("blocks and layers standardise rows in two ways: score them apart")
    return standardisation_for(trials[0].network, features, ends.picture, words)


def _individual(trial: Trial, ends: Ends, terms: Terms) -> Member:
    network = trial.network
    if isinstance(network, Architecture):
        raise InputError(f"{network}: a population is of graphs of layers, or of blocks")
    return member_of(
        network,
        ends,
        seed=own_seed(terms.seed, network.id) if trial.seed is None else trial.seed,
        recipe=Recipe(optimiser="adam", learning_rate=terms.learning_rate),
        spread=trial.spread,
        dropout=terms.dropout,
    )


def _begun(trial: Trial, member: Member, ends: Ends, terms: Terms) -> Weights | None:
    """Return what a network begins from, if its seed alone does not say; None if it does."""
    if trial.start is not None:
        return trial.start
    if not isinstance(member, Individual):
        return None
    masks = masks_of(topology_of(trial.network), member.widths)
    parents = [
        (_individual(Trial(network=graph, spread=trial.spread), ends, terms), graph, learned)
        for graph, learned in trial.parents
    ]
    layers = [
        (one, replace(learned, masks=masks_of(graph.divided, one.widths)))
        for one, graph, learned in parents
        if isinstance(one, Individual)
    ]
    if layers:
        return inherit(member, layers, trial.homologies, masks=masks)
    return draw_divided(member, masks) if masks else None


def _tried(trial: Trial, ends: Ends, state: State, found: Evaluation | None) -> Tried:
    score = _score(trial, ends, state, found)
    if found is None or score.quality is None:
        return Tried(score)
    learned = state.weights if isinstance(trial.network, LayerGraph) else None
    return Tried(score, learned, found.difference)


def _score(trial: Trial, ends: Ends, state: State, found: Evaluation | None) -> Score:
    network = trial.network
    score = Score(
        id=network.id,
        macs=macs(network, ends),
        weights=weights(network, ends),
        epochs=state.epochs,
        message=state.message,
    )
    if found is None:
        status = _STATUS.get(state.status, state.status)
        return msgspec.structs.replace(score, status=status)
    if not isfinite(found.quality):
        message = "its answers to the validation rows are no finite numbers"
        return msgspec.structs.replace(score, status="diverged", message=message)
    return msgspec.structs.replace(
        score,
        status="stopped" if state.status == "stopped" else "ok",
        quality=found.quality,
        quality_error=found.error,
    )
