"""A page for people that a step wrote beside its artifact, such as a build's report."""

from pathlib import Path
from typing import ClassVar

import msgspec

from evener.artifacts.files import file_sha256


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that a step wrote beside its artifact.

    Attributes:
        path: where it is.
        sha256: of its bytes.
    """

    kind: ClassVar[str] = "report"
    schema: ClassVar[int] = 1

    path: str
    sha256: str

    @property
    def whole(self) -> bool:
        """Whether the file is still there as it was made."""
        path = Path(self.path)
        return path.is_file() and file_sha256(path) == self.sha256
