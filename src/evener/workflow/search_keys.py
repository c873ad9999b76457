"""Say what a search depends on, so that it goes on, or what it knows is used again, only then."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from evener.artifacts.files import digest
from evener.workflow.network_cost import NetworkCost
from evener.workflow.trial_batches import terms_of

if TYPE_CHECKING:
    from evener.workflow.searching import Wanted

TRIALS: Final = "trials"
"""Name of the hash of all that the result of a trial depends on."""

COURSE: Final = "course"
"""Name of the hash of all that decides which networks are tried."""

_BOUNDS: Final = (
    "budget",
    "generations",
    "evaluations",
    "finalists",
    "seeds",
    "together",
    "probe",
)


def keys_of(
    wanted: "Wanted", inputs: Mapping[str, object], planned: NetworkCost | None
) -> dict[str, str]:
    """Return hashes of what a search depends on, by name.

    How long it may go on counts for neither, and how networks are trained in full does not either.

    Args:
        wanted: what it is for.
        inputs: what the rows, the code and the packages are, encodable as JSON.
        planned: what the best plans of networks come to, where that counts.
    """
    section = wanted.section
    trials = {
        "inputs": dict(inputs),
        "ends": wanted.ends,
        "metric": wanted.metric,
        "terms": terms_of(section, wanted.train, section.seed),
        "start": section.start,
        "inherit": section.inherit,
        "coevolution": section.algorithm == "coevolution",  # whose networks begin from others
    }
    course = {
        "trials": trials,
        "section": msgspec.structs.replace(section, **dict.fromkeys(_BOUNDS)),
        "quality": wanted.quality,
        "size_bytes": wanted.size_bytes,
        "planned": None if planned is None else planned.depends_on,
    }
    return {TRIALS: digest(trials), COURSE: digest(course)}
