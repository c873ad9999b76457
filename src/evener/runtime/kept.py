"""Keep what a converter made in the user's cache, within a bound; go on where that fails.

The folders hold nothing that cannot be made again. Those used longest ago go first.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evener.artifacts.files import PARTIAL_PREFIX
from evener.artifacts.folder import cache_folder, new_folder
from evener.errors import InvalidFileError

_LOG: Final = logging.getLogger(__name__)


@contextmanager
def folder(kind: str, key: str, make: Callable[[Path], None], *, most_bytes: int) -> Iterator[Path]:
    """Yield a folder that holds what `make` wrote into it, now or in an earlier process.

    Args:
        kind: what its siblings are, such as the name of a runtime.
        key: identifies what it was made from.
        make: writes into a folder that exists; raises what it likes.
        most_bytes: how much the siblings may hold together; one that is larger is kept alone.

    Raises:
        Exception: what `make` raised.
    """
    path = cache_folder() / kind / key
    if not path.is_dir():
        try:
            with new_folder(path) as partial:
                make(partial)
        except InvalidFileError as error:
            if not path.is_dir():  # else another process was quicker
                with tempfile.TemporaryDirectory(prefix=f"evener-{kind}-") as passing:
                    _LOG.warning(
                        "not kept for the next time: %s (XDG_CACHE_HOME names the folder)", error
                    )
                    make(Path(passing))
                    yield Path(passing)
                return
        _make_room(path, most_bytes)
    os.utime(path)
    yield path


def _make_room(newest: Path, most_bytes: int) -> None:
    """Remove siblings, those used longest ago first, until all hold no more than they may."""
    older = [
        (sibling.stat().st_mtime, _size(sibling), sibling)
        for sibling in newest.parent.iterdir()
        if sibling != newest and not sibling.name.startswith(PARTIAL_PREFIX)
    ]
    held = _size(newest) + sum(size for _, size, _ in older)
    for _, size, sibling in sorted(older):
        if held <= most_bytes:
            return
        shutil.rmtree(sibling, ignore_errors=True)
        held -= size


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())
