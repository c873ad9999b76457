"""Where is the sweet spot between a network that sees little of itself and a dense one?

Usage: python benchmarks/sweet_spot.py [--quick] [--fresh] [--minutes 7] [--seeds 5]
       [--iterations 200] [--seconds 30] [-o benchmarks/results/sweet_spot]

Writes OUT.md, OUT.html (with charts) and OUT.json: accuracy on rows that were not learned from,
with its interval over seeds, against weights, bytes between shards and time; for halos from none to
everything, with the input given to every shard or in parts, with features in their order or mixed,
with shuffled neurons, with coarse values, and at equal weights. Then shards from 1 to 64 with one
halo, training and test loss: whether networks that see little fit too closely. Then whether the
paper's networks M and L learn anything at all: to take away the noise that was put on pairs of
digits; M for so many iterations, L for as many as there are seconds.

Data are the digits of scikit-learn; MNIST and Fashion-MNIST are used where the folder named by
EVENER_TEST_DATA holds `mnist/mnist.npz` and `fashion-mnist/fashion-mnist.npz`. As many networks are
trained side by side as there are cores, each on one. Pieces are kept like those of `scaling.py`.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final, Literal

import msgspec
import numpy as np
import sweet_spot_page as page
import torch
from pieces import Pieces
from record import circumstances, exit_with, write_record
from sections import html, markdown
from sweet_spot_page import Learned, Study

from evener.artifacts.files import digest, file_sha256, write_whole
from evener.artifacts.topology import Halo, Topology
from evener.comm.alone import Alone
from evener.data.digits import read_digits
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import count_weights
from evener.train.sweep import Cell, Held, Rows, seeded, summed_up, train_cell
from evener.train.sweep_axes import widened
from evener.workflow.steps import code_version

Model = Literal["M", "L"]
HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "sweet_spot"
HALOS: Final[tuple[Halo, ...]] = (0, 1, 2, 4, 8, 16, "full")
SHARDS: Final = (1, 2, 4, 8, 16, 32, 64)
SPLIT_SEED: Final = 20_26
DIGITS: Final = Recipe(epochs=40, batch=32, learning_rate=0.1)
PICTURES: Final = Recipe(epochs=6, batch=64, learning_rate=0.1)
PICTURE_ROWS: Final = 10_000
M: Final = (2048, 4096, 4096, 4096, 2048)
NOISE: Final = 0.5  # standard deviation; pixels are between 0 and 1
M_BATCH: Final = 32
M_RATES: Final = (0.1, 0.03, 0.01, 0.003, 0.001)
L: Final = (2048, 32768, 8192, 4096, 2048)
TRIAL: Final = {"M": 12, "L": 3}  # steps by which a rate is chosen
M_LOOKS: Final = 10
_SOURCES: Final = ("sweet_spot.py", "sweet_spot_page.py")
_PACKAGES: Final = ("artifacts", "comm", "train")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make every piece that there is time for, and write what was found."""
    options = read_options(arguments)
    code = digest([code_version(*_PACKAGES), *(file_sha256(HERE / name) for name in _SOURCES)])
    pieces = Pieces(
        options.kept, time.monotonic() + 60 * options.minutes, fresh=options.fresh, code=code
    )
    learned: list[Learned] = []
    if options.quick:
        pieces.missing.append("whether M and L learn: left out by --quick")
    else:
        learned += large("M", pieces, options)
    with side_by_side(options.cores) as over:
        studies = [
            piece
            for name, make in make_studies(options.seeds, quick=options.quick).items()
            for piece in [pieces.get(name, Study, partial(make, over), seeds=options.seeds)]
            if piece is not None
        ]
    if not options.quick:
        learned += large("L", pieces, options)
    parts = page.sections(studies, learned, pieces.missing, circumstances())
    write_record(
        options.out.with_suffix(".json"),
        {"studies": studies, "learned": learned, "missing": pieces.missing},
    )
    write_whole(options.out.with_suffix(".md"), markdown(parts).encode())
    write_whole(options.out.with_suffix(".html"), html(parts).encode())
    print(f"wrote {options.out}.md, .html and .json; missing: {pieces.missing or 'nothing'}")
    return int(pieces.out_of_time)


