"""Say why a search found no network at all."""

from collections.abc import Sequence

from evener.artifacts.front import Scored
from evener.artifacts.search_section import SearchSection
from evener.errors import EvenerError, InputError


def nothing_found(
    scored: Sequence[Scored], section: SearchSection, stated: Sequence[str]
) -> EvenerError:
    """Return the error to raise.

    Args:
        scored: what was tried.
        section: how it was searched.
        stated: the hard requirements that networks are held to before they are trained.
    """
    if not scored:
        kept, loosen = "", ""
        if stated:
            every = "the hard requirement" if len(stated) == 1 else "one of the hard requirements"
            kept, loosen = f"every one breaks {every} {', '.join(stated)}, or ", "loosen it, or "
        return InputError(
            f"no network was tried in {section.budget}: {kept}the time was up before the first "
            f"generation ended; {loosen}raise search.budget"
        )
    # A failure is ours to explain; a budget or a learning rate is the project's to change.
    failed = [one for one in scored if one.score.status == "failed"]
    told = (failed or list(scored))[0]
    kind = EvenerError if failed else InputError
    why = f": {told.score.message}" if told.score.message else ""
    return kind(
        f"none of the {len(scored)} networks could be scored; {told.architecture}: "
        f"{told.score.status}{why}"
    )
