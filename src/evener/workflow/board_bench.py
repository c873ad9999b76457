"""Measure plans for a board over its simulated processors, against what needs no planner there."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Unpack

import msgspec

from evener.artifacts.comparison import Comparison
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.network.frames import random_frames
from evener.plan.baselines import BASELINES
from evener.plan.decide import make_baseline
from evener.run.entry import Frame
from evener.workflow.bench import BenchChoices, Contest
from evener.workflow.board import OnBoard, check_left_to_board, open_on_board
from evener.workflow.board_run import check_slowdown, open_here
from evener.workflow.choices import settle
from evener.workflow.compared import compared, each_once, together, with_limit
from evener.workflow.cutting import Cutting
from evener.workflow.live import summarise
from evener.workflow.memory import plan_bytes
from evener.workflow.near_enough import reference_runtime
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines
from evener.workflow.pipeline import make_pipeline
from evener.workflow.race import Entrant, race
from evener.workflow.several import each_its_own
from evener.workflow.stand_in import slowed, stand_in
from evener.workflow.wish import Wish, decide

ROUNDS: Final = 3  # simulated processors do not drift, and their times do not vary
# A round ends when the slowest copy is done with its last frame, the others idle: at 12 times as
# many frames as are in flight that is a few per cent of the round.
_TURNS: Final = 12


def bench_on_board(
    nets: Sequence[str],
    *,
    board: str,
    transfers: bool = False,
    compute: bool = True,
    slowdown: float = 1.0,
    contest: Contest = Contest(),
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    progress: Progress | None = None,
    **choices: Unpack[BenchChoices],
) -> Comparison:
    """Measure the best plan of each network for a board against single, all cores and copies.

    Threads, hand-offs and order are those of real runs on this machine, taking turns round by
    round; only the time of each stage is made up, from the board's table. Peers have no times
    there. All cores of the best processor are what the Pipe-All paper calls Peak, and copies on
    all processors what it calls Parallel.

    Args:
        nets: paths of ONNX files, or names of built-in networks.
        board: name of a known board, or path of a board's file.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
        compute: whether answers are computed meanwhile, as they would be.
        slowdown: how many times as long the board's processors take, so that this machine can
            keep up; what is returned is as without it.
        contest: how often each runs, and the latency that the plan must keep.
        cutting: how the networks are read; what they are cut into is the table's.
        engines: the board's processors to use, and which runtimes may compute here, of which the
            first does.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: a network, the board, the slowdown or a processor cannot be used.
        InfeasibleError: no plan meets the latency limit, this machine computes longer than the
            board, or the network runs on no processor alone, so that there is nothing to compare.
    """
    contest, cutting, engines = settle(choices, contest, cutting, engines)
    check_slowdown(slowdown)
    check_left_to_board(cutting, {"--precision": engines.precision})
    found = []
    for index, (net, own) in enumerate(zip(nets, each_its_own(nets, cutting), strict=True)):
        if progress is not None:
            progress(f"measuring {net}", index, len(nets))
        known = open_on_board(net, board, own, transfers=transfers)
        opened = open_here(known, net, engines, compute=compute)
        course = _Course(
            opened, compute=compute, slowdown=slowdown, rounds=contest.rounds or ROUNDS
        )
        found.append(_bench(known, course, contest, engines.processors))
    return together(found)


class _Course:
    """Where plans for a board take turns on this machine."""

    def __init__(self, opened: Opened, *, compute: bool, slowdown: float, rounds: int) -> None:
        self._opened = opened
        self.compute = compute
        self.slowdown = slowdown
        self._rounds = rounds
        self._frames: Sequence[Frame] = random_frames(opened.network.inputs, 8, seed=0)

    def run(self, plans: Mapping[str, Plan]) -> dict[str, list[Trace]]:
        """Run plans in turn; returns the traces of each, one per round.

        Raises:
            InfeasibleError: this machine computed longer than the board would.
        """
        inner = self._opened.runtimes[reference_runtime(self._opened)]
        slow = {kind: slowed(plan, self.slowdown) for kind, plan in plans.items()}
        stand_ins = {
            kind: stand_in(plan, inner, compute=self.compute) for kind, plan in slow.items()
        }
        entrants = {
            kind: Entrant(
                open=partial(make_pipeline, self._opened, one.plan, runtimes=one.runtimes),
                memory_bytes=plan_bytes(self._opened, one.plan),
                rate_hz=one.plan.rate_hz,
            )
            for kind, one in stand_ins.items()
        }
        most = max(plan.credits for plan in plans.values())
        traces = race(entrants, self._frames, rounds=self._rounds, frames_per_round=_TURNS * most)
        for one in stand_ins.values():
            one.check()
        return traces


def _bench(
    known: OnBoard, course: _Course, contest: Contest, processors: Sequence[str] | None
) -> Comparison:
    baselines, reasons = _baselines(known.profile, processors)
    limit_s, copies_p99_s = contest.max_latency_s, None
    if contest.max_latency_share is not None:
        if "copies" not in baselines:
            raise InfeasibleError(
                f"there are no copies to take a share of the latency of: {reasons['copies']}"
            )
        traces = course.run({"copies": baselines["copies"]})["copies"]
        copies_p99_s = summarise(traces, rivals=0).latency_p99_s / course.slowdown
        limit_s = contest.max_latency_share * copies_p99_s
    best = decide(known.profile, Wish(max_latency_s=limit_s), processors)
    plans = {"plan": msgspec.structs.replace(best, what="plan")} | baselines
    first = each_once(plans)
    measured = course.run({kind: plans[kind] for kind in first.values()})
    found = compared(
        known.profile.network,
        {kind: (plan, measured[first[kind]]) for kind, plan in plans.items()},
        left_out=reasons,
        slowdown=course.slowdown,
    )
    found = msgspec.structs.replace(found, board=known.board.name, computed=course.compute)
    return with_limit(found, limit_s, copies_p99_s=copies_p99_s)


def _baselines(
    profile: Profile, processors: Sequence[str] | None
) -> tuple[dict[str, Plan], dict[str, str]]:
    """Return the baselines that there are on a board, and why there are no others."""
    plans: dict[str, Plan] = {}
    reasons: dict[str, str] = {}
    for what in BASELINES:
        try:
            plans[what] = make_baseline(profile, what, processors=processors)
        except InfeasibleError as error:
            reasons[what] = str(error)
    if not plans:
        raise InfeasibleError(
            f"no processor of {profile.machine.host} runs {profile.network} alone, so that there "
            "is nothing to compare a plan with; evener plan --board predicts it"
        )
    return plans, reasons
