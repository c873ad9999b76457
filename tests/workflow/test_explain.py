"""Explaining cuts measures nothing."""

from pathlib import Path

import pytest

from evener.errors import InputError
from evener.workflow.explain import explain_network


def test_blocks_and_cuts_are_listed_without_measuring(net: str, tmp_path: Path) -> None:
    found = explain_network(net)

    assert [cut.after_block for cut in found.cuts] == [0, 1, 2]
    assert [cut.tensors[0].name for cut in found.cuts] == ["h1", "h2", "h3"]
    assert found.no_cuts == ()
    assert not (tmp_path / "cache").exists()


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no file missing\.onnx"):
        explain_network("missing.onnx")
