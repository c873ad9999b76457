"""Say in words why a layout was chosen, and why each other one was not."""

from collections.abc import Iterator
from math import inf

from evener.train.layout import WORTH, Layout, LayoutChoice, is_same
from evener.units import count, show


def why(choice: LayoutChoice, layout: Layout) -> str:
    """Return why a candidate was chosen, or why it was not.

    Args:
        choice: which layout was chosen.
        layout: a candidate of it.
    """
    chosen, freedom = choice.chosen, choice.freedom
    times = layout.cost.iteration_s / chosen.cost.iteration_s
    share = layout.cost.weights / chosen.cost.weights
    said = f"{times:.2f} times as long"
    if layout is chosen:
        said = "chosen"
    elif layout.memory_bytes > freedom.memory_bytes:
        said = f"more memory than the {show(freedom.memory_bytes, 'size')} that may be used"
    elif not freedom.halo and not is_same(layout, choice.best_same.shape):
        said = f"another network, {share:.0%} of the weights"
    elif layout.cost.iteration_s > freedom.iteration_s:
        said = f"longer than {show(freedom.iteration_s, 'time')}"
    elif layout.cost.weights < chosen.cost.weights and freedom.iteration_s < inf:
        said = f"{share:.0%} of the weights, and the chosen one is quick enough"
    elif layout.cost.weights < chosen.cost.weights and times < 1:
        said = f"{share:.0%} of the weights, to save less than {1 - WORTH:.0%} of the time"
    elif layout.ranks > chosen.ranks and WORTH <= times < 1:
        said = f"{count(layout.ranks, 'rank')}, to save less than {1 - WORTH:.0%} of the time"
    return said


def reasons(choice: LayoutChoice) -> Iterator[str]:
    """Yield sentences that say why a layout was chosen, with their figures.

    Args:
        choice: which layout was chosen.
    """
    chosen, best_same, freedom = choice.chosen, choice.best_same, choice.freedom
    cost = chosen.cost
    yield (
        f"{chosen}: {show(cost.iteration_s, 'time')} an iteration by the cost model, "
        f"{cost.communication_share:.0%} of it communication, with "
        f"{show(cost.weights, 'count')} weights"
    )
    same = [one for one in choice.candidates if is_same(one, best_same.shape)]
    others = [one for one in choice.candidates if one not in same]
    alone = next((one for one in same if one.ranks == 1), None)
    if alone is not None and chosen.ranks > 1:
        took_s = alone.cost.iteration_s
        times = took_s / cost.iteration_s
        yield f"{alone} would take {show(took_s, 'time')}, {times:.1f} times as long"
        yield (
            "that is with one thread, and a rank that trains alone gets all cores: see with "
            "--ranks 1 whether it is quicker than predicted"
        )
    most = next((one for one in same if one.ranks == freedom.ranks), None)
    if most is not None and chosen is best_same and chosen.ranks < freedom.ranks:
        yield (
            f"more ranks do not pay: {most} would take {show(most.cost.iteration_s, 'time')}, "
            f"{most.cost.communication_share:.0%} of it communication"
        )
    rivals = others if chosen in others else same
    rival = next((one for one in rivals if one.ranks == chosen.ranks and one != chosen), None)
    if rival is not None:
        yield f"next comes {rival}: {show(rival.cost.iteration_s, 'time')}"
    if chosen in others:
        yield (
            f"it is another network, with {cost.weights / best_same.cost.weights:.0%} of the "
            "weights: what that costs in accuracy, evener train --sweep shows"
        )
    elif others and not freedom.halo and others[0].cost.iteration_s < WORTH * cost.iteration_s:
        took_s, share = others[0].cost.iteration_s, others[0].cost.weights / cost.weights
        yield (
            f"{others[0]} would take {show(took_s, 'time')}, but is another network, with "
            f"{share:.0%} of the weights: --halo auto lets it be chosen, and evener train --sweep "
            "shows what that costs in accuracy"
        )
