"""The plans of the paper's space are counted, whatever the machine."""

from collections.abc import Callable

import pytest

from evener.testing import tiny
from evener.workflow.paper import count_plans


@pytest.mark.parametrize(
    ("net", "counted"),
    [
        ("alexnet", (7, 126)),
        ("googlenet", (12, 396)),
        ("resnet50", (17, 816)),
        ("squeezenet", (18, 918)),
    ],
)
def test_the_plans_of_the_paper_are_counted_whatever_the_machine(
    net: str, counted: tuple[int, int]
) -> None:
    assert count_plans(net) == counted


def test_the_plans_of_a_board_are_counted_by_its_parts() -> None:
    assert count_plans("googlenet", board="khadas-vim3") == (10, 270)


def test_by_the_rule_node_only_nested_cuts_are_counted(
    write: Callable[[str, bytes], str],
) -> None:
    assert count_plans("googlenet", granularity="node")[0] == 63
    # In every one of nine modules four places are in branches of their own.
    assert count_plans("googlenet", granularity="node")[1] < 6 * 63 * 62 // 2

    net = write("unet.onnx", tiny.unet(depth=2))  # a chain but for its skips
    assert count_plans(net, granularity="node", max_live=3) == (6, 6 * 15)
