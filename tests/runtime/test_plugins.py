"""Runtimes that other packages bring."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener import runtime as registry
from evener.errors import InputError
from evener.runtime.session import Runtime
from evener.testing.session_contract import SessionContract

# A stranger's module, whose runtime borrows an engine.
BORROWED = """
from evener.errors import RuntimeFailedError
from evener.runtime.onnxruntime import OnnxRuntime

class Borrowed:
    name = "borrowed"
    version = "0.1"

    def supports(self, processor):
        return processor.kind == "cpu"

    def open(self, model, **how):
        try:
            return OnnxRuntime().open(model, **how)
        except RuntimeFailedError as error:
            raise RuntimeFailedError(str(error), runtime=self.name) from error
"""


class Packages:
    """Writes packages as pip installs them, into a folder that Python imports from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, entry: str, source: str, *, what: str = "Borrowed") -> None:
        module = package.replace("-", "_")
        (self.folder / f"{module}.py").write_text(source)
        info = self.folder / f"{module}-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text(f"[evener.runtimes]\n{entry} = {module}:{what}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    registry.forget()
    yield Packages(tmp_path)
    for name in set(sys.modules) - before:
        if name.startswith("some_"):
            del sys.modules[name]
    registry.forget()


class TestBorrowed(SessionContract):
    @pytest.fixture
    def runtime(self, packages: Packages) -> Runtime:
        packages.install("some-engine", "borrowed", BORROWED)
        return registry.get_runtime("borrowed")


def test_a_plug_in_stands_beside_the_others(packages: Packages) -> None:
    packages.install("some-engine", "borrowed", BORROWED)

    assert list(registry.installed())[-1] == "borrowed"
    assert list(registry.usable(["borrowed"], "all")) == ["borrowed"]
    assert "borrowed" not in registry.usable(None, "extended")
    assert "borrowed" not in registry.missing()


def test_an_unknown_name_lists_plug_ins_too(packages: Packages) -> None:
    packages.install("some-engine", "borrowed", BORROWED)

    with pytest.raises(
        InputError, match="known ones: onnxruntime, openvino, ncnn, pytorch, borrowed"
    ):
        registry.get_runtime("tvm")


@pytest.mark.parametrize(
    ("entry", "source", "what", "why"),
    [
        ("broken", "import no_such_engine", "X", "ModuleNotFoundError: No module named 'no_such"),
        ("broken", BORROWED, "Missing", "AttributeError: module 'some_engine' has no attribute"),
        ("broken", BORROWED, "Borrowed", "it calls itself 'borrowed', its entry point 'broken'"),
        ("broken", "def X():\n    return 7", "X", "some_engine:X makes a int, which is no evener"),
        ("broken", "X = 7", "X", "TypeError: 'int' object is not callable"),
    ],
    ids=["import", "attribute", "name", "kind", "call"],
)
def test_a_broken_plug_in_is_said_aloud_and_left_out(
    packages: Packages,
    caplog: pytest.LogCaptureFixture,
    entry: str,
    source: str,
    what: str,
    why: str,
) -> None:
    packages.install("some-engine", entry, source, what=what)

    with caplog.at_level(logging.WARNING):
        assert entry not in registry.installed()

    (record,) = caplog.records
    assert record.getMessage().startswith(f"the runtime '{entry}' is left out: some-engine 0.1")
    assert why in record.getMessage()
    assert why in registry.missing()[entry]
    with pytest.raises(InputError, match=r"'broken': some-engine 0\.1 brings it, but it cannot"):
        registry.get_runtime(entry)


@pytest.mark.parametrize("entry", ["onnxruntime", "openvino"])
def test_a_name_that_is_taken_stays_with_its_owner(packages: Packages, entry: str) -> None:
    packages.install("some-engine", entry, BORROWED)

    assert "some_engine" not in type(registry.installed()["onnxruntime"]).__module__
    assert registry.missing()[entry] == (
        "some-engine 0.1 brings a runtime of a name that is taken; remove it"
    )


def test_of_two_packages_with_one_name_the_first_by_its_own_name_wins(packages: Packages) -> None:
    packages.install("some-engine", "borrowed", BORROWED)
    packages.install("some-other", "borrowed", BORROWED)

    assert type(registry.installed()["borrowed"]).__module__ == "some_engine"
    assert "some-other 0.1 brings a runtime of a name" in registry.missing()["borrowed"]
