"""Requirements are read exactly, and judged on values in SI units."""

import pytest

from evener.artifacts.requirements import METRICS, Verdicts, judge, parse_requirement
from evener.errors import InvalidProjectError


@pytest.mark.parametrize(
    ("name", "text", "relation", "limit", "hard"),
    [
        ("accuracy", ">= 0.97", ">=", 0.97, True),
        ("accuracy", ">=97%", ">=", 0.97, True),
        ("latency_p99", "<= 20 ms", "<=", 0.02, True),
        ("throughput", ">= 200 /s", ">=", 200, True),
        ("energy", "<= 5 mJ", "<=", 0.005, True),
        ("size", "<= 2 MB ?", "<=", 2e6, False),
        ("size", "<= 2 MiB?", "<=", 2**21, False),
    ],
)
def test_a_limit_is_read_in_si_units(
    name: str, text: str, relation: str, limit: float, hard: bool
) -> None:
    requirement = parse_requirement(name, text)

    assert (requirement.relation, requirement.hard) == (relation, hard)
    assert requirement.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("acuracy", ">= 0.9", "did you mean 'accuracy'"),
        ("cost_of_tea", ">= 0.9", "known ones: accuracy"),
        ("accuracy", "0.97", "is no limit: write"),
        ("accuracy", "< 0.97", "is no limit: write"),
        ("latency_p99", "<= 20", "has no unit"),
        ("latency_p99", "<= 20 MB", "has the unit 'MB', and is no time"),
        ("throughput", ">= fast", "is not a rate"),
        ("energy", "<= 5 mW", "has the unit 'mW', and is no energy: write '20 J'"),
        ("energy", ">= 5 mJ", "a worse energy: less is better, so write '<= 5 mJ'"),
        ("throughput", "<= 3 /s", "a worse throughput: more is better, so write '>= 3 /s'"),
        ("latency_p99", ">= 20 ms ?", "a worse latency_p99: less is better, so write '<= 20 ms'"),
        ("accuracy", ">= 97", "can never hold, since it is a share of 1: write '>= 0.97'"),
        ("f1", ">= 1e999", "is too large to hold"),
    ],
)
def test_a_wrong_limit_says_what_to_write(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidProjectError, match=message) as caught:
        parse_requirement(name, text)

    assert caught.value.key == f"requirements.{name}"


def test_a_value_on_the_limit_holds() -> None:
    limit = (parse_requirement("latency_p99", "<= 20 ms"),)

    assert judge(limit, {"latency_p99": 0.02})[0].holds
    assert not judge(limit, {"latency_p99": 0.0201})[0].holds


def test_what_was_not_measured_does_not_hold() -> None:
    verdict = judge((parse_requirement("accuracy", ">= 0"),), {"accuracy": None})[0]

    assert (verdict.value, verdict.holds) == (None, False)


@pytest.mark.parametrize(
    ("limit", "value", "shown"),
    [
        (">= 0.97", 0.9696, "0.9696"),
        (">= 0.97", 0.969_999_6, "0.9699996"),
        (">= 0.97", 0.97, "0.97"),
        (">= 0.97", 0.9, "0.9"),
        (">= 0.97", None, "-"),
    ],
)
def test_a_value_that_misses_its_limit_does_not_look_like_it(
    limit: str, value: float | None, shown: str
) -> None:
    assert (
        judge((parse_requirement("accuracy", limit),), {"accuracy": value})[0].value_shown == shown
    )


def test_only_hard_requirements_decide() -> None:
    hard = parse_requirement("accuracy", ">= 0.9")
    soft = parse_requirement("size", "<= 1 B ?")

    verdicts = judge((hard, soft), {"accuracy": 0.95, "size": 2.0})

    assert [verdict.holds for verdict in verdicts] == [True, False]
    assert Verdicts(verdicts=verdicts).holds


def test_every_metric_says_what_it_means() -> None:
    assert all(metric.means and metric.better in {"<=", ">="} for metric in METRICS.values())
