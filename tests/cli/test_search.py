"""What `search` hands on and shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener import workflow

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


def test_search_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener("search", "p", "--algorithm", "paper", "--budget", "5 min", "--workers", "3", "--json")

    call = workflow_calls["search_project"]
    assert callable(call.pop("progress"))
    assert call.pop("pool").args == (3,)
    assert call == {"given": (Path("p"),), "algorithm": "paper", "budget": "5 min"}


@pytest.mark.usefixtures("workflow_calls")
def test_a_search_shows_its_front_and_what_it_is_held_against(evener: Evener) -> None:
    out = " ".join(evener("search", "p")[1].split())

    assert "the front of 2 networks, cheapest first; trained in full" in out
    assert "mlp 64-32 relu 6,400 6,570 0.9700 0.9650 ± 0.0071 0.9600 ± 0.0141 chosen" in out
    assert "the chosen network 0.9600 random search 0.9500 linear 0.9000" in out
    assert "2 evaluations in 1.5 s" in out
    assert "0.9700, by random search with as many evaluations 0.9600" in out
    assert out.endswith("next: evener build p")


def test_search_starts_ranks_of_mpi(evener: Evener, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, tuple[str, ...]]] = []

    def start(ranks: int, arguments: tuple[str, ...]) -> int:
        started.append((ranks, arguments))
        return 0

    monkeypatch.setattr(workflow, "search_on_ranks", start)

    evener("search", "p", "--ranks", "3")

    assert started == [(3, ("search", "p", "--ranks", "3"))]
