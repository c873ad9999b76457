"""The search of a project: generations until its end, then the best trained in full, then a choice.

After each generation all that is known is written, so that a search that is killed goes on from
there, and ends as if nothing had happened.
"""

import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from evener.artifacts.files import digest, save
from evener.artifacts.front import Front, Scored
from evener.artifacts.networks import Ends
from evener.artifacts.project import TrainSection
from evener.artifacts.score import Score
from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.search.layer_space import LayerSpace
from evener.search.rivals import Rivals
from evener.workflow.chunks import Crew
from evener.workflow.coevolving import ALPHA, Coevolving, Grounds, fitness_of
from evener.workflow.finalists import Finalists
from evener.workflow.generations import evolve
from evener.workflow.learned import Learned
from evener.workflow.network_cost import NetworkCost
from evener.workflow.nothing_found import nothing_found
from evener.workflow.opened import Progress
from evener.workflow.pace import SHARE, Pace, children_of, first_children_of, pool_of
from evener.workflow.search_keys import TRIALS, keys_of
from evener.workflow.search_progress import progress_of
from evener.workflow.search_resume import resume
from evener.workflow.shortening import Shortening, shorten
from evener.workflow.trained_sets import Lesson
from evener.workflow.trial_batches import TrialBatches, terms_of

if TYPE_CHECKING:
    from evener.search.algorithm import Algorithm
    from evener.search.choose import Rated
    from evener.search.homology import Descent, LayerGenomes
    from evener.train.trials import Rows
    from evener.workflow.search_setup import Candidate

