"""The simple models that a network is held against: a linear one, a forest and boosted trees.

A network that is no better than these is not worth its size. They leave as ONNX too, so that they
can be profiled, planned and served like any other.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from threadpoolctl import threadpool_limits

from evener.artifacts.card import Baseline
from evener.artifacts.dataset import MAIN_METRIC
from evener.artifacts.train_section import ClassWeight
from evener.data.dataset import Dataset, SplitName
from evener.train.boosted_onnx import teach_skl2onnx
from evener.train.clean import INPUT, clean_bytes
from evener.train.finite import check_answers
from evener.train.head import output_name
from evener.train.metrics import quality
from evener.train.verify import largest_error

TREES: Final = 100
_LEAVES: Final = 2000  # of a tree of the forest, about, at most: files of some MB, soon written
_TEXT_C: Final = 10.0  # how little a regression on words is held back
_MOST_ROUNDS: Final = 300  # of boosting, which stops early where more do not help
_FEWEST_ROUNDS: Final = 20
_ROUNDS_WORK: Final = 1e10  # values looked at in all rounds: minutes on one core
_ROWS_TO_SPLIT: Final = 15_000  # that a tree's search for splits costs as much as
_OPSETS: Final = {"": 18, "ai.onnx.ml": 3}
# scikit-learn computes in double precision, the file in single.
_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class TrainedBaseline:
    """A baseline and its file.

    Attributes:
        record: its name, quality and size, for the card.
        content: its ONNX file, with the same input and output as the network's.
        export_error: largest difference between an answer of the file and of scikit-learn.
    """

    record: Baseline
    content: bytes
    export_error: float


def fit_baselines(
    dataset: Dataset, *, seed: int, class_weight: ClassWeight = "none"
) -> tuple[Baseline, ...]:
    """Train the baselines and return only what a card says of them; see `train_baselines`."""
    trained = train_baselines(dataset, seed=seed, class_weight=class_weight)
    return tuple(one.record for one in trained)


def train_baselines(
    dataset: Dataset, *, seed: int, class_weight: ClassWeight = "none"
) -> tuple[TrainedBaseline, ...]:
    """Train a linear model, a random forest and boosted trees, one thread each.

    Of several labels, and of numbers that are boosted, each has a model of its own. Boosting stops
    once a tenth of the training rows, kept for that, is answered no better; on wide data after
    fewer rounds, and where 20 of them would take it many minutes it is left out. Trees divide
    numbers by themselves, so they read no bins of them.

    Args:
        dataset: what they learn from; the training split.
        seed: what the forest and the rows kept are drawn from.
        class_weight: whether rare classes count as much as common ones.

    Returns:
        "linear", "forest" and, unless it was left out, "boosting".

    Raises:
        EvenerError: a file answers otherwise than scikit-learn.
        InvalidDataError: answers are no finite numbers, of rows far beyond those learned from.
    """
    models = _models(dataset, seed, class_weight)
    if not _rounds(dataset):
        del models["boosting"]
    _fit(models.values(), dataset, ("train",))
    return tuple(_written(name, model, dataset, None) for name, model in models.items())


def refit_baseline(
    before: Baseline,
    dataset: Dataset,
    *,
    seed: int,
    class_weight: ClassWeight = "none",
    learned_from: Sequence[SplitName] = ("train", "validation"),
) -> TrainedBaseline:
    """Train a baseline again once it was chosen, by default on the validation rows too.

    Boosting still keeps a tenth of the rows that it is given, and learns nothing from these.

    Args:
        before: what it came to; its quality on the validation split stays that.
        dataset: what it learns from.
        seed: that it was trained with.
        class_weight: likewise.
        learned_from: parts of the split.

    Raises:
        EvenerError: the file answers otherwise than scikit-learn.
        InvalidDataError: answers are no finite numbers, of rows far beyond those learned from.
    """
    model = _models(dataset, seed, class_weight)[before.name]
    _fit([model], dataset, learned_from)
    return _written(before.name, model, dataset, before.validation)


def _fit(models: Iterable[Any], dataset: Dataset, parts: Sequence[SplitName]) -> None:
    features, targets = dataset.examples(*parts)
    wanted = _wanted(dataset, targets)
    with threadpool_limits(1), warnings.catch_warnings():
        # A regression that stopped early is still what the network has to beat.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A label that no training row has, or each, is answered alike for all rows.
        warnings.filterwarnings("ignore", "Label .* present in all training", UserWarning)
        for model in models:
            model.fit(features, wanted)


def _models(dataset: Dataset, seed: int, class_weight: ClassWeight) -> dict[str, Any]:
    texts = dataset.words > 0  # rare words would drown the others if all had one spread
    scaler = MaxAbsScaler() if texts else StandardScaler()
    boosting = {
        "random_state": seed,
        "max_iter": max(_rounds(dataset), 1),
        "early_stopping": _can_stop_early(dataset),
    }
    least = max(1, len(dataset.split.train) // _LEAVES)
    forest = {"random_state": seed, "n_jobs": 1, "min_samples_leaf": least}
    if dataset.task == "numbers":
        boosted = HistGradientBoostingRegressor(**boosting)
        return {
            "linear": make_pipeline(scaler, Ridge()),
            "forest": _without_bins(dataset, RandomForestRegressor(TREES, **forest)),
            "boosting": _without_bins(
                dataset, boosted if dataset.outputs == 1 else MultiOutputRegressor(boosted)
            ),
        }
    weight = None if class_weight == "none" else class_weight
    models = {
        "linear": LogisticRegression(
            C=_TEXT_C if texts else 1.0, max_iter=1000, class_weight=weight
        ),
        "forest": RandomForestClassifier(TREES, class_weight=weight, **forest),
        "boosting": HistGradientBoostingClassifier(class_weight=weight, **boosting),
    }
    if dataset.task == "labels":
        models = {name: OneVsRestClassifier(model) for name, model in models.items()}
    trees = {name: _without_bins(dataset, models[name]) for name in ("forest", "boosting")}
    return {"linear": make_pipeline(scaler, models["linear"]), **trees}


def _without_bins(dataset: Dataset, model: Any) -> Any:  # noqa: ANN401 - sklearn ships no types
    """Return a model that does not see by which bins a number is written."""
    if not dataset.bins:
        return model
    kept = np.delete(np.arange(dataset.features.shape[1]), dataset.bins).tolist()
    return make_pipeline(ColumnTransformer([("kept", "passthrough", kept)]), model)


def _rounds(dataset: Dataset) -> int:
    """Return for how many rounds rows are boosted at most; 0 where too few could be afforded."""
    trees = 1 if dataset.outputs == 2 and dataset.task == "classes" else dataset.outputs
    rows = len(dataset.split.train) + _ROWS_TO_SPLIT
    features = dataset.features.shape[1] - len(dataset.bins)
    rounds = int(_ROUNDS_WORK / (rows * features * trees))
    return 0 if rounds < _FEWEST_ROUNDS else min(rounds, _MOST_ROUNDS)


def _can_stop_early(dataset: Dataset) -> bool:
    """Whether a tenth of the training rows can be kept with a row of each class."""
    rows = dataset.split.train
    rarest = dataset.targets[rows].sum(axis=0).min()
    return dataset.task == "numbers" or bool(rarest > 1 and len(rows) >= 10 * dataset.outputs)


def _wanted(dataset: Dataset, targets: NDArray[np.float32]) -> NDArray[Any]:
    """Return targets as scikit-learn takes them."""
    if dataset.task == "classes":
        labels: NDArray[np.int64] = targets.argmax(axis=1)
        return labels
    if dataset.task == "labels":
        return targets.astype(np.int64)
    return targets[:, 0] if dataset.outputs == 1 else targets


def _answers(
    model: Any,  # noqa: ANN401 - sklearn ships no types
    dataset: Dataset,
    features: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Return the answers (rows, outputs) of a model."""
    if dataset.task == "numbers":
        return np.asarray(model.predict(features), np.float64).reshape(len(features), -1)
    return np.asarray(model.predict_proba(features), np.float64)


