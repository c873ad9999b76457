"""Say what the rows of a project are and come from, for steps that do not load them."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.files import file_sha256
from evener.artifacts.project import DataSection

if TYPE_CHECKING:
    from evener.data.dataset import Dataset


def describe_data(section: DataSection, folder: Path) -> DatasetFacts:
    """Say what the rows of a project become.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.

    Raises:
        InputError: they cannot be read, or nothing can be learned from them.
    """
    from evener.data.load import load_dataset

    return facts_of(load_dataset(section, folder))


def facts_of(dataset: "Dataset") -> DatasetFacts:
    """Return what a later step needs to know of a dataset without its rows."""
    return DatasetFacts(
        name=dataset.name,
        sha256=dataset.sha256,
        features=dataset.features.shape[1],
        classes=dataset.classes,
        rows=dataset.row_counts,
        task=dataset.task,
        picture=dataset.picture,
        notes=dataset.notes,
    )


def sources_of(section: DataSection, folder: Path) -> dict[str, str]:
    """Return what rows come from: hashes of files, or the version of the package that ships them.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.
    """
    from evener.data.load import files_of

    found = {
        os.path.relpath(path, folder): file_sha256(path)
        for path in files_of(section, folder)
        if path.is_file()  # reading says what is wrong with one that is not there
    }
    return found or {"scikit-learn": version("scikit-learn")}
