"""Kill a build with SIGKILL at random moments, and check that the next one ends as if nothing was.

Usage: python benchmarks/kill_build.py [--project examples/digits] [--kills 10] [--seed 0]

A reference build runs undisturbed in a copy of the project. In a second copy, builds are killed at
moments drawn uniformly over the reference's duration; all the while a watcher opens every visible
file of the state folder, which must be whole. A build that ends before its moment must have made
the reference's network and card, byte for byte, and kept every measured artifact that a killed one
had finished; then a new copy is begun, until enough builds were killed. A last build runs to its
end and is held against the reference too.
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
from itertools import count
from pathlib import Path

import numpy as np
import onnx

MEASURED = ("profile.json", "plan.json", "comparison.json", "trace.json")


def build(project: Path) -> subprocess.Popen[bytes]:
    """Start a build in a process group of its own, so that all of it can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "evener", "build", str(project), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def copy(project: Path, place: Path) -> Path:
    """Copy a project without what a build left in it."""
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


class Life:
    """One copy of the project, from its first build to the one that ends."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.measured: dict[str, str] = {}
        self.faults: list[str] = []

    def killed_at(self, moment_s: float) -> bool:
        """Start a build and kill it after some time; return whether it was still running."""
        process = build(self.place)
        try:
            code = process.wait(moment_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.note()
            return True
        self.ended(code)
        return False

    def note(self) -> None:
        """Note the measured artifacts; one that was there before must be the same."""
        for name in MEASURED:
            path = self.place / ".evener" / name
            if path.exists():
                sha256 = content_sha256(path)
                if self.measured.setdefault(name, sha256) != sha256:
                    self.faults.append(f"{name} was made again")

    def ended(self, code: int) -> None:
        """Take note that a build came to its end."""
        self.note()
        if code != 0:
            self.faults.append(f"a build ended with {code}")


def differences(life: Life, reference: Path) -> list[str]:
    """Hold what a life ended in against the undisturbed build; return faults."""
    faults = list(life.faults)
    for name in ("network.onnx", "card.json"):
        mine, wanted = (
            content_sha256(place / ".evener" / name) for place in (life.place, reference)
        )
        print(f"  {name}: {mine[:16]} {'==' if mine == wanted else '!='} {wanted[:16]}")
        if mine != wanted:
            faults.append(f"{name} differs from the undisturbed build's")
    leftovers = (life.place / ".evener").rglob(".partial-*")
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

        killed, faults, opened = 0, [], 0
        for number in count():
            os.environ["XDG_CACHE_HOME"] = str(place / f"cache-{number}")
            life = Life(copy(options.project, place / f"life-{number}"))
            watcher = Watcher(life.place)
            watcher.start()
            running = True
            while running and killed < options.kills:
                moment_s = float(rng.uniform(0, duration_s))
                running = life.killed_at(moment_s)
                killed += running
                there = sorted(path.stem for path in (life.place / ".evener").glob("*.json"))
                outcome = f"kill {killed}" if running else "ended before its moment,"
                print(f"{outcome} at {moment_s:4.1f} s; there: {', '.join(there) or '-'}")
            if running:
                life.ended(build(life.place).wait())
            watcher.stop()
            opened += watcher.opened
            faults += differences(life, reference) + watcher.broken
            print(f"  measured artifacts kept: {', '.join(life.measured)}")
            if running:
                break
        print(
            f"{killed} builds killed, {number + 1} copies built to the end; visible files opened "
            f"meanwhile: {opened}"
        )
        print("\n".join(faults) if faults else "no fault")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
