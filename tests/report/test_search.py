"""How a search went, on a page."""

from xml.etree.ElementTree import Element, tostring

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.front import Beginning, Front, Generation, Retrained, Scored
from evener.artifacts.score import Score
from evener.report.search import search

SMALL, WIDE = Architecture(hidden=(8,)), Architecture(hidden=(64,))


def scored(network: Architecture, quality: float) -> Scored:
    return Scored(architecture=network, score=Score(id=network.id, quality=quality, macs=10))


def generation(evaluations: int, best: float, *, diversity: float | None = 0.4) -> Generation:
    return Generation(
        evaluations=evaluations,
        best=best,
        random_best=best - 0.05,
        front=2,
        diversity=diversity,
        lambda_=0.75,
    )


FRONT = Front(
    scored=(scored(SMALL, 0.8), scored(WIDE, 0.9)),
    front=(SMALL.id, WIDE.id),
    chosen=WIDE.id,
    random=(scored(SMALL, 0.8),),
    fixed=scored(SMALL, 0.8),
    generations=(generation(10, 0.85), generation(20, 0.9)),
    retrained=(
        Retrained(id=WIDE.id, of="front", validation=(0.91, 0.93), test=(0.88, 0.9)),
        Retrained(id=SMALL.id, of="random", validation=(0.81, 0.83), test=(0.8, 0.79)),
    ),
    beginnings=(
        Beginning(domain="critical", density=0.75, activation="relu", weight_variance=2.0, chi=1.0),
    ),
)


def words(elements: list[Element]) -> str:
    return " ".join(" ".join("".join(one.itertext()).split()) for one in elements)


def titles(elements: list[Element]) -> list[str]:
    return [str(title.text) for one in elements for title in one.iterfind(".//svg/title")]


def test_it_draws_the_search_beside_random_search_and_how_alive_it_was() -> None:
    made = search(FRONT)

    assert titles(made) == [
        "Best accuracy by evaluations, beside random search",
        "λ and diversity by evaluations",
    ]
    drawn = tostring(made[2], encoding="unicode")
    assert "search: 0.9 at 20" in drawn
    assert "random: 0.85 at 20" in drawn


def test_it_says_where_networks_begin_and_what_training_in_full_came_to() -> None:
    said = words(search(FRONT))

    assert "20 networks in 2 generations, and as many by random search" in said
    assert "relucritical0.7521" in said.replace(" ", "")
    assert "mlp 64 reluthe search0.90000.9100 to 0.93000.8800 to 0.9000" in said
    assert "mlp 8 relurandom search0.80000.8100 to 0.83000.7900 to 0.8000" in said


def test_one_generation_is_no_curve_and_what_is_not_known_is_left_out() -> None:
    short = msgspec.structs.replace(
        FRONT, generations=(generation(10, 0.8, diversity=None),), beginnings=(), retrained=()
    )

    assert titles(search(short)) == []


def test_what_its_settings_make_likely_is_said() -> None:
    warned = msgspec.structs.replace(FRONT, warnings=("drift: a population of 10 loses a link",))

    assert "Warning: drift: a population of 10 loses a link" in words(search(warned))
    assert "Warning" not in words(search(FRONT))


def test_a_search_without_generations_has_no_section() -> None:
    assert search(msgspec.structs.replace(FRONT, generations=())) == []
