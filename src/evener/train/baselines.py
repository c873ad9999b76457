"""The simple models that a network is held against: a linear one and a forest.

A network that is no better than these is not worth its size. They leave as ONNX too, so that they
can be profiled, planned and served like any other.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx_ir as ir
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from evener.artifacts.card import Baseline
from evener.data.dataset import Dataset, SplitName
from evener.train.clean import INPUT, clean_bytes
from evener.train.metrics import quality
from evener.train.verify import largest_error

TREES: Final = 100
_OPSETS: Final = {"": 18, "ai.onnx.ml": 3}
# scikit-learn standardises in double precision, the file in single.
_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class TrainedBaseline:
    """A baseline and its file.

    Attributes:
        record: its name, quality and size, for the card.
        content: its ONNX file, with the same input and output as the network's.
    """

    record: Baseline
    content: bytes


def fit_baselines(dataset: Dataset, *, seed: int) -> tuple[Baseline, ...]:
    """Train the baselines and return only what a card says of them; see `train_baselines`."""
    return tuple(one.record for one in train_baselines(dataset, seed=seed))


def train_baselines(dataset: Dataset, *, seed: int) -> tuple[TrainedBaseline, ...]:
    """Train logistic regression and a random forest on the training split, one thread each.

    Args:
        dataset: what they learn from.
        seed: what the forest is drawn from.

    Returns:
        "linear" and "forest".

    Raises:
        EvenerError: a file answers otherwise than scikit-learn.
    """
    models = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(TREES, random_state=seed, n_jobs=1),
    }
    features, labels = dataset.rows("train")
    with threadpool_limits(1), warnings.catch_warnings():
        # A regression that stopped early is still what the network has to beat.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in models.values():
            model.fit(features, labels)
    return tuple(_written(name, model, dataset) for name, model in models.items())


def _written(name: str, model: Any, dataset: Dataset) -> TrainedBaseline:  # noqa: ANN401 - sklearn ships no types
    columns = [(INPUT, FloatTensorType([None, dataset.features.shape[1]]))]
    proto = to_onnx(
        model, initial_types=columns, options={id(model): {"zipmap": False}}, target_opset=_OPSETS
    )
    content = clean_bytes(ir.from_proto(proto))
    features, _ = dataset.rows("test")
    with threadpool_limits(1):
        largest_error(
            f"baseline '{name}'",
            content,
            features,
            model.predict_proba(features),
            tolerance=_TOLERANCE,
        )
        record = Baseline(
            name=name,
            validation=_quality(model, dataset, "validation")["accuracy"],
            test=_quality(model, dataset, "test"),
            size_bytes=len(content),
        )
    return TrainedBaseline(record=record, content=content)


def _quality(model: Any, dataset: Dataset, part: SplitName) -> dict[str, float]:  # noqa: ANN401 - as above
    features, labels = dataset.rows(part)
    answered = np.asarray(model.predict(features), np.int64)
    return quality(labels, answered, len(dataset.classes))
