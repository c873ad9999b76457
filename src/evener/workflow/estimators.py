"""Evener as estimators of scikit-learn: a search for a network, and its training, behind `fit`.

They keep to scikit-learn's rules, so that pipelines, cross-validation and searches over
hyperparameters take them as they take any other. Shapes in names: R rows, F features, O outputs.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evener.artifacts.dataset import Task
from evener.artifacts.search_section import CostName
from evener.data.dataset import Dataset, make_dataset
from evener.data.split import Split
from evener.errors import InputError, MissingExtraError
from evener.train.metrics import HALF
from evener.workflow.fitting import Effort, find_network, train_found
from evener.workflow.parameters import check_seed, effort_of, share_of

try:
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError("estimators", extra="train") from error

_FEWEST: Final = 5  # rows that are divided into those to learn from and those to choose by
_SEEDS: Final = 2**31 - 1


class _NetworkEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """What both estimators share; scikit-learn asks for inheritance.

    Args:
        networks: how many networks are tried.
        budget_s: seconds after which no further one is tried; None for no limit.
        depth: most hidden layers.
        widths: units that a layer may have, in ascending order.
        trial_epochs: passes over the rows for each network that is tried.
        epochs: passes for the one that is chosen, over all rows.
        batch_size: rows of a step.
        learning_rate: of AdamW, at its peak.
        cost: what is made small beside the error: "macs" for multiply-accumulates of a prediction,
            "weights" for numbers that training sets, or a tuple of both; of networks that are
            equally good the one that costs least is taken.
        validation_share: of the rows, that networks are chosen by.
        compare: whether as many networks drawn at random, and a fixed one, are tried beside those
            of the search, which takes twice as long; the answers stay the same.
        random_state: a seed, a RandomState, or None for another network each time.
    """

    def __init__(
        self,
        *,
        networks: int = 12,
        budget_s: float | None = None,
        depth: int = 3,
        widths: Sequence[int] = (16, 32, 64, 128),
        trial_epochs: int = 15,
        epochs: int = 60,
        batch_size: int = 32,
        learning_rate: float = 0.003,
        cost: CostName | tuple[CostName, ...] = "macs",
        validation_share: float = 0.2,
        compare: bool = False,
        random_state: "int | np.random.RandomState | None" = None,
    ) -> None:
        self.networks = networks
        self.budget_s = budget_s
        self.depth = depth
        self.widths = widths
        self.trial_epochs = trial_epochs
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.cost = cost
        self.validation_share = validation_share
        self.compare = compare
        self.random_state = random_state

    def to_onnx(self) -> bytes:
        """Return the network as an ONNX file, for `evener plan`, `run` and `serve`.

        It takes rows of numbers in single precision, and answers with probabilities of the classes
        or with the numbers.
        """
        from evener.train.export import export_onnx

        check_is_fitted(self)
        return export_onnx(self.trained_)

    def _effort(self) -> Effort:
        """Return what the parameters come to, which are checked here before anything else.

        Raises:
            InputError: one of them means nothing.
        """
        effort = effort_of(self.get_params(deep=False))
        share_of(self.validation_share)
        check_seed(self.random_state)
        return replace(effort, seed=int(check_random_state(self.random_state).randint(_SEEDS)))

    def _find(
        self,
        x_RF: NDArray[np.float64],
        answers: NDArray[Any],
        names: Sequence[str],
        task: Task,
        effort: Effort,
    ) -> None:
        """Search by a part of the rows, and train what was found on all."""
        every = np.arange(len(x_RF))
        train, chosen_by = _parts(answers, task, share_of(self.validation_share), effort.seed)
        searched = _dataset(x_RF, answers, names, task, Split(train, chosen_by, chosen_by))
        whole = _dataset(x_RF, answers, names, task, Split(every, chosen_by, chosen_by))
        found = find_network(searched, effort)
        self.network_, self.front_ = found.network, found.front
        self.qualities_ = dict(found.qualities)
        self.trained_ = train_found(self.network_, whole, effort)

    def _answers(self, x: ArrayLike) -> NDArray[np.float64]:
        from evener.train.exact import exact_answers

        check_is_fitted(self)
        return exact_answers(self.trained_, validate_data(self, x, dtype=np.float64, reset=False))


class EvenerClassifier(ClassifierMixin, _NetworkEstimator):  # type: ignore[misc] # as above
    """Tells classes apart, or labels of which a row may have several, by a network that is found.

    The parameters are those of the search: see `evener.workflow.fitting.Effort`;
    `validation_share` of the rows networks are chosen by.

    Attributes:
        classes_: the classes, in the order of the probabilities; of labels (labels, 2), 0
            and 1 for each.
        network_: the shape of the network that was found.
        front_: all networks that were tried, and those than which no other is as small in every
            objective, of the names `front_.objectives`; see `evener.artifacts.front.Front`.
        qualities_: what it came to on the rows that were kept back to choose by, and with `compare`
            what random search and a fixed network did; see `evener.workflow.fitting.Found`.
        trained_: it with its weights.
        n_features_in_: features that a row has.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> x, y = load_iris(return_X_y=True)
        >>> found = EvenerClassifier(networks=4, random_state=0).fit(x, y)
        >>> found.score(x, y) > 0.9
        True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Search for a network and train it.

        Args:
            X: (R, F), numbers.
            y: (R,), the class of each row; or (R, labels), a 1 for each label that it has, else 0.

        Raises:
            ValueError: rows or classes that nothing can be learned from, as scikit-learn says it.
            InputError: a parameter that means nothing, or a learning rate that is too high; several
                columns that are no labels.
        """
        effort = self._effort()
        x_RF, told = validate_data(self, X, y, dtype=np.float64, multi_output=True)
        check_classification_targets(told)
        self._several_labels = issparse(told) or (told.ndim > 1 and told.shape[1] > 1)
        if self._several_labels:
            labels_RO = _checked_labels(told)
            # Two columns: numbers of two labels would pass for the classes of one in scorers.
            self.classes_ = np.tile(np.array([0, 1], labels_RO.dtype), (labels_RO.shape[1], 1))
            names = [f"label {number}" for number in range(labels_RO.shape[1])]
            self._find(x_RF, labels_RO, names, "labels", effort)
            return self
        self.classes_, labels_R = np.unique(column_or_1d(told, warn=True), return_inverse=True)
        self._find(x_RF, labels_R, [str(one) for one in self.classes_], "classes", effort)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (R, classes), or of each label, (R, labels).

        Args:
            X: (R, F), numbers.
        """
        return self._answers(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class of each row, (R,), or a 1 for each label, (R, labels).

        A label is there from a probability of a half on.

        Args:
            X: (R, F), numbers.
        """
        probabilities_RO = self.predict_proba(X)
        if self._several_labels:
            there_RO: NDArray[Any] = probabilities_RO >= HALF
            return there_RO.astype(self.classes_.dtype)
        predicted_R: NDArray[Any] = self.classes_[probabilities_RO.argmax(axis=1)]
        return predicted_R

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's protocol
        """Say that a row may have several labels."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class EvenerRegressor(RegressorMixin, _NetworkEstimator):  # type: ignore[misc] # as above
    """Predicts numbers by a network that a search finds for the rows.

    The parameters are those of `EvenerClassifier`.

    Attributes:
        network_: the shape of the network that was found.
        front_: all networks that were tried, and those than which no other is as small in every
            objective, of the names `front_.objectives`; see `evener.artifacts.front.Front`.
        qualities_: what it came to on the rows that were kept back to choose by, and with `compare`
            what random search and a fixed network did; see `evener.workflow.fitting.Found`.
        trained_: it with its weights.
        n_features_in_: features that a row has.

    Example:
        >>> x = np.linspace(-1, 1, 200).reshape(-1, 1)
        >>> found = EvenerRegressor(networks=4, random_state=0).fit(x, x[:, 0] ** 2)
        >>> found.predict([[0.5]]).shape
        (1,)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Search for a network and train it.

        Args:
            X: (R, F), numbers.
            y: (R,) or (R, O), what is to be predicted of each row.

        Raises:
            ValueError: rows or numbers that nothing can be learned from, as scikit-learn says it.
            InputError: a parameter that means nothing, or a learning rate that is too high.
        """
        effort = self._effort()
        x_RF, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        targets = np.asarray(y, dtype=np.float64)
        self._one_output = targets.ndim == 1
        targets_RO = targets.reshape(len(targets), -1)
        names = [f"output {number}" for number in range(targets_RO.shape[1])]
        self._find(x_RF, targets_RO, names, "numbers", effort)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the number, or numbers, of each row, of the shape that `fit` was given.

        Args:
            X: (R, F), numbers.
        """
        answers_RO = self._answers(X)
        return answers_RO[:, 0] if self._one_output else answers_RO

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's protocol
        """Say that several numbers may be predicted of a row."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _checked_labels(y: Any) -> NDArray[Any]:  # noqa: ANN401 - an array, or a sparse one
    """Return labels (R, labels) that are 0 and 1 alone, of the type that they came in."""
    if issparse(y):
        raise InputError("y is sparse: give labels as an array, y.toarray()")
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InputError(
            f"y of {y.shape[1]} columns holds more than 0 and 1: give one class a row, or 0 and 1 "
            "for each label; for several classes a row, sklearn.multioutput.MultiOutputClassifier "
            "takes an estimator for each"
        )
    labels_RO: NDArray[Any] = y
    return labels_RO


def _parts(
    answers: NDArray[Any], task: Task, share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those to choose by; of few rows all are for both."""
    rows = np.arange(len(answers))
    if len(rows) < _FEWEST:
        return rows, rows
    kept = min(max(1, round(share * len(rows))), len(rows) - 1)
    counts = np.bincount(answers) if task == "classes" else np.zeros(1)
    divisible = (
        task == "classes" and counts.min() > 1 and len(counts) <= min(kept, len(rows) - kept)
    )
    train, chosen_by = train_test_split(
        rows, test_size=kept, random_state=seed, stratify=answers if divisible else None
    )
    return np.sort(train), np.sort(chosen_by)


def _dataset(
    x_RF: NDArray[np.float64],
    answers: NDArray[Any],
    names: Sequence[str],
    task: Task,
    split: Split,
) -> Dataset:
    numbers = {"features": x_RF} if task == "classes" else {"features": x_RF, "answers": answers}
    for what, these in numbers.items():
        largest = float(np.abs(these).max())
        if largest > float(np.finfo(np.float32).max):
            raise InputError(
                f"{what} up to {largest:g} are infinite in single precision, in which "
                "networks are trained: scale them"
            )
    return make_dataset(
        "rows",
        x_RF.astype(np.float32),
        answers if task == "classes" else answers.astype(np.float32),
        classes=tuple(names),
        feature_names=tuple(f"feature {number}" for number in range(x_RF.shape[1])),
        split=split,
        task=task,
    )
