"""Be a lane in another process: open sessions, take frames and report, as one is told.

The lane itself is a thread, as it would be in the pipeline's own process; the thread that came
here listens for orders.
"""

from collections.abc import Callable, Sequence
from typing import Any

from evener.comm.channel import Channel
from evener.comm.parcel import pack_error
from evener.errors import StageFailedError
from evener.run import orders
from evener.run.correspondence import Line
from evener.run.lane import LaneThread
from evener.run.progress import Gauge

JOIN_PATIENCE_S = 10.0


Join = Callable[[Any, Sequence[int]], Channel]


def serve_lane(line: Line, join: Join, *, clock: Callable[[], float], gauge: Gauge) -> bool:
    """Follow the orders that come over a line, up to `Stop`.

    Args:
        line: to the pipeline.
        join: joins a channel by what `Start` says of it and the files that came along, those of
            the inlet and the outlet in equal halves.
        clock: the time, in seconds.
        gauge: where the lane shows its progress.

    Returns:
        Whether the lane ended when it was told to; else a session hangs.
    """

    def crashed(error: StageFailedError) -> None:
        line.send(orders.Crashed(error=pack_error(error)))

    launch, _ = line.receive()
    lane = LaneThread(launch.stage, launch.lane, clock=clock, crashed=crashed, gauge=gauge)
    lane.launch(launch.runtimes, launch.optimisation)
    while True:
        order, files = line.receive()
        if isinstance(order, orders.Stop):
            in_time = lane.join(JOIN_PATIENCE_S)
            line.send(orders.Ended(in_time=in_time))
            return in_time
        try:
            answer = _follow(lane, order, files, join)
        except Exception as error:  # noqa: BLE001 - raised again in the pipeline's process
            answer = orders.Failed(error=pack_error(error))
        del order, files  # the models
        line.send(answer)


def _follow(lane: LaneThread, order: object, files: Sequence[int], join: Join) -> object:
    if isinstance(order, orders.Open):
        sessions = lane.open(order.models)
        return orders.Opened(
            sessions=tuple(
                orders.OpenedPorts(inputs=session.inputs, outputs=session.outputs)
                for session in sessions
            )
        )
    if isinstance(order, orders.Start):
        half = len(files) // 2
        lane.start(order.wiring, join(order.source, files[:half]), join(order.to, files[half:]))
        return orders.Done()
    if isinstance(order, orders.Begin):
        lane.begin(order.first, spans=order.spans, states=order.states)
        return orders.Done()
    if isinstance(order, orders.Look):
        return orders.Seen(progress=lane.progress())
    return orders.Reported(record=lane.record())
