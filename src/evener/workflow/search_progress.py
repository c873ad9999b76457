"""Say in a line how far a search is."""

from evener.artifacts.front import Generation
from evener.artifacts.search_section import SearchSection
from evener.workflow.pace import SHARE


def progress_of(last: Generation, done: int, section: SearchSection, spent_s: float) -> str:
    """Say how far a search is.

    Args:
        last: the generation that ended last.
        done: how many have.
        section: how many there may be, and for how long.
        spent_s: that they took.
    """
    best = "-" if last.best is None else f"{last.best:.4g}"
    drawn = "-" if last.random_best is None else f"{last.random_best:.4g}"
    words = [f"best {best} (random search {drawn})", f"{last.front} on the front"]
    if last.diversity is not None:
        words.append(f"diversity {last.diversity:.2f}")
    if last.lambda_ is not None:
        words.append(f"λ {last.lambda_:.2f}")
    left_s = min(spent_s / done * (section.generations - done), SHARE * section.budget_s - spent_s)
    return f"generation {done}: {', '.join(words)}; about {max(left_s, 0):.0f} s left"
