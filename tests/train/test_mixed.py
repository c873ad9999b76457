"""Products in bfloat16: near the training in single precision, and the same on all ranks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError, InvalidFileError
from evener.train.loop import one_thread
from evener.train.mixed import Precision
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.trainer import Trainer
from evener.train.twin import Twin

HALO = Shape(
    (6, 20, 17, 24, 9),
    ("tanh", "sigmoid", "gelu", "softmax"),
    Topology(shards=6, halo=2, coarse=1, input="sharded"),
    seed=4,
)
FULL = Shape(HALO.widths, HALO.activations, Topology(shards=6), seed=4)
PLAIN = Recipe(epochs=4, batch=4, precision="bfloat16")
RECIPES = [
    PLAIN,
    Recipe(epochs=3, batch=1, precision="bfloat16"),
    Recipe(
        epochs=3,
        batch=4,
        learning_rate=0.02,
        optimiser="adamw",
        clip=0.5,
        dropout=0.2,
        precision="bfloat16",
    ),
]
ROUNDING = 2.0**-8  # of a number to bfloat16, relative


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def begin(communicator: Communicator, shape: Shape, recipe: Recipe) -> Trainer:
    network = RankedNetwork(shape, communicator, loss="cross-entropy")
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(10, shape.widths[0], generator=generator)
    wanted = torch.rand(10, shape.widths[-1], generator=generator)
    return Trainer(network, recipe, inputs, wanted / wanted.sum(1, keepdim=True))


def trained(shape: Shape, recipe: Recipe, ranks: int = 1) -> tuple[Twin, list[float]]:
    """Train on ranks; return the whole network, and the losses of all steps."""

    def program(communicator: Communicator) -> tuple[Trainer, list[float]]:
        trainer = begin(communicator, shape, recipe)
        losses: list[float] = []
        trainer.run(lambda progress: losses.append(progress.loss))
        return trainer, losses

    found: list[Any] = [program(Alone())] if ranks == 1 else run_ranks(ranks, program)
    return Twin(shape, [trainer.network for trainer, _ in found]), found[0][1]


def change(shape: Shape, recipe: Recipe, ranks: int = 1) -> torch.Tensor:
    """Return what training changes of all weights."""
    before = Twin(shape, [begin(Alone(), shape, recipe).network])
    after, _ = trained(shape, recipe, ranks)
    pairs = zip(after.weights, before.weights, strict=True)
    return torch.cat([(one - other).detach().flatten() for one, other in pairs])


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_the_number_of_ranks_does_not_change_a_bit(recipe: Recipe) -> None:
    alone, losses = trained(HALO, recipe)

    for ranks in (2, 5):
        found, told = trained(HALO, recipe, ranks)
        assert told == losses
        assert all(map(torch.equal, found.weights, alone.weights))
        assert all(map(torch.equal, found.biases, alone.biases))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("shape", [HALO, FULL], ids=["halo", "full"])
def test_training_comes_as_near_that_in_single_precision_as_roundings_allow(
    shape: Shape, ranks: int
) -> None:
    plain = Recipe(epochs=4, batch=4)

    exact, near = change(shape, plain), change(shape, PLAIN, ranks)
    losses, told = trained(shape, plain)[1], trained(shape, PLAIN, ranks)[1]

    off = float((near - exact).norm() / exact.norm())
    assert 0 < off < 4 * ROUNDING
    assert told == pytest.approx(losses, rel=ROUNDING)


@pytest.mark.parametrize("batch", [1, 4])
def test_gradients_and_answers_are_those_of_autocast(batch: int) -> None:
    network = begin(Alone(), Shape((6, 8, 9), ("tanh", "softmax")), PLAIN).network
    inputs = torch.randn(batch, 6, generator=torch.Generator().manual_seed(0))
    wanted = torch.eye(9)[:batch]
    tensors = [
        value.clone().requires_grad_()
        for runs in network.parameters.views
        for weight, bias in runs
        for value in (weight[0], bias[0, :, 0])
    ]
    with torch.autocast("cpu", torch.bfloat16):
        hidden = torch.tanh(torch.nn.functional.linear(inputs, *tensors[:2]))
        sums = torch.nn.functional.linear(hidden, *tensors[2:])
    loss = torch.nn.functional.cross_entropy(sums.float(), wanted)
    expected = torch.autograd.grad(loss, tensors)

    found = network.parameters.views_of(torch.zeros_like(network.parameters.flat))
    answers = network.forward(inputs, precision="bfloat16").clone()
    network.compare(wanted)
    network.differentiate(found)

    assert torch.allclose(answers.T, sums.float().softmax(1), rtol=0, atol=2 * ROUNDING)
    assert network.loss() == pytest.approx(loss.item(), rel=2 * ROUNDING)
    ours = [value.flatten() for runs in found for pair in runs for value in pair]
    for one, other in zip(ours, expected, strict=True):
        assert (one - other.flatten()).norm() <= 4 * ROUNDING * other.norm()
    assert not torch.equal(answers, network.forward(inputs))


def test_steps_too_small_for_bfloat16_add_up() -> None:
    recipe = Recipe(epochs=30, batch=10, learning_rate=1e-4)
    exact = change(FULL, recipe)

    near = change(FULL, Recipe(epochs=30, batch=10, learning_rate=1e-4, precision="bfloat16"))

    weights = torch.cat([one.flatten() for one in trained(FULL, recipe)[0].weights])
    assert (exact.abs() < weights.abs() * ROUNDING / 2).float().mean() > 0.9
    assert (near - exact).norm() < 4 * ROUNDING * exact.norm()


def test_a_checkpoint_holds_weights_in_full_and_goes_on_on_other_ranks(tmp_path: Path) -> None:
    def stopped(communicator: Communicator) -> None:
        trainer = begin(communicator, HALO, PLAIN)
        for _ in range(5):
            trainer.advance()
        trainer.save(tmp_path)

    run_ranks(2, stopped)
    with safe_open(next(tmp_path.rglob("*.safetensors")), framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float32}  # noqa: SIM118 - no mapping

    def resumed(communicator: Communicator) -> RankedNetwork:
        trainer = begin(communicator, HALO, PLAIN)
        trainer.run(checkpoints=tmp_path)
        return trainer.network

    found = Twin(HALO, run_ranks(3, resumed))
    assert all(map(torch.equal, found.weights, trained(HALO, PLAIN)[0].weights))
    with pytest.raises(InvalidFileError, match="its recipe.precision is bfloat16, not float32"):
        begin(Alone(), HALO, Recipe(epochs=4, batch=4)).restore(tmp_path)


def test_other_precisions_are_refused() -> None:
    make: Callable[..., Recipe] = Recipe
    precision: Precision | str = "float8"

    with pytest.raises(InputError, match="'float8' is no precision of products; choose float32 or"):
        make(precision=precision)
