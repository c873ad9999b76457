"""What is measured of this machine is kept for the next time."""

from collections.abc import Callable

import pytest

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.comm.alone import Alone
from evener.comm.virtual import run_ranks
from evener.train import calibrate as measuring
from evener.workflow import check_self, known_calibration
from evener.workflow.selfcheck import PACKAGES


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure nothing."""

    def calibrate(
        clock: Callable[[], float], *, processor: str, link: Link | None = None
    ) -> Calibration:
        return Calibration(
            processor=processor,
            updates=(Rate(1, clock()),),
            reads=(Rate(1, 1.0),),
            products=(Rate(1, 1.0),),
            dense_layer_s=1.0,
            sharded_layer_s=1.0,
            shard_s=1e-6,
            link=link,
        )

    monkeypatch.setattr(measuring, "calibrate", calibrate)


@pytest.mark.usefixtures("quick")
def test_what_was_measured_last_is_known_and_a_link_is_worth_more() -> None:
    assert known_calibration() is None

    alone = check_self(Alone())
    assert known_calibration() == alone.calibration

    linked = run_ranks(2, check_self)
    assert [one.ranks for one in linked] == [2, 2]
    assert linked[0].calibration.link == linked[1].calibration.link is not None
    assert known_calibration() == linked[0].calibration

    check_self(Alone())
    assert known_calibration() == linked[0].calibration


@pytest.mark.usefixtures("quick")
def test_versions_are_named_installed_or_not() -> None:
    versions = check_self(Alone()).versions

    assert set(versions) == {*PACKAGES, "BLAS", "MPI"}
    assert versions["torch"]
    assert versions["BLAS"]
