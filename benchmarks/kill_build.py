"""Kill a build with SIGKILL at random moments, and check that the next one ends as if nothing was.

Usage: python benchmarks/kill_build.py [--project examples/digits] [--kills 10] [--seed 0]

A reference build runs undisturbed in a copy of the project. In a second copy, builds are killed at
moments drawn uniformly over the reference's duration; all the while a watcher opens every visible
file of the state folder, which must be whole. Then a last build runs to its end: network and card
must equal the reference's byte for byte, and every measured artifact that a killed build finished
must still be the same.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import onnx

MEASURED = ("profile.json", "plan.json", "comparison.json", "trace.json")


def build(project: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "evener", "build", str(project), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def copy(project: Path, place: Path) -> Path:
    shutil.copytree(project, place, ignore=shutil.ignore_patterns(".evener", "report.html"))
    return place


class Watcher(threading.Thread):
    """Open every visible file of a folder again and again, and note those that are not whole."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.opened = 0
        self.broken: list[str] = []
        self._ended = threading.Event()

    def run(self) -> None:
        """Watch until stopped."""
        while not self._ended.wait(0.005):
            for path in list(self.folder.rglob("*")):
                if path.name.startswith(".partial-") or path.name == "lock" or path.is_dir():
                    continue
                try:
                    content = path.read_bytes()
                except FileNotFoundError:
                    continue
                self.opened += 1
                try:
                    if path.suffix == ".json":
                        json.loads(content)
                    elif path.suffix == ".onnx":
                        onnx.load_from_string(content)
                    elif path.suffix == ".html" and b"</html>" not in content:
                        self.broken.append(f"{path}: no end")
                except Exception as error:  # noqa: BLE001 - any failure to read is the finding
                    self.broken.append(f"{path}: {error}")

    def stop(self) -> None:
        """End the watch, and wait for its end."""
        self._ended.set()
        self.join()


def content_sha256(path: Path) -> str:
    """Hash a file, without the dates and durations of an artifact."""
    if path.suffix == ".json":
        return str(json.loads(path.read_bytes())["sha256"])
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kill_once(victim: Path, moment_s: float) -> str:
    """Start a build and kill it after some time; return what became of it."""
    process = build(victim)
    try:
        process.wait(moment_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "killed"
    return "had finished"


def kill_and_note(victim: Path, moments_s: list[float]) -> tuple[dict[str, str], list[str]]:
    """Kill builds at some moments; return the measured artifacts that were there, and faults."""
    finished: dict[str, str] = {}
    faults: list[str] = []
    for number, moment_s in enumerate(moments_s):
        outcome = kill_once(victim, moment_s)
        for name in MEASURED:
            path = victim / ".evener" / name
            if path.exists():
                sha256 = content_sha256(path)
                if finished.setdefault(name, sha256) != sha256:
                    faults.append(f"{name} was made again after kill {number}")
        there = sorted(path.stem for path in (victim / ".evener").glob("*.json"))
        print(f"kill {number} at {moment_s:5.1f} s: {outcome}; there: {', '.join(there) or '-'}")
    return finished, faults


def compare(victim: Path, reference: Path, finished: dict[str, str]) -> list[str]:
    """Hold what the last build ended in against the undisturbed build; return faults."""
    faults = []
    for name in ("network.onnx", "card.json"):
        mine, wanted = (content_sha256(place / ".evener" / name) for place in (victim, reference))
        print(f"{name}: {mine[:16]} {'==' if mine == wanted else '!='} {wanted[:16]}")
        if mine != wanted:
            faults.append(f"{name} differs from the undisturbed build's")
    for name, sha256 in finished.items():
        if content_sha256(victim / ".evener" / name) != sha256:
            faults.append(f"{name} was made again by the last build")
    leftovers = [str(path) for path in (victim / ".evener").rglob(".partial-*")]
    return faults + [f"left behind: {leftover}" for leftover in leftovers]


def main() -> int:
    """Run the experiment and say what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--project", type=Path, default=Path("examples/digits"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # Caches of their own, so that nothing of the reference build shortens the killed ones.
        os.environ["XDG_CACHE_HOME"] = str(place / "reference-cache")
        reference = copy(options.project, place / "reference")
        started = time.perf_counter()
        if build(reference).wait() != 0:
            print("the reference build failed")
            return 1
        duration_s = time.perf_counter() - started
        print(f"reference build: {duration_s:.1f} s")

        os.environ["XDG_CACHE_HOME"] = str(place / "victim-cache")
        victim = copy(options.project, place / "victim")
        watcher = Watcher(victim)
        watcher.start()
        moments_s = [float(moment) for moment in rng.uniform(0, duration_s, options.kills)]
        finished, faults = kill_and_note(victim, moments_s)
        code = build(victim).wait()
        watcher.stop()
        if code != 0:
            faults.append(f"the last build ended with {code}")
        faults += compare(victim, reference, finished) + watcher.broken
        print(f"visible files opened while builds ran and died: {watcher.opened}")
        print(f"measured artifacts kept: {', '.join(finished) or 'none was finished in time'}")
        print("\n".join(faults) if faults else "no fault")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
