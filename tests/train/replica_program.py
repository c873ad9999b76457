"""What each rank of `test_replicas.py` does: train by replicas, stop, and go on with fewer."""

import json
import sys
from pathlib import Path

import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.join import joined
from evener.train.loop import one_thread
from evener.train.network import Network
from evener.train.recipe import Recipe

RECIPE = Recipe(epochs=3, batch=8, optimiser="adamw", learning_rate=0.01, dropout=0.2, clip=0.5)
EPOCH = 4  # steps


class StoppedError(Exception):
    """Ends a training in the middle."""


def network(ranks: Communicator, replicas: int, halo: int | None) -> Network:
    """Make a network and give it rows; of the 30, the last batch of a pass has fewer."""
    made = Network(
        topology=Topology(shards=4, halo="full" if halo is None else halo),
        seed=5,
        communicator=ranks,
        replicas=replicas,
        dtype=torch.float64,
    )
    made.add_layer("input", 6).add_layer("hidden", 20, activation="tanh")
    made.add_layer("hidden", 16).add_layer("output", 8, activation="identity")
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(30, 14, generator=generator, dtype=torch.float64).numpy()
    return made.load(rows[:, :6], rows[:, 6:])


def stop_early(made: Network, folder: Path) -> None:
    """Train for an epoch and a step; the checkpoint of the epoch stays."""

    def see(progress: object) -> None:
        if getattr(progress, "step", 0) > EPOCH:
            raise StoppedError

    try:
        made.fit(RECIPE, checkpoints=folder, on_progress=see)
    except StoppedError:
        return
    raise AssertionError("the training came to its end")


def largest_difference(ours: Network, plain: Network) -> float:
    """Return how far answers are apart, which follow from all weights."""
    rows = torch.linspace(-2, 2, 60, dtype=torch.float64).reshape(10, 6).numpy()
    return float(abs(ours.predict(rows) - plain.predict(rows)).max())


def main(folder: Path) -> None:
    """Print the differences on the first rank, by what was done on four."""
    told: dict[str, float] = {}
    with joined() as world, one_thread():
        halves, but_one = world.split(world.rank // 2), world.split(world.rank // 3)
        for halo in (None, 2):
            plain = network(Alone(), 1, halo)
            expected = plain.fit(RECIPE)
            for ranks, replicas in ((halves, 2), (world, 2), (world, 4)):
                ours = network(ranks, replicas, halo)
                loss = ours.fit(RECIPE)
                name = f"halo {halo}, {ranks.size} ranks, {replicas} replicas"
                told[name] = max(largest_difference(ours, plain), abs(loss - expected))
            kept = folder / str(halo)
            stop_early(network(world, 2, halo), kept)
            if but_one.size == 3:  # the fourth is lost
                resumed = network(but_one, 1, halo)
                resumed.fit(RECIPE, checkpoints=kept)
                told[f"halo {halo}, resumed"] = largest_difference(resumed, plain)
            world.barrier()
        if world.rank == 0:
            sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
