"""The errors are the tree that their module draws, each with the exit code of its branch."""

import re

import pytest

from evener import errors
from evener.errors import EvenerError

_LINE = re.compile(r" {4}([│├└─ ]*)(\w+Error) .*")
_CODE = re.compile(r"exit code (\d)")


def drawn() -> dict[str, tuple[str | None, int]]:
    """Return the parent and the exit code of each error of the drawing, by name."""
    tree: dict[str, tuple[str | None, int]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := _LINE.fullmatch(line):
            branch, name = found.groups()
            depth = len(branch) // 4
            parent = above[depth - 1] if depth else None
            code = _CODE.search(line)
            tree[name] = (parent, int(code[1]) if code else tree[parent or ""][1])
            above[depth:] = [name]
    return tree


def classes() -> list[type[EvenerError]]:
    every = [one for one in vars(errors).values() if isinstance(one, type)]
    return [one for one in every if issubclass(one, EvenerError)]


def test_the_drawing_shows_every_error() -> None:
    assert sorted(drawn()) == sorted(one.__name__ for one in classes())


@pytest.mark.parametrize("error", classes(), ids=lambda one: one.__name__)
def test_an_error_hangs_and_ends_where_it_is_drawn(error: type[EvenerError]) -> None:
    parent, code = drawn()[error.__name__]

    assert parent is None or issubclass(error, getattr(errors, parent))
    assert error.__bases__[0].__name__ in {parent, "Exception"}
    assert error.exit_code == code
