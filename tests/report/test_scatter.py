"""Accuracy against cost."""

import msgspec
import pytest

from evener.artifacts.front import Front
from evener.report.content import ReportContent
from evener.report.scatter import accuracy_against_cost


def test_every_scored_network_is_a_point_placed_by_cost_and_accuracy(
    content: ReportContent,
) -> None:
    chart = accuracy_against_cost(content.front, content.card.baselines)

    assert chart is not None
    points = list(chart.iter("circle"))
    places = [(float(one.get("cx", "")), -float(one.get("cy", ""))) for one in points]
    qualities = [one.score.quality or 0 for one in content.front.scored[:5]]
    assert len(points) == 5
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    by_height = sorted(range(5), key=lambda index: places[index][1])
    assert by_height == sorted(range(5), key=lambda index: qualities[index])


def test_the_chosen_one_is_marked_and_named_and_the_front_is_joined(
    content: ReportContent,
) -> None:
    chart = accuracy_against_cost(content.front, content.card.baselines)

    assert chart is not None
    styles = [one.get("class") for one in chart.iter("circle")]
    assert styles == ["front-point", "front-point", "front-point", "chosen", "point"]
    assert "mlp 96-96 gelu" in [one.text for one in chart.iter("text")]
    (front,) = chart.iter("polyline")
    assert len(front.get("points", "").split()) == 4


@pytest.mark.parametrize("validation", [0.93, 0.9803, 0.975, 0.9805, 0.988, 0.9855])
@pytest.mark.parametrize("chosen", range(5))
def test_the_name_of_the_chosen_one_covers_no_line_and_no_point(
    validation: float, chosen: int, content: ReportContent
) -> None:
    scored = content.front.scored
    front = msgspec.structs.replace(content.front, chosen=scored[chosen].architecture.id)
    baseline = msgspec.structs.replace(content.card.baselines[0], validation=validation)

    chart = accuracy_against_cost(front, [baseline])

    assert chart is not None
    names = {one.text: float(one.get("y", "")) for one in chart.iter("text")}
    y = names[str(scored[chosen].architecture)]
    heights = [
        float(one.get("cy", "")) for one in chart.iter("circle") if one.get("class") != "chosen"
    ]
    heights += [
        float(one.get("y1", "")) for one in chart.iter("line") if one.get("class") == "baseline"
    ]
    assert not [height for height in heights if y - 12 < height < y + 3]
    assert 12 < y < 236  # inside the axes


def test_names_of_baselines_stand_right_of_every_point(content: ReportContent) -> None:
    chart = accuracy_against_cost(content.front, content.card.baselines)

    assert chart is not None
    rightmost = max(float(one.get("cx", "")) for one in chart.iter("circle"))
    names = [one for one in chart.iter("text") if (one.text or "").startswith(("linear", "forest"))]
    assert len(names) == 2
    assert all(float(one.get("x", "")) > rightmost for one in names)


def test_baselines_are_lines_and_their_names_do_not_overlap(content: ReportContent) -> None:
    chart = accuracy_against_cost(content.front, content.card.baselines)

    assert chart is not None
    lines = [one for one in chart.iter("line") if one.get("class") == "baseline"]
    names = {
        (one.text or "").split()[0]: float(one.get("y", ""))
        for one in chart.iter("text")
        if (one.text or "").startswith(("linear", "forest"))
    }
    assert len(lines) == 2
    assert names["linear"] - names["forest"] >= 12


def test_what_is_to_be_seen_is_told_in_words(content: ReportContent) -> None:
    chart = accuracy_against_cost(content.front, content.card.baselines)

    assert chart is not None
    assert chart[1].text == (
        "5 networks, 4 of them on the front. Chosen: mlp 96-96 gelu, 0.9805 at 16,320 "
        "multiply-accumulates. Baseline linear: 0.9533. Baseline forest: 0.9582."
    )


def test_one_network_alone_is_a_chart(content: ReportContent) -> None:
    only = content.front.scored[3]
    front = Front(scored=(only,), front=(only.architecture.id,), chosen=only.architecture.id)

    chart = accuracy_against_cost(front, ())

    assert chart is not None
    assert len(list(chart.iter("circle"))) == 1


def test_without_a_score_there_is_no_chart(content: ReportContent) -> None:
    failed = msgspec.structs.replace(content.front, scored=content.front.scored[5:])

    assert accuracy_against_cost(failed, content.card.baselines) is None


def test_costs_are_written_short(content: ReportContent) -> None:
    only = content.front.scored[3]
    small = msgspec.structs.replace(only, score=msgspec.structs.replace(only.score, macs=20))
    large = msgspec.structs.replace(only, score=msgspec.structs.replace(only.score, macs=2**31))

    chart = accuracy_against_cost(msgspec.structs.replace(content.front, scored=(small, large)), ())

    assert chart is not None
    texts = [one.text for one in chart.iter("text")]
    assert [one for one in ("10", "1 k", "10 M", "10 G") if one in texts] == [
        "10",
        "1 k",
        "10 M",
        "10 G",
    ]


def test_by_another_cost_networks_stand_elsewhere(planned: Front) -> None:
    by_macs = accuracy_against_cost(planned, ())
    by_latency = accuracy_against_cost(planned, (), "latency")

    assert by_macs is not None
    assert by_latency is not None
    places = [float(one.get("cx", "")) for one in by_latency.iter("circle")]
    assert places == sorted(places, reverse=True)
    assert by_latency[0].get("id") != by_macs[0].get("id")
    assert by_latency[0].text == "accuracy against time per prediction, estimated"
    # 1 ms / 16,320
    assert "Chosen: mlp 96-96 gelu, 0.9805 at 0.0613 µs." in (by_latency[1].text or "")


def test_of_a_front_by_several_costs_those_are_joined_that_the_drawn_one_leaves(
    planned: Front,
) -> None:
    by_macs = accuracy_against_cost(planned, ())
    by_latency = accuracy_against_cost(planned, (), "latency")

    assert by_macs is not None
    assert by_latency is not None
    joined = [
        len((one.get("points") or "").split())
        for chart in (by_macs, by_latency)
        for one in chart.iter("polyline")
    ]
    assert joined == [4, 2]  # the fifth is no better than the chosen one, and only it is quicker
    styles = [one.get("class") for one in by_latency.iter("circle")]
    assert styles == ["front-point", "front-point", "front-point", "chosen", "front-point"]


def test_a_network_whose_cost_nobody_knows_is_not_drawn(planned: Front) -> None:
    first, *others = planned.scored
    front = msgspec.structs.replace(
        planned, scored=(msgspec.structs.replace(first, objectives=()), *others)
    )

    chart = accuracy_against_cost(front, (), "latency")

    assert chart is not None
    assert len(list(chart.iter("circle"))) == 4
