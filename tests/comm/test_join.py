"""Being one of the ranks of a run, and what an error on one does to the others."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.comm import join
from evener.comm.alone import Alone
from evener.comm.join import FAILED, joined
from evener.comm.started import EXIT_CODE_FILE
from evener.errors import DivergedError, InputError, MissingExtraError

Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def not_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMIX_RANK"):
        monkeypatch.delenv(name, raising=False)


def test_a_process_that_nobody_launched_is_alone() -> None:
    with joined() as ranks:
        assert isinstance(ranks, Alone)
    with joined(ranks=1) as ranks:
        assert isinstance(ranks, Alone)


def test_an_error_of_a_rank_that_is_alone_is_an_error() -> None:
    with pytest.raises(KeyError), joined():
        raise KeyError


def test_in_an_allocation_for_several_one_is_not_enough_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "4")

    with joined(ranks=1) as ranks:
        assert ranks.size == 1
    with pytest.raises(InputError, match="put srun before the command"), joined():
        pass


def test_what_carries_messages_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(join, "find_spec", lambda _: None)

    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(MissingExtraError, match="several ranks needs the extra 'mpi'"), joined():
        pass
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with pytest.raises(MissingExtraError, match="under torchrun needs the extra 't"), joined():
        pass


# Rank 0 waits for two minutes, if it is not ended.
ERROR = """
import os
from evener.comm.join import joined
from evener.errors import InputError
with joined() as ranks:
    ranks.barrier()
    if ranks.rank == 1:
        raise InputError(f"layer 2 broke with {os.environ['OMP_NUM_THREADS']} threads")
    ranks.barrier()
"""
LEAVE = """
from evener.comm.join import joined
with joined() as ranks:
    raise SystemExit(ranks.size - 2 or 0)
"""
# All fail at once, some only by hearsay.
ALIKE = """
import sys
from evener.comm.join import joined
from evener.errors import DivergedError, RankError
def heard(error):
    with open(sys.argv[1], "a") as file:
        file.write(f"{error} ")
    return error.exit_code
with joined(explain=heard) as ranks:
    ranks.barrier()
    if ranks.rank == int(sys.argv[2]):
        raise RankError(f"{ranks.rank} heard of it")
    raise DivergedError(f"{ranks.rank} saw it", epoch=1)
"""
# Into a file: MPICH's launcher, which is to end all at once, may lose what was just printed.
STOP = """
import os, signal, sys
from evener.comm.join import joined
def heard(error):
    with open(sys.argv[1], "a") as file:
        file.write(type(error).__name__)
    return 130
with joined(explain=heard) as ranks:
    ranks.barrier()
    os.kill(os.getpid(), signal.SIGINT)
    ranks.barrier()
    ranks.barrier()
"""


@pytest.mark.parametrize("library", ["MPICH", "Open MPI"])
def test_an_error_on_one_rank_ends_all_with_its_message_and_code(
    library: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EXIT_CODE_FILE, str(tmp_path / "code"))
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)

    ended = start(library, 2, "-c", ERROR)

    assert ended.returncode == InputError.exit_code
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert f"InputError: layer 2 broke with {share} threads\non rank 1 of 2" in ended.stderr
    assert "rank 0 of 2" not in ended.stderr
    assert (tmp_path / f"code{FAILED}").read_text() == "2"


@pytest.mark.parametrize("library", ["MPICH", "Open MPI"])
def test_what_goes_wrong_on_all_ranks_is_told_by_one_that_saw_it(
    library: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched, started = tmp_path / "launched", tmp_path / "started"

    ended = start(library, 3, "-c", ALIKE, str(launched), "0")
    assert ended.returncode == DivergedError.exit_code
    assert launched.read_text() == "1 saw it "

    monkeypatch.setenv(EXIT_CODE_FILE, str(tmp_path / "code"))
    ended = start(library, 3, "-c", ALIKE, str(started), "1")
    assert ended.returncode == DivergedError.exit_code
    assert started.read_text() in ("0 saw it ", "2 saw it ")


def test_where_the_code_cannot_be_left_all_ranks_end_nevertheless(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(EXIT_CODE_FILE, str(tmp_path / "file" / "code"))

    ended = start("Open MPI", 2, "-c", ERROR)  # MPICH's launcher may lose the last words

    assert ended.returncode == InputError.exit_code
    assert "InputError: layer 2 broke" in ended.stderr


def test_ctrl_c_is_rank_0s_to_hear_and_ends_all(start: Start, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    ended = start("MPICH", 2, "-c", STOP, str(heard))

    assert heard.read_text() == "KeyboardInterrupt"
    assert ended.returncode == 130


def test_ranks_may_leave_the_block_without_an_error(start: Start) -> None:
    assert start("MPICH", 2, "-c", LEAVE).returncode == 0
    assert start("MPICH", 3, "-c", LEAVE).returncode == 1


def test_ranks_of_another_mpis_launcher_are_refused(start: Start) -> None:
    program = "from evener.comm.join import joined\nwith joined():\n  pass"
    env = os.environ | {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
    if start("MPICH", 1, "-c", "").returncode:
        pytest.fail("MPICH does not start")

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env
    )

    assert "InputError: 4 ranks were started, and MPICH" in ended.stderr
