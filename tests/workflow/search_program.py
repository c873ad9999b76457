"""Search projects in children that are killed: search_program.py KILLS PATTERN PROJECT...

Prints how often each was killed: soon after a file of that pattern, below .evener, was written.
"""

import importlib
import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from evener.workflow.search import search_project

# Children of one process, as loading these takes longer than a search of few rows.
LOADED = ("skl2onnx", "sklearn.linear_model", "torch._dynamo", "evener.train.retrain")


def kill_search(project: Path, pattern: str, kills: int, rng: random.Random) -> int:
    """Search and be killed, again and again; return how often."""
    for killed in range(kills):
        before = written(project, pattern)
        child = os.fork()
        if not child:
            search_project(project)
            os._exit(0)
        deadline = time.monotonic() + 60
        while written(project, pattern) <= before:
            if os.waitpid(child, os.WNOHANG)[0] or time.monotonic() > deadline:
                return killed
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            return killed
    return kills


def written(project: Path, pattern: str) -> int:
    """Return when the last file of a pattern was written, in nanoseconds; 0 if there is none."""
    times = [0]
    for path in (project / ".evener").glob(pattern):
        with suppress(FileNotFoundError):  # removed meanwhile
            times.append(path.stat().st_mtime_ns)
    return max(times)


if __name__ == "__main__":
    for name in LOADED:
        importlib.import_module(name)
    times, files, *projects = sys.argv[1:]
    told = [
        kill_search(Path(project), files, int(times), random.Random(seed))  # noqa: S311 - when to kill
        for seed, project in enumerate(projects)
    ]
    sys.stdout.write(json.dumps(told))
