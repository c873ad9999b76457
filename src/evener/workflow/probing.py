"""The step of a build that measures λ_c of its data, where a project asks for it."""

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import msgspec

from evener.artifacts.data_edge import DataEdge
from evener.artifacts.files import Kept
from evener.artifacts.front import Front
from evener.artifacts.search_section import SearchSection
from evener.workflow.opened import Progress
from evener.workflow.packages import package_versions
from evener.workflow.steps import Steps, code_version

if TYPE_CHECKING:
    from evener.data.dataset import Dataset

_CODE: Final = ("search/chaos", "train/model.py", "workflow/data_edge.py")


def probe_data(
    steps: Steps,
    section: SearchSection,
    sha256: str,
    dataset: "Callable[[], Dataset]",
    tell: Progress | None,
) -> Kept[DataEdge] | None:
    """Measure λ_c of the data, unless that was done before or nobody asked.

    Args:
        steps: of the project.
        section: how it searches.
        sha256: of the data.
        dataset: reads the data.
        tell: told how far it is.

    Raises:
        InputError: nothing can be learned from the training rows.
    """
    if not section.probe:
        return None

    def make() -> DataEdge:
        from evener.workflow.data_edge import measure_data_edge

        return measure_data_edge(dataset(), section, tell=tell)

    inputs = {
        "data": sha256,
        "activations": section.activations,
        "density": section.density,
        "start": section.start,
        "seed": section.seed,
        "code": code_version(*_CODE),
        "packages": package_versions() | {"numpy": version("numpy")},
    }
    return steps.step("probe", DataEdge, inputs, make)


def with_edge(front: Front, edge: Kept[DataEdge] | None) -> Front:
    """Add to what a search found where λ is critical on its data."""
    return front if edge is None else msgspec.structs.replace(front, edge=edge.value)
