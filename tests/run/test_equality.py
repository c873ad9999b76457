"""A pipeline held against the unsplit network."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.run.entry import Frame
from evener.run.equality import Answers, difference, largest_of, run_unsplit
from evener.run.pipeline import Pipeline
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.testing import plans, tiny

CORES = sorted(pinning.PROCESS_CORES)
NAMES = ["x", "h1", "h2", "y"]


def opened() -> Pipeline:
    return Pipeline(
        plans.chain((2, [(CORES[0],)]), (1, [(CORES[-1],)])),
        lambda first, last: tiny.dense_between(NAMES, first=first, last=last),
        inputs=[Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")],
        runtimes={"onnxruntime": OnnxRuntime()},
        optimisation="extended",
    )


def answers(network: bytes, pipeline: Pipeline, frames: Sequence[Frame]) -> Answers:
    return Answers(
        run_unsplit(
            network,
            frames,
            inputs=pipeline.inputs,
            outputs=pipeline.outputs,
            runtime=OnnxRuntime(),
            core=CORES[0],
            optimisation="extended",
        ).answers
    )


def test_a_split_network_is_equal_to_the_whole_on_every_frame() -> None:
    pool = tiny.frames(5)
    with opened() as pipeline:
        found = answers(tiny.dense(layers=3), pipeline, pool)
        pipeline.run([pool[index % 5] for index in range(37)], found.compare)

    assert (found.frames, found.equal, found.max_error) == (37, True, 0.0)


def test_another_network_is_found_out() -> None:
    pool = tiny.frames(20)
    with opened() as pipeline:
        found = answers(tiny.dense(layers=3, seed=1), pipeline, pool)
        pipeline.run(pool, found.compare)

    assert not found.equal
    assert found.max_error > 0.1


def test_a_single_wrong_frame_is_found_out() -> None:
    found = Answers([(np.array([1.0, 2.0]),), (np.array([3.0, 4.0]),)])

    found.compare(0, (np.array([1.0, 2.0]),))
    found.compare(1, (np.array([3.0, 5.0]),))
    found.compare(2, (np.array([1.0, 2.0]),))

    assert (found.frames, found.equal, found.max_error) == (3, False, 0.25)


def test_a_frame_that_is_answered_by_zeros_is_measured_by_the_others() -> None:
    found = Answers([(np.zeros(2),), (np.array([0.0, 5.0]),)])

    found.compare(0, (np.array([0.0, 0.1]),))

    assert not found.equal
    assert found.max_error == pytest.approx(0.02)


def test_frames_in_another_order_are_found_out() -> None:
    pool = tiny.frames(2)
    with opened() as pipeline:
        found = answers(tiny.dense(layers=3), pipeline, pool)
        pipeline.run([pool[1], pool[0]], found.compare)

    assert not found.equal


@pytest.mark.parametrize(("frames", "median_s"), [(1, 1.0), (4, 3.0)])
def test_the_unsplit_network_is_timed_without_its_first_frame(frames: int, median_s: float) -> None:
    ticks = iter([0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0])
    with opened() as pipeline:
        found = run_unsplit(
            tiny.dense(layers=3),
            tiny.frames(frames),
            inputs=pipeline.inputs,
            outputs=pipeline.outputs,
            runtime=OnnxRuntime(),
            core=CORES[0],
            clock=lambda: next(ticks),
        )

    assert found.median_s == median_s


def test_a_network_with_other_tensors_is_refused() -> None:
    with opened() as pipeline, pytest.raises(InputError, match="reads 'a', unlike the pipeline"):
        answers(tiny.branching(), pipeline, tiny.frames(1))


@pytest.mark.parametrize(
    ("expected", "answer", "error"),
    [
        ([1.0, -4.0], [1.0, -4.0], 0.0),
        ([1.0, -4.0], [2.0, -4.0], 0.25),
        ([0.0, 0.0], [0.0, 1e-9], float("inf")),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.nan, 1.0], [0.0, 1.0], float("inf")),
        ([np.inf, 1.0], [np.inf, 1.5], 0.5),
        ([0.0, 1.0], [-0.0, 1.0], 0.0),
    ],
)
def test_errors_are_relative_to_the_largest_value(
    expected: list[float], answer: list[float], error: float
) -> None:
    one = [np.array(expected)]
    equal, found = difference(one, [np.array(answer)], largest_of([one]))

    assert found == error
    assert equal == (np.array(expected).tobytes() == np.array(answer).tobytes())


def test_each_output_is_measured_by_its_own_size() -> None:
    small, large = np.array([0.001]), np.array([1000.0])

    answer = [small, large]
    assert difference(answer, [small * 2, large], largest_of([answer]))[1] == pytest.approx(1.0)


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1))
def test_the_largest_output_is_that_of_all_frames_without_what_is_not_finite(
    frames: list[list[float]],
) -> None:
    finite = [abs(value) for frame in frames for value in frame if np.isfinite(value)]

    assert largest_of([[np.array(frame)] for frame in frames]) == (max(finite, default=0.0),)


def test_texts_are_the_same_or_not() -> None:
    one, other = np.array(["a"], object), np.array(["b"], object)

    largest = largest_of([[one]])
    assert difference([one], [one.copy()], largest) == (True, 0.0)
    assert difference([one], [other], largest) == (False, float("inf"))


@given(st.lists(st.integers(-100, 100), min_size=1), st.integers(-5, 5))
def test_integers_are_compared_without_wrapping(values: list[int], shift: int) -> None:
    one = np.array(values, np.int8)
    other = np.array([value + shift for value in values], np.int8)
    largest = max(abs(value) for value in values)
    expected = 0.0 if shift == 0 else abs(shift) / largest if largest else float("inf")

    equal, error = difference([one], [other], largest_of([[one]]))
    assert equal == (shift == 0)
    assert error == pytest.approx(expected)
