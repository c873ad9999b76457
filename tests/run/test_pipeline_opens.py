"""What a pipeline refuses to open, and one that is given up while it opens."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.errors import (
    ChannelClosedError,
    InputError,
    RuntimeFailedError,
    StageFailedError,
)
from evener.run.pipeline import Pipeline
from evener.runtime.session import Session
from evener.testing import plans
from evener.testing.scripted_pipelines import (
    DEVICE,
    TWO_BY_TWO,
    chain,
    scripted,
    texts,
)
from evener.testing.scripted_runtime import ScriptedRuntime, vector

pytestmark = pytest.mark.usefixtures("every_thread_ends")
PATIENCE_S = 20.0


def stage_of(first: int, last: int, inputs: str, outputs: str) -> Stage:
    part = Part(first_block=first, last_block=last, runtime="scripted")
    lane = Lane(processor=f"p{first}", cores=(), parts=(part,), time_s=1.0)
    return Stage(
        first_block=first,
        last_block=last,
        inputs=tuple(inputs.split(",")),
        outputs=tuple(outputs.split(",")),
        lanes=(lane,),
    )


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(InputError, match="no transport is called 'pigeon'; known ones: threads"):
        Pipeline(
            chain((1, [DEVICE])),
            texts(1),
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
            transport="pigeon",
        )


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize(
    ("end", "error", "why"),
    [
        (
            lambda pipeline: pipeline.abandon(StageFailedError("not needed any more", stage=-1)),
            StageFailedError,
            "not needed any more",
        ),
        (lambda pipeline: pipeline.close(), ChannelClosedError, "the pipeline is closed"),
    ],
    ids=["abandoned", "closed"],
)
def test_one_that_is_given_up_while_it_opens_opens_no_further_lane(
    monkeypatch: pytest.MonkeyPatch,
    lane_threads: Callable[[], list[threading.Thread]],
    end: Callable[[Pipeline], None],
    error: type[Exception],
    why: str,
    lanes: int,
) -> None:
    runtime = ScriptedRuntime()
    open_session = runtime.open

    def open_and_end(model: bytes, *, cores: tuple[int, ...], **_: object) -> Session:
        session = open_session(model, cores=cores)
        end(pipeline)
        return session

    monkeypatch.setattr(runtime, "open", open_and_end)
    pipeline = Pipeline(
        chain((1, [DEVICE] * lanes), (1, [DEVICE])),
        texts(2),
        inputs=[vector("x")],
        runtimes={"scripted": runtime},
    )

    with pytest.raises(error, match=why):
        pipeline.__enter__()
    for thread in lane_threads():
        thread.join(PATIENCE_S)

    assert [session.closed for session in runtime.sessions] == [True]


def test_one_that_is_closed_before_a_lane_gets_its_model_says_so_instead_of_waiting() -> None:
    def close(*_: int) -> bytes:
        pipeline.close()
        return b"x>y"

    def open_it() -> None:
        try:
            pipeline.__enter__()
        except ChannelClosedError as error:
            said.put(str(error))

    said: SimpleQueue[str] = SimpleQueue()
    pipeline = Pipeline(
        chain((1, [DEVICE])),
        close,
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
    )

    # A thread that can be left behind, so that this fails where it would wait for ever.
    threading.Thread(target=open_it, daemon=True).start()

    assert "the pipeline is closed" in said.get(timeout=PATIENCE_S)


def test_a_segment_that_a_runtime_refuses_is_named_and_nothing_stays_open() -> None:
    runtime = ScriptedRuntime()
    pipeline = Pipeline(
        chain(*TWO_BY_TWO),
        lambda first, _: b"x>h1" if first == 0 else b"refuse",
        inputs=[vector("x")],
        runtimes={"scripted": runtime},
    )
    with pytest.raises(
        StageFailedError, match="stage 1 on p1a cannot open blocks 1 to 1 with scripted: scripted"
    ) as caught:
        pipeline.__enter__()

    assert isinstance(caught.value.__cause__, RuntimeFailedError)
    assert [session.closed for session in runtime.sessions] == [True, True]


def test_a_core_that_is_not_the_processs_is_the_users_to_correct() -> None:
    with pytest.raises(InputError, match="core 9999 is not among"):
        scripted(chain((1, [(9999,)]))).__enter__()


def test_segments_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InputError, match="stage 1 reads 'z', which no earlier"):
        Pipeline(
            chain(*TWO_BY_TWO),
            lambda first, _: b"x>h1" if first == 0 else b"z>y",
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
        ).__enter__()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (chain((1, [DEVICE]), credits=0), "0 credits let no frame in"),
        (plans.of_stages(credits=1), "has no stage"),
        (plans.chain((1, [DEVICE])), "needs the runtime 'onnxruntime', there is scripted"),
        (plans.of_stages(stage_of(1, 1, "x", "y")), "runs blocks 1 to 1 where block 0 is next"),
        (chain((1, []), credits=1), "stage 0 has no lane"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_with_its_reason(plan: Plan, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pipeline(plan, texts(1), inputs=[vector("x")], runtimes={"scripted": ScriptedRuntime()})


def test_a_lane_that_leaves_out_blocks_is_refused() -> None:
    part = Part(first_block=0, last_block=0, runtime="scripted")
    lane = Lane(processor="p", cores=(), parts=(part,), time_s=1.0)
    stage = Stage(first_block=0, last_block=1, inputs=("x",), outputs=("y",), lanes=(lane,))
    with pytest.raises(InputError, match="ends before block 1, not after its last block 1"):
        Pipeline(
            plans.of_stages(stage),
            texts(2),
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
        )
