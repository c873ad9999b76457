"""Pieces of a long benchmark are made while there is time, and kept."""

from dataclasses import dataclass, field
from pathlib import Path

from pieces import Pieces

from evener.errors import InfeasibleError


@dataclass
class Clock:
    """Goes on by a second at each look."""

    now_s: float = field(default=0.0)

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def test_nothing_is_begun_after_the_time_and_the_next_start_goes_on(tmp_path: Path) -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    for until_s in (2.0, 2.0):
        pieces = Pieces(tmp_path, until_s, clock=Clock())
        got = [pieces.get(name, str, lambda name=name: make(name)) for name in ("a", "b")]  # type: ignore[misc] # the default binds the name

    assert made == ["a", "b"]
    assert got == ["a", "b"]


def test_what_was_not_made_is_named(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, until_s=0.0, clock=Clock())

    assert pieces.get("a", str, lambda: "a") is None
    assert pieces.out_of_time
    assert pieces.missing == ["a: no time was left; run the same command again"]


def test_what_cannot_be_made_is_missing_with_its_reason(tmp_path: Path) -> None:
    def fail() -> str:
        raise InfeasibleError("there is one core", needed=2, available=1)

    pieces = Pieces(tmp_path, until_s=9.0, clock=Clock())

    assert pieces.get("a", str, fail) is None
    assert not pieces.out_of_time
    assert pieces.missing == ["a: there is one core"]
    assert not list(tmp_path.iterdir())


def test_other_options_make_another_piece(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, until_s=99.0, clock=Clock())

    assert pieces.get("a", int, lambda: 1, frames=6) == 1
    assert pieces.get("a", int, lambda: 2, frames=7) == 2
    assert pieces.get("a", int, lambda: 3, frames=6) == 1
    fresh = Pieces(tmp_path, until_s=99.0, clock=Clock(), fresh=True)
    assert fresh.get("a", int, lambda: 3, frames=6) == 3


def test_other_code_makes_another_piece(tmp_path: Path) -> None:
    before = Pieces(tmp_path, until_s=99.0, code="a", clock=Clock())
    after = Pieces(tmp_path, until_s=99.0, code="b", clock=Clock())

    assert before.get("a", int, lambda: 1) == 1
    assert after.get("a", int, lambda: 2) == 2
