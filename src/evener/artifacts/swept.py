"""What networks came to that differ in who sees whom: a sweep, and the one that it recommends."""

import msgspec

from evener.artifacts.topology import Topology


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mean over seeds, and how far the true one may be from it.

    Attributes:
        mean: of the seeds.
        half_width: of the interval that holds the true mean with 95 % confidence, by Student's t;
            None with one seed.
    """

    mean: float
    half_width: float | None = None

    def __str__(self) -> str:
        """Write both."""
        return f"{self.mean:.4f}" + ("" if self.half_width is None else f" ± {self.half_width:.4f}")

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.mean + (self.half_width or 0.0)


class Swept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one network came to.

    Attributes:
        widths: neurons of each layer, the input first.
        topology: which neurons see which.
        seeds: how many times it was trained.
        weights: it has, biases left out.
        bytes_per_row: what all shards receive for one row, forward and back, a shard a rank.
        train_loss: mean over the rows it learned from, at the end.
        test_loss: the same over the others.
        train_accuracy: share of rows whose largest answer is the wanted one; None if the network
            does not end in a softmax.
        test_accuracy: the same over the others.
        iteration_s: median time of an iteration on the ranks that trained it.
        epoch_s: time of a pass over the rows there.
        communication_share: of that time, in messages between those ranks, on the one that spends
            most there.
        equal_weights: whether its hidden layers were made so wide, or so narrow, that it has about
            as many weights as others.
    """

    widths: tuple[int, ...]
    topology: Topology
    seeds: int
    weights: int
    bytes_per_row: int
    train_loss: Interval
    test_loss: Interval
    train_accuracy: Interval | None
    test_accuracy: Interval | None
    iteration_s: float
    epoch_s: float
    communication_share: float = 0.0
    equal_weights: bool = False

    @property
    def merit(self) -> Interval:
        """How good it is on rows that it did not learn from: accuracy, else the loss below 0."""
        if self.test_accuracy is not None:
            return self.test_accuracy
        return Interval(-self.test_loss.mean, self.test_loss.half_width)


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Networks that differ in what was swept, trained alike.

    Attributes:
        settings: what was swept, as the user said it.
        data: what they learned from.
        train_rows: how many rows that were.
        test_rows: by how many others they are judged.
        batch: rows of an iteration.
        iterations: of each training.
        ranks: that trained each network.
        points: what each came to, in the order asked for; those of equal weights behind.
        best: index of the best mean.
        recommended: index of the cheapest that is as good, as far as the seeds can tell.
        reason: why, in a sentence.
    """

    settings: tuple[str, ...]
    data: str
    train_rows: int
    test_rows: int
    batch: int
    iterations: int
    ranks: int
    points: tuple[Swept, ...]
    best: int
    recommended: int
    reason: str
