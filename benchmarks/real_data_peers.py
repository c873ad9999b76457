"""scikit-learn's boosting and multi-layer perceptron, as they come, on the rows of a dataset."""

import time
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from real_data_page import Figure
from sklearn.compose import TransformedTargetRegressor  # noqa: TID251 - what is held against
from sklearn.ensemble import (  # noqa: TID251 - as above
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning  # noqa: TID251 - as above
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: TID251 - as above
from sklearn.pipeline import make_pipeline  # noqa: TID251 - as above
from sklearn.preprocessing import StandardScaler  # noqa: TID251 - as above

from evener.data.dataset import Dataset
from evener.train.metrics import quality

_ROUNDS: Final = 100  # scikit-learn's own
_FEWEST: Final = 20  # of fewer nothing can be told
_WORK: Final = 5e9  # values that boosting looks at in all rounds: minutes on one core
_ROWS_AT_ONCE: Final = 5000


def fit_peers(dataset: Dataset, *, seed: int) -> list[Figure]:
    """Fit both with their defaults and early stopping, by training and validation rows.

    On wide data boosting ends after fewer rounds than its default, as its name says; where 20 would
    take it many minutes, it is left out.

    Args:
        dataset: of classes or numbers, one target.
        seed: of both.
    """
    parts = (dataset.examples("train"), dataset.examples("validation"))
    features = np.concatenate([x for x, _ in parts])
    targets = np.concatenate([y for _, y in parts])
    classes = dataset.task == "classes"
    wanted = targets.argmax(axis=1) if classes else targets[:, 0]
    rounds = int(min(_WORK / (features.size * _trees(dataset)), _ROUNDS))
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    perceptron = _perceptron(seed=seed, classes=classes)
    models: dict[str, Any] = {}
    if rounds >= _FEWEST:
        name = f"HistGradientBoosting, {rounds} rounds"
        models[name] = boosting(max_iter=rounds, random_state=seed)
    # The last, for it scales the rows where they stand: wide ones do not fit into memory twice.
    models["MLP, early stopping"] = make_pipeline(StandardScaler(copy=False), perceptron)
    return [_fitted(name, model, dataset, features, wanted) for name, model in models.items()]


def _perceptron(*, seed: int, classes: bool) -> Any:  # noqa: ANN401 - sklearn ships no types
    """Return the perceptron; of numbers in units of their spread, without which it learns none."""
    if classes:
        return MLPClassifier(early_stopping=True, random_state=seed)
    return TransformedTargetRegressor(
        MLPRegressor(early_stopping=True, random_state=seed), transformer=StandardScaler()
    )


def _trees(dataset: Dataset) -> int:
    """Return how many trees a round of boosting grows."""
    return dataset.outputs if dataset.task == "classes" and dataset.outputs > 2 else 1


def _fitted(
    name: str,
    model: Any,  # noqa: ANN401 - sklearn ships no types
    dataset: Dataset,
    features: NDArray[np.float32],
    wanted: NDArray[Any],
) -> Figure:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is held against as it comes
        model.fit(features, wanted)
    took_s = time.perf_counter() - started
    tested, targets = dataset.examples("test")
    answers = np.concatenate(
        [
            _answers(model, dataset, tested[first : first + _ROWS_AT_ONCE])
            for first in range(0, len(tested), _ROWS_AT_ONCE)
        ]
    )
    return Figure(
        what=f"scikit-learn {name.partition(',')[0]}",
        model=name,
        validation={},
        test=quality(dataset.task, targets, answers),
        took_s=took_s,
    )


def _answers(
    model: Any,  # noqa: ANN401 - sklearn ships no types
    dataset: Dataset,
    features: NDArray[np.float32],
) -> NDArray[np.float64]:
    if dataset.task == "classes":
        return np.asarray(model.predict_proba(features), np.float64)
    return np.asarray(model.predict(features), np.float64).reshape(len(features), -1)
