"""What is kept is found again; what cannot be kept is used all the same."""

import logging
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest

from evener.artifacts import files
from evener.artifacts.architecture import Architecture
from evener.workflow.cache import cache_folder, keep, recall

VALUE = Architecture(hidden=(8,))


def test_the_cache_is_where_xdg_says_if_that_is_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, folder in [
        ("/elsewhere", Path("/elsewhere/evener")),
        ("", tmp_path / ".cache/evener"),
        ("relative", tmp_path / ".cache/evener"),
    ]:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == folder


def test_what_was_kept_is_recalled_by_its_inputs() -> None:
    kept = keep(VALUE, "net", {"seed": 1}, made_from={"data": "ab"}, took_s=2.0)

    assert recall(Architecture, "net", {"seed": 1}) == kept
    assert recall(Architecture, "net", {"seed": 2}) is None


def test_what_is_returned_is_what_is_recalled_however_long_writing_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Ticking(datetime):
        at = datetime(2026, 1, 1, tzinfo=UTC)

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            cls.at += timedelta(seconds=1)
            return cls.fromtimestamp(cls.at.timestamp(), tz)

    monkeypatch.setattr(files, "datetime", Ticking)

    kept = keep(VALUE, "net", {}, made_from={})

    assert recall(Architecture, "net", {}) == kept


@pytest.mark.parametrize("name", ["a" * 300, "../../etc", "with space/and\n", ""])
def test_any_name_makes_a_file(name: str) -> None:
    keep(VALUE, name, {}, made_from={})

    assert recall(Architecture, name, {}) is not None
    (path,) = (cache_folder() / "architecture").iterdir()
    assert len(path.name) < 64


def test_a_cache_that_cannot_be_written_costs_nothing_but_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with caplog.at_level(logging.WARNING):
        kept = keep(VALUE, "net", {}, made_from={})

    assert kept.value == VALUE
    assert "not kept for the next time: cannot write" in caplog.text
    assert "XDG_CACHE_HOME names the folder" in caplog.text
    assert recall(Architecture, "net", {}) is None
