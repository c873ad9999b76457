"""Make the pieces of a long benchmark one by one, and keep each as soon as it is done."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from evener.artifacts.files import digest, encode, write_whole
from evener.errors import EvenerError

PieceT = TypeVar("PieceT")


@dataclass
class Pieces:
    """Makes pieces that are kept, as long as there is time.

    Attributes:
        folder: where they are kept.
        until_s: no piece is begun later, by `clock`.
        fresh: make even what is kept.
        code: hash of the code that pieces depend on.
        clock: seconds.
        missing: what was not made, and why.
        out_of_time: whether some of it would have been made with more time.
    """

    folder: Path
    until_s: float
    fresh: bool = False
    code: str = ""
    clock: Callable[[], float] = time.monotonic
    missing: list[str] = field(default_factory=list)
    out_of_time: bool = False

    def get(
        self, name: str, of: type[PieceT], make: Callable[[], PieceT], **options: object
    ) -> PieceT | None:
        """Return a piece that is kept, or make it; None if there is no time or it cannot be made.

        Args:
            name: of the piece, unique.
            of: its record.
            make: makes it.
            options: all else that it depends on.
        """
        key = digest({"name": name, "code": self.code, "options": options})
        path = self.folder / f"{name.replace(' ', '-')}-{key[:16]}.json"
        if path.exists() and not self.fresh:
            return msgspec.json.decode(path.read_bytes(), type=of)
        started = self.clock()
        if started > self.until_s:
            self.out_of_time = True
            self.missing.append(f"{name}: no time was left; run the same command again")
            return None
        print(f"{name} ...", end=" ", flush=True)
        try:
            piece = make()
        except EvenerError as error:
            print("cannot be had")
            self.missing.append(f"{name}: {error}")
            return None
        print(f"{self.clock() - started:.1f} s")
        write_whole(path, encode(piece))
        return piece
