"""The TOML of a board's file: what may stand in it, in milliseconds, milliwatts and megahertz.

`docs/boards.md` shows such a file; `board.py` turns it into a record in SI units.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import Any, Final, Literal

import msgspec

from evener.artifacts.misfit import misfit
from evener.errors import InputError

FEATURES: Final = (
    "dense_gmac",
    "winograd_gmac",
    "pointwise_gmac",
    "depthwise_gmac",
    "product_gmac",
    "conv_weights_mb",
    "conv_in_mb",
    "conv_out_mb",
    "lrn_mb",
    "layers",
    "gathers",
)
"""What a cost model may price; `evener.network.features` counts it and says what each one is."""

_SHORTEST_MS: Final = 1e-6  # a nanosecond: what lies beyond these two is a slip of the pen
_LONGEST_MS: Final = 3.6e6  # an hour
_HIGHEST_MHZ: Final = 1e5


class ProcessorTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cluster of cores, or a device.

    Attributes:
        kind: what it is.
        model: what its maker calls it.
        cores: numbers of its cores; none for a device.
        runtime: what its parts were timed with.
        precision: element type that it computed in.
        clocks_mhz: the clocks that it was timed at, ascending; empty if at one, of no known value.
        memory: most that its sessions may hold together, such as "512 MB"; None for no limit.
    """

    kind: Literal["cpu", "gpu", "npu"]
    model: str = ""
    cores: tuple[int, ...] = ()
    runtime: str
    precision: str
    clocks_mhz: tuple[float, ...] = ()
    memory: str | None = None


class TimesTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the parts of a network cost on a processor at its highest clock, and at lower ones.

    Attributes:
        input_ms: loading a frame, which the first part pays for.
        input_mw: power of the board meanwhile.
        part_ms: time of each part.
        part_mw: power of the board meanwhile; nan where it is not known.
        levels: the same at lower clocks, by the clock in MHz; these have no levels themselves.
    """

    input_ms: float = 0.0
    input_mw: float = nan
    part_ms: tuple[float, ...]
    part_mw: tuple[float, ...] = ()
    levels: dict[str, "TimesTable"] = {}


class PartsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the parts of a network are made of.

    Attributes:
        blocks: how many blocks, by the rule "paper", each part takes.
        macs: multiply-accumulates of each part of the network that was timed.
    """

    blocks: tuple[int, ...]
    macs: tuple[int, ...]


class RatesTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a cost model knows of a processor at its highest clock, and at lower ones.

    Attributes:
        input_ms: loading a frame, which the first block pays for.
        input_mw: power of the board meanwhile.
        block_mw: power of the board while it computes.
        ms: milliseconds per unit of each feature.
        levels: the same at lower clocks, by the clock in MHz.
    """

    input_ms: float = 0.0
    input_mw: float = nan
    block_mw: float = nan
    ms: tuple[float, ...]
    levels: dict[str, "RatesTable"] = {}


class ModelTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cost model, for networks that were not timed.

    Attributes:
        features: what it prices.
        part_error: median and 90th percentile of |predicted / measured - 1| over the parts of
            networks that the model did not see.
        network_error: the same over whole networks.
        input_bytes: of the frame that takes `input_ms`, as other frames take more or less; None
            where every frame takes as long.
        rates: by processor.
    """

    features: tuple[str, ...]
    part_error: tuple[float, float]
    network_error: tuple[float, float]
    input_bytes: int | None = None
    rates: dict[str, RatesTable]


class BoardTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A board's file.

    Attributes:
        name: what it is called on the command line.
        maker: who makes it.
        model: what its maker calls it.
        source: where the figures come from.
        idle_mw: what the board draws idle; needed where powers are given.
        processors: by name.
        transfers_ms: what moving a frame costs the one that sends, by sender and receiver.
        networks: times by network and processor.
        parts: what the parts of some of these networks are made of.
        cost_model: for networks that were not timed.
    """

    name: str
    maker: str = ""
    model: str = ""
    source: str
    idle_mw: float | None = None
    processors: dict[str, ProcessorTable]
    transfers_ms: dict[str, dict[str, float]] = {}
    networks: dict[str, dict[str, TimesTable]]
    parts: dict[str, PartsTable] = {}
    cost_model: ModelTable | None = None


def read_table(raw: dict[str, Any], text: str = "") -> BoardTable:
    """Check a decoded board file.

    Args:
        raw: what the file says.
        text: the file, to name a line of it.

    Raises:
        InputError: an unknown or missing key, a wrong type or value.
    """
    try:
        table = msgspec.convert(raw, BoardTable)
    except msgspec.ValidationError as error:
        raise InputError(misfit(raw, BoardTable, error, text)) from error
    _check_processors(table)
    _check_powers("the board", table.idle_mw if table.idle_mw is not None else nan)
    for network, times in table.networks.items():
        _check_network(f"networks.{network}", times, table)
    for network, parts in table.parts.items():
        _check_parts(network, parts, table)
    _check_transfers(table)
    if table.cost_model is not None:
        _check_model(table.cost_model, table)
    return table


def _check_processors(table: BoardTable) -> None:
    if not table.name:
        raise InputError("name is empty: give the board's, such as 'my-board'")
    owner: dict[int, str] = {}
    for name, one in table.processors.items():
        where = f"processors.{name}"
        if not name or not name.isprintable() or name != name.strip() or set(name) & set(",:="):
            raise InputError(
                f"processors has the name '{name}': give one that --processors, --on and --memory "
                "can name, without any of , : = and without blanks around it"
            )
        if (one.kind == "cpu") != bool(one.cores):
            raise InputError(
                f"{where} is a {one.kind} with the cores {list(one.cores)}: a cpu has the numbers "
                "of its cores, a device has none"
            )
        if not one.runtime:
            raise InputError(f"{where}.runtime is empty: name what the parts were timed with")
        if not one.precision:
            raise InputError(f"{where}.precision is empty: name what it computed in, such as 'f32'")
        for core in one.cores:
            if core < 0 or core in owner:
                taken = f", which {owner[core]} has already" if core in owner else ""
                raise InputError(
                    f"{where} has the core {core}{taken}: give each core, from 0, to one processor"
                )
            owner[core] = name
        rising = all(low < high for low, high in pairwise(one.clocks_mhz))
        if not rising or not all(0 < clock <= _HIGHEST_MHZ for clock in one.clocks_mhz):
            raise InputError(
                f"{where}.clocks_mhz = {list(one.clocks_mhz)}: give clocks above 0, in MHz, the "
                "lowest first and each once"
            )


def _check_network(where: str, times: Mapping[str, TimesTable], table: BoardTable) -> None:
    _check_names(where, times, table)
    counts = {processor: len(one.part_ms) for processor, one in times.items()}
    if len(set(counts.values())) != 1 or 0 in counts.values():
        listed = ", ".join(f"{count} on {processor}" for processor, count in counts.items())
        raise InputError(
            f"{where} has parts: {listed or 'none'}; it needs at least one part, and as many "
            "on every processor"
        )
    for processor, one in times.items():
        _check_times(f"{where}.{processor}", one, table)
        _check_levels(f"{where}.{processor}", one.levels, table.processors[processor])
        for level, lower in one.levels.items():
            inner = f"{where}.{processor}.levels.{level}"
            if len(lower.part_ms) != len(one.part_ms) or lower.levels:
                raise InputError(
                    f"{inner} has {len(lower.part_ms)} parts and {len(lower.levels)} levels: it "
                    f"needs {len(one.part_ms)} parts, as at the highest clock, and no levels"
                )
            _check_times(inner, lower, table)


def _check_levels(where: str, levels: Iterable[str], processor: ProcessorTable) -> None:
    lower = processor.clocks_mhz[:-1]
    for level in levels:
        if level not in {f"{clock:g}" for clock in lower}:
            raise InputError(
                f"{where}.levels names the clock '{level}'; clocks_mhz of its processor has "
                f"{', '.join(f'{clock:g}' for clock in lower) or 'none'} below the highest, whose "
                "times stand outside levels"
            )


def _check_times(where: str, times: TimesTable, table: BoardTable) -> None:
    if times.part_mw and len(times.part_mw) != len(times.part_ms):
        raise InputError(
            f"{where} has {len(times.part_ms)} times and {len(times.part_mw)} powers; give one "
            "power a part, nan where none is known, or leave part_mw out"
        )
    wrong = [time for time in times.part_ms if not _SHORTEST_MS <= time <= _LONGEST_MS]
    if wrong or not 0 <= times.input_ms <= _LONGEST_MS:
        given = wrong[0] if wrong else times.input_ms
        raise InputError(
            f"{where} has a time of {given} ms: give one from a nanosecond to an hour, of input 0 "
            "or more"
        )
    _check_powers(where, times.input_mw, *times.part_mw)
    if table.idle_mw is None and not all(map(isnan, (times.input_mw, *times.part_mw))):
        raise InputError(
            f"{where} has powers, and the board has no idle_mw: say what it draws idle, so that "
            "what a part adds to it is known; the lowest power that was ever read is a bound"
        )


def _check_powers(where: str, *powers_mw: float) -> None:
    for power in powers_mw:
        if not isnan(power) and not (isfinite(power) and power > 0):
            raise InputError(f"{where} has a power of {power} mW: give one above 0, or nan")


def _check_parts(network: str, parts: PartsTable, table: BoardTable) -> None:
    if network not in table.networks:
        raise InputError(
            f"parts.{network} is of no network in the file; [networks] has "
            f"{', '.join(table.networks) or 'none'}"
        )
    timed = len(next(iter(table.networks[network].values())).part_ms)
    for key, values in (("blocks", parts.blocks), ("macs", parts.macs)):
        if len(values) != timed or any(value < (key == "blocks") for value in values):
            raise InputError(
                f"parts.{network}.{key} = {list(values)}: {network} has {timed} parts; give one "
                "number for each, at least one block and no fewer than 0 multiply-accumulates"
            )


def _check_transfers(table: BoardTable) -> None:
    for sender, takers in table.transfers_ms.items():
        _check_names("transfers_ms", (sender, *takers), table)
        for receiver, time_ms in takers.items():
            if receiver == sender or not 0 <= time_ms <= _LONGEST_MS:
                raise InputError(
                    f"transfers_ms.{sender}.{receiver} = {time_ms}: give a time from 0 to an hour, "
                    "to another processor"
                )


def _check_model(model: ModelTable, table: BoardTable) -> None:
    unknown = [name for name in model.features if name not in FEATURES]
    if unknown or not model.features or len(set(model.features)) < len(model.features):
        raise InputError(
            f"cost_model.features = {list(model.features)}: name at least one, each once, of "
            f"{', '.join(FEATURES)}"
        )
    errors = (*model.part_error, *model.network_error)
    if not all(0 <= error < _LONGEST_MS for error in errors):
        raise InputError(
            f"cost_model has the errors {list(errors)}: give shares of the measured time, 0 or more"
        )
    if model.input_bytes is not None and model.input_bytes < 1:
        raise InputError(
            f"cost_model.input_bytes = {model.input_bytes}: give the bytes of the frame that takes "
            "input_ms, or leave it out where every frame takes as long"
        )
    _check_names("cost_model.rates", model.rates, table)
    for processor, rates in model.rates.items():
        where = f"cost_model.rates.{processor}"
        _check_levels(where, rates.levels, table.processors[processor])
        for one in (rates, *rates.levels.values()):
            _check_rates(where, one, model, nested=one is not rates)


def _check_rates(where: str, rates: RatesTable, model: ModelTable, *, nested: bool) -> None:
    if len(rates.ms) != len(model.features) or (nested and rates.levels):
        raise InputError(
            f"{where} has {len(rates.ms)} rates for {len(model.features)} features: give one for "
            "each, at each level, and no levels within levels"
        )
    if not all(0 <= time <= _LONGEST_MS for time in (rates.input_ms, *rates.ms)):
        raise InputError(
            f"{where} has the times {[rates.input_ms, *rates.ms]} ms: give each from 0 to an hour"
        )
    _check_powers(where, rates.input_mw, rates.block_mw)


def _check_names(where: str, names: Iterable[str], table: BoardTable) -> None:
    unknown = [name for name in names if name not in table.processors]
    if unknown:
        raise InputError(
            f"{where} names the processor '{unknown[0]}'; [processors] has "
            f"{', '.join(table.processors) or 'none'}"
        )
