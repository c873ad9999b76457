"""A page for people that a step wrote beside its artifact, such as a build's report."""

from pathlib import Path
from typing import ClassVar

import msgspec

from evener.artifacts.files import file_sha256


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that a step wrote beside its artifact.

    Attributes:
        path: where it is, relative to the project.
        sha256: of its bytes.
    """

    kind: ClassVar[str] = "report"
    schema: ClassVar[int] = 1

    path: str
    sha256: str

    def whole_in(self, project: Path) -> bool:
        """Whether the file is still there as it was made.

        Args:
            project: the folder that `path` is relative to.
        """
        path = project / self.path
        return path.is_file() and file_sha256(path) == self.sha256
