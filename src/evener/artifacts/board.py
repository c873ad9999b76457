"""A board known from a file: its processors, and how long they take for parts of some networks.

The package brings some boards (`evener/boards/*.toml`); `docs/boards.md` says how to write another.
"""

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Transfer
from evener.errors import InputError, InvalidFileError

_SUFFIX: Final = ".toml"
_SHORTEST_MS: Final = 1e-6  # a nanosecond: what lies beyond these two is a slip of the pen
_LONGEST_MS: Final = 3.6e6  # an hour


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one part of a network costs on one processor.

    Attributes:
        time_s: seconds per frame; loading the frame included for the first part.
        energy_j: joules that the whole board draws meanwhile; None where no power is known.
    """

    time_s: float
    energy_j: float | None


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine that need not be at hand, with the networks that were measured on it.

    Attributes:
        name: what it is called on the command line.
        maker: who makes it.
        model: what its maker calls it.
        source: where the figures come from.
        processors: each a whole cluster or device; a plan gives away no less.
        precisions: element type that each processor computed in, by its name.
        networks: by name, for each part in order what it costs, by name of the processor.
        transfers: what moving a frame between two processors costs the one that sends.
    """

    name: str
    maker: str
    model: str
    source: str
    processors: tuple[Processor, ...]
    precisions: dict[str, str]
    networks: dict[str, tuple[dict[str, Cost], ...]]
    transfers: tuple[Transfer, ...] = ()

    def parts(self, network: str) -> tuple[dict[str, Cost], ...]:
        """Return what each part of a network costs.

        Raises:
            InputError: the board was not measured with it.
        """
        if network not in self.networks:
            raise InputError(
                f"the board {self.name} has no times of '{network}'; it knows "
                f"{', '.join(sorted(self.networks))}"
            )
        return self.networks[network]


class _ProcessorTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["cpu", "gpu", "npu"]
    model: str = ""
    cores: tuple[int, ...] = ()
    runtime: str
    precision: str


class _TimesTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    input_ms: float = 0.0
    input_mw: float = nan
    part_ms: tuple[float, ...]
    part_mw: tuple[float, ...] = ()

    def costs(self) -> list[Cost]:
        """Return what each part costs, in SI units."""
        powers_mw = self.part_mw or (nan,) * len(self.part_ms)
        energies_uj = [time * power for time, power in zip(self.part_ms, powers_mw, strict=True)]
        times_ms = list(self.part_ms)
        if self.input_ms:
            times_ms[0] += self.input_ms
            energies_uj[0] += self.input_ms * self.input_mw
        return [
            Cost(time_s=time / 1e3, energy_j=None if isnan(energy) else energy / 1e6)
            for time, energy in zip(times_ms, energies_uj, strict=True)
        ]


class _BoardTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    maker: str = ""
    model: str = ""
    source: str
    processors: dict[str, _ProcessorTable]
    transfers_ms: dict[str, dict[str, float]] = {}
    networks: dict[str, dict[str, _TimesTable]]


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
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check the path", path=str(path)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path} is not TOML: {error}", path=str(path)) from error
    try:
        return parse_board(raw)
    except InputError as error:
        raise InvalidFileError(f"{path}: {error}; see docs/boards.md", path=str(path)) from error


def parse_board(raw: dict[str, Any]) -> Board:
    """Check a decoded board file.

    Raises:
        InputError: an unknown or missing key, a wrong type or value.
    """
    try:
        table = msgspec.convert(raw, _BoardTable)
    except msgspec.ValidationError as error:
        raise InputError(str(error)) from error
    _check(table)
    return Board(
        name=table.name,
        maker=table.maker,
        model=table.model,
        source=table.source,
        processors=tuple(
            Processor(
                name=name,
                kind=one.kind,
                model=one.model,
                cores=one.cores,
                core_sets=(len(one.cores) or 1,),
                runtimes=(one.runtime,),
            )
            for name, one in table.processors.items()
        ),
        precisions={name: one.precision for name, one in table.processors.items()},
        networks={name: _parts(times) for name, times in table.networks.items()},
        transfers=tuple(
            Transfer(sender=sender, receiver=receiver, fixed_s=time_ms / 1e3)
            for sender, takers in table.transfers_ms.items()
            for receiver, time_ms in takers.items()
        ),
    )


def _parts(times: dict[str, _TimesTable]) -> tuple[dict[str, Cost], ...]:
    costs = {processor: one.costs() for processor, one in times.items()}
    return tuple(dict(zip(costs, part, strict=True)) for part in zip(*costs.values(), strict=True))


def _check(table: _BoardTable) -> None:
    _check_processors(table)
    for network, times in table.networks.items():
        where = f"networks.{network}"
        _check_names(where, times, table)
        counts = {processor: len(one.part_ms) for processor, one in times.items()}
        if len(set(counts.values())) != 1 or 0 in counts.values():
            listed = ", ".join(f"{count} on {processor}" for processor, count in counts.items())
            raise InputError(
                f"{where} has parts: {listed or 'none'}; it needs at least one part, and as many "
                "on every processor"
            )
        for processor, one in times.items():
            _check_times(f"{where}.{processor}", one)
    for sender, takers in table.transfers_ms.items():
        _check_names("transfers_ms", (sender, *takers), table)
        for receiver, time_ms in takers.items():
            if receiver == sender or not 0 <= time_ms <= _LONGEST_MS:
                raise InputError(
                    f"transfers_ms.{sender}.{receiver} = {time_ms}: give a time from 0 to an hour, "
                    "to another processor"
                )


def _check_processors(table: _BoardTable) -> None:
    if not table.name:
        raise InputError("name is empty: give the board's, such as 'my-board'")
    owner: dict[int, str] = {}
    for name, one in table.processors.items():
        where = f"processors.{name}"
        if (one.kind == "cpu") != bool(one.cores):
            raise InputError(
                f"{where} is a {one.kind} with the cores {list(one.cores)}: a cpu has the numbers "
                "of its cores, a device has none"
            )
        if not one.runtime:
            raise InputError(f"{where}.runtime is empty: name what the parts were timed with")
        for core in one.cores:
            if core < 0 or core in owner:
                taken = f", which {owner[core]} has already" if core in owner else ""
                raise InputError(
                    f"{where} has the core {core}{taken}: give each core, from 0, to one processor"
                )
            owner[core] = name


def _check_names(where: str, names: Iterable[str], table: _BoardTable) -> None:
    unknown = [name for name in names if name not in table.processors]
    if unknown:
        raise InputError(
            f"{where} names the processor '{unknown[0]}'; [processors] has "
            f"{', '.join(table.processors) or 'none'}"
        )


def _check_times(where: str, times: _TimesTable) -> None:
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
    for power in (times.input_mw, *times.part_mw):
        if not isnan(power) and not (isfinite(power) and power > 0):
            raise InputError(f"{where} has a power of {power} mW: give one above 0, or nan")