_LOG: Final = logging.getLogger(__name__)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a search is for.

    Attributes:
        section: how to search.
        train: how the chosen network will be trained.
        ends: what networks stand between.
        metric: what quality is.
        quality: the least that a network must come to, if there is a limit.
        size_bytes: the most that its file may take, if there is a limit.
    """

    section: SearchSection
    train: TrainSection
    ends: Ends
    metric: str = "accuracy"
    quality: float | None = None
    size_bytes: float | None = None


class Searching:
    """One search.

    Args:
        wanted: what it is for.
        rows: what networks learn.
        path: file of its state.
        inputs: what the rows, the code and the packages are, encodable as JSON.
        crew: processes that train.
        planned: what the best plans of networks come to, where that counts; None where not.
        tell: told how far it is.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        wanted: Wanted,
        rows: "Rows",
        *,
        path: Path,
        inputs: Mapping[str, object],
        crew: Crew[Any, Any],
        planned: NetworkCost | None = None,
        tell: Progress | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from evener.workflow.base_models import base_genomes
        from evener.workflow.search_setup import (
            limits_of,
            prices_of,
            reference_of,
            space_of,
            stated_limits,
            warnings_of,
        )

        section = wanted.section
        self._stated = stated_limits(wanted.size_bytes, planned)
        self._wanted, self._section, self._rows = wanted, section, rows
        self._path, self._crew, self._tell, self._clock = path, crew, tell, clock
        self._keys = keys_of(wanted, inputs, planned)
        self._last = Learned(path.with_name("learned"))
        self._learned = self._last if section.inherit else None
        known = resume(path, self._keys, section, self._last)
        state = known.state
        scored = () if state is None or not section.inherit else state.scored
        self._heirs = [one.score.id for one in scored]
        self._sets = path.with_name("coevolved")
        self._short, self._children = known.short, known.children
        self._goes_on, self._pool = state is not None, None if state is None else state.pool
        self._full_s = 0.0
        self._begun = clock() - known.spent_s
        self._prices = prices_of(section, wanted.ends, planned)
        self._space = space_of(section, wanted.ends)
        self._warnings = warnings_of(section, self._space)
        self._base = base_genomes(
            section,
            self._space,
            learning_rate=wanted.train.learning_rate,
            limits=limits_of(wanted.size_bytes, wanted.ends, planned),
        )
        self._reference = reference_of(section, wanted.quality, wanted.size_bytes, planned)
        self._rivals: Rivals[Candidate] | Coevolving
        if section.algorithm == "coevolution":
            self._rivals = self._coevolving(planned, state)
        else:
            self._rivals = self._rivalling(planned, state, known.scores)

    def _rivalling(
        self, planned: NetworkCost | None, state: SearchState | None, known: Sequence[Score]
    ) -> "Rivals[Candidate]":
        """Return a search by generations, and random search in step."""
        from evener.workflow.search_setup import limits_of

        section = self._section
        return Rivals(
            self._space,
            self._algorithm(),
            seed=section.seed,
            population=section.population,
            most=section.most,
            evaluate=self._evaluate,
            prices=self._prices,
            names=section.costs,
            limits=limits_of(self._wanted.size_bytes, self._wanted.ends, planned),
            state=state,
            known=known,
        )

    def _coevolving(self, planned: NetworkCost | None, state: SearchState | None) -> "Coevolving":
        """Return Algorithm 1, and random search beside it."""
        from evener.workflow.search_setup import limits_of, spread_of

        section, wanted = self._section, self._wanted
        space = cast("LayerSpace", self._space)  # as it is without blocks and chains
        rivals = section.sets if section.compete else 1
        lesson = Lesson(
            rows=self._rows,
            terms=lambda passes: terms_of(
                msgspec.structs.replace(section, epochs=passes), wanted.train, section.seed
            ),
            spread=partial(spread_of, section=section),
            fitness=fitness_of(space, wanted.ends),
            recipes=section.recipes,
            rivals=rivals,
            credit=section.credit,
            together=section.together,
            crew=self._crew,
            key=digest([self._keys[TRIALS], section.recipes, rivals, section.credit, ALPHA]),
        )
        grounds = Grounds(
            section=section,
            space=space,
            ends=wanted.ends,
            learning_rate=wanted.train.learning_rate,
            lesson=lesson,
            evaluate=self._evaluate,
            prices=self._prices,
            limits=limits_of(wanted.size_bytes, wanted.ends, planned),
            bases=self._base,
            folder=self._sets,
            clock=self._clock,
        )
        return Coevolving(grounds, state)

    @property
    def spent_s(self) -> float:
        """Seconds that went into it so far, from all its starts."""
        return self._clock() - self._begun

    def run(self) -> Front:
        """Search to the end, and return what was found.

        Raises:
            InputError: nothing could be scored, for the budget or a limit.
            EvenerError: nothing could be scored for another reason.
        """
        self._remove_unneeded()
        limit_s = SHARE * self._section.budget_s
        short = self._settle(limit_s)
        self._warnings += short.warnings(self._section)
        for warning in self._warnings:
            _LOG.warning("%s", warning)
        if isinstance(self._rivals, Rivals):
            evolve(
                self._rivals,
                generations=self._section.generations,
                left_s=lambda: limit_s - self.spent_s,
                after=self._after,
            )
        else:
            self._rivals.run(
                lambda: limit_s - self.spent_s,
                partial(self._after, None),
                epochs=short.epochs,
            )
        return self._finish()

    def _settle(self, limit_s: float) -> Shortening:
        """Settle what the speed of this machine decides, once for a search that goes on."""
        from evener.workflow.search_setup import fixed_network, price_seconds

        if self._short is not None and self._goes_on:
            return self._short
        section, rivals = self._section, self._rivals
        epoch_s = self._trials().epoch_s(fixed_network(section, self._wanted.ends))
        if self._short is None:
            self._short, self._children = shorten(
                section,
                epoch_s,
                limit_s,
                rows=self._rows.dataset().row_counts["train"],
                expected=None if isinstance(rivals, Rivals) else rivals.expected,
            )
        elif isinstance(rivals, Rivals):
            self._children = first_children_of(section, epoch_s, self._short.epochs, limit_s)
        if isinstance(rivals, Rivals):
            each_s = price_seconds(section, self._space, self._prices)
            children = self._children or section.population
            if each_s is not None:
                self._pool = pool_of(
                    each_s, limit_s, children=children, generations=section.generations
                )
            rivals.turn(self._algorithm())
        return self._short

    def _remove_unneeded(self) -> None:
        """Remove what earlier searches left that this one does not go on from."""
        self._last.clear(but=self._heirs)
        if self._sets.is_dir() and self._section.algorithm != "coevolution":
            shutil.rmtree(self._sets)

    def _after(self, pace: Pace | None) -> None:
        """Fit the next generation to the time that is left, and write all that is known."""
        if pace is not None and isinstance(self._rivals, Rivals):
            self._children = children_of(self._section, pace)
            self._rivals.turn(self._algorithm())
        self._write()
        self._say()

    def _trials(self) -> TrialBatches:
        return TrialBatches(
            rows=self._rows,
            section=self._section if self._short is None else self._short.of(self._section),
            train=self._wanted.train,
            prices=self._prices,
            crew=self._crew,
            clock=self._clock,
            learned=self._learned,
            space=cast("LayerGenomes", self._space) if self._learned is not None else None,
        )

    def _evaluate(
        self,
        batch: Sequence["Candidate"],
        *,
        budget_s: float | None,
        seed: int,
        descents: "Mapping[str, Descent | None]",
    ) -> list[Score]:
        return self._trials()(batch, budget_s=budget_s, seed=seed, descents=descents)

    def _algorithm(self) -> "Algorithm":
        from evener.workflow.search_setup import algorithm_of

        return algorithm_of(
            self._section,
            self._space,
            self._prices,
            reference=self._reference,
            children=self._children,
            pool=self._pool,
            seeds=self._base,
        )

    def _say(self) -> None:
        if self._tell is None or not self._rivals.generations:
            return
        done, last = len(self._rivals.generations), self._rivals.generations[-1]
        rounds = self._section.generations
        if not isinstance(self._rivals, Rivals):
            rounds = self._rivals.rounds
        section = msgspec.structs.replace(self._section, generations=rounds)
        self._tell(progress_of(last, done, section, self.spent_s), done, section.generations)

    def _finish(self) -> Front:
        from evener.workflow.search_setup import beginnings_of, fixed_network

        state = self._rivals.state()
        rated = self._front(state)
        if not rated:
            raise nothing_found(state.scored, self._section, self._stated)
        fixed = fixed_network(self._section, self._wanted.ends)
        left_s = max(self._section.budget_s - self.spent_s, 0.0)
        trials = replace(self._trials(), learned=None)  # nobody descends from it
        [score] = trials([fixed], budget_s=left_s, seed=self._section.seed, descents={})
        begun_s = self.spent_s
        finals = Finalists(
            section=self._section,
            train=self._wanted.train.plain,
            quality=self._wanted.quality,
            rows=self._rows,
            crew=self._crew,
            deadline=self._begun + self._section.budget_s,
            tell=self._tell or _nobody,
        ).choose(state, rated, fixed)
        self._full_s = self.spent_s - begun_s
        self._write()
        return Front(
            scored=state.scored,
            front=tuple(one.id for one in sorted(rated, key=lambda one: (one.costs, one.quality))),
            chosen=finals.chosen,
            metric=self._wanted.metric,
            objectives=("error", *self._section.costs),
            random=state.random,
            fixed=Scored(architecture=fixed, score=score),
            generations=state.generations,
            retrained=finals.retrained,
            set_apart=finals.set_apart,
            beginnings=beginnings_of(self._section),
            warnings=self._warnings,
        )

    def _front(self, state: SearchState) -> "list[Rated]":
        from evener.search.choose import Rated

        by_id = {one.score.id: one for one in state.scored}
        found = [by_id[network.id] for network in self._rivals.front()]
        return [
            Rated(one.score.id, one.objectives[1:], one.score.quality, one.score.quality_error)
            for one in found
            if one.score.quality is not None
        ]

    def _write(self) -> None:
        state = msgspec.structs.replace(
            self._rivals.state(),
            epochs=None if self._short is None else self._short.epochs,
            rows=None if self._short is None else self._short.rows,
            budget_s=0.0 if self._short is None else self._short.budget_s,
            children=self._children,
            pool=self._pool,
            full_s=self._full_s,
        )
        save(self._path, state, made_from=self._keys, took_s=self.spent_s)


def _nobody(_message: str, _done: int, _of: int) -> None:
    """Hear how far a search is, and do nothing."""
