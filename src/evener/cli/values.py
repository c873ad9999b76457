"""Read what options were given, and refuse what cannot be read with how to give it."""

from collections.abc import Callable
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, Final

import click

from evener import units
from evener.errors import InputError

_LONGEST: Final = 20  # digits; further ones are beyond every range, and slow to read
_LARGEST_SIZE: Final = 2**63 - 1  # what an ONNX file can hold
Places = tuple[tuple[str, int | None], ...]
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def through(read: Callable[[str], object]) -> Callback:
    """Make a click callback that reads a value, or each of several, and names the option at fault.

    Args:
        read: turns text into a value; raises InputError.
    """

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> object:  # noqa: ANN401 - click's signature
        try:
            if isinstance(value, tuple):
                return tuple(map(read, value))
            return None if value is None else read(value)
        except InputError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return callback


def pairs(read: Callable[[str], tuple[str, object]]) -> Callback:
    """Make a click callback for a repeatable option that gives something by name; see `through`."""
    each = through(read)

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> object:  # noqa: ANN401 - click's signature
        found: Any = each(ctx, param, value)
        given = dict(found)
        if len(given) < len(found):
            names = [name for name, _ in found]
            twice = next(name for name in given if names.count(name) > 1)
            raise click.BadParameter(f"'{twice}' is given twice", ctx, param)
        return given

    return callback


class Number(click.FloatRange):
    """A finite number within a range: neither "nan", which no range refuses, nor "inf"."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Read the number; click calls this."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{number} is no finite number", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number within a range, of something that the error names.

    Args:
        what: what it counts or numbers, such as "a port".
        least: the smallest that is taken.
        most: the largest that is taken.
        such_as: one that would do.
    """

    def __init__(self, what: str, *, least: int, most: int, such_as: str) -> None:
        super().__init__(least, most)
        self._what = what
        self._such_as = such_as

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Read the number; click calls this."""
        text = str(value).strip()
        digits = text.removeprefix("-")
        number = int(text) if digits.isdecimal() and len(digits) < _LONGEST else -inf
        if not (self.min or 0) <= number <= (self.max or 0):
            self.fail(
                f"'{text}' is not {self._what}: give a whole number from {self.min} to {self.max}, "
                f"such as {self._such_as}",
                param,
                ctx,
            )
        return int(number)


def read_time(text: str) -> float:
    """Read a time above 0 into seconds.

    Example:
        >>> read_time("40 ms")
        0.04
    """
    return _above_0(text, "time")


def read_rate(text: str) -> float:
    """Read a rate above 0 into frames per second.

    Example:
        >>> read_rate("600 /min")
        10.0
    """
    return _above_0(text, "rate")


def read_energy(text: str) -> float:
    """Read an energy above 0 into joules.

    Example:
        >>> read_energy("250 mJ")
        0.25
    """
    return _above_0(text, "energy")


def _above_0(text: str, dimension: units.Dimension) -> float:
    value = units.parse(text, dimension)
    if value <= 0:
        raise InputError(f"'{text}' is not above 0")
    return value


def read_memory(text: str) -> dict[str, int]:
    """Read how many bytes each of some processors may hold.

    Example:
        >>> read_memory("cpu0=512MB, gpu0=1 GiB")
        {'cpu0': 512000000, 'gpu0': 1073741824}
    """
    limits: dict[str, int] = {}
    for limit in text.split(","):
        name, equals, size = (part.strip() for part in limit.partition("="))
        if not name or not equals or name in limits:
            again = f"names {name} twice" if name in limits else "is no limit of memory"
            raise InputError(f"'{limit.strip()}' {again}: write NAME=SIZE, such as cpu0=512MB")
        limits[name] = int(_above_0(size, "size"))
    return limits


def read_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Read the static shape of an input.

    Example:
        >>> read_shape("images=1,3,640,640")
        ('images', (1, 3, 640, 640))
    """
    name, _, listed = text.rpartition("=")
    sizes = tuple(int(size) if size.strip().isdecimal() else 0 for size in listed.split(","))
    if not name or min(sizes) < 1 or max(sizes) > _LARGEST_SIZE:
        raise InputError(
            f"'{text}' is no shape: write NAME=1,3,224,224 with sizes from 1 to {_LARGEST_SIZE}"
        )
    return name, sizes


def read_fixed(text: str) -> tuple[str, float]:
    """Read the number that an input is fixed to.

    Example:
        >>> read_fixed("sr=16000")
        ('sr', 16000.0)
    """
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = nan
    if not name or not isfinite(value):
        raise InputError(f"'{text}' fixes no input: write NAME=NUMBER, such as sr=16000")
    return name, value


def read_state(text: str) -> tuple[str, str]:
    """Read which output feeds which input of the next frame.

    Example:
        >>> read_state("stateN=state")
        ('stateN', 'state')
    """
    made, _, read = text.partition("=")
    if not made or not read:
        raise InputError(f"'{text}' is no state: write OUTPUT=INPUT, such as stateN=state")
    return made, read


def read_names(text: str) -> tuple[str, ...]:
    """Read names with commas between them.

    Example:
        >>> read_names("cpu0, gpu0")
        ('cpu0', 'gpu0')
    """
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise InputError(f"'{text}' holds an empty name: write cpu0,cpu1")
    return names


def read_distinct(text: str) -> tuple[str, ...]:
    """Read names with commas between them, each of which stands once.

    Example:
        >>> read_distinct("onnxruntime, openvino")
        ('onnxruntime', 'openvino')
    """
    names = read_names(text)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"'{name}' is given twice")
    return names


def read_cuts(text: str) -> tuple[int, ...]:
    """Read cuts, each named by the block that it follows.

    Example:
        >>> read_cuts("4,6")
        (4, 6)
    """
    cuts = [cut.strip() for cut in text.split(",")]
    if not all(map(str.isdecimal, cuts)):
        raise InputError(f"'{text}' are no cuts: write 4,6 to cut after the blocks 4 and 6")
    return tuple(map(int, cuts))


def read_places(text: str) -> tuple[tuple[str, int | None], ...]:
    """Read processors, each perhaps with how many of its cores.

    Example:
        >>> read_places("cpu0:1, gpu0")
        (('cpu0', 1), ('gpu0', None))
    """
    places: list[tuple[str, int | None]] = []
    for place in text.split(","):
        name, colon, cores = (part.strip() for part in place.partition(":"))
        if not name or (colon and not cores.isdecimal()):
            raise InputError(
                f"'{place.strip()}' is no processor: write NAME or NAME:CORES, such as cpu0:1"
            )
        places.append((name, int(cores) if colon else None))
    return tuple(places)


def read_path(text: str) -> Path:
    """Read the name of a file or folder, which is not empty.

    Example:
        >>> read_path("resnet50.plan.json")
        PosixPath('resnet50.plan.json')
    """
    return Path(read_name(text))


def read_name(text: str) -> str:
    """Read a name that is not empty, of a file or of a built-in network.

    Example:
        >>> read_name("squeezenet")
        'squeezenet'
    """
    if not text:
        raise InputError("the name is empty: name a file or folder")
    return text
