"""What a network must reach: limits on named metrics, and the verdict on measured values."""

import re
from collections.abc import Mapping
from typing import ClassVar, Final, Literal

import msgspec

from evener import units
from evener.artifacts.dataset import TASK_METRICS, Task
from evener.errors import InputError, InvalidProjectError
from evener.hints import did_you_mean


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that can be required.

    Attributes:
        dimension: what its unit measures.
        better: "<=" if less is better, ">=" if more is.
        means: one line for people.
    """

    dimension: units.Dimension
    better: Literal["<=", ">="]
    means: str


METRICS: Final[dict[str, Metric]] = {
    "accuracy": Metric(dimension="number", better=">=", means="share of test rows answered right"),
    "balanced_accuracy": Metric(
        dimension="number", better=">=", means="mean recall over the classes, on the test rows"
    ),
    "f1": Metric(
        dimension="number", better=">=", means="mean F1 over classes or labels, on the test rows"
    ),
    "auc": Metric(
        dimension="number",
        better=">=",
        means="mean area under the ROC curves of classes or labels, on the test rows",
    ),
    "log_loss": Metric(
        dimension="number",
        better="<=",
        means="mean negative logarithm of what was given for the truth, on the test rows",
    ),
    "mae": Metric(dimension="number", better="<=", means="mean absolute error on the test rows"),
    "rmse": Metric(
        dimension="number", better="<=", means="root of the mean squared error on the test rows"
    ),
    "r2": Metric(
        dimension="number",
        better=">=",
        means="share of the test rows' variance that is explained, R²",
    ),
    "latency_p50": Metric(dimension="time", better="<=", means="median time to an answer"),
    "latency_p99": Metric(
        dimension="time", better="<=", means="99th percentile of the time to an answer"
    ),
    "throughput": Metric(
        dimension="rate", better=">=", means="answers per second, by the wall clock"
    ),
    "energy": Metric(
        dimension="energy", better="<=", means="energy of an answer, the idle machine's included"
    ),
    "size": Metric(dimension="size", better="<=", means="bytes of the network's file"),
    "training_time": Metric(dimension="time", better="<=", means="time to train the network"),
}
_FEWEST_DIGITS, _MOST_DIGITS = 3, 17  # no two floats look alike with 17
_LIMIT = re.compile(r"\s*(<=|>=)\s*([^?]*?)\s*(\?)?\s*")


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A limit on one metric.

    Attributes:
        name: the metric.
        relation: "<=" or ">=".
        limit: the figure, in SI units.
        hard: whether missing it is a failure; a soft one is only reported.
    """

    name: str
    relation: Literal["<=", ">="]
    limit: float
    hard: bool = True

    def __str__(self) -> str:
        """Write it as a person would, such as "latency_p99 <= 20 ms"."""
        shown = units.show(self.limit, METRICS[self.name].dimension)
        return f"{self.name} {self.relation} {shown}{'' if self.hard else ' ?'}"


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A requirement beside what was measured.

    Attributes:
        name: the metric.
        relation: "<=" or ">=".
        limit: the figure required, in SI units.
        hard: whether missing it is a failure.
        value: the figure measured, in SI units; None if it was not.
        holds: whether the value meets the limit; False if there is no value.
    """

    name: str
    relation: Literal["<=", ">="]
    limit: float
    hard: bool
    value: float | None
    holds: bool

    @property
    def value_shown(self) -> str:
        """The value for people, with digits enough to tell it from a limit that it misses.

        Example:
            >>> limit = parse_requirement("accuracy", ">= 0.97")
            >>> judge((limit,), {"accuracy": 0.9696})[0].value_shown
            '0.9696'
        """
        dimension = METRICS[self.name].dimension
        told_apart = (
            text
            for digits in range(_FEWEST_DIGITS, _MOST_DIGITS)
            if (text := units.show(self.value, dimension, digits=digits))
            != units.show(self.limit, dimension, digits=digits)
        )
        shortest = units.show(self.value, dimension)
        return shortest if self.holds else next(told_apart, shortest)


class Verdicts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdicts on a project's requirements, as one artifact.

    Attributes:
        verdicts: one per requirement, in the order of the project file.
    """

    kind: ClassVar[str] = "verdicts"
    schema: ClassVar[int] = 1

    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool:
        """Whether every hard requirement holds."""
        return all(verdict.holds for verdict in self.verdicts if verdict.hard)


