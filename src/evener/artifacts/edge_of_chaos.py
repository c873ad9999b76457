"""What starting at the edge of chaos came to: where λ is critical, and what it is good for."""

import msgspec

from evener.artifacts.swept import Interval


class Walk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where random networks are critical, by theory and as measured.

    Attributes:
        activation: of their layers.
        weight_variance: σ_w².
        bias_variance: σ_b².
        theory: λ_c by mean-field theory.
        measured: the same in real random networks.
        chi: density and χ₁, as measured.
    """

    activation: str
    weight_variance: float
    bias_variance: float
    theory: float
    measured: Interval
    chi: tuple[tuple[float, float], ...]


class Course(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How networks learn that start in one domain: the paper's figure 2.

    Attributes:
        domain: "ordered", "critical", "chaotic" or "random".
        depth: hidden layers.
        seeds: how many networks.
        learning_rate: the best of a few for this domain and depth, by the rows learned from.
        epochs: after which they were looked at.
        loss: on the rows learned from, after each.
        accuracy: on other rows, at the end.
        diverged: how many of them ended with no number; they count with the loss of guessing.
        gradient: logarithm to base ten of the first layer's gradient over the last one's, at the
            start.
    """

    domain: str
    depth: int
    seeds: int
    learning_rate: float
    epochs: tuple[int, ...]
    loss: tuple[Interval, ...]
    accuracy: Interval
    diverged: int
    gradient: Interval


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of hyperparameters that was probed.

    Attributes:
        data: what networks learned.
        hyperparameters: their names.
        steps: of the probe.
        quiescent: how many states nothing happened in.
        active: how many learned, or forgot.
        divergent: how many left all bounds.
        boxes: λ, and the mean share of the loss that was gone, from the quiescent corner on.
        critical: λ of the box that learned most.
        best: the state that learned most.
    """

    data: str
    hyperparameters: tuple[str, ...]
    steps: int
    quiescent: int
    active: int
    divergent: int
    boxes: tuple[tuple[float, float], ...]
    critical: float
    best: tuple[float, ...]


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far hyperparameters are from the best state: the paper's figures 5 and 6.

    Attributes:
        domain: where the variants started.
        iterations: of evolution between start and end.
        start: absolute deviation of each hyperparameter, as a share of its range.
        after: the same at the end.
        variants: of one run, the signed deviations at the start and at the end.
        spread_start: of the variants from one another: mean standard deviation.
        spread_after: the same at the end; where it is 0, nothing moves any more but by mutation.
    """

    domain: str
    iterations: int
    start: tuple[Interval, ...]
    after: tuple[Interval, ...]
    variants: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    spread_start: Interval
    spread_after: Interval


class EdgeOfChaos(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was found.

    Attributes:
        paper: the λ_c that the paper prints, by kind of data.
        walks: of connectivity.
        courses: of training, by depth and domain.
        tables: of hyperparameters.
        deviations: of hyperparameters, by domain.
        verdicts: what it comes to, null results included, a sentence each.
    """

    paper: dict[str, float]
    walks: tuple[Walk, ...]
    courses: tuple[Course, ...]
    tables: tuple[Table, ...]
    deviations: tuple[Deviation, ...]
    verdicts: tuple[str, ...]
