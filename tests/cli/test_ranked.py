"""A verb on several ranks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
import pytest

from evener.cli.main import explain
from evener.cli.ranked import on_ranks
from evener.cli.verb import Invocation
from evener.comm import join
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError, RankError
from evener.workflow import ranks

LINE = ("train", "x", "--ranks", "3")
CALLED = Invocation(verb="train", arguments=LINE)


def answered(asked: int | None, act: Callable[[Communicator], int]) -> int:
    with click.Context(click.Command("train"), obj=CALLED):
        return on_ranks(asked, act, timeout_s=5)


@pytest.mark.parametrize("asked", [None, 1])
def test_one_rank_needs_no_others(asked: int | None) -> None:
    assert answered(asked, lambda communicator: communicator.size) == 1


def test_as_many_as_are_asked_for_are_started_with_the_same_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    def start(count: int, arguments: Sequence[str], *, outliving: bool) -> int:
        assert not outliving
        started.append((count, tuple(arguments)))
        return 7

    monkeypatch.setattr(ranks, "start_ranks", start)

    assert answered(3, lambda _: pytest.fail("this process is none of them")) == 7
    assert started == [(3, LINE)]


def test_among_ranks_each_acts_and_the_code_is_that_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def be(communicator: Communicator) -> int:
        @contextmanager
        def joined(
            *, ranks: int | None, timeout_s: float, explain: Callable[[BaseException], int]
        ) -> Iterator[Communicator]:
            assert (ranks, timeout_s) == (3, 5)
            assert explain(InputError("no")) == 2
            yield communicator

        monkeypatch.setattr(join, "joined", joined)
        return answered(3, lambda one: 10 + one.rank)

    monkeypatch.setenv("PMI_SIZE", "3")

    assert run_ranks(3, be) == [10, 0, 0]


def test_an_error_says_on_which_rank_it_was_raised(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = InputError("too wide"), KeyError("x")
    for error in (ours, theirs):
        error.add_note("In the process where it was raised:\n...")
        error.add_note("on rank 2 of 4")

    assert [explain(CALLED, error) for error in (ours, theirs, RankError("rank 1: gone"))] == [
        2,
        3,
        3,
    ]
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "evener train: on rank 2 of 4: too wide"
    assert told[1].startswith("evener train: on rank 2 of 4: this is a fault of evener: KeyError:")
    assert told[2] == "evener train: rank 1: gone"
