"""Compare networks in f32, fp16 and int8: how quick, and how far off their answers.

Usage: python benchmarks/precision.py NETWORKS [--dogs CIFAR-10.npz] [--rounds 15]
       [--only NAME,NAME] [-o FILE]

NETWORKS is the folder that `make networks` fills. Every second of 64 frames settles the ranges of 8
bits, the others judge; how both are made stands in `precision_frames.py`. Ways:

    f32, fp16, int8     the whole network, on one core
    int8 in part        the same with the fewest of its most sensitive blocks in f32 that keep it
                        within the limit, on one core; missing where no part does
    plan                stages on all cores in f32 or int8, whatever is quickest and within the
                        limit, beside the plan in f32; missing where that is the quickest

All computed by ONNX Runtime. The ways on one core take turns, and so do both plans, in shuffled
order, round after round; a ratio is that of the rates of one round, over f32. Errors are those of
`--max-error`: the largest difference over the largest output of all frames that judge.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import msgspec
import numpy as np
from precision_frames import dogs, lines_of_text, texts_on_photographs
from record import write_record

from evener.artifacts.lowering import Deviation
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.network.frames import Frame, random_frames
from evener.network.model import Network
from evener.network.split import whole_model
from evener.runtime import get_runtime
from evener.runtime.pinning import PROCESS_CORES, pinned
from evener.runtime.session import Session, empty
from evener.testing import tiny
from evener.workflow.admit import decide_admitted
from evener.workflow.opened import Opened
from evener.workflow.opening import open_network
from evener.workflow.precision import PrecisionWish, with_precisions
from evener.workflow.profile import only_precisions, profile_opened
from evener.workflow.race import entrant, race
from evener.workflow.wish import Wish, decide

FRAMES: Final = 64
RUNTIME: Final = "onnxruntime"
_TURN_S: Final = 0.05  # of one way in one round
_OCR: Final = "rapidocr_onnxruntime/models"


@dataclass(frozen=True)
class Case:
    """A network and what may be lost of its answers.

    Attributes:
        net: its file in the folder of networks, or the name of a built-in one.
        weights: where they come from.
        frames: makes one array per frame, with an axis for one frame in front.
        max_error: the limit, see `PrecisionWish`.
        min_accuracy: the limit, see `PrecisionWish`.
        shapes: of its inputs, where they are open.
    """

    net: str
    weights: str
    frames: Callable[[Network], list[Frame]]
    max_error: float | None = None
    min_accuracy: float | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def limit(self) -> str:
        """What may be lost, in words."""
        if self.max_error is not None:
            return f"error of at most {self.max_error:g}"
        return f"same top answer for at least {self.min_accuracy:.0%}"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One way of one network over all rounds; see the module."""

    network: str
    weights: str
    limit: str
    way: str
    cores: int
    rate_hz: float
    ratio: float
    ratio_low: float
    ratio_high: float
    blocks: int
    found: Deviation | None = None


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", type=Path)
    parser.add_argument("--dogs", type=Path, help="CIFAR-10 as JPEGs in an npz; for MobileNet-v2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    before, begun_s = [f"{load:.2f}" for load in os.getloadavg()], time.monotonic()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="evener-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # nothing is taken from an earlier run
        (Path(folder) / "unet.onnx").write_bytes(tiny.unet(depth=4, size=128))
        for name, case in cases(options.dogs).items():
            if options.only is None or name in options.only:
                rows += measure(name, case, options.networks, Path(folder), options.rounds)
    if options.out is not None:
        load = {"before": before, "after": [f"{load:.2f}" for load in os.getloadavg()]}
        found = {
            "runtime": f"{RUNTIME} {get_runtime(RUNTIME).version}",
            "load": load | {"of": "the last 1, 5 and 15 minutes"},
            "elapsed_s": time.monotonic() - begun_s,
            "rounds": options.rounds,
            "frames": FRAMES,
            "rows": rows,
        }
        write_record(options.out, found)


def cases(cifar: Path | None) -> dict[str, Case]:
    """List the networks; MobileNet-v2 only where there are dogs."""
    own = "random, seeded"
    found = {
        "PP-OCRv4 detection": Case(
            f"{_OCR}/ch_PP-OCRv4_det_infer.onnx",
            "trained",
            lambda _: [(one[None],) for one in texts_on_photographs(FRAMES, 320)],
            max_error=0.5,
            shapes={"x": (1, 3, 320, 320)},
        ),
        "PP-OCR direction": Case(
            f"{_OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
            "trained",
            lambda _: [(one[None],) for one in lines_of_text(FRAMES, 48, 192)],
            min_accuracy=0.97,
            shapes={"x": (1, 3, 48, 192)},
        ),
        "U-Net": Case("unet.onnx", own, normal, max_error=0.05),
        "googlenet": Case("googlenet", own, normal, max_error=0.05),
    }
    if cifar is None:
        print("MobileNet-v2 is left out: it answers dogs, which --dogs names")
        return found
    pictures = partial(dogs, FRAMES, 160, cifar)
    return {
        "MobileNet-v2": Case(
            "mobilenet_v2.onnx",
            "trained",
            lambda _: [(one[None],) for one in pictures()],
            min_accuracy=0.9,
        ),
        **found,
    }


def normal(network: Network) -> list[Frame]:
    """Draw frames of normally distributed numbers."""
    return random_frames(network.inputs, FRAMES, seed=0)


def measure(name: str, case: Case, networks: Path, folder: Path, rounds: int) -> list[Row]:
    """Measure one network in every way, and print it."""
    path = next((one for one in (networks / case.net, folder / case.net) if one.is_file()), None)
    opened = open_network(str(path or case.net), shapes=case.shapes, runtimes=[RUNTIME])
    frames = case.frames(opened.network)
    calibration = folder / "frames.npz"
    tensor = opened.network.inputs[0].name
    arrays: dict[str, Any] = {tensor: np.stack([array for (array,) in frames])}
    np.savez(calibration, **arrays)
    wish = PrecisionWish(precision="auto", calibration=calibration, max_error=inf)
    whole = with_precisions(opened, wish)
    wish = PrecisionWish(
        precision="int8",
        calibration=calibration,
        max_error=case.max_error,
        min_accuracy=case.min_accuracy,
    )
    kept = with_precisions(opened, wish)
    judged: dict[str, Deviation | None] = {one.precision: one for one in whole.variants.offered}
    ways: dict[str, tuple[Network, str]] = {"f32": (opened.network, "f32")}
    ways |= {one: (network, one) for one, network in whole.variants.networks.items()}
    (part,) = kept.variants.offered
    if part.admitted and part.in_f32:
        judged["int8 in part"] = part
        ways["int8 in part"] = (kept.variants.networks["int8"], "int8")
    alone = in_turn(ways, frames, rounds)
    plans, judged["plan"] = planned(kept, frames, rounds)
    rows = []
    for over, rates in (("f32", alone), ("plan in f32", plans)):
        for way, found in rates.items():
            ratios = [one / other for one, other in zip(found, rates[over], strict=True)]
            low, _, high = quantiles(ratios, n=4, method="inclusive")
            row = Row(
                network=name,
                weights=case.weights,
                limit=case.limit,
                way=way,
                cores=1 if rates is alone else len(PROCESS_CORES),
                rate_hz=median(found),
                ratio=median(ratios),
                ratio_low=low,
                ratio_high=high,
                blocks=len(opened.blocks.blocks),
                found=judged.get(way),
            )
            print(line(row), flush=True)
            rows.append(row)
    return rows


def in_turn(
    ways: Mapping[str, tuple[Network, str]], frames: Sequence[Frame], rounds: int
) -> dict[str, list[float]]:
    """Run whole networks on one core in turn; return frames per second, one for each round."""
    core, rng = min(PROCESS_CORES), np.random.default_rng(0)
    runtime = get_runtime(RUNTIME)
    rates: dict[str, list[float]] = {way: [] for way in ways}
    with pinned((core,)):
        sessions = {
            way: runtime.open(whole_model(network), cores=(core,), precision=precision)
            for way, (network, precision) in ways.items()
        }
        once = {way: seconds_per_frame(one, frames[:3]) for way, one in sessions.items()}
        for _ in range(rounds):
            for way in rng.permutation(list(ways)):
                count = min(len(frames), max(1, round(_TURN_S / once[way])))
                rates[way].append(1 / seconds_per_frame(sessions[way], frames[:count]))
        for session in sessions.values():
            session.close()
    return rates


def seconds_per_frame(session: Session, frames: Sequence[Frame]) -> float:
    """Answer frames one after the other, and return how long each took in the mean."""
    outputs = [empty(tensor) for tensor in session.outputs]
    begun_s = time.perf_counter()
    for frame in frames:
        session.run(frame, outputs)
    return (time.perf_counter() - begun_s) / len(frames)


def planned(
    kept: Opened, frames: Sequence[Frame], rounds: int
) -> tuple[dict[str, list[float]], Deviation | None]:
    """Plan in f32 and in whatever is within the limit, by the same profile.

    Returns:
        Rates, one for each round, and how far off the plan in whatever is quickest is; None where
        that is f32, which is then not run again.
    """
    times = profile_opened(kept).value

    def quickest(profile: Profile) -> tuple[Plan, ...]:
        return (decide(profile, Wish(), None),)

    (in_f32,), (best,) = (
        quickest(only_precisions(times, ())),
        decide_admitted(kept, times, quickest),
    )
    deviation = None if best.lowering is None else best.lowering.deviation
    entrants = {"plan in f32": entrant(kept, in_f32)}
    if deviation is not None:
        entrants["plan"] = entrant(kept, best)
    traces = race(entrants, frames, rounds=rounds)
    return {way: [one.rate_hz for one in runs] for way, runs in traces.items()}, deviation


def line(row: Row) -> str:
    """Say what one way came to."""
    text = (
        f"{row.network}, {row.way}: {row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
    )
    text += f" of f32, {row.rate_hz:.1f} /s on {row.cores}"
    if row.found is None:
        return text
    text += f"; {row.found.precision}, error {row.found.error:.3g}"
    if row.found.agreement is not None:
        text += f", same top answer for {row.found.agreement:.1%}"
    if row.found.in_f32:
        text += f", {len(row.found.in_f32)} of {row.blocks} blocks in f32"
    return text


if __name__ == "__main__":
    main()
