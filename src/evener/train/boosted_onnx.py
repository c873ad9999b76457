"""Let skl2onnx write boosted trees: their numbers as Python's, and thresholds that part alike.

skl2onnx 1.20 hands NumPy's numbers to onnx 1.22, which fails with scikit-learn 1.9: "Expected an
int, got a boolean" (`nodes_missing_value_tracks_true`). And it rounds thresholds to the nearest
number in single precision, where scikit-learn compares in double: two neighbouring values whose
middle a threshold is then go the same way, if the middle is rounded up. Rounded down, every value
in single precision goes as it does in scikit-learn.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skl2onnx import update_registered_converter
from skl2onnx.common._registration import get_converter, get_shape_calculator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

_THRESHOLDS: Final = "nodes_values"
_PLAIN: Final = frozenset({int, float, str, bytes})
_SCORES: Final = {"raw_scores": [True, False]}
_ALIASES: Final = {  # of each model: what skl2onnx calls it, and the options that it takes
    HistGradientBoostingClassifier: (
        "SklearnHistGradientBoostingClassifier",
        {"zipmap": [True, False, "columns"], "nocl": [True, False], **_SCORES},
    ),
    HistGradientBoostingRegressor: ("SklearnHistGradientBoostingRegressor", _SCORES),
}


def teach_skl2onnx() -> None:
    """Make boosted trees something that `to_onnx` can write; calling it again changes nothing."""
    for model, (alias, options) in _ALIASES.items():
        known = get_converter(alias)
        if not isinstance(known, _WithPlainNumbers):
            update_registered_converter(
                model,
                alias,
                get_shape_calculator(alias),
                _WithPlainNumbers(known),
                overwrite=True,
                options=options,
            )


class _WithPlainNumbers:
    """A converter that hands attributes on as Python's numbers."""

    def __init__(self, convert: Callable[..., None]) -> None:
        self._convert = convert

    def __call__(self, scope: Any, operator: Any, container: Any) -> None:  # noqa: ANN401 - skl2onnx ships no types
        model = operator.raw_operator
        nodes = [tree.nodes for trees in model._predictors for tree in trees]  # noqa: SLF001 - as skl2onnx does
        thresholds = np.concatenate([one["num_threshold"] for one in nodes])
        self._convert(scope, operator, _PlainContainer(container, thresholds))


class _PlainContainer:
    """A graph that is being built; all but nodes' attributes go to it as they are.

    Args:
        container: the graph.
        thresholds: of the nodes of all trees, in double precision; of leaves, anything.
    """

    def __init__(self, container: Any, thresholds: NDArray[np.float64]) -> None:  # noqa: ANN401 - as above
        self._container, self._thresholds = container, thresholds

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        return getattr(self._container, name)

    def add_node(self, *arguments: Any, **attributes: Any) -> None:  # noqa: ANN401 - as above
        plain = {name: _plain(value) for name, value in attributes.items()}
        if _THRESHOLDS in plain:
            plain[_THRESHOLDS] = rounded_down(self._thresholds)
        self._container.add_node(*arguments, **plain)


def rounded_down(values: ArrayLike) -> list[float]:
    """Return the largest numbers in single precision that are no larger than some in double.

    Example:
        >>> rounded_down([0.5, 0.1])  # 0.1 is nearest to a number above it
        [0.5, 0.09999999403953552]
    """
    exact = np.asarray(values, np.float64)
    nearest = exact.astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    return [float(one) for one in np.where(nearest > exact, below, nearest)]


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(value, list | tuple):
        return [one if type(one) in _PLAIN else _plain(one) for one in value]
    if isinstance(value, np.bool_ | bool):
        return int(value)
    return value.item() if isinstance(value, np.generic) else value
