"""Ask for networks to evaluate and tell how they fared, never for the same network twice.

An algorithm's genomes become networks without dead parts; one that was seen before is judged from
memory and costs nothing, and so does one that breaks a limit, which is checked before anything is
built. Chance depends on the seed and the number of the generation alone, and everything else is in
`state`: a search that goes on from it ends as if it had never stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from sys import float_info
from typing import Final, Generic

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Algorithm, Brood, brood_of, memory_of
from evener.search.fronts import first_front
from evener.search.genes import Genomes
from evener.search.homology import Descent, descent_of
from evener.search.judged import Judged, Plain, best_first, genomes_of, texts_of
from evener.search.space import PhenotypeT, Space
from evener.search.variation import stream

_PATIENCE: Final = 200  # generations without a new network until the search gives up
_SCHEMA: Final = 3
_FAR: Final = float_info.max  # the most that a limit may be broken by; infinity means failed


@dataclass(frozen=True, slots=True)
class Seen:
    """A network that a search came across.

    Attributes:
        genome: the first genome of it, zeros and ones.
        objectives: what an evaluation told, less is better; infinite where there was none.
        violation: by how much it breaks limits; then it is never evaluated. Infinite if its
            evaluation failed.
        parents: ids of the networks that its genome was bred from; none where it was drawn.
    """

    genome: str
    objectives: tuple[float, ...]
    violation: float = 0.0
    parents: tuple[str, ...] = ()


class Evolution(Generic[PhenotypeT]):
    """A search by an algorithm, as a row of questions and answers.

    Args:
        space: what genomes mean.
        algorithm: how the search goes on.
        seed: what all chance is drawn from.
        objectives: how many numbers an evaluation tells.
        limits: by how much a network breaks the limits set for it, 0 for not at all; asked
            before it is evaluated.
        state: of a search that goes on, from `Evolution.state`.

    Raises:
        InputError: the state is of another search.
    """

    def __init__(
        self,
        space: Space[PhenotypeT],
        algorithm: Algorithm,
        *,
        seed: int,
        objectives: int = 1,
        limits: Callable[[PhenotypeT], float] | None = None,
        state: Plain | None = None,
    ) -> None:
        self._space = space
        self._algorithm = algorithm
        self._limits = limits
        self._who: Plain = {
            "schema": _SCHEMA,
            "algorithm": algorithm.name,
            "length": space.length,
            "seed": seed,
            "objectives": objectives,
        }
        self._memory = algorithm.begin()
        self._seen: dict[str, Seen] = {}
        self._brood: Brood | None = None
        self._ids: list[str] = []  # of the brood
        self._fresh: list[bool] = []  # of the brood
        self._wanted: dict[str, PhenotypeT] = {}  # of the brood, not told yet
        self._genomes: dict[str, str] = {}  # of the brood
        self._descents: dict[str, Descent | None] = {}  # of the brood
        if state is not None:
            self._restore(state)

    @property
    def seen(self) -> Mapping[str, Seen]:
        """Every network that has been judged, by id, in the order in which it was."""
        return self._seen

    @property
    def evaluated(self) -> int:
        """How many evaluations were told, failed ones too."""
        return sum(one.violation in (0, inf) for one in self._seen.values())

    @property
    def population(self) -> Genomes | None:
        """What the next generation is bred from; None before the first, or if none is kept."""
        parts = [one.population for one in (self._memory, *self._memory.islands)]
        kept = [one.genomes for one in parts if one is not None]
        return np.concatenate(kept) if kept else None

    @property
    def lambda_(self) -> float | None:
        """Share of recent offspring whose network was new; None before there was any."""
        return self._memory.control.lambda_

    def parents(self, id_: str) -> tuple[str, ...]:
        """Return the ids of the networks that one seen, or asked for, was bred from."""
        return self._seen[id_].parents if id_ in self._seen else self._bred_from(id_)

    def descent(self, id_: str) -> Descent | None:
        """Return how the genome of a network that is asked for came about; None if it was drawn."""
        return self._descents[id_]

    def best(self) -> tuple[PhenotypeT, Seen] | None:
        """Return the best network by the first objective; None if none was evaluated."""
        judged, ids = self._archive()
        if not ids:
            return None
        return self._found(ids[best_first(judged)[0]])

    def front(self) -> list[tuple[PhenotypeT, Seen]]:
        """Return the networks that none dominates, by the first objective, best first."""
        judged, ids = self._archive()
        if not ids:
            return []
        return [self._found(ids[index]) for index in first_front(judged.objectives)]

    def turn(self, algorithm: Algorithm) -> None:
        """Go on by the same algorithm with other settings, from the next generation.

        Args:
            algorithm: of the same name.

        Raises:
            InputError: it is another.
        """
        if algorithm.name != self._algorithm.name:
            raise InputError(
                f"a search by {self._algorithm.name} does not go on by {algorithm.name}: give it "
                "other settings of the same"
            )
        self._algorithm = algorithm

    def ask(self, late: Callable[[], bool] | None = None) -> tuple[PhenotypeT, ...]:
        """Return networks to evaluate, none of which was told before.

        Asked again before all are told, it returns those that are left.

        Args:
            late: whether the time is up, asked before each generation: where all break limits, each
                may take long to be told so. None for no hurry.

        Returns:
            None at all if 200 generations brought nothing new, or if time is up: the search is at
            its end.
        """
        for _ in range(_PATIENCE):
            if late is not None and late():
                return ()
            if self._brood is None:
                self._breed()
            if self._wanted:
                return tuple(self._wanted.values())
            self._learn()
        return ()

    def tell(self, results: Mapping[str, Sequence[float] | None]) -> None:
        """Take in what evaluations found, in any order and any portions.

        Args:
            results: objectives by a network's id, less is better; None, or a number that is not
                finite, for an evaluation that failed.

        Raises:
            InputError: a network that was not asked for, or another number of objectives; nothing
                is taken in.
        """
        wanted = self._who["objectives"]
        for id_, found in results.items():
            if id_ not in self._wanted:
                raise InputError(
                    f"nobody asked for the network {id_}, or it was told before; "
                    f"{len(self._wanted)} are waited for"
                )
            if found is not None and len(found) != wanted:
                raise InputError(
                    f"{len(found)} objectives for the network {id_}: this search has {wanted}"
                )
        for id_, found in results.items():
            del self._wanted[id_]
            genome = self._genomes[id_]
            if found is None or not all(map(isfinite, found)):
                self._seen[id_] = Seen(genome, (inf,) * wanted, inf, self._bred_from(id_))
            else:
                self._seen[id_] = Seen(genome, tuple(map(float, found)), 0.0, self._bred_from(id_))
        if results and not self._wanted:
            self._learn()

    def state(self) -> Plain:
        """Return all that the search knows, as what JSON can hold."""
        return {
            **self._who,
            "memory": self._memory.plain(),
            "brood": self._brood.plain() if self._brood is not None else None,
            "fresh": list(self._fresh),
            "seen": [
                [id_, one.genome, one.parents, *map(_plain, (one.violation, *one.objectives))]
                for id_, one in self._seen.items()
            ],
        }

    def _restore(self, state: Plain) -> None:
        for key, own in self._who.items():
            if state.get(key) != own:
                raise InputError(
                    f"this search cannot go on: its {key} is {own}, that of the state "
                    f"{state.get(key)}; begin anew, or with what the state was made by"
                )
        self._memory = memory_of(state["memory"])
        for id_, genome, parents, violation, *objectives in state["seen"]:
            self._seen[id_] = Seen(
                genome, tuple(map(_number, objectives)), _number(violation), tuple(parents)
            )
        if state["brood"] is not None:
            self._take_up(brood_of(state["brood"]))
            self._fresh = list(state["fresh"])

    def _breed(self) -> None:
        rng = stream(self._who["seed"], self._memory.generation)
        self._take_up(self._algorithm.breed(self._memory, rng))

    def _take_up(self, brood: Brood) -> None:
        """Find out which of a brood are to be evaluated."""
        networks = self._space.decode(brood.genomes)
        violations = self._space.violation(brood.genomes).tolist()
        self._brood = brood
        self._ids = [network.id for network in networks]
        self._genomes = dict(
            zip(reversed(self._ids), reversed(texts_of(brood.genomes)), strict=True)
        )
        self._descents = self._descents_of(brood)
        self._fresh, self._wanted = [], {}
        for network, id_, violation in zip(networks, self._ids, violations, strict=True):
            new = id_ not in self._seen and id_ not in self._wanted
            self._fresh.append(new)
            if not new:
                continue
            broken = violation
            if broken == 0 and self._limits is not None:
                broken = min(self._limits(network), _FAR)
            if broken > 0:
                nothing = (inf,) * self._who["objectives"]
                self._seen[id_] = Seen(self._genomes[id_], nothing, broken, self._bred_from(id_))
            else:
                self._wanted[id_] = network

    def _bred_from(self, id_: str) -> tuple[str, ...]:
        """Return the ids of the networks that one of the brood was bred from, each once."""
        descent = self._descents[id_]
        return () if descent is None else tuple(dict.fromkeys(descent.parents))

    def _descents_of(self, brood: Brood) -> dict[str, Descent | None]:
        """Return how the first genome of each network of a brood came about."""
        if not len(brood.parents):
            return dict.fromkeys(self._ids)
        first, second = (
            [network.id for network in self._space.decode(brood.parents[:, one])] for one in (0, 1)
        )
        found: dict[str, Descent | None] = {}
        for at, id_ in enumerate(self._ids):
            if id_ not in found:
                found[id_] = descent_of(
                    brood.genomes[at],
                    (brood.parents[at, 0], brood.parents[at, 1]),
                    (first[at], second[at]),
                    int(brood.points[at]),
                )
        return found

    def _learn(self) -> None:
        """Tell the algorithm how its brood fared."""
        brood = self._brood
        if brood is None:
            return
        found = [self._seen[id_] for id_ in self._ids]
        judged = Judged(
            brood.genomes,
            np.array([one.objectives for one in found], np.float64),
            np.array([one.violation for one in found]),
            np.array(self._fresh, bool),
        )
        self._memory = self._algorithm.learn(self._memory, brood, judged)
        self._brood, self._ids, self._fresh, self._genomes = None, [], [], {}
        self._descents = {}

    def _archive(self) -> tuple[Judged, list[str]]:
        """Return what was evaluated, by id, so that the order of answers makes no difference."""
        ids = sorted(id_ for id_, one in self._seen.items() if one.violation == 0)
        found = [self._seen[id_] for id_ in ids]
        objectives = np.array([one.objectives for one in found], np.float64)
        zeros = np.zeros(len(found))
        genomes = genomes_of([one.genome for one in found])
        return Judged(genomes, objectives, zeros, zeros == 0), ids

    def _found(self, id_: str) -> tuple[PhenotypeT, Seen]:
        seen = self._seen[id_]
        [network] = self._space.decode(genomes_of([seen.genome]))
        return network, seen


def _plain(number: float) -> float | None:
    return None if number == inf else number


def _number(plain: float | None) -> float:
    return inf if plain is None else plain
