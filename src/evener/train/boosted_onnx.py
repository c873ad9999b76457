"""Let skl2onnx write boosted trees, whose numbers it hands to onnx as NumPy's, not Python's.

Without this, skl2onnx 1.20 fails with scikit-learn 1.9 and onnx 1.22: "Expected an int, got a
boolean" (`nodes_missing_value_tracks_true`).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common._registration import get_converter, get_shape_calculator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

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
        self._convert(scope, operator, _PlainContainer(container))


class _PlainContainer:
    """A graph that is being built; all but nodes' attributes go to it as they are."""

    def __init__(self, container: Any) -> None:  # noqa: ANN401 - as above
        self._container = container

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        return getattr(self._container, name)

    def add_node(self, *arguments: Any, **attributes: Any) -> None:  # noqa: ANN401 - as above
        plain = {name: _plain(value) for name, value in attributes.items()}
        self._container.add_node(*arguments, **plain)


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.bool_ | bool):
        return int(value)
    return value.item() if isinstance(value, np.generic) else value
