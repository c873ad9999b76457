"""Keep, pass on, train and score the weight sets of Algorithm 1 by the trials of a search.

An id of a weight set says how it came to be: what it was drawn from, or which set it goes on from
and by which training. Algorithm 1 is a function of what training answers: after a stop it is
carried out again from its beginning, and what was trained before is read from files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from evener.artifacts.files import digest
from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.score import Score
from evener.artifacts.search_section import CreditName
from evener.errors import InvalidFileError
from evener.workflow.chunks import Crew
from evener.workflow.trial_batches import lost_part
from evener.workflow.weight_files import arrays_of, read_arrays, weights_from_arrays, write_arrays

if TYPE_CHECKING:
    from evener.search.coevolution.hyperparameters import Hyperparameters
    from evener.train.evaluator import Evaluation
    from evener.train.population.individual import Individual
    from evener.train.population.inherit import Parent
    from evener.train.population.weights import Weights
    from evener.train.trials import Rows, Terms, Trial, Tried

_LETTERS: Final = 16  # of an id
_SUFFIX: Final = ".npz"
_SCORES: Final = "scores"
_GONE: Final = "the training of the weights that it was to go on from diverged"


class SpentError(Exception):
    """The evaluations or the time of a search are used up; what was found until then counts."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What the training of a weight set came to.

    Attributes:
        network: whose it is, with the recipe that it was trained by, if recipes evolve.
        score: of the network with these weights.
        parents: ids of the networks that its weights come from, itself left out.
    """

    network: LayerGraph
    score: Score
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """How weight sets are trained and scored.

    Attributes:
        rows: what they learn.
        terms: of the trials, for so many passes over the rows.
        spread: of the weights that a network begins with.
        fitness: F of a network, by the mean difference between its answers and what was wanted.
        recipes: whether each chromosome is trained by its own rate and momentum.
        rivals: so many weight sets of one network, one behind another, let their layers compete
            once they were trained; 1 for none.
        credit: by which errors a layer that competes is judged.
        together: sets that one process trains in one batch.
        crew: processes that train.
        key: of all that a training depends on and that is not here.
    """

    rows: "Rows"
    terms: Callable[[int], "Terms"]
    spread: Callable[[LayerGraph], Spread]
    fitness: Callable[[LayerGraph, float], float]
    recipes: bool
    rivals: int
    credit: CreditName
    together: int
    crew: Crew[Any, Any]
    key: str


class TrainedSets:
    """The weight sets of one search; see `evener.search.coevolution.chromosome.Parameters`.

    Args:
        lesson: how they are trained.
        folder: where files of what was trained lie; made when the first is written.
        allow: told how many sets are to be trained, or were by what a file says; raises
            `SpentError` where these are too many.
        until: returns until when sets may be trained, in seconds since 1970; raises `SpentError`
            where that is over.
        hear: told what each training came to, also of those that were read from a file.
        compete: returns whether sets behind one another belong to one chromosome by now; while
            networks are developed, each has a single one.
    """

    def __init__(
        self,
        lesson: Lesson,
        folder: Path,
        *,
        allow: Callable[[int], object],
        until: Callable[[], float],
        hear: Callable[[Sequence[Trained]], object],
        compete: Callable[[], bool],
    ) -> None:
        from evener.train.weight_evaluator import WeightEvaluator

        self._lesson, self._folder = lesson, folder
        self._allow, self._until, self._hear, self._compete = allow, until, hear, compete
        self._evaluator = WeightEvaluator(lesson.rows.dataset())
        self._made: dict[str, Callable[[], Parent | None]] = {}
        # Networks that a set, or what it goes on from, was of.
        self._owners: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, LayerGraph], float] = {}  # differences, by set and network
        self._used: set[Path] = set()
        self._arrays = lru_cache(maxsize=2)(read_arrays)

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> list[str]:
        """Draw a weight set for each network."""
        names = []
        for index, network in enumerate(networks):
            names.append(_name({"drawn": network, "seed": seed + index}))
            self._made[names[-1]] = partial(self._drawn, network, seed + index)
        return names

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[str]:
        """Make a weight set for each network from what fits of another network's."""
        names = []
        for network, set_ in zip(networks, sets, strict=True):
            names.append(_name({"inherited": network, "from": set_}))
            self._made[names[-1]] = partial(self._passed_on, network, set_)
            self._owners[names[-1]] = self._owners.get(set_, ())
        return names

    def cross(
        self,
        networks: Sequence[LayerGraph],
        parents: Sequence[Sequence[str]],
        homologies: Sequence[Sequence[Homology]],
    ) -> list[str]:
        """Make a weight set for each network from what it has of its parents' sets."""
        names = []
        for network, sets, same in zip(networks, parents, homologies, strict=True):
            names.append(_name({"bred": network, "from": sets, "same": same}))
            self._made[names[-1]] = partial(self._bred, network, sets, same)
            owners = (one for set_ in sets for one in self._owners.get(set_, ()))
            self._owners[names[-1]] = tuple(dict.fromkeys(owners))
        return names

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        hyperparameters: "Sequence[Hyperparameters]",
        *,
        passes: int,
        seed: int,
    ) -> list[str]:
        """Train each network from its weight set, and write what came of all of them.

        Raises:
            SpentError: evaluations or time do not suffice for all of them.
        """
        given = {"networks": networks, "sets": sets, "rates": hyperparameters}
        call = _name({**given, "passes": passes, "seed": seed, "key": self._lesson.key})
        path = self._folder / f"{call}{_SUFFIX}"
        named = [self._trained_as(*each) for each in zip(networks, hyperparameters, strict=True)]
        self._allow(len(sets))
        found = self._read(path)
        if found is None or len(found) != len(sets):
            found = self._try(named, sets, passes, seed, until_s=self._until())
            found = self._contested(networks, found)
            self._write(path, found)
        self._used.add(path)
        names, heard = [], []
        for index, (network, own, set_, tried) in enumerate(
            zip(networks, named, sets, found, strict=True)
        ):
            name = f"{call}-{index}"
            names.append(name)
            self._made[name] = partial(self._kept, path, index, network, seed)
            self._found[name, network] = tried.difference
            parents = tuple(one for one in self._owners.get(set_, ()) if one != own.id)
            self._owners[name] = (own.id,)
            heard.append(Trained(own, tried.score, parents))
        self._hear(heard)
        return names

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> list[float]:
        """Return F of each network with its weight set; infinity of one that diverged."""
        pairs = list(zip(sets, networks, strict=True))
        unknown = [pair for pair in dict.fromkeys(pairs) if pair not in self._found]
        whole = {pair: known for pair in unknown if (known := self._made[pair[0]]()) is not None}
        found = self._evaluator(
            [self._individual(network, 0) for _, network in whole],
            [weights for _, weights in whole.values()],
        )
        self._found |= dict.fromkeys(unknown, inf)
        self._found |= {pair: one.difference for pair, one in zip(whole, found, strict=True)}
        return [
            self._lesson.fitness(network, self._found[set_, network]) for set_, network in pairs
        ]

    def tidy(self) -> None:
        """Remove files of trainings that this search has not come by."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path not in self._used:
                path.unlink(missing_ok=True)

    def _trained_as(self, network: LayerGraph, rates: "Hyperparameters") -> LayerGraph:
        if not self._lesson.recipes:
            return network
        recipe = Recipe(learning_rate=rates.learning_rate, momentum=rates.momentum)
        return msgspec.structs.replace(network, recipe=recipe)

    def _try(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        passes: int,
        seed: int,
        *,
        until_s: float,
    ) -> "list[Tried]":
        from evener.train.trials import Trial, Tried, score_rows

        lesson = self._lesson
        found: dict[int, Tried] = {}
        trials: dict[int, Trial] = {}
        for index, (network, set_) in enumerate(zip(networks, sets, strict=True)):
            known = self._made[set_]()
            if known is None:
                found[index] = Tried(Score(id=network.id, status="diverged", message=_GONE))
                continue
            own = np.random.SeedSequence([seed, index]).generate_state(1)[0]
            trials[index] = Trial(
                network=network, spread=lesson.spread(network), start=known[1], seed=int(own)
            )
        parts = list(_parts(list(trials.values()), lesson.together))
        act = partial(score_rows, lesson.rows, lesson.terms(passes), None, until_s)
        tried = [one for part in lesson.crew.map(act, parts, lost_part) for one in part]
        if any(one.score.status == "out_of_budget" for one in tried):
            raise SpentError
        found |= dict(zip(trials, tried, strict=True))
        return [found[index] for index in range(len(sets))]

    def _contested(self, networks: Sequence[LayerGraph], found: "Sequence[Tried]") -> "list[Tried]":
        from evener.workflow.set_competition import contest

        if not self._compete():
            return list(found)
        made: list[Tried] = []
        for first in range(0, len(found), self._lesson.rivals):
            some = found[first : first + self._lesson.rivals]
            alike = networks[first : first + self._lesson.rivals]
            if len(some) < 2 or any(one != alike[0] for one in alike):
                made += some
                continue
            individual = self._individual(alike[0], 0)
            made += contest(some, partial(self._evaluate, individual), credit=self._lesson.credit)
        return made

    def _evaluate(self, individual: "Individual", batch: "Sequence[Weights]") -> "list[Evaluation]":
        return self._evaluator([individual] * len(batch), batch)

    def _write(self, path: Path, found: "Sequence[Tried]") -> None:
        known = [(one.score, None if one.learned is None else one.difference) for one in found]
        arrays = {_SCORES: np.frombuffer(msgspec.json.encode(known), np.uint8)}
        for index, one in enumerate(found):
            if one.learned is not None:
                arrays |= arrays_of(one.learned, f"{index} ")
        write_arrays(path, arrays)

    def _read(self, path: Path) -> "list[Tried] | None":
        """Return what trainings came to, without the weights; None if no file says so."""
        from evener.train.trials import Tried

        if not path.is_file():
            return None
        try:
            written = self._arrays(path)[_SCORES].tobytes()
            known = msgspec.json.decode(written, type=list[tuple[Score, float | None]])
        except (InvalidFileError, KeyError, msgspec.MsgspecError):
            return None  # damaged: it is trained again
        return [Tried(score, None, inf if each is None else each) for score, each in known]

    def _kept(self, path: Path, index: int, network: LayerGraph, seed: int) -> "Parent | None":
        if self._found[f"{path.stem}-{index}", network] == inf:
            return None
        weights = weights_from_arrays(self._arrays(path), f"{index} ")
        return self._individual(network, seed), weights

    def _drawn(self, network: LayerGraph, seed: int) -> "Parent":
        from evener.train.population.weights import draw_weights

        individual = self._individual(network, seed)
        return individual, draw_weights(individual)

    def _passed_on(self, network: LayerGraph, set_: str) -> "Parent | None":
        from evener.train.population.inherit import inherit
        from evener.train.population.weights import draw_weights
        from evener.train.weight_sets import align

        parent = self._made[set_]()
        if parent is None:
            return None
        child = self._individual(network, parent[0].seed)  # what is new is drawn from its seed
        aligned = align(child, parent)
        return child, draw_weights(child) if aligned is None else inherit(child, [aligned])

    def _bred(
        self, network: LayerGraph, sets: Sequence[str], homologies: Sequence[Homology]
    ) -> "Parent | None":
        from evener.train.weight_sets import cross

        known = [(self._made[set_](), one) for set_, one in zip(sets, homologies, strict=True)]
        return cross(partial(self._individual, network), known)

    def _individual(self, network: LayerGraph, seed: int) -> "Individual":
        from evener.train.population.decoded import individual_of

        ends, spread = self._evaluator.ends, self._lesson.spread(network)
        return individual_of(
            network,
            ends.features,
            ends.outputs,
            seed=seed,
            weight_variance=spread.weight_variance,
            bias_variance=spread.bias_variance,
        )


def _name(made_of: object) -> str:
    return digest(made_of)[:_LETTERS]


def _parts(trials: "Sequence[Trial]", most: int) -> "Iterator[tuple[Trial, ...]]":
    for first in range(0, len(trials), most):
        yield tuple(trials[first : first + most])
