"""Lanes on the ranks of MPI, possibly of other machines; entry and sink stay on rank 0.

Rank 0 runs the pipeline with the transport `Ranks`. Every other rank is in `serve_ranks`, where it
makes a lane for each that rank 0 asks for. Lanes of neighbouring stages go to one rank or to
neighbours. Where a rank dies, MPI ends them all.
"""

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from evener.artifacts.plan import Lane, Plan
from evener.artifacts.tensor import Tensor
from evener.comm import mpi
from evener.comm.channel import Channel
from evener.errors import EvenerError, InputError, StageFailedError
from evener.run import orders
from evener.run.carrier import Carrier
from evener.run.correspondence import Correspondence, launched
from evener.run.entry import Entry
from evener.run.lane import LaneThread, Worker
from evener.run.process import broken_down, does_not_answer, used_by
from evener.run.progress import GAUGE_DOUBLES, Gauge
from evener.run.record import LaneProgress, LaneRecord
from evener.run.serve_lane import serve_lane
from evener.run.sink import Sink
from evener.run.transport import Crashed, Joints
from evener.run.wiring import NO_STATES, Ports, Wiring
from evener.runtime.session import Array, Optimisation, Runtime

_LINE_OF_RANK: Final = 0
_numbers = count(_LINE_OF_RANK + 1)  # of lines and channels; rank 0 gives them out


class Serve(msgspec.Struct, frozen=True, kw_only=True):
    """Follow the orders to one more lane.

    Attributes:
        number: of the line that they come by.
    """

    number: int


class Leave(msgspec.Struct, frozen=True):
    """Leave all channels: no lane uses them any more."""


class Quit(msgspec.Struct, frozen=True):
    """Serve no more."""


def serve_ranks() -> None:
    """Be a rank other than 0: make lanes as rank 0 says, until it quits.

    What goes wrong here, beside what is reported of a lane, ends all ranks: rank 0 would wait for
    this one for ever.
    """
    comm = mpi.world()
    try:
        _serve(comm)
    except BaseException:
        traceback.print_exc()
        comm.Abort(EvenerError.exit_code)
        raise


def _serve(comm: Any) -> None:  # noqa: ANN401 - only `evener.comm` names MPI's types
    joined = mpi.Joined(comm)
    line = mpi.MpiLine(comm, 0, _LINE_OF_RANK, orders=False)
    while True:
        order, _ = line.receive()
        if isinstance(order, Quit):
            return
        if isinstance(order, Leave):
            joined.release()
        else:
            _serve_lane(comm, joined, order)


def _serve_lane(comm: Any, joined: mpi.Joined, order: Serve) -> None:  # noqa: ANN401 - as above
    threading.Thread(
        target=serve_lane,
        args=(
            mpi.MpiLine(comm, 0, order.number, orders=False),
            lambda address, _: joined.join(address),
        ),
        kwargs={"clock": time.perf_counter, "gauge": Gauge([0.0] * GAUGE_DOUBLES)},
        name=f"orders of line {order.number}",
        daemon=True,
    ).start()


def quit_ranks() -> None:
    """Let every other rank go, once no pipeline is open."""
    comm = mpi.world()
    for rank in range(1, comm.size):
        mpi.MpiLine(comm, rank, _LINE_OF_RANK, orders=True).send(Quit())


class Ranks:
    """The transport of rank 0; see `evener.run.transport.Transport`.

    Args:
        plan: what is to run; its lanes are dealt out over all ranks, in order.
    """

    def __init__(self, plan: Plan) -> None:
        self._comm = mpi.world()
        self._joined = mpi.Joined(self._comm)
        self._addresses: dict[int, mpi.Address] = {}
        lanes = [index for index, stage in enumerate(plan.stages) for _ in stage.lanes]
        self._ranks = spread(len(lanes), self._comm.size)
        self._of_stage = [self._ranks[lanes.index(index)] for index in range(len(plan.stages))]
        self._made = 0

    def worker(
        self, stage: int, lane: Lane, *, clock: Callable[[], float], crashed: Crashed
    ) -> Worker:
        """Make a lane on the next rank; see `evener.run.transport.Transport.worker`."""
        rank = self._ranks[self._made]
        self._made += 1
        if rank == 0:
            return LaneThread(stage, lane, clock=clock, crashed=crashed)
        return LaneRank(
            stage, lane, rank=rank, comm=self._comm, addresses=self._addresses, crashed=crashed
        )

    def join(
        self,
        tensors: Sequence[Sequence[Tensor]],
        lanes: Sequence[int],
        *,
        credits: int,
        entry: Entry,
        sink: Sink,
        crashed: Crashed,
    ) -> Joints:
        """Put channels before, between and behind the stages; each is at home where it is read."""
        channels: list[Channel] = []
        for index, made in enumerate(tensors):
            address = mpi.Address(
                number=next(_numbers),
                home=self._of_stage[index] if index < len(self._of_stage) else 0,
                shapes=tuple((tensor.shape, tensor.dtype) for tensor in made),
                slots=credits if index else min(credits, lanes[0] + 1),
            )
            channels.append(self._joined.join(address))
            self._addresses[id(channels[-1])] = address
        carriers = [
            Carrier(entry, channels[0], name="entry", crashed=crashed),
            Carrier(channels[-1], sink, name="sink", crashed=crashed),
        ]
        return Joints(channels[:-1], channels[1:], channels, carriers, self._release)

    def _release(self) -> None:
        for rank in range(1, self._comm.size):
            mpi.MpiLine(self._comm, rank, _LINE_OF_RANK, orders=True).send(Leave())
        self._joined.release()


