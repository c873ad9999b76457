"""What `split` hands on and shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evener.workflow import (
    Cutting,
)

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


def test_split_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    code, out, err = evener(
        *("split", "tiny", "--cuts", "1", "-o", "parts", "--granularity", "strict"),
        *("--shape", "a=1"),
    )

    call = workflow_calls["split_network"]
    assert callable(call.pop("progress"))
    assert call == {
        "given": ("tiny",),
        "cuts": (1,),
        "folder": Path("parts"),
        "cutting": Cutting(granularity="strict", shapes={"a": (1,)}),
    }
    assert (code, err) == (0, "wrote parts\n")
    assert "tiny.0.onnx      0-1   x (16 B)   x (16 B)" in out
