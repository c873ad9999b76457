"""Keeping what a converter made."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.runtime import kept


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "evener/kind"


class Maker:
    """Writes a file of some bytes, and counts."""

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.made = 0

    def __call__(self, folder: Path) -> None:
        self.made += 1
        (folder / "file").write_bytes(b"x" * self.size)


def get(key: str, make: Callable[[Path], None], *, most_bytes: int = 1000) -> Path:
    with kept.folder("kind", key, make, most_bytes=most_bytes) as folder:
        assert (folder / "file").is_file()
        return folder


def test_what_was_made_once_is_found_again(place: Path) -> None:
    make = Maker()

    assert get("a", make) == get("a", make) == place / "a"
    assert make.made == 1


def test_what_was_used_longest_ago_goes_first(place: Path) -> None:
    make = Maker(size=40)
    for age, key in enumerate(("b", "c", "a")):
        os.utime(get(key, make), (age, age))

    get("b", make, most_bytes=130)  # looked at again, so that it is the newest
    get("d", make, most_bytes=130)

    assert {path.name for path in place.iterdir()} == {"a", "b", "d"}


def test_what_is_larger_than_the_bound_is_kept_alone(place: Path) -> None:
    get("a", Maker(size=10), most_bytes=100)
    get("big", Maker(size=500), most_bytes=100)

    assert [path.name for path in place.iterdir()] == ["big"]


def test_what_failed_leaves_nothing(place: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_bytes(b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        get("a", fail)

    assert list(place.iterdir()) == []


def test_a_cache_that_cannot_be_written_costs_a_warning_only(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place.parent.mkdir(parents=True)
    place.write_text("a file where the folder should be")
    make = Maker()

    folder = get("a", make)

    assert "not kept for the next time" in caplog.text
    assert make.made == 1
    assert not folder.exists()