def parse_requirement(name: str, text: str) -> Requirement:
    """Read one line of a project's `[requirements]`.

    Args:
        name: the metric, one of `METRICS`.
        text: `(<=|>=) number unit? ["?"]`; the question mark makes it soft.

    Raises:
        InvalidProjectError: unknown metric, no relation or the wrong one, a wrong number or unit,
            or a share above 1.

    Example:
        >>> str(parse_requirement("latency_p99", "<= 20 ms"))
        'latency_p99 <= 20 ms'
        >>> parse_requirement("size", "<= 2 MB ?").hard
        False
    """
    key = f"requirements.{name}"
    if name not in METRICS:
        hint = did_you_mean(name, METRICS)
        raise InvalidProjectError(
            f"'{name}' is no known requirement; {hint}known ones: {', '.join(METRICS)}", key=key
        )
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise InvalidProjectError(
            f"{key} = '{text}' is no limit: write '<= 20 ms' or '>= 0.97', "
            "with a '?' behind it if it is only a wish",
            key=key,
        )
    relation, quantity, soft = match.groups()
    try:
        limit = units.parse(quantity, METRICS[name].dimension)
    except InputError as error:
        raise InvalidProjectError(f"{key}: {error}", key=key) from error
    metric = METRICS[name]
    if relation != metric.better:
        wanted = "less" if metric.better == "<=" else "more"
        raise InvalidProjectError(
            f"{key} = '{text}' asks for a worse {name}: {wanted} is better, so write "
            f"'{metric.better} {quantity}'",
            key=key,
        )
    if metric.dimension == "number" and metric.better == ">=" and limit > 1:
        raise InvalidProjectError(
            f"{key} = '{text}' can never hold, since it is a share of 1: write '>= 0.97' or "
            "'>= 97 %'",
            key=key,
        )
    return Requirement(name=name, relation=metric.better, limit=limit, hard=soft is None)


def check_metrics(requirements: tuple[Requirement, ...], task: Task) -> None:
    """Refuse a requirement on the quality of answers to another task.

    Raises:
        InvalidProjectError: names it, and what can be required instead.

    Example:
        >>> check_metrics((parse_requirement("r2", ">= 0.8"),), "numbers")
    """
    of_others = {name for names in TASK_METRICS.values() for name in names} - {*TASK_METRICS[task]}
    for one in requirements:
        if one.name in of_others:
            raise InvalidProjectError(
                f"requirements.{one.name} is nothing that answers have where the task is {task}; "
                f"require {', '.join(TASK_METRICS[task])}, or say another data.task",
                key=f"requirements.{one.name}",
            )


def judge(
    requirements: tuple[Requirement, ...], values: Mapping[str, float | None]
) -> tuple[Verdict, ...]:
    """Hold measured values against requirements.

    Args:
        requirements: the limits.
        values: the figure of each metric, SI units, None or absent where it was not measured.

    Example:
        >>> wish = parse_requirement("accuracy", ">= 0.97")
        >>> judge((wish,), {"accuracy": 0.98})[0].holds, judge((wish,), {})[0].holds
        (True, False)
    """
    verdicts = []
    for one in requirements:
        value = values.get(one.name)
        holds = value is not None and (
            value <= one.limit if one.relation == "<=" else value >= one.limit
        )
        verdicts.append(
            Verdict(
                name=one.name,
                relation=one.relation,
                limit=one.limit,
                hard=one.hard,
                value=value,
                holds=holds,
            )
        )
    return tuple(verdicts)
