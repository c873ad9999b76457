"""What a search looked at: every network with its score, and the one that was chosen."""

from collections.abc import Mapping
from statistics import fmean
from typing import ClassVar, Final, Literal

import msgspec

from evener.artifacts.data_edge import DataEdge
from evener.artifacts.networks import Network
from evener.artifacts.score import Score
from evener.units import Dimension

COSTS: Final[Mapping[str, tuple[str, Dimension]]] = {
    "macs": ("multiply-accumulates per prediction", "count"),
    "weights": ("weights", "count"),
    "period": ("time between two predictions, estimated", "time"),
    "latency": ("time per prediction, estimated", "time"),
    "energy": ("energy per prediction, estimated", "energy"),
}
"""What each cost is, for people, and what it is measured in."""
_COUNTED: Final = ("macs", "weights")  # that a score has


class Scored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network and what an evaluation found about it.

    Attributes:
        architecture: the network.
        score: its score.
        objectives: what the search makes small; none where the evaluation failed.
        generation: in which it was proposed, from 0.
        parents: ids of the networks that it was bred from; none where it was drawn.
    """

    kind: ClassVar[str] = "scored"
    schema: ClassVar[int] = 1

    architecture: Network
    score: Score
    objectives: tuple[float, ...] = ()
    generation: int = 0
    parents: tuple[str, ...] = ()


class Generation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a search had come after a generation.

    Attributes:
        evaluations: that the search had made.
        best: quality that it had reached; None before any network had one.
        random_best: quality that random search had reached with as many evaluations.
        front: how many networks none dominated.
        diversity: mean share of choices in which two of its genomes differ; None if it keeps none.
        lambda_: share of recent offspring whose network was new; None before there was any.
    """

    evaluations: int
    best: float | None
    random_best: float | None
    front: int
    diversity: float | None
    lambda_: float | None


class Retrained(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network that was trained in full, from scratch, once for each seed there was time for.

    Attributes:
        id: of the network.
        of: who found it: the search's front, random search, or nobody ("fixed").
        validation: quality on the validation split, of each seed.
        test: quality on the test split, of each seed; nothing was chosen by it.
        unpruned: quality on the validation split before units were taken out, of each seed; empty
            if none were.
    """

    id: str
    of: Literal["front", "random", "fixed"]
    validation: tuple[float, ...]
    test: tuple[float, ...]
    unpruned: tuple[float, ...] = ()

    @property
    def quality(self) -> float:
        """Mean quality on the validation split."""
        return fmean(self.validation)

    @property
    def test_quality(self) -> float:
        """Mean quality on the test split."""
        return fmean(self.test)


class SetApart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training in full that came to nothing; the search went on without it.

    Attributes:
        id: of the network.
        of: who found it.
        seed: of the training.
        message: why, for people.
    """

    id: str
    of: Literal["front", "random", "fixed"]
    seed: int
    message: str


class Beginning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where networks stood between order and chaos when their training began.

    Attributes:
        domain: "ordered", "critical", "chaotic" or "random".
        density: probability of a link in the first genomes, the connectivity's lambda.
        activation: of the layers.
        weight_variance: of a weight times the inputs of its neuron; None where each draws its own.
        chi: by how much two near rows come apart in a layer; None likewise.
    """

    domain: str
    density: float
    activation: str
    weight_variance: float | None
    chi: float | None


class Front(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every network that was scored, and which are worth having.

    Attributes:
        scored: all that the search proposed, in that order.
        front: ids of those than which no other is as small in every objective, cheapest first.
        chosen: id of the one to train.
        metric: what quality is.
        objectives: names of what the search makes small.
        random: what random search proposed with as many evaluations.
        fixed: a network that nobody searched for.
        generations: how the search went.
        retrained: networks that were trained in full, the chosen one among them.
        set_apart: trainings in full that came to nothing, and why.
        beginnings: where networks started, by activation.
        edge: where λ is critical on the data; None where nobody asked.
        warnings: of the search's settings, for people.
    """

    kind: ClassVar[str] = "front"
    schema: ClassVar[int] = 2

    scored: tuple[Scored, ...]
    front: tuple[str, ...]
    chosen: str
    metric: str = "accuracy"
    objectives: tuple[str, ...] = ("error", "macs")
    random: tuple[Scored, ...] = ()
    fixed: Scored | None = None
    generations: tuple[Generation, ...] = ()
    retrained: tuple[Retrained, ...] = ()
    set_apart: tuple[SetApart, ...] = ()
    beginnings: tuple[Beginning, ...] = ()
    edge: DataEdge | None = None
    warnings: tuple[str, ...] = ()

    @property
    def costs(self) -> tuple[str, ...]:
        """Names of what is made small beside the error."""
        return self.objectives[1:]

    @property
    def planned(self) -> tuple[str, ...]:
        """Those of them that are of a network's plan, which no score has."""
        return tuple(one for one in self.costs if one not in _COUNTED)

    def cost_of(self, one: Scored, cost: str) -> float | None:
        """Return a cost of a network that the search proposed; None where nobody knows it.

        Args:
            one: the network.
            cost: of `costs`.
        """
        if cost in _COUNTED:
            return float(getattr(one.score, cost))
        return one.objectives[self.objectives.index(cost)] if one.objectives else None

    @property
    def architecture(self) -> Network:
        """The chosen network."""
        return next(one.architecture for one in self.scored if one.architecture.id == self.chosen)

    def retrained_of(self, id_: str) -> Retrained | None:
        """Return what training a network of the front in full came to; None if it was not."""
        return next((one for one in self.retrained if (one.id, one.of) == (id_, "front")), None)
