"""Write what a benchmark found, with all that a reader needs to judge or repeat it."""

import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from evener.artifacts.files import write_whole
from evener.errors import InputError


def exit_with(main: Callable[[], int]) -> NoReturn:
    """Run a benchmark and end the process; what it was given wrongly ends in one line and 2."""
    try:
        code = main()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        code = 2
    sys.exit(code)


def commit() -> str:
    """Return the commit that is checked out, marked if a tracked file differs from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return described.stdout.strip()


def write_record(path: Path, found: Mapping[str, object]) -> None:
    """Write the record of a run that needs no processors of its own: a calculation.

    Args:
        path: of the JSON file.
        found: what the benchmark found.
    """
    record = {**circumstances(), **found}
    write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def circumstances() -> dict[str, Any]:
    """Return the command, the date, the commit, the machine and the versions of this run."""
    script = Path(sys.argv[0]).name
    return {
        "command": " ".join(["python", f"benchmarks/{script}", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "scipy": version("scipy"),
        },
    }


def _processor() -> str:
    """Return the name of the processor, as Linux says; else what Python says."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
