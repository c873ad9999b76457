"""What a report shows: the artifacts of one build, side by side."""

import msgspec

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.front import Front
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.requirements import Verdict
from evener.artifacts.trace import Trace


class ReportContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The artifacts that a page is made of; equal ones make an equal page.

    Attributes:
        project: name of the project.
        verdicts: the requirements beside what was measured.
        front: every architecture that was tried.
        card: what the network is and how it was made.
        profile: the machine, and how long the blocks take on it.
        plan: which blocks run where.
        trace: what the run over the test rows came to.
        comparison: the plan against single, all cores and copies.
        versions: version of each package that took part, by name.
        training_s: how long training took, in seconds.
        notes: what was missing, rare, far or left out of the data.
        network_file: the network's file, relative to the project.
    """

    project: str
    verdicts: tuple[Verdict, ...]
    front: Front
    card: Card
    profile: Profile
    plan: Plan
    trace: Trace
    comparison: Comparison
    versions: dict[str, str]
    training_s: float
    notes: tuple[str, ...] = ()
    network_file: str = ".evener/network.onnx"