class LaneRank:
    """A lane on another rank; see `evener.run.lane.Worker`.

    Args:
        stage: index of its stage.
        lane: where and what it runs; its cores are those of the rank's machine.
        rank: where it lives.
        comm: the communicator.
        addresses: of the pipeline's channels, by the identity of rank 0's ends.
        crashed: called with the error when it breaks down.
    """

    def __init__(
        self,
        stage: int,
        lane: Lane,
        *,
        rank: int,
        comm: Any,  # noqa: ANN401 - only `evener.comm` names MPI's types
        addresses: Mapping[int, mpi.Address],
        crashed: Callable[[StageFailedError], None],
    ) -> None:
        self.stage = stage
        self.lane = lane
        self._rank = rank
        self._comm = comm
        self._addresses = addresses
        self._crashed = crashed
        self._orders: Correspondence | None = None
        self._abandoned = False

    def launch(
        self,
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation,
        *,
        behind: bool = False,  # noqa: ARG002 - it lives in a thread of its rank
    ) -> None:
        """Have the rank make it; see `evener.run.lane.Worker.launch`."""
        used = used_by(self.lane, runtimes)
        number = next(_numbers)
        mpi.MpiLine(self._comm, self._rank, _LINE_OF_RANK, orders=True).send(Serve(number=number))
        self._orders = Correspondence(
            mpi.MpiLine(self._comm, self._rank, number, orders=True),
            name=f"stage {self.stage} on {self.lane.processor} of rank {self._rank}",
            crashed=lambda error: self._crashed(broken_down(self, error)),
            broken=lambda: InputError(f"rank {self._rank} is gone"),
            late=lambda waited_s: does_not_answer(self, f"process of rank {self._rank}", waited_s),
        )
        self._orders.launch(self.stage, self.lane, used, optimisation)

    def step_forward(self) -> None:
        """Do nothing: it never stood behind."""

    def open(self, models: Sequence[bytes]) -> Sequence[Ports]:
        """Open a session for each part; see `evener.run.lane.Worker.open`."""
        return launched(self._orders).open(models)

    def start(self, wiring: Wiring, source: Channel, to: Channel) -> None:
        """Take frames from now on; see `evener.run.lane.Worker.start`."""
        ends = (self._addresses[id(source)], self._addresses[id(to)])
        launched(self._orders).start(wiring, *ends)

    def begin(
        self, first: int = 0, *, spans: bool = False, states: Mapping[str, Array] = NO_STATES
    ) -> None:
        """Forget the run before; see `evener.run.lane.Worker.begin`."""
        launched(self._orders).begin(first, spans=spans, states=states)

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        return launched(self._orders).record()

    def progress(self) -> LaneProgress:
        """Return what it does just now, by the clock of its machine; any thread may ask."""
        return launched(self._orders).ask(orders.Look(), orders.Seen).progress

    def abandon(self) -> None:
        """Never wait for it: no rank can be ended without the others."""
        self._abandoned = True

    def join(self, patience_s: float) -> bool:
        """Wait for its end, once its inlet and outlet are closed; return whether it came."""
        if self._orders is None:
            return True
        self._orders.tell(orders.Stop())
        return self._abandoned or self._orders.join(patience_s)


def spread(lanes: int, ranks: int) -> list[int]:
    """Say which rank each lane goes to: all ranks alike, neighbours together.

    Example:
        >>> spread(5, 2), spread(2, 4)
        ([0, 0, 0, 1, 1], [0, 1])
    """
    used = min(lanes, ranks)
    return [index * used // lanes for index in range(lanes)]
