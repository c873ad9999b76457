"""A board known from a file: its processors, and how long they take for parts of some networks.

The package brings some boards (`evener/boards/*.toml`); `docs/boards.md` says how to write another,
and `board_file.py` what may stand in it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from math import isnan, nan
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from evener.artifacts.board_file import (
    BoardTable,
    ModelTable,
    PartsTable,
    ProcessorTable,
    RatesTable,
    TimesTable,
    read_table,
)
from evener.artifacts.processors import Processor
from evener.artifacts.profile import Transfer
from evener.errors import InputError, InvalidFileError
from evener.units import parse

_SUFFIX: Final = ".toml"
_Levelled = TypeVar("_Levelled", TimesTable, RatesTable)


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one part of a network costs on one processor.

    Attributes:
        time_s: seconds per frame; loading the frame included for the first part.
        energy_j: joules that the board draws meanwhile beyond what it draws idle, 0 if it was
            read to draw less; None where no power is known.
    """

    time_s: float
    energy_j: float | None


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a network costs on one processor at one clock.

    Attributes:
        processor: name of the processor.
        clock_hz: its clock; None where the board's file does not say.
        costs: of each part, in order.
    """

    processor: str
    clock_hz: float | None
    costs: tuple[Cost, ...]


class TimedNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network in a board's table.

    Attributes:
        timings: by processor in the order of the board's, and by clock, highest first.
        blocks: how many blocks, by the rule "paper", each part takes; empty if nobody says.
        macs: multiply-accumulates of each part of the network that was timed; empty as above.
    """

    timings: tuple[Timing, ...]
    blocks: tuple[int, ...] = ()
    macs: tuple[int, ...] = ()

    @property
    def parts(self) -> int:
        """How many parts the network has."""
        return len(self.timings[0].costs)

    def highest(self, processor: str) -> tuple[Cost, ...]:
        """Return what each part costs on a processor at its highest clock."""
        return next(one.costs for one in self.timings if one.processor == processor)


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a cost model knows of one processor at one clock.

    Attributes:
        processor: name of the processor.
        clock_hz: its clock; None where the board's file does not say.
        input: what loading a frame costs.
        seconds: per unit of each feature, by its name.
        power_w: what the board draws beyond idle while it computes; None if not known.
    """

    processor: str
    clock_hz: float | None
    input: Cost
    seconds: dict[str, float]
    power_w: float | None


class CostModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to estimate times of a network that was not timed.

    Attributes:
        rates: by processor and clock, highest first.
        part_error: median of |predicted / measured - 1| over the parts of networks that the model
            was not fitted to.
        part_error_p90: 90th percentile of the same.
        network_error: median over whole networks.
        network_error_p90: 90th percentile of the same.
        input_bytes: of the frame that costs what `Rates.input` says; a frame of twice the bytes
            costs twice as much. None where every frame costs the same.
    """

    rates: tuple[Rates, ...]
    part_error: float
    part_error_p90: float
    network_error: float
    network_error_p90: float
    input_bytes: int | None = None


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine that need not be at hand, with the networks that were measured on it.

    Attributes:
        name: what it is called on the command line.
        maker: who makes it.
        model: what its maker calls it.
        source: where the figures come from.
        idle_w: what the board draws idle; None if not known.
        processors: each a whole cluster or device; a plan gives away no less.
        precisions: element type that each processor computed in, by its name.
        networks: what was timed, by name.
        transfers: what moving a frame between two processors costs the one that sends.
        cost_model: for networks that were not timed; None if the file has none.
    """

    name: str
    maker: str
    model: str
    source: str
    idle_w: float | None
    processors: tuple[Processor, ...]
    precisions: dict[str, str]
    networks: dict[str, TimedNetwork]
    transfers: tuple[Transfer, ...] = ()
    cost_model: CostModel | None = None

    def timed(self, network: str) -> TimedNetwork:
        """Return the table of a network.

        Raises:
            InputError: the board was not measured with it.
        """
        if network not in self.networks:
            raise InputError(
                f"the board {self.name} has no times of '{network}'; it knows "
                f"{', '.join(sorted(self.networks))}"
            )
        return self.networks[network]


def known_boards() -> tuple[str, ...]:
    """Name the boards that the package brings.

    Example:
        >>> known_boards()
        ('khadas-vim3', 'rk3399pro')
    """
    names = (Path(one.name) for one in files("evener").joinpath("boards").iterdir())
    return tuple(sorted(name.stem for name in names if name.suffix == _SUFFIX))


def load_board(name_or_path: str) -> Board:
    """Read a board.

    Args:
        name_or_path: name of a board that the package brings, or path of a board's file, which
            ends in ".toml" or has a folder in it.

    Raises:
        InputError: no such name.
        InvalidFileError: the file is missing or is no board's.

    Example:
        >>> [processor.name for processor in load_board("khadas-vim3").processors]
        ['B', 'G', 'L']
    """
    path = Path(name_or_path)
    if path.suffix == _SUFFIX or path.name != name_or_path:
        return _read(path)
    if name_or_path not in known_boards():
        raise InputError(
            f"no board '{name_or_path}'; there are {', '.join(known_boards())}. Name one, or the "
            "path of a board's file, such as my-board.toml"
        )
    return _read(Path(str(files("evener").joinpath("boards", name_or_path + _SUFFIX))))


def _read(path: Path) -> Board:
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check the path", path=str(path)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path} is not TOML: {error}", path=str(path)) from error
    try:
        return parse_board(raw, text)
    except InputError as error:
        raise InvalidFileError(f"{path}: {error}; see docs/boards.md", path=str(path)) from error


def parse_board(raw: dict[str, Any], text: str = "") -> Board:
    """Check a decoded board file, and put its figures into SI units.

    Args:
        raw: what the file says.
        text: the file, to name a line of it in errors.

    Raises:
        InputError: an unknown or missing key, a wrong type or value.
    """
    table = read_table(raw, text)
    return Board(
        name=table.name,
        maker=table.maker,
        model=table.model,
        source=table.source,
        idle_w=None if table.idle_mw is None else table.idle_mw / 1e3,
        processors=tuple(_processor(name, one) for name, one in table.processors.items()),
        precisions={name: one.precision for name, one in table.processors.items()},
        networks={
            name: _timed(times, table.parts.get(name), table)
            for name, times in table.networks.items()
        },
        transfers=tuple(
            Transfer(sender=sender, receiver=receiver, fixed_s=time_ms / 1e3)
            for sender, takers in table.transfers_ms.items()
            for receiver, time_ms in takers.items()
        ),
        cost_model=None if table.cost_model is None else _model(table.cost_model, table),
    )


def _processor(name: str, one: ProcessorTable) -> Processor:
    clocks_hz = tuple(clock * 1e6 for clock in one.clocks_mhz)
    return Processor(
        name=name,
        kind=one.kind,
        model=one.model,
        cores=one.cores,
        core_sets=(len(one.cores) or 1,),
        runtimes=(one.runtime,),
        max_hz=clocks_hz[-1] if clocks_hz else None,
        clocks_hz=clocks_hz,
        memory_bytes=None if one.memory is None else _memory_bytes(name, one.memory),
    )


def _memory_bytes(name: str, text: str) -> int:
    try:
        found = int(parse(text, "size"))
    except InputError as error:
        raise InputError(f"processors.{name}.memory: {error}") from error
    if found < 1:
        raise InputError(
            f"processors.{name}.memory is '{text}': give at least a byte, or leave it out where "
            "nothing limits it"
        )
    return found


def _timed(
    times: Mapping[str, TimesTable], parts: PartsTable | None, table: BoardTable
) -> TimedNetwork:
    return TimedNetwork(
        timings=tuple(
            Timing(processor=name, clock_hz=clock_hz, costs=_costs(one, table.idle_mw))
            for name, clock_hz, one in _by_clock(times, table)
        ),
        blocks=() if parts is None else parts.blocks,
        macs=() if parts is None else parts.macs,
    )


def _by_clock(
    found: Mapping[str, _Levelled], table: BoardTable
) -> Iterator[tuple[str, float | None, _Levelled]]:
    """List what is known of each processor, at its highest clock and then at lower ones."""
    for name, processor in table.processors.items():
        if name not in found:
            continue
        clocks = processor.clocks_mhz
        yield name, clocks[-1] * 1e6 if clocks else None, found[name]
        for clock in reversed(clocks[:-1]):
            if (level := found[name].levels.get(f"{clock:g}")) is not None:
                yield name, clock * 1e6, level


def _costs(times: TimesTable, idle_mw: float | None) -> tuple[Cost, ...]:
    powers_mw = times.part_mw or (nan,) * len(times.part_ms)
    costs = [
        _cost(time, power, idle_mw) for time, power in zip(times.part_ms, powers_mw, strict=True)
    ]
    if times.input_ms:
        costs[0] = add(_cost(times.input_ms, times.input_mw, idle_mw), costs[0])
    return tuple(costs)


def _cost(time_ms: float, power_mw: float, idle_mw: float | None) -> Cost:
    power_w = _beyond_idle_w(power_mw, idle_mw)
    return Cost(time_s=time_ms / 1e3, energy_j=None if power_w is None else power_w * time_ms / 1e3)


def _beyond_idle_w(power_mw: float, idle_mw: float | None) -> float | None:
    return None if isnan(power_mw) or idle_mw is None else max(0.0, power_mw - idle_mw) / 1e3


def add(left: Cost, right: Cost) -> Cost:
    """Return what two parts cost one after the other."""
    time_s = left.time_s + right.time_s
    if left.energy_j is None or right.energy_j is None:
        return Cost(time_s=time_s, energy_j=None)
    return Cost(time_s=time_s, energy_j=left.energy_j + right.energy_j)


def scaled(cost: Cost, times: float) -> Cost:
    """Return what so many times the work costs."""
    energy_j = None if cost.energy_j is None else times * cost.energy_j
    return Cost(time_s=times * cost.time_s, energy_j=energy_j)


def _model(model: ModelTable, table: BoardTable) -> CostModel:
    return CostModel(
        rates=tuple(
            Rates(
                processor=name,
                clock_hz=clock_hz,
                input=_cost(one.input_ms, one.input_mw, table.idle_mw),
                seconds={
                    feature: time_ms / 1e3
                    for feature, time_ms in zip(model.features, one.ms, strict=True)
                },
                power_w=_beyond_idle_w(one.block_mw, table.idle_mw),
            )
            for name, clock_hz, one in _by_clock(model.rates, table)
        ),
        part_error=model.part_error[0],
        part_error_p90=model.part_error[1],
        network_error=model.network_error[0],
        network_error_p90=model.network_error[1],
        input_bytes=model.input_bytes,
    )
