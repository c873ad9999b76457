"""Boards are read from files, and a wrong file says what is wrong."""

import csv
import os
from copy import deepcopy
from math import nan
from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.board import Cost, known_boards, load_board, parse_board
from evener.errors import InputError, InvalidFileError

RAW: dict[str, Any] = {
    "name": "desk",
    "source": "measured here",
    "idle_mw": 2000.0,
    "processors": {
        "big": {
            "kind": "cpu",
            "cores": [4, 5],
            "runtime": "armcl",
            "precision": "f32",
            "clocks_mhz": [408, 816],
        },
        "gpu": {"kind": "gpu", "runtime": "armcl", "precision": "f16"},
    },
    "transfers_ms": {"big": {"gpu": 2.0}},
    "networks": {
        "net": {
            "big": {"input_ms": 1.0, "input_mw": 4000.0, "part_ms": [2.0, 3.0]},
            "gpu": {"part_ms": [5.0, 6.0], "part_mw": [3000.0, nan]},
        }
    },
    "parts": {"net": {"blocks": [1, 2], "macs": [1000, 500]}},
    "cost_model": {
        "features": ["dense_gmac", "layers"],
        "part_error": [0.1, 0.3],
        "network_error": [0.05, 0.2],
        "rates": {
            "big": {"input_ms": 2.0, "input_mw": 4000.0, "block_mw": 5000.0, "ms": [100.0, 0.5]}
        },
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - anything may stand in a file
    raw = deepcopy(RAW)
    *folders, key = path.split(".")
    inner = raw
    for folder in folders:
        inner = inner[folder]
    inner[key] = value
    return raw


def test_figures_are_in_si_units_and_the_first_part_pays_for_the_input() -> None:
    board = parse_board(changed("networks.net.big.part_mw", [5000.0, 6000.0]))

    big, gpu = board.timed("net").timings
    assert (big.processor, big.clock_hz) == ("big", 816e6)
    assert big.costs == (Cost(time_s=0.003, energy_j=0.008), Cost(time_s=0.003, energy_j=0.012))
    assert (gpu.processor, gpu.clock_hz) == ("gpu", None)
    assert gpu.costs == (Cost(time_s=0.005, energy_j=0.005), Cost(time_s=0.006, energy_j=None))
    assert [(one.sender, one.receiver, one.fixed_s) for one in board.transfers] == [
        ("big", "gpu", 0.002)
    ]


def test_energy_is_what_the_board_draws_beyond_idle_and_never_below_nothing() -> None:
    board = parse_board(changed("networks.net.gpu.part_mw", [1500.0, 2500.0]))

    assert board.idle_w == 2.0
    assert [cost.energy_j for cost in board.timed("net").highest("gpu")] == [0.0, 0.003]


def test_an_input_of_unknown_power_leaves_the_energy_unknown() -> None:
    raw = changed("networks.net.gpu.input_ms", 1.0)

    assert parse_board(raw).timed("net").highest("gpu")[0] == Cost(time_s=0.006, energy_j=None)


def test_a_processor_has_times_at_each_of_its_clocks_the_highest_first() -> None:
    slower = {"part_ms": [4.0, 6.0], "input_ms": 2.0}
    board = parse_board(changed("networks.net.big.levels", {"408": slower}))

    assert board.processors[0].clocks_hz == (408e6, 816e6)
    assert board.processors[0].max_hz == 816e6
    assert [
        (one.clock_hz, [cost.time_s for cost in one.costs])
        for one in board.timed("net").timings
        if one.processor == "big"
    ] == [(816e6, [0.003, 0.003]), (408e6, [0.006, 0.006])]


def test_a_processor_may_have_a_limit_of_memory() -> None:
    big, gpu = parse_board(changed("processors.big.memory", "1.5 GB")).processors

    assert (big.memory_bytes, gpu.memory_bytes) == (1_500_000_000, None)


def test_a_cost_model_is_in_si_units() -> None:
    model = parse_board(RAW).cost_model

    assert model is not None
    assert (model.part_error, model.part_error_p90) == (0.1, 0.3)
    assert (model.network_error, model.network_error_p90) == (0.05, 0.2)
    (rates,) = model.rates
    assert (rates.processor, rates.clock_hz) == ("big", 816e6)
    assert rates.seconds == {"dense_gmac": 0.1, "layers": 0.0005}
    assert rates.input == Cost(time_s=0.002, energy_j=0.004)
    assert rates.power_w == 3.0


def test_a_network_in_the_table_says_what_its_parts_are_made_of() -> None:
    timed = parse_board(RAW).timed("net")

    assert (timed.parts, timed.blocks, timed.macs) == (2, (1, 2), (1000, 500))


def test_processors_are_whole_clusters_and_devices() -> None:
    big, gpu = parse_board(RAW).processors

    assert (big.name, big.kind, big.cores, big.core_sets, big.units) == (
        "big",
        "cpu",
        (4, 5),
        (2,),
        2,
    )
    assert (gpu.name, gpu.kind, gpu.cores, gpu.core_sets, gpu.units) == ("gpu", "gpu", (), (1,), 1)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("nmae", "desk", r"unknown field `nmae`"),
        ("processors.big.clock", 1, r"processors.big: .*unknown field `clock`$"),
        (
            "processors.gpu.kind",
            "tpu",
            r"processors.gpu.kind: Invalid enum value 'tpu'; did you mean \"npu\"\?",
        ),
        (
            "processors.big.cores",
            [4, "5"],
            r"big.cores\[1\]: Expected `int`, got `str`$",
        ),
        ("processors.gpu", "Mali", r"processors.gpu: Expected `object`, got `str`$"),
        (
            "networks.net.gpu.part_ms",
            ["5"],
            r"net.gpu.part_ms\[0\]: Expected `float`, got `str`",
        ),
        ("networks.net.gpu.part_ms", [5.0], r"networks.net has parts: 2 on big, 1 on gpu"),
        ("networks.net", {}, r"networks.net has parts: none; it needs at least one part"),
        ("networks.net.gpu.part_ms", [5.0, 0.0], r"networks.net.gpu has a time of 0.0 ms"),
        ("networks.net.gpu.part_ms", [5.0, nan], r"networks.net.gpu has a time of nan ms"),
        ("networks.net.big.input_ms", -1.0, r"networks.net.big has a time of -1.0 ms"),
        ("networks.net.gpu.part_mw", [1.0], r"networks.net.gpu has 2 times and 1 powers"),
        (
            "networks.net.gpu.part_mw",
            [1.0, 0.0],
            r"has a power of 0.0 mW: give one above 0, or nan",
        ),
        ("networks.net.npu", {"part_ms": [1.0, 1.0]}, r"names the processor 'npu'; .* big, gpu"),
        ("transfers_ms.gpu", {"npu": 1.0}, r"transfers_ms names the processor 'npu'"),
        ("transfers_ms.gpu", {"big": -1.0}, r"transfers_ms.gpu.big = -1.0: give a time from 0"),
        ("transfers_ms.gpu", {"gpu": 1.0}, r"transfers_ms.gpu.gpu = 1.0: .* to another processor"),
        ("networks.net.gpu.part_ms", [5.0, 1e300], r"has a time of 1e\+300 ms: .* to an hour"),
        ("networks.net.gpu.part_ms", [5.0, 1e-300], r"has a time of 1e-300 ms"),
        ("processors.big.cores", [], r"processors.big is a cpu with the cores \[\]"),
        ("processors.gpu.cores", [1], r"processors.gpu is a gpu with the cores \[1\]"),
        ("processors.big.cores", [4, 4], r"has the core 4, which big has already"),
        ("processors.big.cores", [-4], r"has the core -4: give each core, from 0"),
        (
            "processors.little",
            {"kind": "cpu", "cores": [5, 6], "runtime": "armcl", "precision": "f32"},
            r"processors.little has the core 5, which big has already",
        ),
        ("processors.big.runtime", "", r"processors.big.runtime is empty"),
        ("processors.big.precision", "", r"processors.big.precision is empty: name what it"),
        ("name", "", r"name is empty"),
        ("idle_mw", -1.0, r"the board has a power of -1.0 mW"),
        ("idle_mw", None, r"networks.net.big has powers, and the board has no idle_mw: say what"),
        ("processors.big.clocks_mhz", [816, 408], r"clocks_mhz = \[816.0, 408.0\]: give clocks"),
        ("processors.big.clocks_mhz", [0], r"processors.big.clocks_mhz = \[0.0\]: give clocks"),
        (
            "processors.big.memory",
            "2 GHz",
            r"big.memory: '2 GHz' has the unit 'GHz', and is no",
        ),
        ("processors.big.memory", "0 GB", r"processors.big.memory is '0 GB': give at least a byte"),
        (
            "networks.net.big.levels",
            {"600": {"part_ms": [1.0, 1.0]}},
            r"networks.net.big.levels names the clock '600'; .* has 408 below the highest",
        ),
        (
            "networks.net.gpu.levels",
            {"600": {"part_ms": [1.0, 1.0]}},
            r"networks.net.gpu.levels names the clock '600'; .* has none below the highest",
        ),
        (
            "networks.net.big.levels",
            {"408": {"part_ms": [1.0]}},
            r"levels.408 has 1 parts and 0 levels: it needs 2 parts, as at the highest clock",
        ),
        (
            "networks.net.big.levels",
            {"408": {"part_ms": [1.0, 0.0]}},
            r"networks.net.big.levels.408 has a time of 0.0 ms",
        ),
        ("parts.other", {"blocks": [1], "macs": [1]}, r"parts.other is of no network .* has net"),
        ("parts.net.blocks", [1], r"parts.net.blocks = \[1\]: net has 2 parts; give one number"),
        ("parts.net.blocks", [0, 3], r"parts.net.blocks = \[0, 3\]: .* at least one block"),
        ("parts.net.macs", [-1, 3], r"parts.net.macs = \[-1, 3\]: .* no fewer than 0"),
        (
            "cost_model.features",
            ["dense_gmac", "flops"],
            r"cost_model.features = \['dense_gmac', 'flops'\]: name at least one, .* layers",
        ),
        (
            "cost_model.part_error",
            [-0.1, 0.3],
            r"cost_model has the errors \[-0.1, 0.3, 0.05, 0.2\]",
        ),
        ("cost_model.input_bytes", 0, r"cost_model.input_bytes = 0: give the bytes of the frame"),
        ("cost_model.rates.npu", {"ms": [1.0, 1.0]}, r"cost_model.rates names the processor 'npu'"),
        ("cost_model.rates.big.ms", [1.0], r"has 1 rates for 2 features: give one for each"),
        ("cost_model.rates.big.ms", [1.0, -1.0], r"has the times \[2.0, 1.0, -1.0\] ms"),
        ("cost_model.rates.big.block_mw", 0.0, r"cost_model.rates.big has a power of 0.0 mW"),
        (
            "cost_model.rates.big.levels",
            {"7": {"ms": [1.0, 1.0]}},
            r"cost_model.rates.big.levels names the clock '7'",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named(path: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_board(changed(path, value))


@pytest.mark.parametrize("name", ["", " big", "big,little", "big:1", "big=1", "big\n"])
def test_a_processor_that_no_option_could_name_is_refused(name: str) -> None:
    device = {"kind": "npu", "runtime": "armcl", "precision": "f32"}

    with pytest.raises(InputError, match=r"give one that --processors, --on and --memory can name"):
        parse_board(changed("processors", {name: device}))


def test_a_network_that_the_board_has_no_times_of_is_refused_with_those_it_knows() -> None:
    with pytest.raises(InputError, match=r"the board desk has no times of 'vgg19'; it knows net$"):
        parse_board(RAW).timed("vgg19")


def test_an_unknown_name_lists_the_boards_there_are() -> None:
    with pytest.raises(InputError, match=r"no board 'vim3'; there are khadas-vim3, rk3399pro"):
        load_board("vim3")


def test_a_board_of_ones_own_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(Path(str(_brought("rk3399pro"))).read_text())

    assert load_board(str(path)) == load_board("rk3399pro")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", r"own.toml is not TOML"),
        ('name = "x"\nmade = 3', r"own.toml: .*; see docs/boards.md"),
    ],
)
def test_a_file_that_is_no_board_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)

    with pytest.raises(InvalidFileError, match=message) as caught:
        load_board(str(path))
    assert caught.value.path == str(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"cannot read .*none.toml: No such file"):
        load_board(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", known_boards())
def test_the_boards_that_are_brought_are_called_by_their_files_and_name_their_source(
    name: str,
) -> None:
    board = load_board(name)

    assert board.name == name
    assert board.source.startswith("github.com/")
    assert _brought(name).stat().st_size < 200_000


def test_the_file_holds_every_time_and_power_of_the_table_at_each_clock() -> None:
    path = Path(os.environ.get("EVENER_TEST_DATA", ".")).parent / "boards/rk3399pro/Layers.csv"
    if not path.is_file():
        pytest.skip("the tables of the boards are not beside EVENER_TEST_DATA")
    board = load_board("rk3399pro")
    names = {"Alex": "alexnet", "Google": "googlenet", "SqueezeV1": "squeezenet"}
    compared = 0
    with path.open() as file:
        for row in csv.DictReader(file):
            hosted = row["Freq_Host"] == "-1" or (row["Component"], row["Freq_Host"]) == ("G", "7")
            if row["Graph"] not in names or row["Metric"] != "task" or not hosted:
                continue
            clocks_hz = next(
                one.clocks_hz for one in board.processors if one.name == row["Component"]
            )
            place = row["Component"], clocks_hz[int(row["Freq"])]
            part = int(row["Layer"])
            if part == 0:
                continue  # it pays for loading the frame
            cost = next(
                one.costs[part]
                for one in board.timed(names[row["Graph"]]).timings
                if (one.processor, one.clock_hz) == place
            )
            assert cost.time_s == pytest.approx(float(row["Time"]) / 1e3, abs=1e-7)
            power_w = float(row["Power"]) / 1e3 - (board.idle_w or 0.0)
            assert cost.energy_j == pytest.approx(power_w * cost.time_s, rel=1e-3)
            compared += 1

    assert compared == (7 + 10 + 9) * (8 + 6 + 5)


def _brought(name: str) -> Path:
    import evener

    return Path(evener.__file__).parent / "boards" / f"{name}.toml"
