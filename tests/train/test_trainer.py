"""Training a sharded network by any recipe, on any grid of ranks, equals the plain network."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.timed import Timed
from evener.comm.virtual import run_ranks
from evener.errors import DivergedError, InputError
from evener.train.grid import Grid
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.trainer import Progress, Trainer
from evener.train.twin import Twin

SHAPE = Shape(
    (6, 20, 17, 24, 9),
    ("tanh", "sigmoid", "gelu", "identity"),
    Topology(shards=6, halo=2, coarse=1, input="sharded"),
    seed=4,
)
FULL = Shape(SHAPE.widths, SHAPE.activations, Topology(shards=6), seed=4)
RECIPES = [
    Recipe(epochs=3, batch=4),
    Recipe(epochs=3, batch=4, momentum=0.9, weight_decay=0.01),
    Recipe(epochs=3, batch=4, learning_rate=0.01, optimiser="adam", weight_decay=0.1),
    Recipe(epochs=3, batch=4, learning_rate=0.01, optimiser="adamw", weight_decay=0.1),
    Recipe(epochs=3, batch=4, clip=0.05),
    Recipe(epochs=3, batch=4, dropout=0.4),
    Recipe(
        epochs=3,
        batch=4,
        learning_rate=0.02,
        optimiser="adamw",
        clip=0.5,
        dropout=0.2,
        input_noise=0.3,
        schedule="one-cycle",
        warm_up=2,
    ),
]


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def data(shape: Shape, rows: int = 10) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(rows, shape.widths[0], generator=generator, dtype=torch.float64)
    wanted = torch.rand(rows, shape.widths[-1], generator=generator, dtype=torch.float64)
    return inputs, wanted / wanted.sum(1, keepdim=True)


def on_ranks(ranks: int, program: Callable[[Communicator], Any]) -> list[Any]:
    return [program(Alone())] if ranks == 1 else run_ranks(ranks, program)


def begin(
    communicator: Communicator,
    shape: Shape,
    recipe: Recipe,
    *,
    replicas: int = 1,
    dtype: torch.dtype = torch.float64,
) -> Trainer:
    grid = Grid.of(communicator, replicas)
    loss = "cross-entropy" if shape.activations[-1] == "softmax" else "squared"
    network = RankedNetwork(shape, grid.shards, loss=loss, dtype=dtype)  # type: ignore[arg-type] # mypy sees a str
    inputs, wanted = data(shape)
    return Trainer(network, recipe, inputs.to(dtype), wanted.to(dtype), grid=grid)


def trained(
    shape: Shape,
    recipe: Recipe,
    ranks: int,
    *,
    replicas: int = 1,
    dtype: torch.dtype = torch.float64,
) -> tuple[list[Trainer], list[float]]:
    """Train on ranks; return their trainers, and the losses of all steps."""

    def program(communicator: Communicator) -> tuple[Trainer, list[float]]:
        trainer = begin(communicator, shape, recipe, replicas=replicas, dtype=dtype)
        losses: list[float] = []
        trainer.run(lambda progress: losses.append(progress.loss))
        return trainer, losses

    found = on_ranks(ranks, program)
    assert all(losses == found[0][1] for _, losses in found)
    return [trainer for trainer, _ in found], found[0][1]


def weights(shape: Shape, trainers: list[Trainer]) -> Twin:
    return Twin(shape, [trainer.network for trainer in trainers])


def plain(shape: Shape, recipe: Recipe) -> tuple[Twin, list[float]]:
    network = begin(Alone(), shape, recipe).network
    twin = Twin(shape, [network])
    return twin, twin.train(recipe, *data(shape))


def assert_same(found: Twin, twin: Twin, tolerance: float) -> None:
    for ours, theirs, mask in zip(found.weights, twin.weights, twin.masks, strict=True):
        assert ((ours - theirs) * mask).abs().max() <= tolerance * theirs.abs().max()
    for ours, theirs in zip(found.biases, twin.biases, strict=True):
        assert (ours - theirs).abs().max() <= tolerance


def assert_equal(found: Twin, other: Twin) -> None:
    for ours, theirs in zip(
        [*found.weights, *found.biases], [*other.weights, *other.biases], strict=True
    ):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_recipe_ends_where_pytorch_does(recipe: Recipe, ranks: int) -> None:
    for shape in (SHAPE, FULL):
        trainers, losses = trained(shape, recipe, ranks)
        twin, expected = plain(shape, recipe)

        assert losses == pytest.approx(expected, rel=1e-11)
        assert_same(weights(shape, trainers), twin, 1e-11)


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_the_number_of_ranks_does_not_change_a_bit(recipe: Recipe) -> None:
    one, few, many = (trained(SHAPE, recipe, ranks, dtype=torch.float32) for ranks in (1, 2, 5))

    assert one[1] == few[1] == many[1]
    assert_equal(weights(SHAPE, one[0]), weights(SHAPE, few[0]))
    assert_equal(weights(SHAPE, one[0]), weights(SHAPE, many[0]))


@pytest.mark.parametrize(("ranks", "replicas"), [(2, 2), (3, 3), (4, 2), (6, 3)])
@pytest.mark.parametrize("recipe", [RECIPES[0], RECIPES[6]], ids=str)
def test_replicas_add_up_to_the_plain_network(recipe: Recipe, ranks: int, replicas: int) -> None:
    # Of 10 rows in batches of 4 the last batch has 2, and so none for one of three replicas.
    trainers, losses = trained(SHAPE, recipe, ranks, replicas=replicas)
    twin, expected = plain(SHAPE, recipe)
    each = ranks // replicas

    assert losses == pytest.approx(expected, rel=1e-11)
    for replica in range(replicas):
        some = trainers[replica * each : (replica + 1) * each]
        assert_same(weights(SHAPE, some), twin, 1e-11)


def test_cross_entropy_goes_with_a_softmax_and_replicas() -> None:
    shape = Shape((6, 16, 8), ("relu", "softmax"), Topology(shards=4, halo=1))
    recipe = Recipe(epochs=2, batch=5, optimiser="adam", learning_rate=0.01)

    trainers, losses = trained(shape, recipe, 4, replicas=2)
    twin, expected = plain(shape, recipe)

    assert losses == pytest.approx(expected, rel=1e-11)
    assert_same(weights(shape, trainers[:2]), twin, 1e-11)


def test_progress_says_where_the_training_is() -> None:
    seconds = iter(float(second) for second in range(1000))
    timed = Timed(Alone(), clock=lambda: 0.0)
    network = RankedNetwork(SHAPE, timed)
    inputs, wanted = (table.float() for table in data(SHAPE))
    recipe = Recipe(epochs=2, batch=5)
    trainer = Trainer(network, recipe, inputs, wanted, clock=seconds.__next__)
    seen: list[Progress] = []

    mean = trainer.run(seen.append)

    assert [(one.step, one.steps, one.epoch, one.epochs) for one in seen] == [
        (1, 4, 1, 2),
        (2, 4, 1, 2),
        (3, 4, 2, 2),
        (4, 4, 2, 2),
    ]
    assert [one.steps_per_s for one in seen] == [1.0] * 4
    assert [one.left_s for one in seen] == [3.0, 2.0, 1.0, 0.0]
    assert [one.communication_share for one in seen] == [0.0] * 4
    assert [one.learning_rate for one in seen] == [0.1] * 4
    assert mean == pytest.approx((seen[2].loss + seen[3].loss) / 2)


def test_the_share_of_messages_counts_every_rank_s_own_time() -> None:
    def program(communicator: Communicator) -> list[float | None]:
        network = RankedNetwork(SHAPE, Timed(communicator))
        inputs, wanted = (table.float() for table in data(SHAPE))
        shares: list[float | None] = []
        trainer = Trainer(network, Recipe(batch=5), inputs, wanted)
        trainer.run(lambda progress: shares.append(progress.communication_share))
        return shares

    for shares in run_ranks(2, program):
        assert all(share is not None and 0 < share < 1 for share in shares)


@pytest.mark.parametrize(("ranks", "replicas"), [(1, 1), (3, 1), (4, 2)])
def test_a_loss_that_is_no_number_names_step_layer_and_rank(ranks: int, replicas: int) -> None:
    def program(communicator: Communicator) -> str:
        trainer = begin(communicator, SHAPE, Recipe(epochs=3, batch=5), replicas=replicas)
        trainer.advance()
        if communicator.rank == ranks - 1:
            trainer.network.layers[1].runs[0].weight.fill_(torch.nan)
        with pytest.raises(DivergedError) as failure:
            trainer.run()
        error = failure.value
        assert (error.epoch, error.step, error.layer, error.rank) == (1, 2, 2, ranks - 1)
        return str(error)

    for message in on_ranks(ranks, program):
        assert message == (
            f"training diverged in step 2 of 6 (epoch 1): the loss is nan, and layer 2 on rank "
            f"{ranks - 1} is the first whose answers are no finite numbers. Lower the learning "
            "rate, which is 0.1, or clip gradients"
        )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x, y: (x[0], y), r"inputs of shape \[6\] and outputs of \[10, 9\]: give tables"),
        (lambda x, y: (x[:3], y), "3 rows of inputs and 10 of outputs: give as many"),
        (lambda x, y: (x[:0], y[:0]), "0 rows of inputs and 0 of outputs"),
        (lambda x, y: (x[:, :4], y), "rows of 4 inputs for a layer of 6: give 6 numbers a row"),
        (lambda x, y: (x, y[:, :4]), "rows of 4 outputs for a layer of 9"),
        (
            lambda x, y: (torch.where(torch.arange(10)[:, None] == 3, torch.nan, x), y),
            "row 4 of the inputs holds what is no finite number",
        ),
        (
            lambda x, y: (x, torch.where(torch.arange(10)[:, None] == 0, torch.inf, y)),
            "row 1 of the outputs holds what is no finite number",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    spoil: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], message: str
) -> None:
    network = RankedNetwork(SHAPE, Alone(), dtype=torch.float64)

    with pytest.raises(InputError, match=message):
        Trainer(network, Recipe(), *spoil(*data(SHAPE)))


@pytest.mark.parametrize("replicas", [0, 3])
def test_ranks_that_do_not_divide_into_replicas_are_refused(replicas: int) -> None:
    def program(communicator: Communicator) -> None:
        with pytest.raises(InputError, match=f"4 ranks for {replicas} replicas"):
            Grid.of(communicator, replicas)

    run_ranks(4, program)


def test_a_grid_of_ranks_has_neighbours_in_one_replica() -> None:
    def program(communicator: Communicator) -> tuple[int, int, int, int, slice]:
        grid = Grid.of(communicator, 2)
        return (
            grid.shards.rank,
            grid.shards.size,
            grid.replicas.rank,
            grid.replicas.size,
            grid.rows(5),
        )

    assert run_ranks(4, program) == [
        (0, 2, 0, 2, slice(0, 2)),
        (1, 2, 0, 2, slice(0, 2)),
        (0, 2, 1, 2, slice(2, 5)),
        (1, 2, 1, 2, slice(2, 5)),
    ]
