"""What a build of a small project might have found."""

import msgspec
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Baseline, Card
from evener.artifacts.comparison import Comparison, Ratio, Row
from evener.artifacts.front import Front, Scored
from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import HandOff, Profile
from evener.artifacts.requirements import judge, parse_requirement
from evener.artifacts.score import Score
from evener.artifacts.trace import StageTrace, Trace
from evener.report.content import ReportContent

CHOSEN = Architecture(hidden=(96, 96), activation="gelu")


@pytest.fixture
def content() -> ReportContent:
    return ReportContent(
        project="digits",
        verdicts=judge(
            (
                parse_requirement("accuracy", ">= 0.97"),
                parse_requirement("latency_p99", "<= 20 ms"),
                parse_requirement("size", "<= 50 kB ?"),
            ),
            {"accuracy": 0.9861, "latency_p99": 0.0123, "size": 65_432.0},
        ),
        front=_front(),
        card=_card(),
        profile=_profile(),
        plan=_plan(),
        trace=_trace(),
        comparison=_comparison(),
        versions={"torch": "2.13.0", "onnxruntime": "1.32.0"},
        training_s=1.84,
    )


@pytest.fixture
def planned(content: ReportContent) -> Front:
    """Return the front of a search by two costs, of which the second falls as the first rises."""
    scored = [
        msgspec.structs.replace(
            one, objectives=(1 - (one.score.quality or 0), one.score.macs, 1e-3 / one.score.macs)
        )
        for one in content.front.scored[:5]
    ]
    return msgspec.structs.replace(
        content.front,
        scored=(*scored, *content.front.scored[5:]),
        front=tuple(one.architecture.id for one in scored),
        objectives=("error", "macs", "latency"),
    )


def _front() -> Front:
    tried = [
        (Architecture(hidden=(16, 8), activation="gelu"), 1_232, 0.9248),
        (Architecture(hidden=(32,), activation="gelu"), 2_368, 0.9443),
        (Architecture(hidden=(96,)), 7_104, 0.9694),
        (CHOSEN, 16_320, 0.9805),
        (Architecture(hidden=(256, 256)), 84_480, 0.9749),
    ]
    scored = [
        Scored(
            architecture=architecture,
            score=Score(
                id=architecture.id,
                quality=quality,
                quality_error=0.0073,
                macs=macs,
                weights=macs + 100,
            ),
        )
        for architecture, macs, quality in tried
    ]
    late = Architecture(hidden=(512,))
    score = Score(id=late.id, status="out_of_budget", message="the time was up")
    return Front(
        scored=(*scored, Scored(architecture=late, score=score)),
        front=tuple(one.architecture.id for one in scored[:4]),
        chosen=CHOSEN.id,
    )


def _card() -> Card:
    return Card(
        network_sha256="a" * 64,
        network_bytes=65_432,
        architecture=CHOSEN,
        weights=16_522,
        features=64,
        data_sha256="d" * 64,
        rows={"train": 1_079, "validation": 359, "test": 359},
        classes=tuple("0123456789"),
        seed=0,
        epochs=60,
        validation={"accuracy": 0.9889, "f1": 0.9888},
        test={"accuracy": 0.9861, "f1": 0.9860},
        export_error=2.4e-7,
        baselines=(
            Baseline(name="linear", validation=0.9533, test={"accuracy": 0.9610}, size_bytes=4_456),
            Baseline(
                name="forest", validation=0.9582, test={"accuracy": 0.9721}, size_bytes=2_504_493
            ),
        ),
    )


def _profile() -> Profile:
    machine = Machine(
        host="bench",
        system="Linux 6.1 aarch64",
        processors=(
            Processor(name="cpu0", kind="cpu", model="Cortex-A73", cores=(2, 3, 4, 5)),
            Processor(name="cpu1", kind="cpu", model="Cortex-A53", cores=(0, 1)),
        ),
        runtimes={"onnxruntime": "1.32.0"},
    )
    return Profile(
        network="network",
        network_sha256="a" * 64,
        granularity="strict",
        blocks=(),
        machine=machine,
        segments=(),
        hand_off=HandOff(fixed_s=1e-5),
    )


def _lane(processor: str, cores: tuple[int, ...], first: int, last: int, time_s: float) -> Lane:
    part = Part(first_block=first, last_block=last, runtime="onnxruntime")
    return Lane(processor=processor, cores=cores, parts=(part,), time_s=time_s)


def _plan() -> Plan:
    stages = (
        Stage(
            first_block=0,
            last_block=4,
            inputs=("features",),
            outputs=("Gelu_3_out0",),
            lanes=(_lane("cpu0", (2, 3), 0, 4, 42e-6), _lane("cpu0", (4, 5), 0, 4, 42e-6)),
        ),
        Stage(
            first_block=5,
            last_block=5,
            inputs=("Gelu_3_out0",),
            outputs=("probabilities",),
            lanes=(_lane("cpu1", (0, 1), 5, 5, 20e-6),),
        ),
    )
    return Plan(
        network="network",
        network_sha256="a" * 64,
        granularity="strict",
        method="dp",
        objective="throughput",
        stages=stages,
        credits=3,
        rate_hz=47_600.0,
        latency_s=63e-6,
        bound_rate_hz=52_000.0,
        cut_points=5,
        configurations=60,
    )


def _trace() -> Trace:
    def lane(stage: int, processor: str, cores: tuple[int, ...], median_s: float) -> StageTrace:
        return StageTrace(
            stage=stage,
            processor=processor,
            cores=cores,
            frames=500,
            median_s=median_s,
            busy=0.8,
            planned_s=42e-6,
        )

    return Trace(
        frames=1_000,
        dropped=0,
        elapsed_s=0.0221,
        rate_hz=45_200.0,
        latency_p50_s=65e-6,
        latency_p99_s=12.3e-3,
        wait_p50_s=1e-6,
        stages=(
            lane(0, "cpu0", (2, 3), 44e-6),
            lane(0, "cpu0", (4, 5), 45e-6),
            lane(1, "cpu1", (0, 1), 19e-6),
        ),
    )


def _comparison() -> Comparison:
    def row(kind: str, name: str, rate_hz: float, predicted_hz: float | None) -> dict[str, object]:
        return {
            "network": "network",
            "name": name,
            "kind": kind,
            "rate_hz": rate_hz,
            "rate_low_hz": rate_hz * 0.97,
            "rate_high_hz": rate_hz * 1.02,
            "latency_p50_s": 3 / rate_hz,
            "latency_p99_s": 4 / rate_hz,
            "predicted_rate_hz": predicted_hz,
        }

    rows = (
        row("plan", "2 stages", 45_200.0, 47_600.0),
        row("single", "cpu0, 4 cores", 18_400.0, 19_000.0),
        row("all_cores", "6 cores", 15_100.0, None),
        row("copies", "3 copies", 31_800.0, 33_000.0),
    )
    ratio = Ratio(network="network", over="copies", median=1.42, low=1.38, high=1.45)
    return Comparison(
        rows=tuple(Row(**one) for one in rows),  # type: ignore[arg-type] # built from one table
        ratios=(ratio,),
        ratio_best=1.42,
        rounds=9,
    )
