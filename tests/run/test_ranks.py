"""Lanes on ranks of MPI: the same answers in the same order, and errors that name them."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI library for it
    pytest.skip(f"no MPI here: {error}", allow_module_level=True)

from evener.errors import MissingExtraError
from evener.run.ranks import spread
from evener.workflow import ranks

PROGRAM = """
import json
import numpy as np
from evener.errors import StageFailedError
from evener.run.pipeline import Pipeline
from evener.run.ranks import Ranks, quit_ranks, serve_ranks
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, RaiseAt, ScriptedRuntime, vector
from evener.workflow.ranks import own_rank

if own_rank() > 0:
    serve_ranks()
    raise SystemExit

NAMES = ["x", "h1", "h2", "y"]
plan = plans.chain((1, [(), ()]), (1, [()]), (1, [(), ()]), runtime="scripted", credits=5)


def opened(transport):
    return Pipeline(
        plan,
        lambda first, last: f"{NAMES[first]}>{NAMES[last + 1]}".encode(),
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime(RaiseAt("h1>h2", 40))},
        transport=transport,
    )


def answers(pipeline, count, seen):
    frames = [(np.full(SHAPE, value, np.float32),) for value in range(count)]
    trace = pipeline.run(frames, lambda number, answer: seen.append([number, float(answer[0][0])]))
    return [sum(lane.frames for lane in trace.stages if lane.stage == s) for s in range(3)]


told = {}
for name, transport in (("plain", "threads"), ("ranks", Ranks(plan)), ("again", Ranks(plan))):
    with opened(transport) as pipeline:
        first, failed, last = [], [], []
        counts = answers(pipeline, 30, first)
        try:
            answers(pipeline, 90, failed)
        except StageFailedError as error:
            failure = [str(error), error.stage, error.processor, error.frame_id]
        answers(pipeline, 5, last)
        lanes = [[one.stage, one.lane.processor] for one in pipeline.progress()]
        told[name] = [first, counts, failed, failure, last, lanes, pipeline.in_flight]
quit_ranks()
print(json.dumps(told))
"""


def run_on(count: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    try:
        launcher = ranks.find_launcher()
    except MissingExtraError as error:
        pytest.skip(str(error))
    return subprocess.run(
        [launcher, "-n", str(count), sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ranks.freely(),
        timeout=120,
    )


def test_mpi_lets_several_threads_call_it() -> None:
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE


@pytest.mark.parametrize("count", [2, 3])
def test_stages_and_copies_on_ranks_answer_as_threads_do_run_after_run(count: int) -> None:
    ended = run_on(count, "-c", PROGRAM)

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["ranks"] == told["plain"] == told["again"]
    first, counts, failed, failure, last, lanes, in_flight = told["ranks"]
    assert first == [[number, number + 3] for number in range(30)]
    assert counts == [30, 30, 30]
    assert failed == [[number, number + 3] for number in range(39)]
    assert failure[0].startswith("stage 1 on p1a failed at frame 39: h1>h2 does not like 40")
    assert failure[1:] == [1, "p1a", 39]
    assert last == first[:5]
    assert lanes == [[0, "p0a"], [0, "p0b"], [1, "p1a"], [2, "p2a"], [2, "p2b"]]
    assert in_flight == {}


def test_a_rank_that_cannot_go_on_ends_all_of_them() -> None:
    program = """
from evener.comm import mpi
from evener.run.ranks import serve_ranks
from evener.workflow.ranks import own_rank
if own_rank() > 0:
    serve_ranks()
else:
    line = mpi.MpiLine(mpi.world(), 1, 0, orders=True)
    line.send("nonsense")
    line.receive()
"""
    ended = run_on(2, "-c", program)

    assert ended.returncode != 0
    assert "'str' object has no attribute 'number'" in ended.stderr


@given(lanes=st.integers(1, 30), count=st.integers(1, 9))
def test_every_rank_gets_its_share_of_the_lanes_and_neighbours_stay_together(
    lanes: int, count: int
) -> None:
    places = spread(lanes, count)

    assert places == sorted(places)
    assert set(places) == set(range(min(lanes, count)))
    shares = [places.count(rank) for rank in set(places)]
    assert max(shares) - min(shares) <= 1
