"""Whoever runs a network here is not reported to anybody."""

import os
import subprocess
import sys
from pathlib import Path

from evener.testing.tiny import dense

PROGRAM = """
import sys
from evener.runtime import get_runtime
from evener.runtime.pinning import pinned, thread_cores

cores = tuple(sorted(thread_cores()))[:1]
with pinned(cores):
    get_runtime("onnxruntime").open(sys.stdin.buffer.read(), cores=cores).close()
"""


def test_a_session_leaves_no_id_of_the_machine_behind(tmp_path: Path) -> None:
    outside = {key: value for key, value in os.environ.items() if "TELEMETRY" not in key}

    subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=dense(),
        env=outside | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
    )

    assert list(tmp_path.rglob("*")) == []
