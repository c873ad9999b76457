"""How fast one core computes and moves memory here, and how fast ranks reach one another."""

from bisect import bisect_left
from collections.abc import Sequence
from math import exp, log
from typing import ClassVar

import msgspec

from evener.errors import InputError


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate that was measured at some size.

    Attributes:
        at: the size: bytes, or rows of a batch.
        per_s: bytes or operations per second.
    """

    at: float
    per_s: float


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a message between two ranks costs, by LogGP (Alexandrov et al., SPAA 1995).

    Attributes:
        name: what carries it.
        latency_s: one way of a small message, overhead on both sides included: L + 2o.
        gap_s: what each further message of the same rank adds: g.
        bandwidth_bytes_per_s: of a long message: 1 / G.
        measured: whether the figures were measured here; else they are somebody's word.
    """

    name: str
    latency_s: float
    gap_s: float
    bandwidth_bytes_per_s: float
    measured: bool = False

    def __post_init__(self) -> None:
        """Check that messages take time.

        Raises:
            InputError: a figure is no positive number; the gap may be 0.
        """
        if not (self.latency_s > 0 and self.gap_s >= 0 and self.bandwidth_bytes_per_s > 0):
            raise InputError(
                f"link '{self.name}': latency {self.latency_s:g} s, gap {self.gap_s:g} s, "
                f"bandwidth {self.bandwidth_bytes_per_s:g} bytes/s; latency and bandwidth are "
                "above 0, the gap is 0 or more"
            )


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `evener selfcheck` measured of one machine, for one thread a rank.

    Attributes:
        processor: name of the processor.
        updates: bytes per second of scaling an array in place, read and written ones counted, by
            the size of the array in bytes.
        reads: bytes per second of a matrix that is multiplied by a vector, by its size in bytes.
        products: floating-point operations per second of the three products of a layer, by rows of
            a batch.
        dense_layer_s: what a layer of a dense network costs beside its weights.
        sharded_layer_s: the same where its shards see only a part.
        shard_s: what each shard of a rank adds to that with one row, which is multiplied by itself.
        link: between ranks; None if no ranks were started.
    """

    kind: ClassVar[str] = "calibration"
    schema: ClassVar[int] = 1

    processor: str
    updates: tuple[Rate, ...]
    reads: tuple[Rate, ...]
    products: tuple[Rate, ...]
    dense_layer_s: float
    sharded_layer_s: float
    shard_s: float
    link: Link | None = None

    def __post_init__(self) -> None:
        """Check that there are rates, by rising sizes.

        Raises:
            InputError: a table is empty, out of order, or holds a rate of 0 or less.
        """
        for name in ("updates", "reads", "products"):
            rates: tuple[Rate, ...] = getattr(self, name)
            sizes = [rate.at for rate in rates]
            if not rates or sizes != sorted(set(sizes)) or min(rate.per_s for rate in rates) <= 0:
                raise InputError(
                    f"calibration of {self.processor}: {name} are {len(rates)} rates at {sizes}; "
                    "give one or more above 0, by rising sizes"
                )


def rate_at(rates: Sequence[Rate], size: float) -> float:
    """Return a rate at any size: between measured ones by a line in logarithms, else the nearest.

    Args:
        rates: by rising sizes.
        size: bytes, or rows of a batch, as the rates are.

    Example:
        >>> rate_at([Rate(1e3, 8e9), Rate(1e5, 2e9)], 1e4), rate_at([Rate(1e3, 8e9)], 7)
        (4000000000.0..., 8000000000.0)
    """
    sizes = [rate.at for rate in rates]
    place = bisect_left(sizes, size)
    if place == 0:
        return rates[0].per_s
    if place == len(rates):
        return rates[-1].per_s
    low, high = rates[place - 1 : place + 1]
    share = log(size / low.at) / log(high.at / low.at)
    return exp((1 - share) * log(low.per_s) + share * log(high.per_s))
