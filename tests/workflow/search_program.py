"""Search each project in children that are killed: search_program.py PROJECT..."""

import importlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from evener.workflow.search import search_project

KILLS = 3
# Children of one process, as loading these takes longer than a search of few rows.
LOADED = ("skl2onnx", "sklearn.linear_model", "torch._dynamo", "evener.train.retrain")


def kill_search(project: Path, rng: random.Random) -> int:
    """Search and be killed soon after a generation, again and again; return how often."""
    state = project / ".evener" / "search.json"
    for kills in range(KILLS):
        before = state.stat().st_mtime_ns if state.exists() else 0
        child = os.fork()
        if not child:
            search_project(project)
            os._exit(0)
        deadline = time.monotonic() + 60
        while not (state.exists() and state.stat().st_mtime_ns != before):
            if os.waitpid(child, os.WNOHANG)[0] or time.monotonic() > deadline:
                return kills
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            return kills
    return KILLS


if __name__ == "__main__":
    for name in LOADED:
        importlib.import_module(name)
    told = [
        kill_search(Path(project), random.Random(seed))  # noqa: S311 - when to kill
        for seed, project in enumerate(sys.argv[1:])
    ]
    sys.stdout.write(json.dumps(told))
