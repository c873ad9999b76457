"""Check that a plan is of a network, and that this machine has what it asks for."""

from evener.artifacts.plan import Plan
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.workflow.opened import Opened


def check_plan(plan: Plan, opened: Opened) -> Plan:
    """Return a plan if it is of this network and this machine has what it asks for.

    Raises:
        InputError: another network, a processor, a runtime or a network in lower precision that
            is not here, or other tensors that cross its cuts.
    """
    if plan.network_sha256 != opened.network.sha256:
        raise InputError(
            f"the plan is of {plan.network} ({plan.network_sha256[:12]}), not of "
            f"{opened.network.name} ({opened.network.sha256[:12]}); plan this network, with the "
            "same --shape, --fix and --state"
        )
    _check_precisions(plan, opened)
    known = {processor.name: processor for processor in opened.machine.processors}
    _check_tensors(plan, opened.blocks)
    for stage in plan.stages:
        for lane in stage.lanes:
            processor = known.get(lane.processor)
            if processor is None or not set(lane.cores) <= set(processor.cores):
                raise InputError(
                    f"the plan wants {lane.processor} with cores {list(lane.cores)}, which "
                    f"{opened.machine.host} does not offer; plan on this machine, or give the "
                    "--board that it is for"
                )
            missing = {part.runtime for part in lane.parts} - set(opened.runtimes)
            if missing:
                raise InputError(
                    f"the plan wants the runtime {', '.join(sorted(missing))}, which is not "
                    f"installed; installed: {', '.join(opened.runtimes)}"
                )
    return plan


def _check_precisions(plan: Plan, opened: Opened) -> None:
    """Refuse stages in a precision that nothing was converted to: f32 would stand in for it."""
    wanted = {} if plan.lowering is None else plan.lowering.networks
    for precision, key in wanted.items():
        if opened.variants.keys.get(precision) != key:
            raise InputError(
                f"the plan computes in {precision} ({key[:12]}), to which {opened.network.name} is "
                "not converted here; plan on this machine, with --precision and --calibration"
            )


def _check_tensors(plan: Plan, blocks: Blocks) -> None:
    """Refuse blocks that are not those of the plan: another version may number places anew."""
    count = len(blocks.blocks)
    for number, stage in enumerate(plan.stages):
        if not 0 <= stage.first_block <= stage.last_block < count:
            continue  # the pipeline says which blocks there are
        first, last = blocks.blocks[stage.first_block], blocks.blocks[stage.last_block]
        for planned, found in ((stage.inputs, first.inputs), (stage.outputs, last.outputs)):
            names = tuple(tensor.name for tensor in found)
            if planned != names:
                raise InputError(
                    f"the plan lets {', '.join(planned)} cross at an end of stage {number}, where "
                    f"{', '.join(names)} do: another version made it; plan the network again"
                )
