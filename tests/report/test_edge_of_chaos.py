"""The section of a page that shows the edge of chaos."""

from xml.etree.ElementTree import Element, tostring

import msgspec
import pytest

from evener.artifacts.edge_of_chaos import Course, Deviation, EdgeOfChaos, Table, Walk
from evener.artifacts.swept import Interval
from evener.report.edge_of_chaos import edge_of_chaos

ONE = Interval(0.5, 0.1)


def course(domain: str, depth: int) -> Course:
    return Course(
        domain=domain,
        depth=depth,
        seeds=10,
        learning_rate=0.03,
        epochs=(0, 1, 200),
        loss=(Interval(2.3, 0.1), Interval(1.5, 0.2), Interval(0.25, 0.05)),
        accuracy=Interval(0.91, 0.01),
        diverged=2,
        gradient=Interval(-6.9, 0.3),
    )


@pytest.fixture
def found() -> EdgeOfChaos:
    return EdgeOfChaos(
        paper={"paper-text": 0.786, "paper-image": 0.881},
        walks=(
            Walk(
                activation="tanh",
                weight_variance=2.24,
                bias_variance=0.05,
                theory=0.786,
                measured=Interval(0.795, 0.004),
                chi=((0.636, 0.9), (0.936, 1.07)),
            ),
        ),
        courses=tuple(
            course(domain, depth) for depth in (5, 50) for domain in ("critical", "random")
        ),
        tables=(
            Table(
                data="digits <8 x 8>",
                hyperparameters=("learning rate", "momentum"),
                steps=50,
                quiescent=100,
                active=500,
                divergent=25,
                boxes=((0.0, 0.0), (0.5, 0.1), (0.9, 0.4), (0.84, 0.3)),
                critical=0.9,
                best=(1.0, 0.45),
            ),
        ),
        deviations=(
            Deviation(
                domain="random",
                iterations=50,
                start=(ONE, ONE),
                after=(Interval(0.25, 0.1), ONE),
                variants=(((-1.0, 0.5), (0.0, 0.25)), ((1.0, 0.0), (0.0, 0.0))),
                spread_start=Interval(0.4, 0.1),
                spread_after=Interval(0.2, 0.1),
            ),
        ),
        verdicts=("Depth 5: no difference that ten seeds could tell.",),
    )


def words(made: list[Element]) -> str:
    return " ".join(text for one in made for text in one.itertext())


def test_every_part_is_shown(found: EdgeOfChaos) -> None:
    made = edge_of_chaos(found)

    titles = [one.text for part in made for one in part.iter("figcaption")]
    assert titles == [
        "χ₁ of random networks by their density of links, for some weight variances",
        "Loss of networks of 5 hidden layers, by where they start",
        "Loss of networks of 50 hidden layers, by where they start",
        "Share of the loss that is gone, and λ, in growing boxes of the table: digits <8 x 8>",
        "Hyperparameters beside the best state, variants that start random",
    ]
    said = words(made)
    assert "no difference that ten seeds could tell" in said
    for figure in ("0.786", "0.7950 ± 0.0040", "0.881", "0.2500 ± 0.0500", "-6.90", "1, 0.45"):
        assert figure in said


def test_a_variant_stands_as_far_from_the_middle_as_it_deviates(found: EdgeOfChaos) -> None:
    circles = list(edge_of_chaos(found)[-2].iter("circle"))

    at = {one.findtext("title"): float(one.get("cx", "")) for one in circles}
    assert len(circles) == 8
    middle = at["momentum: +0.00 of its range"]
    assert at["learning rate: -1.00 of its range"] - middle == pytest.approx(
        -2 * (at["momentum: +0.50 of its range"] - middle)
    )


def test_what_is_not_there_is_left_out(found: EdgeOfChaos) -> None:
    bare = msgspec.structs.replace(found, walks=(), courses=(), tables=(), deviations=())

    made = edge_of_chaos(bare)

    assert [one.tag for one in made] == ["h2", "p", "p"]


def test_nothing_that_is_named_becomes_markup(found: EdgeOfChaos) -> None:
    text = "".join(tostring(one, encoding="unicode", method="html") for one in edge_of_chaos(found))

    assert "digits <8" not in text
    assert "digits &lt;8 x 8&gt;" in text
