"""Products of a stack into arrays that lie one way or the other."""

import pytest
import torch

from evener.train.population.buckets import plan_buckets
from evener.train.population.individual import Individual
from evener.train.population.layout import Layout
from evener.train.population.products import added_product, link_view, product, values_room
from evener.train.population.weights import draw_weights

SIZES = [(1, 1, 1), (5, 3, 1), (7, 1, 4), (32, 64, 10), (64, 10, 32), (1, 16, 16), (33, 10, 7)]


def drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("in_rooms", [True, False])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), SIZES)
def test_products_are_those_of_plain_arrays(
    rows: int, inputs: int, outputs: int, in_rooms: bool
) -> None:
    x, weights, bias = drawn(3, rows, inputs), drawn(3, inputs, outputs), drawn(3, 1, outputs)
    if in_rooms:
        x = values_room(3, rows, inputs, x).copy_(x)
        weights = link_view(torch.zeros_like(weights.flatten(1)), inputs, outputs).copy_(weights)
    into = values_room(3, rows, outputs, x)

    product(x, weights, into, bias)()

    torch.testing.assert_close(into, x @ weights + bias)

    added_product(x, weights, into)()

    torch.testing.assert_close(into, 2 * (x @ weights) + bias)

    product(x, weights, into)()

    torch.testing.assert_close(into, x @ weights)


@pytest.mark.parametrize("widths", [(13, 10, 3), (20, 32, 10), (16, 1), (1, 5, 16)])
def test_weights_come_out_of_a_stack_as_they_went_in(widths: tuple[int, ...]) -> None:
    population = [Individual(widths=widths, seed=seed, bias_variance=1.0) for seed in range(3)]
    [bucket] = plan_buckets(population)
    layout, starts = Layout(bucket), [draw_weights(one) for one in population]

    stack = layout.pack(population, starts, torch.float64, torch.device("cpu"))

    for row, (one, start) in enumerate(zip(population, starts, strict=True)):
        found = layout.unpack(stack, row, one)
        for link in one.edges:
            assert found.links[link].flags.c_contiguous
            assert (found.links[link] == start.links[link]).all()
        assert all((a == b).all() for a, b in zip(found.biases, start.biases, strict=True))
