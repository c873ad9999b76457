"""Write what was found of the sweet spot, as sections of a page."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from sections import Section, Table

from evener.artifacts.swept import Interval, Swept
from evener.artifacts.topology import Topology
from evener.report.curves import Curve, Mark, curves
from evener.train.recipe import Recipe
from evener.train.sweet_spot import advise
from evener.units import show

TITLE: Final = "Where the sweet spot is"
LEGEND: Final = (
    "A shard sees so many neurons of either neighbour as the halo says; full is a dense network. "
    "Accuracy and loss are means over the seeds, with the interval that holds the true mean with "
    "95 % confidence. Bytes are what all shards receive for a row, forward and back, if each is a "
    "rank of its own: that follows from the network. Time is that of a step, all shards on one "
    "core: it is the price of weights, not of messages. Networks are trained alike, by plain "
    "gradient descent, so as to be compared; none is tuned."
)
IN_PARTS: Final = "digits, input in parts"  # studies of it differ in what shards see besides
TOGETHER: Final = (
    "Each shard is given its part of the digits only, so that what it sees of others is all it has "
    "of the rest. A line is a study below; farther up and to the left is better."
)
LARGE_LEARN: Final = (
    "The paper found no data to which its large networks could be fitted, and used dummy data. "
    "Here they get pictures of 2,048 pixels, two digits side by side with much noise, and are to "
    "give them back without. The error is the mean squared one of a pixel, on pictures of digits "
    "that they never saw. Pairs and noise are drawn anew for each step, and the mean picture is "
    "taken from all: so a network that answers nothing errs as one that answers the mean."
)


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """Networks that differ in one thing.

    Attributes:
        name: what differs.
        data: what they learn.
        recipe: how they are trained.
        found: what each came to.
    """

    name: str
    data: str
    recipe: Recipe
    found: list[Swept]


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """How well M or L takes noise away.

    Attributes:
        model: which.
        topology: of the network.
        weights: that it has.
        batch: rows of a step.
        learning_rate: of every step, the best of a few.
        looks: iterations, and the error on pictures that it did not learn from.
        mean_answer: error of whoever answers the mean picture.
        noisy_answer: error of the pictures as they are given.
        step_s: median time of a step.
    """

    model: str
    topology: Topology
    weights: int
    batch: int
    learning_rate: float
    looks: list[tuple[int, float]]
    mean_answer: float
    noisy_answer: float
    step_s: float


def sections(
    studies: Sequence[Study],
    learned: Sequence[Learned],
    missing: Sequence[str],
    about: Mapping[str, object],
) -> list[Section]:
    """Say everything that was found.

    Args:
        studies: of small networks.
        learned: of M.
        missing: what there is nothing of, and why.
        about: command, date, commit and machine.
    """
    made = [
        Section(
            TITLE, ["; ".join(f"{name}: {_inline(one)}" for name, one in about.items()), LEGEND]
        )
    ]
    parts = [one for one in studies if one.name.startswith(IN_PARTS)]
    if len(parts) > 1:
        made.append(_together(parts))
    made += [_study(number, one) for number, one in enumerate(studies)]
    if learned:
        made.append(_learned(learned))
    if missing:
        made.append(Section("What is missing", [f"- {one}" for one in missing]))
    return made


def _together(studies: Sequence[Study]) -> Section:
    """Show the networks of several studies by what they exchange."""
    every = [one for study in studies for one in study.found]
    drawn = [
        Curve(
            study.name.removeprefix(IN_PARTS).lstrip(", ") or "halo",
            [
                Mark(max(one.bytes_per_row, 1), *_pair(share))
                for one in sorted(study.found, key=lambda one: one.bytes_per_row)
                for share in [one.test_accuracy or one.test_loss]
            ],
        )
        for study in studies
    ]
    chart = curves(
        "together",
        drawn,
        title="Accuracy by bytes: digits, input in parts",
        x_axis="bytes for a row (1: none)",
        y_axis="accuracy on test rows",
        y_scale="linear",
    )
    said = f"Of all of them recommended: {advise(every).reason}."
    return Section("The sweet spot of the digits", [TOGETHER, said], (), [chart])


def _study(number: int, study: Study) -> Section:
    head = ["network", "weights", "bytes for a row", "time of a step", "test accuracy"]
    head += ["train accuracy", "test loss", "train loss"]
    rows = [
        [
            f"{'-'.join(map(str, one.widths))}, {one.topology}",
            f"{one.weights:,}",
            f"{one.bytes_per_row:,}",
            show(one.iteration_s, "time"),
            *(_share(share) for share in (one.test_accuracy, one.train_accuracy)),
            *(str(loss) for loss in (one.test_loss, one.train_loss)),
        ]
        for one in study.found
    ]
    recipe = study.recipe
    manner = (
        f"{study.data}; {recipe.epochs} epochs, batches of {recipe.batch}, learning rate "
        f"{recipe.learning_rate:g}."
    )
    letter = chr(ord("a") + number)
    swept = {one.topology.shards for one in study.found}
    by_shards = len(swept) > 1
    said = (
        _over_fitting(study.found) if by_shards else f"Recommended: {advise(study.found).reason}."
    )
    if by_shards:
        drawn = [
            Curve(name, [Mark(one.topology.shards, *_pair(loss)) for one, loss in losses])
            for name, losses in (
                ("test", [(one, one.test_loss) for one in study.found]),
                ("train", [(one, one.train_loss) for one in study.found]),
            )
        ]
        x_axis, y_axis = "shards", "loss"
    else:
        points = [(one, one.test_accuracy) for one in study.found if one.test_accuracy is not None]
        drawn = [
            Curve(
                "accuracy",
                [Mark(max(one.bytes_per_row, 1), *_pair(share)) for one, share in points],
            )
        ]
        x_axis, y_axis = "bytes for a row (1: none)", "accuracy on test rows"
    chart = curves(
        f"study{letter}",
        drawn,
        title=study.name,
        x_axis=x_axis,
        y_axis=y_axis,
        y_scale="linear",
    )
    return Section(
        study.name[:1].upper() + study.name[1:], [manner, said], [Table(head, rows)], [chart]
    )


def _over_fitting(found: Sequence[Swept]) -> str:
    """Say how far test and training loss are apart with fewest and with most shards."""
    ends = [
        f"{one.topology.shards} shard{'s' * (one.topology.shards > 1)} ({one.weights:,} weights): "
        f"{one.test_loss.mean:.3f} on rows that it did not learn from, {one.train_loss.mean:.3f} "
        "on those that it did"
        for one in (found[0], found[-1])
    ]
    return (
        "The paper supposes that networks of more ranks fit their rows too closely. The loss with "
        f"{'; with '.join(ends)}."
    )


def _learned(learned: Sequence[Learned]) -> Section:
    head = ["network", "weights", "steps", "at the start", "at the end", "mean picture"]
    head += ["as given", "learning rate", "time of a step"]
    rows = [
        [
            f"{one.model}, {one.topology}",
            f"{one.weights:,}",
            f"{one.looks[-1][0]:,}",
            f"{one.looks[0][1]:.4f}",
            f"{one.looks[-1][1]:.4f}",
            f"{one.mean_answer:.4f}",
            f"{one.noisy_answer:.4f}",
            f"{one.learning_rate:g}",
            show(one.step_s, "time"),
        ]
        for one in learned
    ]
    manner = (
        f"Steps are of {learned[0].batch} rows, on all cores; the number of them is as large as "
        "time allowed. The learning rate is the best of a few after some steps, by the digits that "
        "are learned from. Whoever answers the mean picture always, or the picture as it is given, "
        "has the errors of those columns."
    )
    charts = []
    for model in dict.fromkeys(one.model for one in learned):
        mine = [one for one in learned if one.model == model]
        most = max(one.looks[-1][0] for one in mine)
        drawn = [
            Curve(
                f"halo {one.topology.halo}",
                [Mark(max(iteration, 1), error) for iteration, error in one.looks],
            )
            for one in mine
        ]
        mean = mine[0].mean_answer
        drawn.append(Curve("mean picture", [Mark(1, mean), Mark(most, mean)]))
        charts.append(
            curves(
                f"learns{model}",
                drawn,
                title=f"Error of {model} on pictures it never saw",
                x_axis="steps (1: none)",
                y_axis="squared error of a pixel",
            )
        )
    return Section("M and L learn", [LARGE_LEARN, manner], [Table(head, rows)], charts)


def _pair(of: Interval) -> tuple[float, float]:
    return of.mean, of.half_width or 0.0


def _share(of: Interval | None) -> str:
    if of is None:
        return "-"
    half = "" if of.half_width is None else f" ± {100 * of.half_width:.2f}"
    return f"{100 * of.mean:.2f}{half} %"


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)