@contextmanager
def side_by_side(cores: int) -> Iterator[Callable[..., Iterable[Cell]]]:
    """Yield what calls a function with each of some arguments, on so many cores at once."""
    if cores == 1:
        yield map
        return
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        yield pool.map


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="the halos of the digits only")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--minutes", type=float, default=7.0, help="begin no piece later")
    add("--seeds", type=int, default=5, help="of each network")
    add("--cores", type=int, default=len(os.sched_getaffinity(0)), help="networks side by side")
    add("--iterations", type=int, default=200, help="of M and L, at most")
    add("--seconds", type=float, default=30.0, help="of M and L, at most")
    add("--kept", type=Path, default=KEPT, help="folder of pieces that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "sweet_spot")
    return parser.parse_args(arguments)


def make_studies(seeds: int, *, quick: bool = False) -> "dict[str, partial[Study]]":
    """Return what makes each study, by its name, once it is told how to map over networks."""
    digits = Shape((64, 160, 160, 160, 10), ("tanh", "tanh", "tanh", "softmax"))
    given, parts = Topology(shards=10), Topology(shards=10, input="sharded")
    made = {
        "digits, input given to every shard": _halos(digits, given, HALOS),
        "digits, input in parts": _halos(digits, parts, HALOS),
    }
    if quick:
        return {name: _of(name, "digits", *of, seeds) for name, of in made.items()}
    narrow: tuple[Halo, ...] = (0, 1, 2, 4)
    shuffled = msgspec.structs.replace(parts, shuffle=True)
    dense = count_weights(Topology(), digits.widths)
    sharded = replace(digits, widths=(64, 192, 192, 192, 10))
    made |= {
        "digits, input in parts, neurons shuffled": _halos(digits, shuffled, narrow),
        "digits, input in parts, coarse values": (
            [
                replace(digits, topology=msgspec.structs.replace(parts, halo=halo, coarse=coarse))
                for halo in (0, 1)
                for coarse in (1, 2, 4)
            ],
            DIGITS,
        ),
        "digits, input in parts, equal weights": (
            [
                widened(replace(digits, topology=msgspec.structs.replace(parts, halo=halo)), dense)
                for halo in HALOS
            ],
            DIGITS,
        ),
        "digits, 1 to 64 shards of halo 1": (
            [replace(sharded, topology=Topology(shards=count, halo=1)) for count in SHARDS],
            DIGITS,
        ),
    }
    studies = {name: _of(name, "digits", *of, seeds) for name, of in made.items()}
    mixed = "digits, features mixed, input in parts"
    studies[mixed] = _of(mixed, "mixed digits", *_halos(digits, parts, HALOS), seeds)
    pictures = Shape((784, 320, 320, 320, 10), ("tanh", "tanh", "tanh", "softmax"))
    shapes, _ = _halos(pictures, parts, (0, 1, 4, 16, "full"))
    for data, what in (
        ("MNIST", "MNIST"),
        ("mixed MNIST", "MNIST, features mixed"),
        ("Fashion-MNIST", "Fashion-MNIST"),
    ):
        name = f"{what}, input in parts"
        studies[name] = _of(name, data, shapes, PICTURES, min(seeds, 3))
    return studies


def _of(
    name: str, data: str, shapes: Sequence[Shape], recipe: Recipe, seeds: int
) -> "partial[Study]":
    return partial(study, name=name, data=data, shapes=shapes, recipe=recipe, seeds=seeds)


def _halos(shape: Shape, topology: Topology, halos: Sequence[Halo]) -> tuple[list[Shape], Recipe]:
    return [
        replace(shape, topology=msgspec.structs.replace(topology, halo=halo)) for halo in halos
    ], DIGITS


def study(
    over: Callable[..., Iterable[Cell]],
    *,
    name: str,
    data: str,
    shapes: Sequence[Shape],
    recipe: Recipe,
    seeds: int,
) -> Study:
    """Train every network of a study.

    Args:
        over: calls a function with each of some arguments, maybe in other processes.
        name: of the study.
        data: name of the rows.
        shapes: the networks.
        recipe: how each is trained.
        seeds: how many times each.

    Raises:
        InputError: the data are not there.
    """
    held = read(data)
    rows = f"{len(held.inputs_BI):,} rows to learn from, {len(held.test_inputs_BI):,} to judge by"
    each = [one for shape in shapes for one in seeded(shape, seeds)]
    cells = list(over(partial(cell, data, recipe), each))
    found = [
        summed_up(
            shape,
            cells[number * seeds : (number + 1) * seeds],
            equal_weights=name.endswith("equal weights"),
        )
        for number, shape in enumerate(shapes)
    ]
    return Study(name=name, data=f"{data}: {rows}", recipe=recipe, found=found)


def cell(data: str, recipe: Recipe, shape: Shape) -> Cell:
    """Train one network on one core."""
    with one_thread():
        return train_cell(shape, read(data), recipe=recipe)


@cache
def read(data: str) -> Held:
    """Return rows by the name of their set.

    Raises:
        InputError: they are not there.
    """
    if data in ("digits", "mixed digits"):
        table = read_digits()
        order = np.random.default_rng(SPLIT_SEED).permutation(len(table.features))
        inputs_BI = table.features[order] / np.float32(16)
        if data == "mixed digits":  # so that no shard's pixels lie together
            inputs_BI = _mixed(inputs_BI)
        labels = np.asarray(table.targets["label"], np.int64)[order]
        cut = 1200
        return Held(
            inputs_BI[:cut], _one_hot(labels[:cut]), inputs_BI[cut:], _one_hot(labels[cut:])
        )
    if data == "mixed MNIST":
        plain = read("MNIST")
        mixed = (_mixed(plain.inputs_BI), _mixed(plain.test_inputs_BI))
        return Held(mixed[0], plain.wanted_BO, mixed[1], plain.test_wanted_BO)
    stem = data.lower()
    name = f"{stem}/{stem}.npz"
    path = Path(os.environ.get("EVENER_TEST_DATA", ".")) / name
    if not path.exists():  # said in a record, which is of no machine's folders
        raise InputError(f"{name} is not in the folder that EVENER_TEST_DATA names")
    with np.load(path) as file:
        x_train, y_train = file["x_train"][:PICTURE_ROWS], file["y_train"][:PICTURE_ROWS]
        x_test, y_test = file["x_test"], file["y_test"]
    return Held(_pixels(x_train), _one_hot(y_train), _pixels(x_test), _one_hot(y_test))


def _mixed(rows: Rows) -> Rows:
    """Return the same features in another order, which is the same for all rows."""
    order = np.random.default_rng(SPLIT_SEED + 1).permutation(rows.shape[1])
    return np.ascontiguousarray(rows[:, order])


def _pixels(pictures: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> Rows:
    return pictures.reshape(len(pictures), -1).astype(np.float32) / np.float32(255)


def _one_hot(labels: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Rows:
    return np.eye(10, dtype=np.float32)[labels.astype(np.int64)]


LARGE: Final[dict[Model, tuple[Topology, ...]]] = {
    "M": (Topology(), Topology(shards=32, halo=1), Topology(shards=32, halo=16)),
    "L": (Topology(shards=32, halo=1), Topology()),
}
"""What M and L are trained with: dense, as the paper does on 32 workers, and between."""


def large(model: Model, pieces: Pieces, options: argparse.Namespace) -> list[Learned]:
    """Train M or L with each of its topologies, if there is time."""
    limits = {"iterations": options.iterations, "seconds": options.seconds}
    found = [
        pieces.get(
            f"{model} {topology}", Learned, partial(learn, model, topology, **limits), **limits
        )
        for topology in LARGE[model]
    ]
    return [one for one in found if one is not None]


def pairs(seed: int, count: int, *, test: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return noisy pictures of two digits side by side, and the same without noise, (count, 2048).

    Each digit is 32 by 32 pixels, each of its 8 by 8 drawn four times as wide and high. The mean
    picture of the digits that are learned from is taken from all.
    """
    held = read("digits")
    pool = (held.test_inputs_BI if test else held.inputs_BI) - held.inputs_BI.mean(0)
    rng = np.random.default_rng(seed)
    chosen = pool.reshape(-1, 8, 8)[rng.integers(len(pool), size=(count, 2))]
    large = chosen.repeat(4, axis=2).repeat(4, axis=3)
    clean_BO = np.concatenate([large[:, 0], large[:, 1]], axis=2).reshape(count, -1)
    noisy_BI = clean_BO + NOISE * rng.standard_normal(clean_BO.shape)
    return torch.from_numpy(noisy_BI.astype(np.float32)), torch.from_numpy(clean_BO)


def learn(
    model: Model,
    topology: Topology,
    *,
    iterations: int,
    seconds: float,
    widths: tuple[int, ...] | None = None,
) -> Learned:
    """Train M or L to take noise away, and look now and then how it does with unseen digits.

    The learning rate is the one of a few by which it does best with the digits that it learns from,
    after some steps.

    Args:
        model: which.
        topology: of the network.
        iterations: at most.
        seconds: at most, and at least one iteration; the choice of a rate is not in them.
        widths: other ones than the model's.
    """
    widths = widths or (M if model == "M" else L)
    hidden: list[Activation] = ["tanh"] * (len(widths) - 2)
    noisy, clean = pairs(1, 256, test=True)
    known = pairs(2, 256, test=False)
    network = RankedNetwork(Shape(widths, (*hidden, "identity"), topology), Alone())
    drawn = network.parameters.flat.clone()

    def trial(rate: float) -> float:
        network.parameters.flat.copy_(drawn)
        for step in range(TRIAL[model]):
            network.descend(*pairs(100 + step, M_BATCH, test=False), rate)
        error = _error(network.forward(known[0]).T, known[1])
        return error if np.isfinite(error) else np.inf

    rate = min(M_RATES, key=trial)
    network.parameters.flat.copy_(drawn)
    looks = [(0, _error(network.forward(noisy).T, clean))]
    steps_s: list[float] = []
    while len(steps_s) < iterations and (not steps_s or sum(steps_s) < seconds):
        rows = pairs(100 + len(steps_s), M_BATCH, test=False)
        begun = time.perf_counter()
        network.descend(*rows, rate)
        steps_s.append(time.perf_counter() - begun)
        ended = len(steps_s) == iterations or sum(steps_s) >= seconds
        if ended or len(steps_s) % max(1, iterations // M_LOOKS) == 0:
            looks.append((len(steps_s), _error(network.forward(noisy).T, clean)))
    return Learned(
        model=model,
        topology=topology,
        weights=count_weights(topology, widths),
        batch=M_BATCH,
        learning_rate=rate,
        looks=looks,
        mean_answer=_error(torch.zeros(()), clean),
        noisy_answer=_error(noisy, clean),
        step_s=median(steps_s),
    )


def _error(answers: torch.Tensor, clean: torch.Tensor) -> float:
    """Return the mean squared error of a pixel."""
    return (answers - clean).square().mean().item()


if __name__ == "__main__":
    exit_with(main)
