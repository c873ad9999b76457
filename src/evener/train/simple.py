"""Train the simple model that is delivered in the place of a network."""

from dataclasses import dataclass, field
from math import prod
from typing import Final, cast

import msgspec
import onnx

from evener.artifacts.architecture import Architecture, Family
from evener.artifacts.card import Baseline
from evener.artifacts.dataset import MAIN_METRIC
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.train.baselines import TREES, refit_baseline

_LEARNED: Final = (  # attributes of ONNX's operators that training sets
    "coefficients",
    "intercepts",
    "offset",
    "scale",
    "class_weights",
    "target_weights",
)
_THRESHOLDS, _MODES, _LEAF = "nodes_values", "nodes_modes", b"LEAF"


@dataclass(frozen=True, slots=True)
class SimpleModel:
    """A simple model that is a file, and what a card says of it.

    Attributes:
        architecture: its family.
        weights: how many numbers training set: coefficients, thresholds and what leaves answer.
        section: how it was trained; it has no epochs.
        validation: quality on the validation split, before it learned from it.
        test: quality on the test split, by metric.
        content: its ONNX file.
        export_error: largest difference between an answer of the file and of the trainer.
        losses: of epochs; none.
        communication_share: of its time in messages; None.
    """

    architecture: Architecture
    weights: int
    section: TrainSection
    validation: dict[str, float]
    test: dict[str, float]
    content: bytes = field(repr=False)
    export_error: float
    losses: tuple[float, ...] = ()
    communication_share: float | None = None


def fit_simple(
    before: Baseline, dataset: Dataset, section: TrainSection, *, size_bytes: float | None = None
) -> SimpleModel:
    """Train a simple model by the rows that a delivered network would learn from.

    Trees grow with the rows: where a refit weighs more than it may, it is the model that was
    chosen, which learned from the training split alone.

    Args:
        before: what it came to, learning from the training split alone.
        dataset: what it learns from.
        section: which rows, weights of classes and seed.
        size_bytes: what the file of a refit may weigh, if there is a limit.

    Raises:
        EvenerError: its file answers otherwise than scikit-learn.
        InvalidDataError: answers are no finite numbers, of rows far beyond those learned from.
    """
    trained = refit_baseline(
        before,
        dataset,
        seed=section.seed,
        class_weight=section.class_weight,
        learned_from=section.learned_from,
    )
    if section.refit and size_bytes is not None and len(trained.content) > size_bytes:
        return fit_simple(before, dataset, msgspec.structs.replace(section, refit=False))
    family = cast("Family", before.name)
    return SimpleModel(
        architecture=Architecture(family=family, trees=TREES if family == "forest" else 0),
        weights=numbers_in(trained.content),
        section=msgspec.structs.replace(section, epochs=0),
        validation={MAIN_METRIC[dataset.task]: before.validation},
        test=trained.record.test,
        content=trained.content,
        export_error=trained.export_error,
    )


def numbers_in(content: bytes) -> int:
    """Count the numbers of an ONNX file that training set.

    Args:
        content: of a linear model or of trees.
    """
    graph = onnx.load_from_string(content).graph
    count: int = sum(
        prod(one.dims) for one in graph.initializer if one.data_type == onnx.TensorProto.FLOAT
    )
    for node in graph.node:
        of = {one.name: one for one in node.attribute}
        count += sum(len(of[name].floats) for name in _LEARNED if name in of)
        if _THRESHOLDS in of:
            count += sum(mode != _LEAF for mode in of[_MODES].strings)
    return count
