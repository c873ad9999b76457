"""Algorithm 1 as the paper prints it, beside the trace of small runs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import msgspec
import numpy as np
import pytest

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.table1 import TABLE_1, Table1
from evener.errors import InputError
from evener.search.coevolution.algorithm import Coevolved, Settings, coevolve
from evener.search.coevolution.growth import Limits
from evener.search.coevolution.hyperparameters import Hyperparameters
from evener.search.coevolution.sparsify import Terms
from evener.search.coevolution.trace import LINES, Event
from evener.search.layer_space import LayerSpace

# Nothing mutates and nobody mates, so that what is left can be told beforehand.
STILL = Hyperparameters(learning_rate=0.01, momentum=0.9, mutation_rate=0.0, crossover_rate=0.001)
SKIP = LayerGraph(widths=(4,), links=((0, 1), (0, 2), (1, 2)))
TINY = LayerSpace(depth=1, widths=(4,))


class Links:
    """Weight sets that score a tenth for each link of their network, and less once trained."""

    def __init__(self, space: LayerSpace) -> None:
        self.space = space
        self.numbers = count()
        self.passes: dict[str, int] = {}
        self.asked: list[int] = []  # passes of each training
        self.crossed: list[tuple[LayerGraph, tuple[str, ...], tuple[Homology, ...]]] = []

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> list[str]:  # noqa: ARG002 - of the protocol
        return [self._new(0) for _ in networks]

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[str]:
        return [self._new(self.passes[one]) for _, one in zip(networks, sets, strict=True)]

    def cross(
        self,
        networks: Sequence[LayerGraph],
        parents: Sequence[Sequence[str]],
        homologies: Sequence[Sequence[Homology]],
    ) -> list[str]:
        for network, sets, same in zip(networks, parents, homologies, strict=True):
            self.crossed.append((network, tuple(sets), tuple(same)))
        return self.inherit(networks, [sets[0] for sets in parents])

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        hyperparameters: Sequence[Hyperparameters],
        *,
        passes: int,
        seed: int,  # noqa: ARG002 - of the protocol
    ) -> list[str]:
        self.asked.append(passes)
        each = zip(networks, sets, hyperparameters, strict=True)
        return [self._new(self.passes[one] + passes) for _, one, _ in each]

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
        each = zip(networks, sets, strict=True)
        return [len(one.links) / 10 + 1e-3 / (1 + self.passes[two]) for one, two in each]

    def _new(self, passes: int) -> str:
        name = f"set {next(self.numbers)}"
        self.passes[name] = passes
        return name


def settings_of(
    space: LayerSpace, most: float = 1e9, terms: Terms | None = None, **rows: int
) -> Settings:
    table = msgspec.structs.replace(TABLE_1, **{"population": 2, "generations": 1, **rows})
    limits = Limits(space, lambda graph: graph.macs(8, 2), most)
    return Settings(limits, table, parents=1, sets=2, terms=terms or Terms())


def run(
    settings: Settings, bases: Sequence[LayerGraph] = (), rates: Hyperparameters = STILL
) -> tuple[Coevolved, list[Event], Links]:
    events: list[Event] = []
    parameters = Links(settings.limits.space)
    found = coevolve(
        settings, parameters, lambda _: rates, seed=3, bases=bases, trace=events.append
    )
    return found, events, parameters


def test_the_lines_are_carried_out_in_the_order_of_the_paper() -> None:
    _, events, _ = run(settings_of(TINY), [SKIP, SKIP])

    assert [(one.line, one.subject, one.connection) for one in events] == [
        ("initialise instances", None, None),
        ("initialise hyperparameters", None, None),
        ("develop", None, None),
        ("store score", 0, None),
        ("store score", 1, None),
        ("encode", 0, None),
        ("encode", 1, None),
        ("relate weights", 0, None),
        ("evolve", 0, None),
        ("relate weights", 1, None),
        ("evolve", 1, None),
        ("update scores", 0, None),
        ("update scores", 1, None),
        ("sparsify", 0, None),
        ("translate", 0, None),
        ("toggle", 0, (0, 2)),  # a link less lowers the score
        ("back-propagate", 0, (0, 2)),
        ("prune", 0, (0, 2)),
        ("toggle", 0, (0, 1)),  # nothing would lead to the output any more
        ("continue", 0, (0, 1)),
        ("toggle", 0, (1, 2)),
        ("continue", 0, (1, 2)),
        ("sparsify", 1, None),
        ("translate", 1, None),
        ("toggle", 1, (0, 2)),
        ("back-propagate", 1, (0, 2)),
        ("prune", 1, (0, 2)),
        ("toggle", 1, (0, 1)),
        ("continue", 1, (0, 1)),
        ("toggle", 1, (1, 2)),
        ("continue", 1, (1, 2)),
    ]


def test_a_score_below_the_threshold_ends_everything() -> None:
    found, events, _ = run(settings_of(TINY, terms=Terms(fitness_threshold=0.25)), [SKIP, SKIP])

    assert found.reached
    assert [one.line for one in events[-5:]] == [
        "toggle",
        "back-propagate",
        "prune",
        "toggle",
        "break",
    ]
    assert [len(one.network.links) for one in found.chromosomes] == [2, 3]
    assert {one.line for one in events} == {*LINES} - {"continue"}


def test_nothing_is_sparsified_before_the_error_threshold_is_crossed() -> None:
    found, events, _ = run(settings_of(TINY, terms=Terms(error_threshold=0.3)), [SKIP, SKIP])

    assert events[-1].line == "update scores"
    assert [len(one.network.links) for one in found.chromosomes] == [3, 3]


def test_instances_begin_with_a_single_block_and_grow_node_by_node() -> None:
    space = LayerSpace(depth=2, widths=(4, 8), max_nodes=12)

    found, events, _ = run(settings_of(space))

    developed = [one.round for one in events if one.line == "develop"]
    assert developed == [0, 1, 2]  # 4 units, a layer of 4 more, 4 more in one of them; or so
    assert len(found.scores) == 3
    assert found.scores[0] == pytest.approx((0.2, 0.2), abs=1e-3)
    assert found.scores[2] == pytest.approx((0.4, 0.4), abs=1e-3)


def test_networks_grow_no_further_than_their_complexity_allows() -> None:
    narrow = LayerSpace(depth=5, widths=(4, 8))
    smallest = 4 * (8 + 2)

    _, events, _ = run(settings_of(narrow, most=smallest))

    assert [one.round for one in events if one.line == "develop"] == [0]


def test_no_more_nodes_are_developed_than_there_may_be() -> None:
    _, events, _ = run(settings_of(LayerSpace(), maximum_nodes=3))

    assert [one.round for one in events if one.line == "develop"] == [0, 1, 2]


def test_an_instance_goes_on_with_what_scored_best_in_its_growth() -> None:
    found, events, _ = run(settings_of(LayerSpace(depth=3, widths=(4,)), generations=0))

    # Whatever grows has more links, and so the single block is the best.
    assert max(max(row) for row in found.scores) > 0.3
    assert [one.network.widths for one in found.chromosomes] == [(4,), (4,)]
    assert sum(one.line == "encode" for one in events) == 2


def test_a_network_that_encoding_changes_is_scored_again() -> None:
    wide = LayerGraph(widths=(5,), links=((0, 1), (0, 2), (1, 2)))  # the space has 4

    class Units(Links):
        def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
            return [sum(one.widths) / 10 for one, _ in zip(networks, sets, strict=True)]

    settings = settings_of(TINY, generations=0, terms=Terms(error_threshold=0.0))
    found = coevolve(settings, Units(TINY), lambda _: STILL, seed=0, bases=[wide, SKIP])

    assert found.scores == ((0.5, 0.4),)
    assert [one.score for one in found.chromosomes] == [0.4, 0.4]


def test_each_chromosome_has_many_weight_sets_and_the_best_counts() -> None:
    found, _, parameters = run(settings_of(TINY, generations=3), [SKIP, SKIP])

    assert all(len({*one.sets}) == 2 for one in found.chromosomes)
    for one in found.chromosomes:
        assert one.scores == tuple(parameters.score([one.network] * 2, one.sets))
        assert one.score == min(one.scores)
        assert parameters.score([one.network], [one.best]) == [one.score]
    # One was drawn anew for the first generation, the other was inherited all along.
    passes = sorted(parameters.passes[one] for one in found.best.sets)
    assert passes[1] - passes[0] == TABLE_1.epochs


def test_a_score_is_stored_after_the_epochs_and_a_cut_is_trained_for_the_cycles() -> None:
    _, _, parameters = run(settings_of(TINY, epochs=7, back_propagation_cycles=21), [SKIP, SKIP])

    assert parameters.asked == [7, 7, 21, 21]


def test_each_link_of_a_child_is_of_the_parent_whose_bit_it_has() -> None:
    space = LayerSpace(depth=2, widths=(4, 8))
    short = LayerGraph(widths=(4,), links=((0, 1), (1, 2)))
    long = LayerGraph(widths=(4, 8), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)))
    mating = msgspec.structs.replace(STILL, crossover_rate=1.0)
    settings = settings_of(space, maximum_nodes=1, terms=Terms(error_threshold=0.0), population=8)

    _, _, parameters = run(replace(settings, parents=2), [short, long] * 4, mating)

    # Scored by their links, the parents are those with the fewest: both are `short`.
    assert {sets for _, sets, _ in parameters.crossed}
    assert {len(sets) for _, sets, _ in parameters.crossed} == {1}
    _, _, parameters = run(replace(settings, parents=8), [short, long] * 4, mating)
    both = [one for one in parameters.crossed if len(one[1]) == 2]
    assert both
    assert {len(sets) for _, sets, _ in parameters.crossed} == {1, 2}  # drawn anew: one
    for network, _, (first, second) in both:
        assert {*first.links} | {*second.links} == {*network.links}
        assert not {*first.links} & {*second.links}
    mixed = [one for one in both if one[2][0].links and one[2][1].links]
    assert mixed
    # Bits are in the order of what they lead from, and so the first parent's come before.
    assert all(max(same[0].links) < min(same[1].links) for _, _, same in mixed)


def test_children_replace_everyone_and_the_best_is_returned_beside() -> None:
    wild = msgspec.structs.replace(STILL, mutation_rate=0.5)

    found, _, _ = run(settings_of(LayerSpace(), maximum_nodes=1, generations=2), rates=wild)

    assert found.best.score <= min(min(row) for row in found.scores)
    assert found.best.score <= min(one.score for one in found.chromosomes)


def test_an_elite_lives_on() -> None:
    table = msgspec.structs.replace(TABLE_1, population=3, generations=4)
    limits = Limits(LayerSpace(), lambda graph: graph.macs(8, 2), 1e9)
    wild = msgspec.structs.replace(STILL, mutation_rate=0.5)
    events: list[Event] = []

    found = coevolve(
        Settings(limits, table, elite=1, terms=Terms(error_threshold=0.0)),
        Links(LayerSpace()),
        lambda _: wild,
        seed=1,
        trace=events.append,
    )

    assert min(one.score for one in found.chromosomes) == found.best.score
    assert sum(one.line == "evolve" for one in events) == 2 * 4


def test_the_same_seed_gives_the_same_run() -> None:
    wild = msgspec.structs.replace(STILL, mutation_rate=0.2, crossover_rate=0.9)
    settings = settings_of(LayerSpace(), maximum_nodes=4, generations=2)

    (one, traced, _), (other, again, _) = (run(settings, rates=wild) for _ in range(2))

    assert traced == again
    assert one.scores == other.scores
    assert [each.sets for each in one.chromosomes] == [each.sets for each in other.chromosomes]


def test_the_markov_chain_may_keep_what_the_scores_would_prune() -> None:
    # All of a population of two have the link: once one lost it, the other keeps it as likely.
    doubtful = Terms(sure=0.95, temperature=1e6)
    certain = Terms(sure=0.95, temperature=1e-3)

    kept, events, _ = run(settings_of(TINY, terms=doubtful), [SKIP, SKIP])
    pruned, _, _ = run(settings_of(TINY, terms=certain), [SKIP, SKIP])

    assert [len(one.network.links) for one in kept.chromosomes] == [3, 3]
    assert [one.line for one in events if one.connection == (0, 2)][:3] == [
        "toggle",
        "back-propagate",
        "continue",
    ]
    assert [len(one.network.links) for one in pruned.chromosomes] == [2, 2]


def test_every_row_of_table_1_stands_in_the_preset() -> None:
    assert msgspec.to_builtins(Table1()) == {
        "learning_rate": (0.0001, 1.0),
        "momentum": (0.0, 0.9),
        "back_propagation_cycles": 49,  # "< 50"
        "encoding": "binary",
        "selection": "elitism",
        "mutation": "binary inversion",
        "crossover": "single point",
        "mutation_rate": (0.0, 1.0),
        "crossover_rate": (0.001, 1.0),
        "maximum_depth": 5,
        "maximum_nodes": 1024,
        "length": 31,
        "population": 10,
        "generations": 10,
        "epochs": 10,
        "replacement": "unconditional",
        "rows_per_update": 1,  # "per-pattern"
    }
    space = LayerSpace(depth=TABLE_1.maximum_depth, max_nodes=TABLE_1.maximum_nodes)
    assert space.length == TABLE_1.length


def test_what_makes_no_sense_is_refused() -> None:
    limits = Limits(TINY, lambda graph: graph.macs(8, 2), 10)
    beyond = msgspec.structs.replace(STILL, momentum=0.95)

    with pytest.raises(InputError, match="1 parents, 0 weight sets and an elite of 0"):
        Settings(limits, parents=1, sets=0)
    with pytest.raises(InputError, match="a certainty of 1.5 at a temperature of 0.01"):
        Terms(sure=1.5)
    with pytest.raises(InputError, match="3 base models for 2 instances"):
        run(settings_of(TINY), [SKIP] * 3)
    with pytest.raises(InputError, match=r"complexity of 40 to begin with: give a base model"):
        run(Settings(limits))
    with pytest.raises(InputError, match=r"a momentum of 0\.95: Table I has 0 to 0\.9"):
        run(settings_of(TINY), [SKIP], beyond)


def test_networks_that_break_limits_are_never_scored() -> None:
    wild = msgspec.structs.replace(STILL, mutation_rate=0.5)
    space = LayerSpace()

    class Careful(Links):
        def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
            assert all(one.connected for one in networks)
            assert all(one.macs(8, 2) <= 5000 for one in networks)
            return super().score(networks, sets)

    settings = settings_of(space, most=5000, maximum_nodes=2, generations=6)
    found = coevolve(settings, Careful(space), lambda _: wild, seed=0)

    assert np.isfinite(found.best.score)
