"""How a benchmark ends."""

import sys

import pytest
from record import exit_with

from evener.errors import InputError


def test_wrong_input_ends_in_one_line_and_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> int:
        raise InputError("there is no 'x'; give a or b")

    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py"])
    with pytest.raises(SystemExit) as ended:
        exit_with(main)

    assert ended.value.code == 2
    assert capsys.readouterr().err == "some.py: there is no 'x'; give a or b\n"


def test_its_own_code_is_kept() -> None:
    with pytest.raises(SystemExit) as ended:
        exit_with(lambda: 1)

    assert ended.value.code == 1
