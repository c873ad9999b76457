"""Say where in a decoded TOML file a value does not fit, with the names that msgspec leaves out."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec
from msgspec import inspect

_PLACED: Final = re.compile(r"(?P<what>.*) - at `\$(?P<path>[^`]*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_NO_CHOICE: Final = "Invalid enum value"
_WORDS: Final[Mapping[type[inspect.Type], str]] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
}


def misfit(
    raw: dict[str, Any], of: type[msgspec.Struct], error: msgspec.ValidationError, text: str = ""
) -> str:
    r"""Put an error of `msgspec.convert` in words.

    msgspec writes "[...]" for a key of a mapping; which one it was is found by trying each alone.

    Args:
        raw: the decoded file.
        of: the record that it was to become.
        error: what was raised.
        text: the file, to name the line where the table of the value begins.

    Example:
        >>> class Core(msgspec.Struct):
        ...     number: int
        >>> class File(msgspec.Struct):
        ...     cores: dict[str, Core]
        >>> text = "[cores.big]\nnumber = 4\n[cores.little]\nnumber = 'five'"
        >>> raw = tomllib.loads(text)
        >>> try:
        ...     msgspec.convert(raw, File)
        ... except msgspec.ValidationError as error:
        ...     print(misfit(raw, File, error, text))
        cores.little.number (its table begins in line 3): Expected `int`, got `str`
    """
    placed = _PLACED.fullmatch(str(error))
    keys = () if placed is None else _keys(raw, of, str(error), placed["path"])
    if placed is None or not keys:
        return str(error)
    line = _line(text, keys)
    begins = "" if line is None else f" (its table begins in line {line})"
    return f"{_dotted(keys)}{begins}: {placed['what']}{choices(raw, of, error)}"


def choices(raw: dict[str, Any], of: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """Say what may stand where an error of `msgspec.convert` found none of several values.

    Args:
        raw: the decoded file, or a table of it.
        of: the record that it was to become.
        error: what was raised.

    Returns:
        What is to be put behind the error; nothing where it is about something else.

    Example:
        >>> from typing import Literal
        >>> class Lamp(msgspec.Struct):
        ...     colour: Literal["red", "green"] | int
        >>> raw = {"colour": "gren"}
        >>> try:
        ...     msgspec.convert(raw, Lamp)
        ... except msgspec.ValidationError as error:
        ...     print(choices(raw, Lamp, error))
        ; did you mean "green"? known: "green", "red" or a whole number
    """
    placed = _PLACED.fullmatch(str(error))
    if placed is None or not placed["what"].startswith(_NO_CHOICE):
        return ""
    keys = _keys(raw, of, str(error), placed["path"])
    value: Any = raw
    for key in keys:
        value = value[key]
    known = _allowed(inspect.type_info(of), keys)
    if not known:
        return ""
    near = get_close_matches(f'"{value}"', [one for one in known if one.startswith('"')], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"; {hint}known: {', '.join(known[:-1])}{' or ' if known[1:] else ''}{known[-1]}"


def _allowed(type_: inspect.Type, keys: Sequence[str | int]) -> list[str]:
    """Return what may stand at the end of some keys, in words; none where a type has no list."""
    if isinstance(type_, inspect.UnionType):
        return [each for one in type_.types for each in _allowed(one, keys)]
    if not keys:
        if isinstance(type_, inspect.LiteralType):
            return [f'"{one}"' for one in type_.values]
        return [_WORDS[type(type_)]] if type(type_) in _WORDS else []
    within: inspect.Type | None = None
    match type_:
        case inspect.StructType():
            within = next((one.type for one in type_.fields if one.encode_name == keys[0]), None)
        case inspect.DictType():
            within = type_.value_type
        case inspect.ListType() | inspect.VarTupleType():
            within = type_.item_type
    return [] if within is None else _allowed(within, keys[1:])


def _keys(
    raw: dict[str, Any], of: type[msgspec.Struct], message: str, path: str
) -> tuple[str | int, ...]:
    """Return the keys and indices that lead to a value; none if a key cannot be told."""
    keys: list[str | int] = []
    value: Any = raw
    for step in _STEP.finditer(path):
        if step["any"] is not None:
            alone = (key for key in value if _fails(raw, of, keys, {key: value[key]}, message))
            found = next(alone, None)
            if found is None:
                return ()
            keys.append(found)
        else:
            keys.append(step["name"] if step["index"] is None else int(step["index"]))
        value = value[keys[-1]]
    return tuple(keys)


def _fails(
    raw: dict[str, Any],
    of: type[msgspec.Struct],
    keys: Sequence[str | int],
    alone: dict[str, Any],
    message: str,
) -> bool:
    try:
        msgspec.convert(_replaced(raw, keys, alone), of)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


def _replaced(value: Any, keys: Sequence[str | int], new: dict[str, Any]) -> Any:  # noqa: ANN401 - any TOML
    if not keys:
        return new
    copy = value.copy()
    copy[keys[0]] = _replaced(value[keys[0]], keys[1:], new)
    return copy


def _dotted(keys: Sequence[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)[1:]


def _line(text: str, keys: Sequence[str | int]) -> int | None:
    """Return the number of the line where the innermost table on the way to a value begins."""
    found: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = _header(line)
        if header and header == list(keys[: len(header)]) and (not found or len(header) > found[0]):
            found = len(header), number
    return None if found is None else found[1]


def _header(line: str) -> list[str]:
    """Return the keys of a table's header; none of any other line."""
    if not line.lstrip().startswith("["):
        return []
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []  # the inside of an array
    keys: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        keys += value
        value = value[keys[-1]]
    return keys
