"""How far a run's answers may be from the unsplit network's, and for what reasons."""

from math import inf

from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.workflow.manner import Manner
from evener.workflow.opened import Opened


def tolerance_of(
    opened: Opened, plan: Plan, manner: Manner, trace: Trace, *, simulated: bool = False
) -> float:
    """Return how far off the answers of a run may be, as shares of the largest output.

    A plan in lower precision may be off by what it was allowed to cost; any other by what splitting
    causes: nothing, or rounding. A batch is multiplied by other kernels than a frame, which add in
    another order; so may several threads: ONNX Runtime answers GoogLeNet on two cores 8e-7 apart
    from one. A device has kernels of its own. After a switch any runtime may have computed a stage.

    Args:
        opened: the network.
        plan: the plan that ran.
        manner: how its frames came.
        trace: what became of it.
        simulated: whether one runtime of this machine computed all stages.
    """
    lanes = [] if simulated else [lane for stage in plan.stages for lane in stage.lanes]
    runtimes = {part.runtime for lane in lanes for part in lane.parts}
    if trace.switches:
        runtimes |= set(opened.runtimes)
    several_threads = bool(trace.switches) or any(len(lane.cores) > 1 for lane in lanes)
    devices = any(not lane.cores for lane in lanes)
    if manner.batch > 1 or devices or runtimes - {reference_runtime(opened)}:
        rounding = 1e-4
    elif opened.optimisation == "extended" and not several_threads:
        rounding = 0.0
    else:
        rounding = 1e-6
    return max(rounding, _allowed_error(plan))


def allowed_agreement(plan: Plan) -> float:
    """Return how many of a plan's top answers must be those in f32, as a share.

    Where the limit is the accuracy by labels, which the frames of a run do not have, none must.
    """
    lowering = plan.lowering
    if lowering is None or lowering.deviation is None or lowering.min_accuracy is None:
        return 0.0
    return lowering.min_accuracy if lowering.deviation.accuracy is None else 0.0


def reference_runtime(opened: Opened) -> str:
    """Name the runtime whose answers to the unsplit network count."""
    return next(iter(opened.runtimes))


def _allowed_error(plan: Plan) -> float:
    """Return how far off a plan's answers may be because of its precision."""
    lowering = plan.lowering
    if lowering is None or lowering.deviation is None:
        return 0.0
    return inf if lowering.max_error is None else lowering.max_error
