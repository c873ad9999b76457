"""Keep what was measured for this user, so that it is not measured again; go on where that fails.

The cache holds nothing that cannot be made again. So a folder that cannot be written costs time at
the next start, and is no reason to lose a measurement now.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

from evener.artifacts.files import Artifact, Kept, digest, in_memory, load, write_kept
from evener.artifacts.folder import cache_folder as cache_folder
from evener.errors import InvalidFileError

ArtifactT = TypeVar("ArtifactT", bound=Artifact)
_LOG: Final = logging.getLogger(__name__)
_NAME_LENGTH: Final = 40  # of the part of a file's name that is for people


def recall(of: type[ArtifactT], name: str, inputs: Mapping[str, object]) -> Kept[ArtifactT] | None:
    """Read what was made from the same inputs; None if there is none that this version can read.

    Args:
        of: the record.
        name: what it is of, for people.
        inputs: everything it was made from, encodable as JSON.
    """
    try:
        return load(_place(of, name, inputs), of)
    except InvalidFileError:
        return None


def keep(
    value: ArtifactT,
    name: str,
    inputs: Mapping[str, object],
    *,
    made_from: Mapping[str, str],
    took_s: float = 0.0,
) -> Kept[ArtifactT]:
    """Keep a value for the next time, and return it as it would be read.

    Where the cache cannot be written, a warning is logged and the value returned all the same.

    Args:
        value: what to keep.
        name: what it is of, for people.
        inputs: everything it was made from, encodable as JSON.
        made_from: sha256 of each input that is an artifact, by name.
        took_s: how long making it took, in seconds.
    """
    kept = in_memory(value, made_from=made_from, took_s=took_s)
    try:
        write_kept(_place(type(value), name, inputs), kept)
    except InvalidFileError as error:
        _LOG.warning("not kept for the next time: %s (XDG_CACHE_HOME names the folder)", error)
    return kept


def _place(of: type[Artifact], name: str, inputs: Mapping[str, object]) -> Path:
    stem = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return cache_folder() / of.kind / f"{stem[:_NAME_LENGTH]}-{digest(dict(inputs))[:16]}.json"
