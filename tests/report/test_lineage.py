"""What the chosen network was bred from, on a page."""

from xml.etree.ElementTree import Element, tostring

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.front import Front, Scored
from evener.artifacts.score import Score
from evener.report.lineage import ancestors, lineage

OLD, OTHER, ASIDE, CHILD, CHOSEN = (Architecture(hidden=(width,)) for width in (4, 8, 16, 32, 64))


def scored(
    network: Architecture, quality: float, generation: int = 0, *parents: Architecture
) -> Scored:
    return Scored(
        architecture=network,
        score=Score(id=network.id, quality=quality),
        generation=generation,
        parents=tuple(parent.id for parent in parents),
    )


FRONT = Front(
    scored=(
        scored(OLD, 0.7),
        scored(OTHER, 0.6),
        scored(ASIDE, 0.8),
        scored(CHILD, 0.85, 1, OLD, OTHER),
        scored(CHOSEN, 0.9, 2, CHILD),
    ),
    front=(CHOSEN.id,),
    chosen=CHOSEN.id,
)


def words(elements: list[Element]) -> str:
    return " ".join(" ".join("".join(one.itertext()).split()) for one in elements)


def test_ancestors_are_those_that_a_network_was_bred_from_and_no_others() -> None:
    found = [one.architecture for one in ancestors(FRONT, CHOSEN.id)]

    assert found == [OLD, OTHER, CHILD, CHOSEN]


def test_a_line_leads_from_each_parent_to_its_child() -> None:
    made = lineage(FRONT)

    drawn = tostring(made[1], encoding="unicode")
    assert drawn.count('class="spread"') == 3
    assert "mlp 64 relu: 0.9, generation 3" in drawn
    assert "descends from 3 others" in words(made)
    assert f"{OLD.id[:6]}, {OTHER.id[:6]}" in words(made)


def test_a_network_that_was_drawn_has_no_lineage() -> None:
    assert lineage(msgspec.structs.replace(FRONT, chosen=ASIDE.id)) == []


def test_a_parent_that_was_never_evaluated_ends_the_line() -> None:
    kept = tuple(one for one in FRONT.scored if one.architecture != OTHER)

    found = ancestors(msgspec.structs.replace(FRONT, scored=kept), CHOSEN.id)

    assert [one.architecture for one in found] == [OLD, CHILD, CHOSEN]
