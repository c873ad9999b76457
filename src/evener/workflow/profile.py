"""Profile a network on this machine, and keep the profile for the next time."""

import logging
import time
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final, Unpack

import msgspec

from evener.artifacts.files import Kept, load
from evener.artifacts.profile import Contention, Profile, SegmentTime
from evener.errors import InputError
from evener.profile.contention import MOST_OTHERS, measure_contention
from evener.profile.energy import find_meter
from evener.profile.measure import profile_network as measure_network
from evener.profile.refine import measure_segments
from evener.profile.segments import Progress as TimingProgress
from evener.workflow.cache import keep, recall
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting
from evener.workflow.memory import fits, session_bytes
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, OpeningChoices, open_in_precisions
from evener.workflow.steps import code_version

_LOG: Final = logging.getLogger(__name__)


def profile_network(
    net: str,
    *,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    fresh: bool = False,
    progress: Progress | None = None,
    **choices: Unpack[OpeningChoices],
) -> Kept[Profile]:
    """Time the segments of a network on the processors of this machine.

    A profile of the same network, processors and runtime versions is kept in the user's cache
    and read again, unless `fresh`.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cutting: how it is read and cut.
        engines: what is timed.
        fresh: measure again even if a profile is kept.
        progress: told what is being measured.
        choices: fields of `cutting` and `engines`.

    Raises:
        InputError: the network, a shape or a processor cannot be used.
    """
    cutting, engines = settle(choices, cutting, engines)
    opened = open_in_precisions(net, cutting, engines, progress=progress)
    return profile_opened(opened, fresh=fresh, progress=progress)


def profile_opened(
    opened: Opened,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Kept[Profile]:
    """Time the segments of an opened network, or read the kept profile of it."""
    kept = None if fresh else recall(Profile, opened.network.name, _inputs(opened))
    if kept is not None:
        return kept
    started = time.perf_counter()
    profile = measure_network(
        opened.network,
        opened.blocks,
        opened.machine,
        runtimes=opened.runtimes,
        variants=opened.segments_in,
        optimisation=opened.optimisation,
        progress=_told(progress),
        meter=find_meter(),
    )
    profile = msgspec.structs.replace(
        profile,
        contention=_contention(opened, profile),
        variants=dict(opened.variants.keys),
    )
    return _keep(opened, profile, time.perf_counter() - started)


def refine_profile(
    opened: Opened,
    profile: Profile,
    wanted: Sequence[SegmentTime],
    *,
    progress: Progress | None = None,
) -> Kept[Profile]:
    """Measure some segments whose times were estimated, and keep the better profile.

    Args:
        opened: the network.
        profile: its profile on this machine.
        wanted: the estimates to replace.
        progress: told what is being measured.
    """
    started = time.perf_counter()
    better = measure_segments(
        profile,
        opened.network,
        opened.blocks,
        wanted,
        runtimes=opened.runtimes,
        variants=opened.segments_in,
        progress=_told(progress),
        meter=find_meter(),
    )
    return _keep(opened, better, time.perf_counter() - started)


def load_profile(path: Path, opened: Opened) -> Kept[Profile]:
    """Read a profile that was measured elsewhere, and check that it is of this network.

    Raises:
        InvalidFileError: no profile in the file.
        InputError: it is of another network or was cut by another rule.
    """
    kept = load(path, Profile)
    profile = kept.value
    if profile.network_sha256 != opened.network.sha256:
        raise InputError(
            f"{path} is a profile of {profile.network} ({profile.network_sha256[:12]}), not of "
            f"{opened.network.name} ({opened.network.sha256[:12]}); profile this network, with "
            "the same --shape, --fix and --state"
        )
    if profile.granularity != opened.blocks.granularity:
        raise InputError(
            f"{path} was cut by the rule '{profile.granularity}', not "
            f"'{opened.blocks.granularity}'; add --granularity {profile.granularity}"
        )
    if profile.max_live != opened.blocks.max_live:
        raise InputError(
            f"{path} is cut where up to {profile.max_live} tensors cross, not "
            f"{opened.blocks.max_live}; add --max-live {profile.max_live}"
        )
    for precision, key in opened.variants.keys.items():
        timed = profile.variants.get(precision, key)
        if timed != key:
            raise InputError(
                f"{path} has times of another {precision} network ({timed[:12]}) than these frames "
                f"give ({key[:12]}); give the --calibration that it was profiled with"
            )
    return msgspec.structs.replace(kept, value=only_precisions(profile, opened.variants.keys))


def only_precisions(profile: Profile, admitted: Container[str]) -> Profile:
    """Leave out the times of networks in lower precisions that are not admitted.

    Args:
        profile: a profile of any machine.
        admitted: the precisions that are.
    """
    out = {precision for precision in profile.variants if precision not in admitted}
    if not out:
        return profile
    return msgspec.structs.replace(
        profile,
        segments=tuple(one for one in profile.segments if one.precision not in out),
        variants={name: key for name, key in profile.variants.items() if name not in out},
    )


def only_runtimes(profile: Profile, runtimes: Sequence[str] | None) -> Profile:
    """Leave only the times of some runtimes in a profile.

    Args:
        profile: a profile of any machine.
        runtimes: names of the runtimes to keep; None for all.

    Raises:
        InputError: the profile has no time of a runtime.
    """
    if runtimes is None:
        return profile
    known = sorted({one.runtime for one in profile.segments})
    unknown = [name for name in runtimes if name not in known]
    if unknown:
        raise InputError(
            f"the profile of {profile.machine.host} has no time of {', '.join(unknown)}; it has "
            f"{', '.join(known)}"
        )
    segments = tuple(one for one in profile.segments if one.runtime in runtimes)
    return msgspec.structs.replace(profile, segments=segments)


def _inputs(opened: Opened) -> dict[str, object]:
    meter = find_meter()
    lower = {"variants": dict(opened.variants.keys)} if opened.variants.keys else {}
    return lower | {
        "network": opened.network.sha256,
        "granularity": opened.blocks.granularity,
        "max_live": opened.blocks.max_live,
        "machine": opened.machine,
        "optimisation": opened.optimisation,
        "meter": None if meter is None else meter.name,
        "code": code_version("network", "profile", "runtime"),
    }


def _keep(opened: Opened, profile: Profile, took_s: float) -> Kept[Profile]:
    made_from = {"network": profile.network_sha256}
    return keep(profile, opened.network.name, _inputs(opened), made_from=made_from, took_s=took_s)


def _contention(opened: Opened, profile: Profile) -> tuple[Contention, ...]:
    """Time what cores do to each other, where a session on each fits in memory."""
    last = len(profile.blocks) - 1
    wholes = [
        one
        for one in profile.segments
        if (one.first_block, one.last_block, one.precision) == (0, last, "f32")
    ]
    heaviest = max(session_bytes(opened, name, 0, last) for name in opened.runtimes)
    devices = any(not one.cores for one in opened.machine.processors)
    cores = sum(len(one.cores) for one in opened.machine.processors)
    most = cores if devices else min(cores - 1, MOST_OTHERS)
    if not fits((1 + most) * heaviest):
        _LOG.warning("%s is too big to time what cores do to each other", opened.network.name)
        return ()
    return measure_contention(
        opened.machine,
        opened.segments(0, last),
        wholes,
        runtimes=opened.runtimes,
        optimisation=opened.optimisation,
        clock=time.perf_counter,
    )


def _told(progress: Progress | None) -> TimingProgress | None:
    """Tell a caller of a workflow what timing tells its own way."""
    if progress is None:
        return None
    return lambda done, total, what: progress(what, done, total)
