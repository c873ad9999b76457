"""Keyword arguments are short for the fields of the records that a verb takes."""

from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

import evener
from evener.workflow.bench import Contest, ContestChoices
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.frames import Writing, WritingChoices
from evener.workflow.manner import Manner, MannerChoices
from evener.workflow.opening import Engines, EnginesChoices
from evener.workflow.times import Basis, BasisChoices
from evener.workflow.wish import Wish, WishChoices

RECORDS: dict[type[msgspec.Struct], type] = {
    Basis: BasisChoices,
    Contest: ContestChoices,
    Cutting: CuttingChoices,
    Engines: EnginesChoices,
    Manner: MannerChoices,
    Wish: WishChoices,
    Writing: WritingChoices,
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_each_field_is_a_keyword_argument_of_the_same_type(record: type[msgspec.Struct]) -> None:
    assert get_type_hints(RECORDS[record]) == get_type_hints(record)


@pytest.mark.parametrize(
    "together", [set(RECORDS) - {Contest}, {Contest, Cutting, Engines}], ids=["run", "bench"]
)
def test_no_two_records_of_one_verb_have_a_field_of_one_name(
    together: set[type[msgspec.Struct]],
) -> None:
    names = [name for record in together for name in record.__struct_fields__]

    assert len(names) == len(set(names))


def test_a_keyword_changes_the_record_that_has_it_and_leaves_the_others() -> None:
    wish, manner = Wish(stages=2, objective="latency"), Manner(batch=4)

    settled = settle({"stages": 3, "policy": "drop_newest"}, wish, manner)

    assert settled == (
        Wish(stages=3, objective="latency"),
        Manner(batch=4, policy="drop_newest"),
    )
    assert settle({}, wish, manner) == (wish, manner)


def test_a_keyword_of_no_record_is_a_type_error_that_lists_those_there_are() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'boards'; there are profile,"):
        settle({"boards": "khadas-vim3"}, Basis())


CALLS: list[tuple[Any, tuple[object, ...], dict[str, object]]] = [
    (evener.profile_network, ("x",), {}),
    (evener.plan_network, ("x",), {}),
    (evener.plan_front, ("x",), {}),
    (evener.plan_by_hand, ("x",), {"cuts": (), "on": ()}),
    (evener.explain_network, ("x",), {}),
    (evener.split_network, ("x",), {"cuts": (), "folder": Path("parts")}),
    (evener.run_network, ("x",), {"frames": 1}),
    (evener.run_on_board, ("x",), {"frames": 1, "board": "khadas-vim3"}),
    (evener.bench_networks, (["x"],), {}),
    (evener.serve_network, ("x",), {"ready": print}),
]


@pytest.mark.parametrize(
    ("verb", "given", "options"), CALLS, ids=[verb.__name__ for verb, _, _ in CALLS]
)
def test_every_verb_refuses_a_keyword_that_it_does_not_know(
    verb: Any,  # noqa: ANN401 - called with what no checker would let pass
    given: tuple[object, ...],
    options: dict[str, object],
) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'objectiv'; there are"):
        verb(*given, **options, objectiv="latency")


def test_a_record_and_its_keywords_ask_for_the_same() -> None:
    wish = evener.Wish(space="paper", max_latency_s=0.3)

    by_record = evener.plan_network("alexnet", basis=evener.Basis(board="khadas-vim3"), wish=wish)
    by_keyword = evener.plan_network(
        "alexnet", board="khadas-vim3", space="paper", max_latency_s=0.3
    )

    assert by_record.stages == by_keyword.stages
    assert by_record.asked == by_keyword.asked