def _written(
    name: str,
    model: Any,  # noqa: ANN401 - as above
    dataset: Dataset,
    validation: float | None,
) -> TrainedBaseline:
    """Write a model as ONNX; its validation figure is found where none is given."""
    columns = [(INPUT, FloatTensorType([None, dataset.features.shape[1]]))]
    numbers = dataset.task == "numbers"
    options = {} if numbers else {"options": {id(model): {"zipmap": False}}}
    teach_skl2onnx()
    proto = ir.from_proto(to_onnx(model, initial_types=columns, target_opset=_OPSETS, **options))
    if numbers:
        proto.graph.outputs[0].name = output_name(dataset.task)
    content = clean_bytes(proto)
    features, _ = dataset.examples("test")
    with threadpool_limits(1):
        error = largest_error(
            f"baseline '{name}'",
            content,
            features,
            _answers(model, dataset, features),
            tolerance=_TOLERANCE,
        )
        now = _quality(model, dataset, "validation")[MAIN_METRIC[dataset.task]]
        record = Baseline(
            name=name,
            validation=now if validation is None else validation,
            test=_quality(model, dataset, "test"),
            size_bytes=len(content),
        )
    return TrainedBaseline(record=record, content=content, export_error=error)


def _quality(model: Any, dataset: Dataset, part: SplitName) -> dict[str, float]:  # noqa: ANN401 - as above
    features, targets = dataset.examples(part)
    answers = _answers(model, dataset, features)
    check_answers(dataset, part, answers)
    return quality(dataset.task, targets, answers)
