"""Planning for the boards that the package brings: the optima that are known of their tables."""

import csv
import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec
import pytest

from evener.artifacts.board import Board, Cost, Rates, load_board
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile, SegmentTime
from evener.errors import InfeasibleError, InputError
from evener.plan import board_profile, make_baseline, make_plan
from evener.plan.board import unpowered
from evener.plan.problem import Space

SPACES: tuple[Space, ...] = ("paper", "full")
RISING_CLOCK = 1e-9
NETWORKS = ["alexnet", "mobilenet", "resnet50", "googlenet"]


@pytest.fixture(scope="module")
def khadas() -> Board:
    return load_board("khadas-vim3")


@pytest.fixture(scope="module")
def rockchip() -> Board:
    return load_board("rk3399pro")


def rate_hz(profile: Profile, space: Space, method: str = "dp") -> float:
    plan = make_plan(profile, space=space, method="exhaustive" if method == "exhaustive" else "dp")
    return plan.rate_hz


def segment(profile: Profile, processor: str, first: int, last: int) -> SegmentTime:
    """Find a segment at the highest clock."""
    return next(
        one
        for one in profile.segments
        if (one.processor, one.first_block, one.last_block) == (processor, first, last)
    )


def row(plan: Plan) -> str:
    """Write a plan as the processor and the parts of each stage."""
    return " ".join(
        "+".join(lane.processor for lane in stage.lanes)
        + str(stage.last_block - stage.first_block + 1)
        for stage in plan.stages
    )


@pytest.mark.parametrize(
    ("network", "stages", "best_hz"),
    [
        ("alexnet", "G3 B3 L2", 21.2),
        ("mobilenet", "G4 B7 L3", 33.2),
        ("resnet50", "G7 B8 L3", 10.2),
        ("googlenet", "G3 L1 B7", 19.9),
    ],
)
def test_the_best_plan_of_the_papers_space_is_the_known_one(
    khadas: Board, network: str, stages: str, best_hz: float
) -> None:
    profile = board_profile(khadas, network, transfers=False)

    plan = make_plan(profile, space="paper")

    assert row(plan) == stages
    assert round(plan.rate_hz, 1) == best_hz


@pytest.mark.parametrize(
    ("network", "space"),
    # Of the networks of more parts, trying every plan of the full space takes too long.
    [*((name, "paper") for name in NETWORKS), ("alexnet", "full")],
)
def test_trying_every_plan_of_a_board_finds_no_better_one(
    khadas: Board, rockchip: Board, network: str, space: Space
) -> None:
    profiles = [
        board_profile(khadas, network, transfers=False),
        board_profile(rockchip, network, transfers=True),
    ]

    for profile in profiles:
        best_hz = rate_hz(profile, space)
        assert best_hz == pytest.approx(rate_hz(profile, space, "exhaustive"))


@pytest.mark.parametrize("network", NETWORKS)
def test_the_full_space_is_never_worse_nor_are_copies_better(khadas: Board, network: str) -> None:
    profile = board_profile(khadas, network, transfers=False)

    best_hz = rate_hz(profile, "full")

    assert best_hz >= rate_hz(profile, "paper")
    assert best_hz >= make_baseline(profile, "copies").rate_hz


def test_three_stages_are_not_best_on_alexnet(khadas: Board) -> None:
    profile = board_profile(khadas, "alexnet", transfers=False)

    copies, best = make_baseline(profile, "copies"), make_plan(profile)

    assert (row(copies), round(copies.rate_hz, 2)) == ("B+G+L8", 21.85)
    assert (row(best), round(best.rate_hz, 2)) == ("G3 B+L5", 21.91)


@pytest.mark.parametrize(
    ("network", "plans"),
    [("alexnet", 126), ("mobilenet", 468), ("resnet50", 816), ("googlenet", 270)],
)
def test_plans_are_counted_by_the_parts_of_the_table(
    khadas: Board, network: str, plans: int
) -> None:
    profile = board_profile(khadas, network, transfers=False)

    plan = make_plan(profile, space="paper")

    assert (plan.cut_points, plan.configurations) == (len(profile.blocks) - 1, plans)


@pytest.mark.parametrize("network", [*NETWORKS, "squeezenet"])
@pytest.mark.parametrize("space", ["paper", "full"])
def test_transfers_never_make_a_plan_quicker(rockchip: Board, network: str, space: Space) -> None:
    free = board_profile(rockchip, network, transfers=False)
    paid = board_profile(rockchip, network, transfers=True)

    assert rate_hz(paid, space) <= rate_hz(free, space)


