"""What the documentation tells to run does run: Python blocks, and console blocks marked `run`."""

import re
import shlex
from pathlib import Path

import pytest

from evener.cli.main import execute
from evener.testing.tiny import dense
from evener.workflow import race, stand_in

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_RUN = re.compile(r"^```(python|console run)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_BLOCKS = [one for one in PAGES if _RUN.search(one.read_text())]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all pages, so that the network is profiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda one: str(one.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Nobody looks at what is measured here.
    monkeypatch.setattr(race, "_ROUND_S", (0.005, 0.005))
    monkeypatch.setattr(stand_in, "MOST_OVERRUNS", 1.0)
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(dense(layers=3, width=64))

    for language, text in _RUN.findall(page.read_text()):
        if language == "python":
            exec(compile(text, str(page), "exec"), {})  # noqa: S102 - the point of this test
            continue
        for line in text.splitlines():
            if line.startswith("$ evener "):
                assert execute(shlex.split(line, comments=True)[2:]) == 0, line


def test_there_are_blocks_to_run() -> None:
    names = {one.name for one in WITH_BLOCKS}

    assert {"python.md", "tutorial.md", "plan.md", "run.md"} <= names
