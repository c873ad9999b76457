"""Dense networks as a kind of the population."""

from collections.abc import Sequence

from evener.train.population.buckets import plan_buckets
from evener.train.population.individual import Individual
from evener.train.population.kinds import Group
from evener.train.population.layout import Layout
from evener.train.population.weights import Weights, check_weights, draw_weights


class Dense:
    """Networks of dense links; see `evener.train.population.kinds.Kind`."""

    def draw(self, individual: Individual) -> Weights:
        """Draw the weights that an individual starts from."""
        return draw_weights(individual)

    def check(self, individual: Individual, weights: Weights) -> None:
        """Check that weights are those of an individual."""
        check_weights(individual, weights)

    def groups(self, individuals: Sequence[Individual]) -> list[Group[Individual]]:
        """Put individuals into stacks of little padding."""
        return [Group(one.members, Layout(one)) for one in plan_buckets(individuals)]
