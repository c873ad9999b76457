"""A small value of every artifact, made up: for tests of what is shown of them."""

from typing import Final

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.calibration import Calibration, Rate
from evener.artifacts.card import Baseline, Card
from evener.artifacts.comparison import Comparison, Ratio, Row
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.files import Kept, Made
from evener.artifacts.front import Front, Generation, Retrained, Scored, SetApart
from evener.artifacts.machine_costs import CoreRates, MachineCosts
from evener.artifacts.plan import Lane, Measured, Part, Plan, Stage
from evener.artifacts.plans import Plans
from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.artifacts.requirements import Verdict, Verdicts
from evener.artifacts.score import Score
from evener.artifacts.search_state import SearchState
from evener.artifacts.split import Piece, Split
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import StageTrace, Trace
from evener.network.explain import Crossing, Cut, Explanation, NoCut

PART: Final = Part(first_block=0, last_block=0, runtime="onnxruntime")
LANE: Final = Lane(processor="cpu0", cores=(0,), parts=(PART,), time_s=0.01)
TENSOR: Final = Tensor(name="x", shape=(1, 4), dtype="float32")
MACHINE: Final = Machine(
    host="lab",
    system="Linux x86_64",
    processors=(
        Processor(
            name="cpu0",
            kind="cpu",
            model="Fast [rev 2]",
            cores=(0, 1),
            core_sets=(1, 2),
            runtimes=("onnxruntime",),
            max_hz=3.5e9,
            cache_bytes=8_000_000,
        ),
    ),
    runtimes={"onnxruntime": "1.32.0"},
)
MACHINE_COSTS: Final = MachineCosts(
    machine=MACHINE,
    rates=(
        CoreRates(
            processor="cpu0",
            cores=1,
            runtime="onnxruntime",
            fixed_s=1e-5,
            seconds={"product_gmac": 0.05, "layers": 1e-6},
        ),
    ),
    hand_off=HandOff(fixed_s=2e-5),
    error=0.1,
    error_p90=0.4,
)
ABSENT: Final = {"openvino": "it needs the extra 'openvino': pip install 'evener[openvino]'"}
PLAN: Final = Plan(
    network="tiny",
    network_sha256="ab" * 32,
    granularity="paper",
    method="dp",
    objective="throughput",
    stages=(
        Stage(
            first_block=0,
            last_block=0,
            inputs=("x",),
            outputs=("y",),
            lanes=(LANE, Lane(processor="cpu0", cores=(1,), parts=(PART,), time_s=0.02)),
        ),
    ),
    credits=2,
    rate_hz=150.0,
    latency_s=2 / 150,
    bound_rate_hz=160.0,
    cut_points=1,
    configurations=6,
    elapsed_s=0.5,
    measured=Measured(
        rate_hz=140.0,
        rate_low_hz=138.0,
        rate_high_hz=141.0,
        latency_p50_s=0.0121,
        latency_p99_s=0.0177,
        rounds=8,
        rivals=1,
    ),
)
THRIFTY: Final = msgspec.structs.replace(
    PLAN,
    stages=(
        msgspec.structs.replace(
            PLAN.stages[0], lanes=(msgspec.structs.replace(LANE, clock_hz=1.2e9),)
        ),
    ),
    rate_hz=100.0,
    latency_s=0.01,
    credits=1,
    energy_j=0.25,
)
PLANS: Final = Plans(
    network="tiny", network_sha256="ab" * 32, plans=(PLAN, THRIFTY), elapsed_s=0.75
)
CALIBRATION: Final = Calibration(
    processor="cpu0",
    updates=(Rate(at=1e6, per_s=2e10),),
    reads=(Rate(at=1e6, per_s=1e10),),
    products=(Rate(at=1, per_s=5e9), Rate(at=64, per_s=8e10)),
    dense_layer_s=2e-5,
    sharded_layer_s=4e-5,
    shard_s=1e-6,
)
TRACE: Final = Trace(
    frames=20,
    dropped=0,
    elapsed_s=0.2,
    rate_hz=101.5,
    latency_p50_s=0.012,
    latency_p99_s=0.019,
    wait_p50_s=0.001,
    stages=(
        StageTrace(
            stage=0,
            processor="cpu0",
            cores=(0,),
            frames=20,
            median_s=0.0098,
            busy=0.97,
            planned_s=0.01,
        ),
    ),
    equal=True,
    max_error=0.0,
    quality={"accuracy": 0.98},
)
PROFILE: Final = Profile(
    network="tiny",
    network_sha256="ab" * 32,
    granularity="paper",
    blocks=(
        Block(
            name="conv1",
            operators={"Conv": 1},
            macs=2_000_000,
            weights_bytes=4_000,
            inputs=(TENSOR,),
            outputs=(TENSOR,),
        ),
    ),
    machine=MACHINE,
    segments=(
        SegmentTime(
            first_block=0,
            last_block=0,
            processor="cpu0",
            cores=1,
            runtime="onnxruntime",
            median_s=0.01,
            low_s=0.009,
            high_s=0.011,
            repeats=9,
        ),
        SegmentTime(
            first_block=0,
            last_block=0,
            processor="cpu0",
            cores=2,
            runtime="onnxruntime",
            median_s=0.006,
            low_s=0.006,
            high_s=0.006,
            repeats=0,
            interpolated=True,
        ),
    ),
    hand_off=HandOff(fixed_s=2e-5),
)
KEPT: Final = Kept(
    value=PROFILE,
    sha256="cd" * 32,
    made_from={"network": "ab" * 32},
    made=Made(at="2026-01-01T00:00:00+00:00", took_s=1.5, by="0.1.0"),
)
SPLIT: Final = Split(
    network="tiny",
    network_sha256="ab" * 32,
    granularity="paper",
    parts=(
        Piece(
            file="tiny.0.onnx",
            sha256="cd" * 32,
            first_block=0,
            last_block=1,
            inputs=(TENSOR,),
            outputs=(TENSOR,),
        ),
    ),
)
EXPLANATION: Final = Explanation(
    network="tiny",
    granularity="paper",
    blocks=PROFILE.blocks * 2,
    cuts=(Cut(after_block=0, tensors=(Crossing(name="x", bytes=16),)),),
    no_cuts=(
        NoCut(
            block=1,
            after="conv1",
            before="conv2",
            tensors=(Crossing(name="p", bytes=2_000), Crossing(name="q", bytes=None)),
            reason="2 tensors would cross",
        ),
    ),
)
COMPARISON: Final = Comparison(
    rows=(
        Row(
            network="tiny",
            name="one session: cpu0[0]",
            kind="single",
            rate_hz=100.0,
            rate_low_hz=99.0,
            rate_high_hz=101.0,
            latency_p50_s=0.01,
            latency_p99_s=0.02,
        ),
    ),
    ratios=(Ratio(network="tiny", over="copies", median=1.25, low=1.2, high=1.3),),
    ratio_best=1.25,
    rounds=3,
)
VERDICTS: Final = Verdicts(
    verdicts=(
        Verdict(name="accuracy", relation=">=", limit=0.97, hard=True, value=0.981, holds=True),
        Verdict(name="size", relation="<=", limit=2e6, hard=False, value=3e6, holds=False),
        Verdict(name="latency_p99", relation="<=", limit=0.02, hard=True, value=None, holds=False),
    )
)
ARCHITECTURE: Final = Architecture(hidden=(64, 32))
CARD: Final = Card(
    network_sha256="ab" * 32,
    network_bytes=30_000,
    architecture=ARCHITECTURE,
    weights=6_570,
    features=64,
    data_sha256="ef" * 32,
    rows={"train": 60, "validation": 20, "test": 20},
    classes=("0", "1"),
    seed=0,
    epochs=60,
    validation={"accuracy": 0.99},
    test={"accuracy": 0.98},
    export_error=1e-7,
    baselines=(Baseline(name="linear", validation=0.9, test={"accuracy": 0.91}, size_bytes=3_000),),
)
DATASET: Final = DatasetFacts(
    name="digits",
    sha256="ef" * 32,
    features=64,
    classes=("0", "1"),
    rows={"train": 60, "validation": 20, "test": 20},
)
SCORED: Final = Scored(
    architecture=ARCHITECTURE,
    score=Score(id=ARCHITECTURE.id, quality=0.97, macs=6_400, weights=6_570),
)
LINEAR: Final = Architecture(family="linear")
FAILED: Final = Scored(
    architecture=LINEAR, score=Score(id=LINEAR.id, status="diverged", message="loss is not finite")
)
SEARCHED: Final = SearchState(search={}, rival={}, scored=(SCORED,), random=(), generations=())
FRONT: Final = Front(
    scored=(SCORED, FAILED),
    front=(ARCHITECTURE.id,),
    chosen=ARCHITECTURE.id,
    generations=(
        Generation(
            evaluations=2, best=0.97, random_best=0.96, front=1, diversity=0.25, lambda_=0.5
        ),
    ),
    retrained=(
        Retrained(id=ARCHITECTURE.id, of="front", validation=(0.97, 0.96), test=(0.95, 0.97)),
    ),
    set_apart=(SetApart(id=LINEAR.id, of="random", seed=1, message="memory is full"),),
)
