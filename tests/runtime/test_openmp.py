"""Placing the threads of an OpenMP team."""

import ctypes
import ctypes.util

import pytest

from evener.errors import RuntimeFailedError
from evener.runtime import openmp, pinning

FOLDER = "/nowhere/"
ALL = tuple(sorted(pinning.PROCESS_CORES))


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    path = ctypes.util.find_library("gomp")
    if path is None:
        pytest.skip("this machine has no libgomp of its own")
    loaded = ctypes.CDLL(path)
    monkeypatch.setattr(openmp, "_library", lambda _: loaded)
    openmp.dismiss(folder=FOLDER)  # PyTorch may have made this thread a team with the same library
    return loaded


@pytest.mark.skipif(len(ALL) < 2, reason="needs two cores")
def test_each_thread_of_the_team_gets_a_core_until_it_is_dismissed() -> None:
    with pinning.pinned(ALL):
        before = pinning.threads()
        openmp.place(ALL, runtime="some", folder=FOLDER)
        made = pinning.threads() - before
        openmp.place(ALL, runtime="some", folder=FOLDER)

        assert sorted(min(pinning.thread_cores(one)) for one in made) == list(ALL[1:])
        assert pinning.threads() - before == made
        openmp.dismiss(folder=FOLDER)
        assert pinning.threads() == before


def test_a_single_core_needs_no_team() -> None:
    before = pinning.threads()

    openmp.place(ALL[:1], runtime="some", folder=FOLDER)

    assert pinning.threads() == before


def test_a_core_that_the_kernel_refuses_is_reported() -> None:
    foreign = max(ALL) + 1000
    with (
        pinning.pinned(ALL[:1]),
        pytest.raises(RuntimeFailedError, match=r"for 2 threads and could place 1 \(.*Invalid"),
    ):
        openmp.place((ALL[0], foreign), runtime="some", folder=FOLDER)
    openmp.dismiss(folder=FOLDER)


def test_fewer_threads_than_asked_for_are_reported(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stingy:
        omp_get_thread_num = library.omp_get_thread_num

        @staticmethod
        def GOMP_parallel(task: object, data: None, _: int, flags: int) -> None:  # noqa: N802 - its name
            library.GOMP_parallel(task, data, 1, flags)

    monkeypatch.setattr(openmp, "_library", lambda _: Stingy)

    with (
        pinning.pinned(ALL[:1]),
        pytest.raises(
            RuntimeFailedError, match=r"place 1 \(no more were given\); see whether OMP_"
        ),
    ):
        openmp.place((ALL[0], ALL[0] + 1), runtime="some", folder=FOLDER)


def test_without_a_library_only_one_core_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "_library", lambda _: None)

    with pytest.raises(RuntimeFailedError, match="some computes without an OpenMP library"):
        openmp.place((0, 1), runtime="some", folder=FOLDER)
