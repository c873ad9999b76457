"""Orders to a lane elsewhere, and what it answers or says unasked.

One thread listens. Orders are given by any thread, one at a time: each is answered before the
next.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, TypeVar

from evener.artifacts.plan import Lane
from evener.comm.link import LineEndedError
from evener.comm.parcel import unpack_error
from evener.errors import ChannelClosedError, InputError
from evener.run import orders
from evener.run.record import LaneRecord
from evener.run.wiring import Ports, Wiring
from evener.runtime.session import Array, Optimisation, Runtime

AnswerT = TypeVar("AnswerT")

PATIENCE_S: Final = 10.0
"""How long a lane may take over what it answers at once, unless it hangs: a busy machine's."""


class Line(Protocol):
    """One end of a line to another process or rank."""

    def send(self, thing: object, files: Sequence[int] = ()) -> None:
        """Send an object, and open files where the other end is on this machine.

        Raises:
            LineEndedError: nobody is there to read it.
        """
        ...

    def receive(self) -> tuple[Any, list[int]]:
        """Wait for the next object, and the files that came along.

        Raises:
            LineEndedError: there will be none.
        """
        ...


class Correspondence:
    """The giving end of a line of orders.

    Args:
        line: to where `evener.run.serve_lane` follows them.
        name: of the lane, for the listening thread.
        crashed: called with the error when the lane breaks down between two orders.
        broken: called when the line ends before the lane did; returns why, which answers every
            order from then on.
        late: called when an answer did not come in time, with the seconds that were waited;
            returns what is raised then, and at every order from then on.
    """

    def __init__(
        self,
        line: Line,
        *,
        name: str,
        crashed: Callable[[BaseException], None],
        broken: Callable[[], Exception],
        late: Callable[[float], Exception],
    ) -> None:
        self._line = line
        self._crashed = crashed
        self._broken = broken
        self._late = late
        self._given_up: Exception | None = None  # an answer that comes later would be mistaken
        self._answers: SimpleQueue[object] = SimpleQueue()
        self._asking = threading.Lock()
        self._failure: Exception | None = None
        self._listener = threading.Thread(
            target=self._listen, name=f"listener of {name}", daemon=True
        )
        self._listener.start()

    def tell(self, thing: object, files: Sequence[int] = ()) -> None:
        """Send what needs no answer. Where nobody reads it, the next question says why."""
        try:
            self._line.send(thing, files)
        except LineEndedError:
            return  # the listener learns it too

    def ask(
        self,
        order: object,
        kind: type[AnswerT],
        files: Sequence[int] = (),
        *,
        patience_s: float | None = None,
    ) -> AnswerT:
        """Give an order and wait for its answer.

        Args:
            order: what to do.
            kind: what it answers.
            files: open files that go along.
            patience_s: how long to wait; for ever if None, for what may take long.

        Raises:
            ChannelClosedError: the lane was told to end before.
            Exception: what made the lane fail to follow it, why the line ended, or that no answer
                came in time.
        """
        with self._asking:
            if self._given_up is not None:
                raise self._given_up
            self.tell(order, files)
            try:
                answer = self._answers.get(timeout=patience_s)
            except Empty:
                self._given_up = self._late(patience_s or 0.0)
                raise self._given_up from None
            if answer is self._failure:
                self._answers.put(answer)  # for whoever asks next
        if isinstance(answer, kind):
            return answer
        if isinstance(answer, BaseException):
            raise answer
        raise TypeError(f"{kind.__name__} was asked for, {answer!r} came")

    def launch(
        self,
        stage: int,
        lane: Lane,
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation,
    ) -> None:
        """Have it be a lane; see `evener.run.lane.Worker.launch`.

        Args:
            stage: index of its stage.
            lane: where and what it runs.
            runtimes: those that it uses, by name.
            optimisation: how far they optimise each part.
        """
        self.tell(
            orders.Launch(stage=stage, lane=lane, runtimes=runtimes, optimisation=optimisation)
        )

    def open(self, models: Sequence[bytes]) -> Sequence[Ports]:
        """Have it open a session for each part; see `evener.run.lane.Worker.open`."""
        return self.ask(orders.Open(models=models), orders.Opened).sessions

    def start(self, wiring: Wiring, source: object, to: object, files: Sequence[int] = ()) -> None:
        """Have it take frames from now on; see `evener.run.lane.Worker.start`.

        Args:
            wiring: how the sessions are joined.
            source: what it needs to join the channel of the inlet.
            to: the same, of the outlet.
            files: open files that go along.
        """
        start = orders.Start(wiring=wiring, source=source, to=to)
        self.ask(start, orders.Done, files, patience_s=PATIENCE_S)

    def begin(self, first: int, *, spans: bool, states: Mapping[str, Array]) -> None:
        """Have it forget the run before; see `evener.run.lane.Worker.begin`."""
        begin = orders.Begin(first=first, spans=spans, states=dict(states))
        self.ask(begin, orders.Done, patience_s=PATIENCE_S)

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        return self.ask(orders.Report(), orders.Reported, patience_s=PATIENCE_S).record

    def join(self, patience_s: float | None = None) -> bool:
        """Wait until the lane has said its last; return whether it has."""
        if self._listener is not threading.current_thread():
            self._listener.join(patience_s)
            return not self._listener.is_alive()
        return True

    def _listen(self) -> None:
        while True:
            try:
                said, _ = self._line.receive()
            except LineEndedError:
                self._failure = self._broken()
                self._answers.put(self._failure)
                return
            if isinstance(said, orders.Crashed):
                self._crashed(unpack_error(said.error))
            elif isinstance(said, orders.Failed):
                self._answers.put(unpack_error(said.error))
            elif isinstance(said, orders.Ended):
                self._failure = ChannelClosedError("the lane was closed")
                self._answers.put(self._failure)  # for whoever asks yet
                return
            else:
                self._answers.put(said)


def launched(correspondence: Correspondence | None) -> Correspondence:
    """Return it, if the lane was launched.

    Raises:
        InputError: it was not.
    """
    if correspondence is None:
        raise InputError("the lane was not launched")
    return correspondence