def test_the_stage_that_sends_pays_for_the_transfer(rockchip: Board) -> None:
    transfers = {(one.sender, one.receiver): one.fixed_s for one in rockchip.transfers}
    timed = rockchip.timed("resnet50")

    plan = make_plan(board_profile(rockchip, "resnet50", transfers=True), space="paper")

    names = [stage.lanes[0].processor for stage in plan.stages]
    for stage, name, taker in zip(plan.stages, names, [*names[1:], None], strict=True):
        own_s = sum(
            cost.time_s for cost in timed.highest(name)[stage.first_block : stage.last_block + 1]
        )
        paid_s = 0.0 if taker is None else transfers[name, taker]
        assert stage.period_s == pytest.approx(own_s + paid_s)


def test_a_segment_is_the_sum_of_its_parts_and_says_so(khadas: Board) -> None:
    profile = board_profile(khadas, "googlenet", transfers=False)
    costs = khadas.timed("googlenet").highest("B")
    found = {(one.processor, one.first_block, one.last_block): one for one in profile.segments}

    assert len(found) == len(profile.segments) == 3 * 11 * 12 / 2
    assert found["B", 3, 3].median_s == costs[3].time_s
    assert not found["B", 3, 3].interpolated
    assert found["B", 3, 5].interpolated
    assert found["B", 3, 5].median_s == pytest.approx(sum(cost.time_s for cost in costs[3:6]))


def test_the_energy_of_a_segment_is_what_its_parts_draw_beyond_idle(khadas: Board) -> None:
    profile = board_profile(khadas, "alexnet", transfers=False)
    costs = khadas.timed("alexnet").highest("L")
    whole = segment(profile, "L", 0, 7)

    assert profile.machine.idle_w == pytest.approx(2.3243)
    assert whole.energy_j == pytest.approx(sum(cost.energy_j or 0.0 for cost in costs))
    # 33.4 ms at 3152 mW, and loading the frame in 31.1 ms at 2326 mW.
    own_j = 33.4e-3 * (3.152 - 2.3243) + 31.1e-3 * (2.326 - 2.3243)
    assert segment(profile, "L", 0, 0).energy_j == pytest.approx(own_j, rel=0.01)


def test_a_frame_takes_what_its_stages_draw_and_what_the_idle_board_draws_meanwhile(
    khadas: Board,
) -> None:
    profile = board_profile(khadas, "resnet50", transfers=False)

    plan = make_plan(profile, space="paper")

    stages_j = sum(
        segment(profile, one.lanes[0].processor, one.first_block, one.last_block).energy_j or 0.0
        for one in plan.stages
    )
    assert plan.energy_j == pytest.approx(stages_j + 2.3243 / plan.rate_hz)


def test_a_plan_says_at_which_clock_each_lane_takes_its_time(rockchip: Board) -> None:
    profile = board_profile(rockchip, "mobilenet", transfers=False)
    times_s = {
        (one.processor, one.clock_hz, one.first_block, one.last_block): one.median_s
        for one in profile.segments
    }

    plan = make_plan(profile)

    lanes = [(stage, lane) for stage in plan.stages for lane in stage.lanes]
    assert {lane.processor for _, lane in lanes if lane.clock_hz is None} == {"N"}
    assert len(lanes) == 4
    for stage, lane in lanes:
        place = (lane.processor, lane.clock_hz, stage.first_block, stage.last_block)
        assert lane.time_s == times_s[place]


@pytest.mark.parametrize("board", ["khadas-vim3", "rk3399pro"])
def test_every_part_of_the_boards_has_an_energy(board: str) -> None:
    loaded = load_board(board)

    assert not [
        (network, timing.processor, timing.clock_hz, part)
        for network in loaded.networks
        for timing in loaded.timed(network).timings
        for part, cost in enumerate(timing.costs)
        if cost.energy_j is None
    ]


