"""Let each process that scores networks load the rows of a search once."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evener.artifacts.project import DataSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Where a process gets its rows from.

    Attributes:
        folder: of the project.
        section: its rows, relative to it.
        sha256: of the rows that the search has seen.
        loaded: the rows, where they are in memory; not sent to other processes.
    """

    folder: str
    section: DataSection
    sha256: str
    loaded: Dataset | None = None

    def __reduce__(self) -> tuple[type["Rows"], tuple[str, DataSection, str]]:
        """Leave the rows behind: another process loads its own."""
        return Rows, (self.folder, self.section, self.sha256)

    def dataset(self) -> Dataset:
        """Return the rows, which this process loads once.

        Raises:
            InputError: they changed since.
        """
        return self.loaded or _load(self.folder, self.section, self.sha256)


@cache
def _load(folder: str, section: DataSection, sha256: str) -> Dataset:
    dataset = load_dataset(section, Path(folder))
    if dataset.sha256 != sha256:
        raise InputError(f"the rows of {section.source} changed during the search: start it again")
    return dataset
