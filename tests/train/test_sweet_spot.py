"""The cheapest network is recommended that is as good as the best, as far as seeds can tell."""

import msgspec
import pytest

from evener.artifacts.swept import Interval, Swept
from evener.artifacts.topology import Topology
from evener.train.sweet_spot import advise, interval


def point(accuracy: float, half: float | None, sent: int, weights: int = 100) -> Swept:
    return Swept(
        widths=(4, 8, 2),
        topology=Topology(shards=2, halo=sent),
        seeds=1 if half is None else 3,
        weights=weights,
        bytes_per_row=sent,
        train_loss=Interval(0.1, half),
        test_loss=Interval(1 - accuracy, half),
        train_accuracy=Interval(1.0, half),
        test_accuracy=Interval(accuracy, half),
        iteration_s=1e-3,
        epoch_s=1e-2,
    )


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])

    assert found.half_width == pytest.approx(2.4841, abs=1e-4)
    assert str(found) == "2.0000 ± 2.4841"
    assert (found.low, found.high) == pytest.approx((-0.4841, 4.4841), abs=1e-4)
    assert str(interval([1.0, 1.0])) == "1.0000 ± 0.0000"
    assert str(interval([1.0])) == "1.0000"


def test_the_cheapest_is_recommended_whose_interval_reaches_the_best_mean() -> None:
    points = [point(0.90, 0.01, 0), point(0.965, 0.02, 8), point(0.97, 0.01, 80), point(0.95, 0, 1)]

    found = advise(points)

    assert (found.best, found.recommended) == (2, 1)
    assert found.reason == (
        "2 shards, halo 8, input replicated reaches the best, 2 shards, halo 80, input replicated, "
        "within its interval (test accuracy 96.50 ± 2.00 % against 97.00 ± 1.00 %), with 10.0 "
        "times fewer bytes for a row and 100% of its weights"
    )


def test_a_wide_interval_makes_no_network_good() -> None:
    assert advise([point(0.2, 0.9, 0), point(0.97, 0.01, 8)]).recommended == 1


def test_of_equal_bytes_the_one_with_fewest_weights_is() -> None:
    found = advise([point(0.97, 0.01, 8, 200), point(0.965, 0.01, 8, 50)])

    assert found.recommended == 1
    assert "with 25% of its weights" in found.reason


def test_without_bytes_none_are_instead_of_some() -> None:
    assert (
        "with no bytes instead of 8 B for a row"
        in advise([point(0.97, 0.01, 0), point(0.971, 0.01, 8)]).reason
    )


def test_the_best_is_where_nothing_cheaper_reaches_it_and_one_seed_says_little() -> None:
    found = advise([point(0.90, None, 0), point(0.97, None, 8)])

    assert (found.best, found.recommended) == (1, 1)
    assert "is best, with a test accuracy of 97.00 %, and none with fewer bytes" in found.reason
    assert found.reason.endswith("one seed says nothing of chance: give several")


def test_without_classes_a_lower_loss_is_better() -> None:
    points = [
        msgspec.structs.replace(one, test_accuracy=None, train_accuracy=None)
        for one in (point(0.8, 0.01, 0), point(0.9, 0.01, 8))
    ]

    found = advise(points)

    assert found.best == found.recommended == 1
    assert "with a test loss of 0.1000 ± 0.0100" in found.reason
