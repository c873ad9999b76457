"""Replicas over MPI train the plain network, and fewer ranks go on where they stopped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evener.errors import EvenerError
from evener.workflow import ranks

PROGRAM = str(Path(__file__).with_name("replica_program.py"))
DONE = ("2 ranks, 2 replicas", "4 ranks, 2 replicas", "4 ranks, 4 replicas", "resumed")


def test_replicas_equal_the_plain_training_to_rounding_and_fewer_ranks_go_on(
    tmp_path: Path,
) -> None:
    try:
        launcher = ranks.find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))

    ended = subprocess.run(
        [launcher, "-n", "4", sys.executable, PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=ranks.freely(),
        timeout=60,
    )

    assert ended.returncode == 0, ended.stderr
    differences = json.loads(ended.stdout)
    assert set(differences) == {f"halo {halo}, {done}" for halo in (None, 2) for done in DONE}
    assert max(differences.values()) < 1e-12, differences
