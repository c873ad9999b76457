"""Let instances of each layer compete for their place in one network: layer-wise competition.

Several networks of one shape are kept, and what one of them has as a layer is an instance of that
layer. Each is judged by the networks it is plugged into, all other layers fixed (cooperative
co-evolution: Potter and De Jong, "A cooperative coevolutionary approach to function optimization",
1994). A sweep goes through the layers once: each of a layer's instances takes its place in the
champion, all in one batch, and the best one stays there. Between sweeps the networks are trained
for a while, and the one whose layers deserve least makes room for the champion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError

LayerT = TypeVar("LayerT")
LayerT_contra = TypeVar("LayerT_contra", contravariant=True)
Net = tuple[LayerT, ...]
"""The layers of a network, in order."""
Credit = Literal["best", "mean", "leave-one-out"]
Floats = NDArray[np.float64]

CREDITS: Final[tuple[Credit, ...]] = ("best", "mean", "leave-one-out")


class Errors(Protocol[LayerT_contra]):
    """Find out how large the error F of some networks is."""

    def __call__(self, batch: Sequence[tuple[LayerT_contra, ...]]) -> Sequence[float]:
        """Return F of each network, less is better; infinity where it cannot be computed."""
        ...


class Training(Protocol[LayerT]):
    """Train some networks for a while."""

    def __call__(self, batch: Sequence[Net[LayerT]], *, block: int) -> Sequence[Net[LayerT]]:
        """Return the networks with other weights, in order.

        Args:
            batch: the networks.
            block: number of the training, from 0, for what is drawn anew each time.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Sweep(Generic[LayerT]):
    """What one competition of all layers came to.

    Attributes:
        champion: the best network.
        error: its F.
        winners: which instance each layer of it is, by the number of its network.
        credits: what each instance deserves, less is better, (layers, instances).
        evaluations: how many networks were evaluated.
    """

    champion: Net[LayerT]
    error: float
    winners: tuple[int, ...]
    credits: Floats
    evaluations: int


@dataclass(frozen=True, slots=True, eq=False)
class Competed(Generic[LayerT]):
    """What became of some networks.

    Attributes:
        champion: the best network that was ever evaluated.
        error: its F.
        begun: F of the best network that it began with.
        sweeps: what each sweep came to, in order.
    """

    champion: Net[LayerT]
    error: float
    begun: float
    sweeps: tuple[Sweep[LayerT], ...]

    @property
    def evaluations(self) -> int:
        """How many networks were evaluated."""
        return sum(one.evaluations for one in self.sweeps)


def compete(
    networks: Sequence[Net[LayerT]],
    errors_of: Errors[LayerT],
    *,
    train: Training[LayerT] | None = None,
    blocks: int = 1,
    credit: Credit = "best",
) -> Competed[LayerT]:
    """Sweep over the layers of some networks, train them, and sweep again.

    Args:
        networks: two or more, as many layers in each; any two instances of a layer can take each
            other's place.
        errors_of: evaluates networks, all of a batch together.
        train: what happens between sweeps; nothing if None.
        blocks: how many sweeps.
        credit: how an instance is judged, see `sweep`.

    Returns:
        The best network ever evaluated, which is never worse than the best it began with.

    Raises:
        InputError: fewer than two networks, none with layers, or of several depths; no sweep.

    Example:
        Each network knows two of three numbers, and the champion all of them:

        >>> networks = [(1, 2, 0), (0, 2, 3), (1, 0, 3)]
        >>> errors = lambda batch: [abs(a - 1) + abs(b - 2) + abs(c - 3) for a, b, c in batch]
        >>> found = compete(networks, errors)
        >>> found.champion, found.begun, found.error
        ((1, 2, 3), 1.0, 0.0)
    """
    _check(networks, blocks, credit)
    rows = list(networks)
    sweeps: list[Sweep[LayerT]] = []
    for block in range(blocks):
        if block and train is not None:
            rows = list(train(rows, block=block - 1))
        known = [float(one) for one in errors_of(rows)]
        if not block:
            begun = min(known)
        found = sweep(rows, known, errors_of, credit=credit)
        sweeps.append(found)
        rows[_least_deserving(found.credits)] = found.champion
    best = min(sweeps, key=lambda one: one.error)
    return Competed(best.champion, best.error, begun, tuple(sweeps))


def sweep(
    networks: Sequence[Net[LayerT]],
    known: Sequence[float],
    errors_of: Errors[LayerT],
    *,
    credit: Credit = "best",
) -> Sweep[LayerT]:
    """Let the instances of each layer compete once, from the first layer to the last.

    At last the network of the instances that deserve most is tried too.

    Args:
        networks: two or more of one shape.
        known: F of each.
        errors_of: evaluates networks.
        credit: an instance deserves the "best" or the "mean" F of the networks that it was plugged
            into; or "leave-one-out", by how much F falls when it takes the place of the others.
    """
    count, depth = len(networks), len(networks[0])
    start = int(np.argmin(known))
    champion, error = networks[start], known[start]
    winners = [start] * depth
    table = np.empty((depth, count))  # F with each instance in the champion of its turn
    for layer in range(depth):
        swaps = [_with(champion, layer, network[layer]) for network in networks]
        others = [index for index in range(count) if index != winners[layer]]
        errors = np.full(count, error, np.float64)
        errors[others] = errors_of([swaps[index] for index in others])
        table[layer] = errors
        best = int(errors.argmin())
        if errors[best] < error:
            champion, error, winners[layer] = swaps[best], float(errors[best]), best
    credits_ = _credits(table, np.array(known, np.float64), credit)
    deserving = credits_.argmin(axis=1).tolist()
    elected = tuple(networks[index][layer] for layer, index in enumerate(deserving))
    (elected_error,) = errors_of([elected])
    if elected_error < error:
        champion, error, winners = elected, float(elected_error), deserving
    evaluations = count + depth * (count - 1) + 1
    return Sweep(champion, error, tuple(winners), credits_, evaluations)


def _with(network: Net[LayerT], layer: int, instance: LayerT) -> Net[LayerT]:
    return (*network[:layer], instance, *network[layer + 1 :])


def _credits(table: Floats, known: Floats, credit: Credit) -> Floats:
    """Return what each instance deserves: of its network, and of the champion with it."""
    if credit == "best":
        return np.minimum(table, known)
    if credit == "mean":
        return (table + known) / 2
    places = range(table.shape[1])
    without = np.stack([np.delete(table, one, axis=1).mean(axis=1) for one in places], axis=1)
    gained = np.full_like(table, np.inf)  # what cannot be computed deserves nothing
    np.subtract(table, without, out=gained, where=np.isfinite(table))
    return gained


def _least_deserving(credits_: Floats) -> int:
    """Return the network whose instances come last on average, of equals the later one."""
    places = credits_.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable").mean(axis=0)
    return len(places) - 1 - int(places[::-1].argmax())


def _check(networks: Sequence[Net[LayerT]], blocks: int, credit: Credit) -> None:
    depths = sorted({len(network) for network in networks})
    if len(networks) < 2 or len(depths) != 1 or not depths[0]:
        raise InputError(
            f"{len(networks)} networks of {depths} layers: give two or more, each with as many "
            "layers, and one at least"
        )
    if blocks < 1:
        raise InputError(f"{blocks} sweeps: give 1 or more")
    if credit not in CREDITS:
        raise InputError(f"'{credit}' is no way to give credit; choose {', '.join(CREDITS)}")
