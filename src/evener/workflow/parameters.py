"""Check the parameters of the estimators, each by its name, before anything is computed."""

import numbers
from collections.abc import Mapping, Sequence
from math import inf, nan
from reprlib import repr as brief
from typing import Any, Final

import numpy as np

from evener.artifacts.front import COSTS
from evener.artifacts.search_section import CostName
from evener.errors import InputError
from evener.search.layer_space import DEEPEST
from evener.workflow.fitting import Effort

_LARGEST: Final = 2**31 - 1  # of what is counted, so that any product of two fits 64 bits
_LAST_SEED: Final = 2**32 - 1  # of numpy.random.RandomState
_COUNTED: Final[tuple[CostName, ...]] = ("macs", "weights")  # costs that need no plan


def effort_of(given: Mapping[str, Any]) -> Effort:
    """Return how hard to look for a network, every number checked and of Python's own types.

    Args:
        given: the parameters of an estimator by name, those of `Effort` among them.

    Raises:
        InputError: a parameter that means nothing; says which, its value and what to give.

    Example:
        >>> from evener.workflow.estimators import EvenerClassifier
        >>> effort_of(EvenerClassifier(epochs=0).get_params())
        Traceback (most recent call last):
        evener.errors.InputError: epochs=0 must be a whole number from 1 up, such as 60
    """
    usual = Effort()

    def count(name: str, most: int = _LARGEST) -> int:
        return _count(name, given[name], most, getattr(usual, name))

    return Effort(
        networks=count("networks"),
        budget_s=_budget(given["budget_s"]),
        depth=count("depth", DEEPEST),
        widths=_widths(given["widths"], usual.widths),
        trial_epochs=count("trial_epochs"),
        epochs=count("epochs"),
        batch_size=count("batch_size"),
        learning_rate=_rate(given["learning_rate"], usual.learning_rate),
        cost=_cost(given["cost"]),
        compare=_flag("compare", given["compare"]),
    )


def share_of(value: object) -> float:
    """Return the share of the rows that networks are chosen by.

    Args:
        value: the parameter `validation_share`.

    Raises:
        InputError: it is none between 0 and 1.
    """
    share = _real(value)
    if not 0 < share < 1:
        raise _wrong("validation_share", value, "a number above 0 and below 1, such as 0.2")
    return share


def check_seed(value: object) -> None:
    """Check what chance is to be drawn from.

    Args:
        value: the parameter `random_state`.

    Raises:
        InputError: it is no seed, no RandomState and not None.
    """
    drawn = value is None or value is np.random or isinstance(value, np.random.RandomState)
    if not drawn and not (_whole(value) and 0 <= value <= _LAST_SEED):  # type: ignore[operator] # a whole number
        raise _wrong(
            "random_state",
            value,
            f"a whole number from 0 to {_LAST_SEED}, a numpy.random.RandomState, or None for "
            "another network each time",
        )


def _count(name: str, value: Any, most: int, usual: int) -> int:  # noqa: ANN401 - the user's
    if not (_whole(value) and 1 <= value <= most):
        beyond = most < _LARGEST or (_whole(value) and value > most)
        bounds = f"from 1 to {most}" if beyond else "from 1 up"
        raise _wrong(name, value, f"a whole number {bounds}, such as {usual}")
    return int(value)


def _budget(value: object) -> float | None:
    if value is None:
        return None
    budget_s = _real(value)
    if not budget_s >= 0:
        raise _wrong("budget_s", value, "seconds from 0 up, such as 60, or None for no limit")
    return budget_s


def _widths(value: object, usual: tuple[int, ...]) -> tuple[int, ...]:
    flat = isinstance(value, np.ndarray) and value.ndim == 1
    several = flat or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))
    widths: list[Any] = list(value) if several else []  # type: ignore[call-overload] # a sequence
    whole = all(_whole(one) and 1 <= one <= _LARGEST for one in widths)
    if not widths or not whole or widths != sorted(set(widths)):
        raise _wrong(
            "widths",
            value,
            f"different whole numbers from 1 to {_LARGEST} in ascending order, such as {usual}",
        )
    return tuple(map(int, widths))


def _rate(value: object, usual: float) -> float:
    rate = _real(value)
    if not 0 < rate < inf:
        raise _wrong("learning_rate", value, f"a finite number above 0, such as {usual}")
    return rate


def _cost(value: Any) -> CostName | tuple[CostName, ...]:  # noqa: ANN401 - the user's
    costs = (value,) if isinstance(value, str) else value
    if not isinstance(costs, (tuple, list)) or not all(isinstance(one, str) for one in costs):
        costs = ()
    planned = [one for one in costs if one in COSTS and one not in _COUNTED]
    if planned:
        raise InputError(
            f"cost={brief(value)}: the {planned[0]} is that of a plan, and an estimator makes "
            "none: give 'macs', 'weights' or a tuple of both, or search in a project (evener "
            "init), where search.cost may be of plans"
        )
    if not costs or len(set(costs)) < len(costs) or not set(costs) <= set(_COUNTED):
        raise _wrong("cost", value, "'macs', 'weights' or a tuple of both")
    return value if isinstance(value, str) else tuple(costs)  # type: ignore[return-value] # checked


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong(name, value, "True or False")
    return bool(value)


def _whole(value: object) -> bool:
    """Say whether it is a whole number, which a bool is not here."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _real(value: object) -> float:
    """Return a number as Python's own; nan, which keeps no limit, for what is none."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf  # type: ignore[operator] # numbers.Real has no types


def _wrong(name: str, value: object, wanted: str) -> InputError:
    return InputError(f"{name}={brief(value)} must be {wanted}")
