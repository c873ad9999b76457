"""Find out what an earlier start of a search has left that this one goes on from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evener.artifacts.files import Kept, load
from evener.artifacts.score import Score
from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.errors import InvalidFileError
from evener.workflow.learned import Learned
from evener.workflow.search_keys import COURSE, TRIALS
from evener.workflow.shortening import Shortening, outgrown, shortening_of


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a search starts.

    Attributes:
        state: of the same search, which goes on; None where it begins anew.
        spent_s: seconds that went into it.
        scores: of trials that need not be made again, of another course of the search too.
        short: what trials are shortened to, if that was settled.
    """

    state: SearchState | None = None
    spent_s: float = 0.0
    scores: tuple[Score, ...] = ()
    short: Shortening | None = None

    @property
    def children(self) -> int | None:
        """How many networks the next generation has, if that was settled."""
        return None if self.state is None else self.state.children


def resume(path: Path, keys: Mapping[str, str], section: SearchSection, learned: Learned) -> Known:
    """Read what is known of a search.

    Args:
        path: file of its state.
        keys: what it depends on, see `evener.workflow.search_keys`.
        section: how to search.
        learned: what networks have learned, where children inherit it.
    """
    kept = _read(path, keys)
    if kept is None or outgrown(section, kept.value):
        return Known()
    state, short = kept.value, shortening_of(kept.value)
    # What a trial comes to depends on its network alone but where networks begin from others, or
    # are held against those beside them.
    alone = not (section.rungs or section.inherit or section.algorithm == "coevolution")
    scores = state.all_scores if alone else ()
    same = kept.made_from[COURSE] == keys[COURSE]
    if not same and short is not None and short.outlasts(section):
        return Known()
    if not same or (section.inherit and not learned.holds(state)):
        return Known(scores=scores, short=short)
    return Known(state=state, spent_s=kept.made.took_s, scores=scores, short=short)


def _read(path: Path, keys: Mapping[str, str]) -> Kept[SearchState] | None:
    try:
        kept = load(path, SearchState)
    except InvalidFileError:
        return None  # none yet, damaged, or of another version
    same = kept.made_from.get(TRIALS) == keys[TRIALS]
    return kept if same and COURSE in kept.made_from else None
