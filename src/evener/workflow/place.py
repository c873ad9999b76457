"""The places that a build can plan for: this machine, or the simulated processors of a board."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Final, Protocol

import msgspec

from evener.artifacts.board import load_board
from evener.artifacts.comparison import Comparison, Ratio, Row
from evener.artifacts.files import Kept
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.project import PlanSection
from evener.artifacts.trace import StageTrace, Trace
from evener.data.frames import Frames
from evener.errors import InputError
from evener.plan.baselines import BASELINES
from evener.plan.board import unpowered
from evener.plan.decide import make_baseline
from evener.plan.foresee import with_simulated
from evener.plan.simulate import simulate
from evener.run.entry import Frame
from evener.workflow.bench import compare_opened
from evener.workflow.board import OnBoard, open_on_board
from evener.workflow.cutting import Cutting, Shapes
from evener.workflow.frames import OnAnswer
from evener.workflow.near_enough import reference_runtime
from evener.workflow.opened import Opened, Progress, find_processors, open_blocks, restrict
from evener.workflow.opening import open_network
from evener.workflow.plan import check_energy, metered, plan_live, settle_profile
from evener.workflow.run import run_opened
from evener.workflow.stand_in import stand_in
from evener.workflow.steps import code_version
from evener.workflow.wish import Wish, decide

LEAST_FRAMES: Final = 2000  # of the run that is timed; fewer frames go round
ROUNDS: Final = 9  # of the comparison with single, all cores and copies
_AT_ONCE_S: Final = 1e-9


class Place(Protocol):
    """Where a network is planned for, and how it is found out what it reaches there."""

    @property
    def depends_on(self) -> Mapping[str, object]:
        """What a profile depends on beside the network, encodable as JSON."""
        ...

    @property
    def knows_energy(self) -> bool:
        """Whether a plan can be held to an energy."""
        ...

    def profile(self, wish: Wish, progress: Progress | None) -> Profile:
        """Say how long segments take, so that the best plans for a wish rest on no guess.

        Raises:
            InfeasibleError: no plan meets the wish.
        """
        ...

    def plan(self, profile: Kept[Profile], wish: Wish, progress: Progress | None) -> Plan:
        """Choose the best plan.

        Raises:
            InfeasibleError: no plan meets the wish.
        """
        ...

    def run(self, plan: Plan, frames: Sequence[Frame], on_answer: OnAnswer) -> Trace:
        """Answer every frame at least once through the plan, and say how quickly that goes."""
        ...

    def compare(self, plan: Plan, profile: Profile, frames: Sequence[Frame]) -> Comparison:
        """Hold a plan against single, all cores and copies."""
        ...


def place_of(section: PlanSection, folder: Path, network: Path, shapes: Shapes) -> Place:
    """Return the place that a project plans for.

    Args:
        section: what the project says about it.
        folder: the project, which a board's file is relative to.
        network: the ONNX file, which need not be there before a method is called.
        shapes: static shapes of its inputs.

    Raises:
        InputError: a processor or a board that there is not.
    """
    check_place(section, folder)
    if section.board is None:
        return ThisMachine(network, shapes, section.named)
    return SimulatedBoard(network, shapes, section.named, path_of(section.board, folder))


def check_place(section: PlanSection, folder: Path) -> None:
    """Check that a place has the processors that a project names, and can tell what it asks.

    Raises:
        InputError: a processor or a board that there is not, or energy asked for on this machine.
    """
    if section.board is None:
        restrict(find_processors(), section.named)
        check_energy(Wish(objective=section.objective))
        return
    board = load_board(path_of(section.board, folder))
    known = [processor.name for processor in board.processors]
    unknown = [name for name in section.named or () if name not in known]
    if unknown:
        raise InputError(
            f"the board {board.name} has no processor '{unknown[0]}'; it has {', '.join(known)}"
        )


class ThisMachine:
    """The machine that the build runs on: everything is timed."""

    def __init__(self, network: Path, shapes: Shapes, processors: Sequence[str] | None) -> None:
        self._network = network
        self._shapes = shapes
        self._processors = processors

    @cached_property
    def _opened(self) -> Opened:
        return open_network(str(self._network), shapes=self._shapes, processors=self._processors)

    @property
    def depends_on(self) -> Mapping[str, object]:
        """See `Place.depends_on`."""
        return {
            "machine": restrict(find_processors(), self._processors),
            "code": code_version("network", "profile", "runtime"),
        }

    @property
    def knows_energy(self) -> bool:
        """Whether something meters it, see `Place.knows_energy`."""
        return metered()

    def profile(self, wish: Wish, progress: Progress | None) -> Profile:
        """Time the network, see `Place.profile`."""
        return settle_profile(self._opened, wish, progress=progress).value

    def plan(self, profile: Kept[Profile], wish: Wish, progress: Progress | None) -> Plan:
        """Try the best few plans, see `Place.plan`."""
        return plan_live(self._opened, profile, wish, progress=progress)

    def run(self, plan: Plan, frames: Sequence[Frame], on_answer: OnAnswer) -> Trace:
        """Run the plan, see `Place.run`."""
        count = max(len(frames), LEAST_FRAMES)
        given = Frames.going_round(frames, count)
        return run_opened(self._opened, plan, given, on_answer=on_answer).trace

    def compare(self, plan: Plan, profile: Profile, frames: Sequence[Frame]) -> Comparison:
        """Run all in turn, see `Place.compare`."""
        return compare_opened(self._opened, plan, profile, frames, rounds=ROUNDS)


class SimulatedBoard:
    """A board that is not at hand: answers are computed here, times are simulated.

    The times are those of the board's table or cost model, and rate and latency come from the
    simulator; no clock is read, so that every machine finds the same.
    """

    def __init__(
        self, network: Path, shapes: Shapes, processors: Sequence[str] | None, board: str
    ) -> None:
        self._network = network
        self._shapes = shapes
        self._processors = processors
        self._board = board

    @cached_property
    def _found(self) -> OnBoard:
        return open_on_board(str(self._network), self._board, Cutting(shapes=self._shapes))

    @property
    def depends_on(self) -> Mapping[str, object]:
        """See `Place.depends_on`."""
        return {
            "board": load_board(self._board),
            "processors": self._processors,
            "code": code_version("artifacts", "network", "plan"),
        }

    @property
    def knows_energy(self) -> bool:
        """Whether the board's cost model has powers, see `Place.knows_energy`."""
        return not unpowered(load_board(self._board), self._processors)

    def profile(self, wish: Wish, progress: Progress | None) -> Profile:  # noqa: ARG002 - nothing is timed
        """Take the board's times, see `Place.profile`."""
        return self._found.profile

    def plan(self, profile: Kept[Profile], wish: Wish, progress: Progress | None) -> Plan:  # noqa: ARG002 - it takes no time worth telling
        """Take the plan that is predicted to be best, see `Place.plan`."""
        return with_simulated(decide(profile.value, wish, self._processors), profile.value)

    def run(self, plan: Plan, frames: Sequence[Frame], on_answer: OnAnswer) -> Trace:
        """Compute the answers as fast as this machine can, and simulate the times."""
        network, blocks = self._found.network, self._found.blocks
        if network is None or blocks is None:
            raise InputError(f"{self._network} is gone; build again")
        opened = open_blocks(network, blocks)
        at_once = [[repeat(_AT_ONCE_S) for _ in stage.lanes] for stage in plan.stages]
        runtime = opened.runtimes[reference_runtime(opened)]
        answered = run_opened(
            opened,
            plan,
            Frames.going_round(frames, len(frames)),
            on_answer=on_answer,
            stand_ins=stand_in(plan, runtime, service=at_once),
        ).trace
        trace = simulated_trace(plan, max(len(frames), LEAST_FRAMES))
        return msgspec.structs.replace(
            trace,
            equal=answered.equal,
            max_error=answered.max_error,
            checked=answered.checked,
        )

    def compare(self, plan: Plan, profile: Profile, frames: Sequence[Frame]) -> Comparison:  # noqa: ARG002 - no frame is run
        """Simulate all, see `Place.compare`."""
        plans = [msgspec.structs.replace(plan, what="plan")]
        plans += [make_baseline(profile, what, processors=self._processors) for what in BASELINES]
        first, *others = rows = [_row(one, profile) for one in plans]
        best = max(others, key=lambda row: row.rate_hz)
        of = first.rate_hz / best.rate_hz
        ratio = Ratio(network=first.network, over=best.kind, median=of, low=of, high=of)
        return Comparison(
            rows=tuple(rows), ratios=(ratio,), ratio_best=of, rounds=1, simulated=True
        )


