"""Take keyword arguments for what they are short for: fields of the records that a verb reads."""

from collections.abc import Mapping
from typing import Any, TypeVarTuple, cast

import msgspec

Records = TypeVarTuple("Records")


def settle(choices: Mapping[str, object], *records: *Records) -> tuple[*Records]:
    """Return records with some fields replaced.

    Verbs take their settings as records, which programs build once and hand to several, and as
    keyword arguments, which are short for a field of one of these records.

    Args:
        choices: values by the name of a field.
        records: frozen structs, no two of which have a field of the same name.

    Raises:
        TypeError: a name that is a field of none, as of any unexpected keyword argument.

    Example:
        >>> from evener.workflow.manner import Manner
        >>> from evener.workflow.wish import Wish
        >>> wish, manner = settle({"stages": 2, "batch": 4}, Wish(), Manner())
        >>> wish.stages, manner.batch
        (2, 4)
    """
    left = dict(choices)
    settled: list[msgspec.Struct] = []
    for record in cast("tuple[msgspec.Struct, ...]", records):
        own: dict[str, Any] = {
            name: left.pop(name) for name in record.__struct_fields__ if name in left
        }
        settled.append(msgspec.structs.replace(record, **own) if own else record)
    if left:
        known = [field for record in settled for field in record.__struct_fields__]
        unknown = next(iter(left))
        raise TypeError(f"unexpected keyword argument '{unknown}'; there are {', '.join(known)}")
    return cast("tuple[*Records]", tuple(settled))
