"""Name the known thing that somebody probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return a question to put into a message; nothing where no known name is near.

    Args:
        name: that nobody knows.
        known: names that there are; capitals count for nothing.
        cutoff: share of the letters, from 0 to 1, that must be alike at least, see `difflib`.

    Example:
        >>> did_you_mean("acuracy", ["accuracy", "size"])
        "did you mean 'accuracy'? "
        >>> did_you_mean("colour", ["accuracy", "size"])
        ''
    """
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f"did you mean '{by_lower[near[0]]}'? " if near else ""