def simulated_trace(plan: Plan, frames: int) -> Trace:
    """Simulate a run in which every lane takes its predicted time, and put it as a trace.

    Args:
        plan: the plan.
        frames: how many run through it.
    """
    found = simulate(plan, frames=frames)
    lanes = [lane for stage in plan.stages for lane in stage.lanes]
    return Trace(
        frames=frames,
        dropped=0,
        elapsed_s=found.elapsed_s,
        rate_hz=found.rate_hz,
        latency_p50_s=found.latency_p50_s,
        latency_p99_s=found.latency_p99_s,
        wait_p50_s=found.wait_p50_s,
        stages=tuple(
            StageTrace(
                stage=use.stage,
                processor=use.processor,
                cores=lane.cores,
                frames=use.frames,
                median_s=lane.time_s,
                busy=use.busy,
                planned_s=lane.time_s,
            )
            for use, lane in zip(found.lanes, lanes, strict=True)
        ),
        simulated=True,
        energy_j=plan.energy_j,
    )


def _row(plan: Plan, profile: Profile) -> Row:
    found = simulated_trace(plan, LEAST_FRAMES)
    return Row(
        network=profile.network,
        name=plan.outline,
        kind=plan.what,
        rate_hz=found.rate_hz,
        rate_low_hz=found.rate_hz,
        rate_high_hz=found.rate_hz,
        latency_p50_s=found.latency_p50_s,
        latency_p99_s=found.latency_p99_s,
        predicted_rate_hz=plan.rate_hz,
        energy_j=found.energy_j,
    )


def path_of(board: str, folder: Path) -> str:
    """Return a board's name as it is, and the path of its file from the project's folder."""
    path = Path(board)
    return str(folder / path) if path.suffix or path.name != board else board
