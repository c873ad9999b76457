"""Boards, and limits on plans for them, that cannot be: one line says so, and nothing changes."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("unchanged")
Evener = Callable[..., tuple[int, str, str]]


def refused(evener: Evener, *arguments: str | Path, message: str, code: int = 2) -> None:
    ended, out, err = evener(*arguments)

    *progress, line = err.splitlines()
    assert (ended, out) == (code, ""), err
    assert line.startswith(f"evener {arguments[0]}: ")
    assert message in line
    assert set(progress) <= {"reading the data"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-rate", "99 /s"), "no plan reaches 99 /s: the quickest makes"),
        (("--max-energy", "1 mJ"), "no plan keeps an energy of 1 mJ per frame: the least is"),
        (
            ("--min-rate", "6 /s", "--max-latency", "420 ms"),
            "no plan keeps 6 /s and 420 ms of latency together, though each alone can be kept",
        ),
        (("--memory", "B=1MB,G=1MB,L=1MB"), "(1000000 bytes). Allow it more memory"),
        (("--objective", "pareto", "--min-rate", "99 /s"), "no plan reaches 99 /s"),
    ],
)
def test_limits_that_no_plan_of_a_board_keeps_end_with_1(
    evener: Evener, options: tuple[str, ...], message: str
) -> None:
    code, out, err = evener("plan", "resnet50", "--board", "rk3399pro", *options)

    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("alexnet", "--board", "vim4"), "no board 'vim4'; there are khadas-vim3, rk3399pro"),
        (("alexnet", "--board", "none.toml"), "cannot read none.toml"),
        (
            ("vgg20", "--board", "rk3399pro"),
            "no built-in network of that name. Its table has alexnet, googlenet, mobilenet, resn",
        ),
        (
            ("mobilenet", "--board", "rk3399pro", "--shape", "x=1,3,9,9"),
            "was measured with shapes of its own of mobilenet: leave --shape, --fix and",
        ),
        (("alexnet", "--board", "khadas-vim3", "--transfers"), "has no times of transfers"),
        (("alexnet", "--transfers"), "give --board with --transfers"),
        (("alexnet", "--board", "rk3399pro", "--profile", "p.json"), "give --board, or "),
        (("alexnet", "--board", "rk3399pro", "--granularity", "strict"), "give --board, or "),
        (("alexnet", "--board", "rk3399pro", "--max-live", "2"), "give --board, or --max-live"),
        (("alexnet", "--board", "rk3399pro", "--processors", "X"), "it knows B, G, L"),
        (("alexnet", "--board", "rk3399pro", "--memory", "X=1MB"), "given for 'X'; the profile of"),
        (("alexnet", "--memory", "B"), "'B' is no limit of memory: write NAME=SIZE"),
        (("alexnet", "--memory", "B=1MB,B=2MB"), "names B twice"),
        (("alexnet", "--memory", "B=0MB"), "'0MB' is not above 0"),
        (("alexnet", "--min-rate", "0 /s"), "'0 /s' is not above 0"),
        (("alexnet", "--max-energy", "1 W"), "has the unit 'W', and is no energy"),
        (("squeezenet", "--objective", "energy"), "nothing here measures energy"),
        (("squeezenet", "--max-energy", "1 J"), "nothing here measures energy"),
        (
            ("squeezenet", "--objective", "pareto", "--max-energy", "1 J"),
            "nothing here measures energy",
        ),
    ],
)
def test_a_board_that_cannot_be_planned_for_is_refused(
    evener: Evener, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = evener("plan", *arguments)

    assert (code, out) == (2, "")
    assert message in err


def test_a_plan_for_a_board_cannot_be_run(evener: Evener, unchanged: Callable[[], None]) -> None:
    evener("plan", "googlenet", "--board", "khadas-vim3", "--space", "paper", "-o", "p.json")
    unchanged()

    code, _, err = evener("run", "googlenet", "--plan", "p.json", "--frames", "2")

    assert code == 2
    assert "a plan made with --board predicts what the board would reach" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--transfers",), "--transfers, --no-compute and --slowdown need a --board"),
        (("--no-compute",), "--transfers, --no-compute and --slowdown need a --board"),
        (("--slowdown", "2"), "--transfers, --no-compute and --slowdown need a --board"),
        (("--board", "khadas-vim3", "--profile", "p.json"), "give --board or --profile"),
        (("--board", "khadas-vim3", "--slowdown", "0.5"), "0.5 is not in the range 1<=x<=1000000"),
        (("--board", "khadas"), "no board 'khadas'; there are khadas-vim3"),
        (("--board", "khadas-vim3", "--transfers"), "has no times of transfers"),
        (("--board", "khadas-vim3", "--no-compute", "--out", "a.npz"), "leave --out out"),
    ],
)
def test_options_of_simulated_processors_that_contradict_are_refused(
    evener: Evener, options: tuple[str, ...], message: str
) -> None:
    refused(evener, "run", "alexnet", "--frames", "2", *options, message=message)
