"""The parameters of the estimators, checked by their names."""

from typing import Any

import numpy as np
import pytest

from evener.errors import InputError
from evener.workflow import estimators
from evener.workflow.estimators import EvenerClassifier, EvenerRegressor
from evener.workflow.fitting import Effort
from evener.workflow.parameters import check_seed, effort_of, share_of

NAN, INF = float("nan"), float("inf")
WORDS = {
    "networks": "a whole number from 1 up, such as 12",
    "budget_s": "seconds from 0 up, such as 60, or None for no limit",
    "depth": "a whole number from 1 to 50, such as 3",
    "widths": "different whole numbers from 1 to 2147483647 in ascending order, such as (16, 32",
    "trial_epochs": "a whole number from 1 up, such as 15",
    "epochs": "a whole number from 1 up, such as 60",
    "batch_size": "a whole number from 1 up, such as 32",
    "learning_rate": "a finite number above 0, such as 0.003",
    "cost": "'macs', 'weights' or a tuple of both",
    "validation_share": "a number above 0 and below 1, such as 0.2",
    "compare": "True or False",
    "random_state": "a whole number from 0 to 4294967295, a numpy.random.RandomState, or None",
}
COUNTS = ("networks", "depth", "trial_epochs", "epochs", "batch_size")
WRONG: list[tuple[str, Any]] = [
    *((name, value) for name in COUNTS for value in (0, -1, 1.5, 2.0, NAN, True, "3", None)),
    *(("budget_s", value) for value in (-1, -(10**400), NAN, "60", True, np.True_)),
    ("depth", 51),
    *(("widths", value) for value in ((), (0,), (16, 16), (32, 16), (1.5,), (True,), ("8", "16"))),
    *(("widths", value) for value in (16, "16", None, {16, 32}, (16, 2**31), np.eye(2, dtype=int))),
    *(("learning_rate", value) for value in (0, -0.1, NAN, INF, 10**400, True, "0.1", None, 1j)),
    *(("validation_share", value) for value in (0, 1, -0.5, NAN, INF, True, "0.2", None)),
    *(("compare", value) for value in (1, 0, "yes", None)),
    *(("cost", value) for value in ("flops", (), ("macs", "macs"), ("macs", 1), None, 3, {"macs"})),
    *(("random_state", value) for value in (-1, 2**32, 1.5, NAN, True, "seed")),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_one_is_told_with_its_name_its_value_and_what_to_give(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(*_args: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(estimators, "find_network", compute)

    wrong: dict[str, Any] = {name: value}

    with pytest.raises(InputError) as caught:
        EvenerClassifier(**wrong).fit([[0.0], [1.0]], [0, 1])

    message = str(caught.value)
    assert message.startswith(f"{name}=")
    assert f" must be {WORDS[name]}" in message


@pytest.mark.parametrize(("name", "shown"), [("epochs", "'3'"), ("learning_rate", "nan")])
def test_the_value_is_shown_as_it_was_written(name: str, shown: str) -> None:
    wrong: dict[str, Any] = {name: {"'3'": "3", "nan": NAN}[shown]}

    with pytest.raises(ValueError, match=f"^{name}={shown} must be"):
        EvenerRegressor(**wrong).fit([[0.0], [1.0]], [0.0, 1.0])


def test_they_are_checked_before_the_rows() -> None:
    with pytest.raises(InputError, match="epochs=0 must be"):
        EvenerRegressor(epochs=0).fit("no rows", "no numbers")


@pytest.mark.parametrize("name", ["networks", "trial_epochs", "epochs", "batch_size"])
def test_a_count_beyond_what_can_be_counted_is_told_its_limit(name: str) -> None:
    given = EvenerClassifier().get_params() | {name: 2**31}

    with pytest.raises(InputError, match=f"{name}=2147483648 must be .* from 1 to 2147483647"):
        effort_of(given)


def test_numbers_of_numpy_become_pythons() -> None:
    given = EvenerClassifier().get_params() | {
        "networks": np.int64(3),
        "budget_s": np.float32(1.5),
        "widths": np.array([4, 8]),
        "learning_rate": np.float64(0.25),
        "compare": np.False_,
    }

    effort = effort_of(given)

    assert effort == Effort(networks=3, budget_s=1.5, widths=(4, 8), learning_rate=0.25)
    assert [type(one) for one in (effort.networks, *effort.widths)] == [int, int, int]
    assert effort.compare is False


@pytest.mark.parametrize(
    "value", [None, 0, 2**32 - 1, np.uint32(7), np.random, np.random.RandomState(0)]
)
def test_what_scikit_learn_draws_from_is_taken(value: object) -> None:
    check_seed(value)

    assert share_of(np.float32(0.5)) == 0.5


@pytest.mark.parametrize(("value", "read"), [(0, 0.0), (60, 60.0), (INF, INF), (None, None)])
def test_a_budget_may_be_nothing_or_endless(value: object, read: float | None) -> None:
    given = EvenerClassifier().get_params() | {"budget_s": value}

    assert effort_of(given).budget_s == read


@pytest.mark.parametrize("cost", ["latency", ("macs", "energy"), ["period"]])
def test_a_cost_of_plans_is_refused_with_what_has_plans(cost: Any) -> None:  # noqa: ANN401 - as users do
    planned = cost if isinstance(cost, str) else cost[-1]

    with pytest.raises(InputError, match=f"the {planned} is that of a plan.*in a project"):
        EvenerClassifier(cost=cost).fit([[0.0], [1.0]], [0, 1])
