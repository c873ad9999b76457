"""Under which heading of a long help each option stands."""

from collections.abc import Iterable, Mapping
from typing import Final

LONG: Final = 16  # options; the help of a verb with fewer is read in one glance
OTHERS: Final = "Other options"

# An option means the same on every verb, so that one table serves them all.
HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "Frames": ("--frames", "--limit", "--columns", "--id"),
    "Pictures": ("--preset", "--scale", "--mean", "--std", "--fit"),
    "Answers": ("--out", "--labels", "--annotate", "--trace"),
    "Comparison": ("--rounds", "--little"),
    "Plan": (
        *("--plan", "--objective", "--max-latency", "--min-rate", "--max-energy", "--memory"),
        *("--stages", "--space", "--method", "--credits"),
    ),
    "Cuts": ("--granularity", "--max-live", "--explain", "--cuts", "--on"),
    "Processors": ("--processors", "--runtimes", "--optimisation", "--profile"),
    "Precision": ("--precision", "--calibration", "--max-error", "--min-accuracy"),
    "Board": ("--board", "--transfers", "--no-compute", "--slowdown"),
    "Shards": ("--shards", "--halo", "--shuffle", "--coarse", "--input", "--layout"),
    "Training": (
        *("--data", "--activation", "--epochs", "--iterations", "--optimiser", "--learning-rate"),
        *("--seed", "--checkpoint", "--resume"),
    ),
    "Sweep": ("--sweep", "--seeds", "--equal-weights"),
    "Way of running": (
        *(
            "--transport",
            "--auto",
            "--within",
            "--ranks",
            "--replicas",
            "--batch",
            "--source-rate",
            "--policy",
        ),
        *("--supervise", "--standby", "--timeout"),
    ),
    "Network": ("--shape", "--fix", "--state"),
}


def grouped(options: Iterable[str]) -> dict[str, list[str]]:
    """Put options under their headings, both in the order of the table.

    Args:
        options: by the name that `HEADINGS` knows them by; any other stands under `OTHERS`, in the
            order given.

    Example:
        >>> grouped(["--json", "--fix", "--shape"])
        {'Network': ['--shape', '--fix'], 'Other options': ['--json']}
    """
    left = dict.fromkeys(options)
    found = {
        heading: [name for name in names if name in left] for heading, names in HEADINGS.items()
    }
    placed = {name for names in found.values() for name in names}
    found[OTHERS] = [name for name in left if name not in placed]
    return {heading: names for heading, names in found.items() if names}