@pytest.mark.parametrize(
    ("board", "table", "network"),
    [
        ("khadas-vim3", "Evaluations_P2_Alex.csv", "alexnet"),
        ("khadas-vim3", "Evaluations_P2_MobileV1.csv", "mobilenet"),
        ("khadas-vim3", "Evaluations_P2_ResV1_50.csv", "resnet50"),
        ("rk3399pro", "Evaluations_Alex.csv", "alexnet"),
        ("rk3399pro", "Evaluations_Google.csv", "googlenet"),
        ("rk3399pro", "Evaluations_MobileV1.csv", "mobilenet"),
        ("rk3399pro", "Evaluations_ResV1_50.csv", "resnet50"),
        ("rk3399pro", "Evaluations_SqueezeV1.csv", "squeezenet"),
    ],
)
def test_a_frame_takes_the_energy_that_whole_runs_took(
    board: str, table: str, network: str
) -> None:
    path = Path(os.environ.get("EVENER_TEST_DATA", ".")).parent / "boards" / board / table
    if not path.is_file():
        pytest.skip("the tables of the boards are not beside EVENER_TEST_DATA")
    profile = board_profile(load_board(board), network, transfers=False)
    idle_w, last = profile.machine.idle_w or 0.0, len(profile.blocks) - 1
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if "max" in row["freq"] and row["total_e"]]
    alone = {row["order"][0]: row for row in rows if len(set(row["order"])) == 1}

    ratios = []
    for processor in {"B", "G", "L"} & alone.keys():
        whole = segment(profile, processor, 0, last)
        predicted_j = (whole.energy_j or 0.0) + idle_w * whole.median_s
        ratios.append(predicted_j * 1e3 / float(alone[processor]["total_e"]))

    assert len(ratios) == 3
    assert 0.84 < median(ratios) < 1.03
    assert min(ratios) > 0.7  # powers of short parts are read too low on the VIM3


def test_a_lower_clock_takes_longer_and_less_energy_by_far(rockchip: Board) -> None:
    profile = board_profile(rockchip, "googlenet", transfers=False)
    whole = {
        one.clock_hz: one
        for one in profile.segments
        if (one.processor, one.first_block, one.last_block) == ("B", 0, 10)
    }

    assert list(whole) == [1800e6, 1608e6, 1416e6, 1200e6, 1008e6, 816e6, 600e6, 408e6]
    assert profile.machine["B"].clocks_hz == tuple(sorted(clock or 0 for clock in whole))
    times_s = [one.median_s for one in whole.values()]
    energies_j = [one.energy_j or 0.0 for one in whole.values()]
    assert times_s == sorted(times_s)
    assert energies_j[0] > 1.9 * min(energies_j)


@pytest.mark.parametrize("network", ["alexnet", "googlenet", "mobilenet", "resnet50", "squeezenet"])
def test_lower_clocks_change_no_plan_for_throughput(rockchip: Board, network: str) -> None:
    every = board_profile(rockchip, network, transfers=True)
    highest = {
        one.name: one.clocks_hz[-1] if one.clocks_hz else None for one in rockchip.processors
    }
    only = msgspec.structs.replace(
        every,
        segments=tuple(one for one in every.segments if one.clock_hz == highest[one.processor]),
    )

    for space in SPACES:
        assert rate_hz(every, space) == pytest.approx(rate_hz(only, space), rel=RISING_CLOCK)


def test_a_processor_without_times_of_the_network_is_left_out(rockchip: Board) -> None:
    names = {
        network: [
            one.name for one in board_profile(rockchip, network, transfers=False).machine.processors
        ]
        for network in ("alexnet", "mobilenet")
    }

    assert names == {"alexnet": ["B", "G", "L"], "mobilenet": ["B", "G", "L", "N"]}


def test_a_board_without_transfers_cannot_charge_them(khadas: Board) -> None:
    with pytest.raises(InputError, match=r"khadas-vim3 has no times of transfers .* --transfers"):
        board_profile(khadas, "alexnet", transfers=True)


@pytest.mark.parametrize("stages", [4, 9])
def test_more_stages_than_processors_are_refused_for_that_reason(stages: int) -> None:
    profile = board_profile(load_board("khadas-vim3"), "mobilenet", transfers=False)

    with pytest.raises(InfeasibleError, match="14 blocks on B, G, L allow 1 to 3"):
        make_plan(profile, stages=stages)


def test_powers_are_known_of_a_processor_if_they_are_at_every_clock(rockchip: Board) -> None:
    model = rockchip.cost_model
    assert model is not None

    def without_power(rates: Rates) -> Rates:
        lowest = rates.processor == "G" and rates.clock_hz == 200e6
        return msgspec.structs.replace(rates, power_w=None) if lowest else rates

    def without_input(rates: Rates) -> Rates:
        input_ = Cost(time_s=rates.input.time_s if rates.processor == "L" else 0.0, energy_j=None)
        return msgspec.structs.replace(rates, input=input_)

    def changed(change: Callable[[Rates], Rates]) -> Board:
        rates = tuple(map(change, model.rates))
        return msgspec.structs.replace(
            rockchip, cost_model=msgspec.structs.replace(model, rates=rates)
        )

    assert unpowered(rockchip) == ()
    assert unpowered(changed(without_power)) == ("G",)
    assert unpowered(changed(without_power), ["B", "L"]) == ()
    assert unpowered(changed(without_input)) == ("L",)  # what takes no time draws nothing
