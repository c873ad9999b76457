"""Say what is installed, and measure once what predictions of training need."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from evener.artifacts.calibration import Calibration
from evener.artifacts.ring_check import RingCheck
from evener.comm.communicator import Communicator
from evener.comm.mpi_library import find_library
from evener.comm.started import is_launched
from evener.errors import InputError
from evener.workflow.cache import keep, recall

PACKAGES: Final = ("torch", "numpy", "onnxruntime", "mpi4py")


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """What was found on this machine.

    Attributes:
        versions: of libraries by name; None of those that are missing.
        ranks: how many measured together.
        calibration: of one core, and of the link if there were several ranks.
        rings: ways to exchange on small rings that MPI libraries are known to get wrong.
    """

    versions: Mapping[str, str | None]
    ranks: int
    calibration: Calibration
    rings: tuple[RingCheck, ...]


def check_self(
    communicator: Communicator, *, clock: Callable[[], float] = time.perf_counter
) -> SelfCheck:
    """Look at this machine; with several ranks, every one must call it, and all measure at once.

    Args:
        communicator: the ranks; `Alone()` for one.
        clock: seconds that never go back.

    Raises:
        MissingExtraError: torch is missing.
    """
    from evener.train.calibrate import calibrate, measure_link, multiplier

    versions = dict(_versions()) | {"BLAS": multiplier(), "MPI": _mpi()}
    link = None
    rings: tuple[RingCheck, ...] = ()
    if communicator.size > 1:
        carrier = f"{type(communicator).__name__}, {communicator.size} ranks"
        link = measure_link(communicator, clock, name=carrier)
        if is_launched():
            from evener.comm.mpi_faults import check_rings

            rings = tuple(check_rings())
    begun = clock()
    found = calibrate(clock, processor=processor_name(), link=link)
    if communicator.rank == 0:
        inputs = _inputs(linked=link is not None)
        keep(found, "calibration", inputs, made_from={}, took_s=clock() - begun)
    return SelfCheck(versions, communicator.size, found, rings)


def known_calibration() -> Calibration | None:
    """Return what was measured last on a machine like this, with a link if there is one.

    None if `evener selfcheck` never ran here with these versions.
    """
    for linked in (True, False):
        kept = recall(Calibration, "calibration", _inputs(linked=linked))
        if kept is not None:
            return kept.value
    return None


def processor_name() -> str:
    """Return the name of the quickest processor and how many cores this process may use."""
    from evener.workflow.opened import find_processors

    first = find_processors().processors[0]
    return f"{first.model or first.name}, {len(os.sched_getaffinity(0))} cores"


def _inputs(*, linked: bool) -> dict[str, object]:
    return {"processor": processor_name(), "linked": linked, "versions": dict(_versions())}


def _versions() -> Mapping[str, str | None]:
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _mpi() -> str | None:
    """Name the MPI library that ranks would use; None if there is none."""
    try:
        library = find_library()
    except InputError:  # nothing is missing for one rank
        return None
    return f"{library.name} {library.version}, {library.launcher or 'without mpiexec'}"
