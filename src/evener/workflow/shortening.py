"""Shorten the trials of a search to what its budget has time for, and say so."""

from dataclasses import dataclass
from typing import Final

import msgspec

from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.units import count
from evener.workflow.pace import epochs_of, first_children_of, rows_of

_FURTHER: Final = 2  # times the budget, beyond which shortened trials are not worth keeping


@dataclass(frozen=True, slots=True)
class Shortening:
    """What trials are shortened to.

    Attributes:
        epochs: of each.
        rows: that each learns from; None for as many as were asked for.
        budget_s: the budget that this was decided for, in seconds.
    """

    epochs: int
    rows: int | None
    budget_s: float

    def of(self, section: SearchSection) -> SearchSection:
        """Return the section for trials that are so short."""
        rows = section.rows if self.rows is None else self.rows
        return msgspec.structs.replace(section, epochs=self.epochs, rows=rows)

    def outlasts(self, section: SearchSection) -> bool:
        """Say whether trials that were settled for a longer budget may be too long for this one."""
        return section.budget_s * _FURTHER < self.budget_s

    def warnings(self, section: SearchSection) -> tuple[str, ...]:
        """Say what the budget takes away, for people; nothing where it takes nothing away.

        Example:
            >>> Shortening(1, 5000, 40.0).warnings(SearchSection(budget="40 s"))
            ('budget: trials have 1 epoch over 5,000 rows in place of 15, for which ...',)
        """
        if self.rows is None and self.epochs >= section.epochs:
            return ()
        over = "" if self.rows is None else f" over {self.rows:,} rows"
        said = (
            f"budget: trials have {count(self.epochs, 'epoch')}{over} in place of "
            f"{section.epochs}, for which {section.budget} is too short; raise search.budget, or "
            "search smaller networks or from fewer rows"
        )
        return (said,)


def shorten(
    section: SearchSection,
    epoch_s: float | None,
    limit_s: float,
    *,
    rows: int,
    expected: int | None = None,
) -> tuple[Shortening, int | None]:
    """Return what trials are shortened to, and how many children the first generation has.

    Args:
        section: what was asked for.
        epoch_s: how long a middling network takes for an epoch, in seconds; None if nobody knows.
        limit_s: time for all trials, in seconds.
        rows: that there are to learn from.
        expected: trainings of a search that goes by no generations, which have all rows; None for
            one that does.
    """
    budget_s = section.budget_s
    if expected is not None:
        epochs = epochs_of(section, epoch_s, limit_s, networks=expected)
        return Shortening(epochs, None, budget_s), None
    asked = rows if section.rows is None else min(section.rows, rows)
    fewer = rows_of(asked, epoch_s, limit_s)
    found = Shortening(epochs_of(section, epoch_s, limit_s), fewer, budget_s)
    each_s = epoch_s if fewer is None or epoch_s is None else epoch_s * fewer / asked
    return found, first_children_of(section, each_s, found.epochs, limit_s)


def shortening_of(state: SearchState) -> Shortening | None:
    """Return what the trials of a search were shortened to; None if it was not decided yet."""
    if state.epochs is None:
        return None
    return Shortening(state.epochs, state.rows, state.budget_s)


def outgrown(section: SearchSection, state: SearchState) -> bool:
    """Say whether a search now has the time for much better trials than those that were made."""
    known = shortening_of(state)
    if known is None or not known.warnings(section):
        return False
    return section.budget_s > _FURTHER * known.budget_s
