"""Frames of a source that does not wait: kept until a credit is free, or left out by a policy.

A thread takes what the source gives as soon as it gives it, and notes when that was. Between the
thread and the pipeline a few frames wait; what happens when there is no room is the policy.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, Self

from evener.errors import InputError
from evener.run.entry import Arrival, Frame

Policy = Literal["block", "drop_oldest", "drop_newest", "latest_only"]


class Waiting:
    """Frames that arrived and were not admitted yet.

    Args:
        policy: what to leave out where there is no room: "drop_oldest" of those that wait,
            "drop_newest", which has just come, or with "latest_only" all but the newest.
        room: how many may wait; with "latest_only" one, whatever this is.

    Example:
        >>> waiting = Waiting("drop_oldest", room=2)
        >>> arrivals = [Arrival(frame_id=n, frame=(), at_s=n) for n in range(3)]
        >>> [waiting.put(one) for one in arrivals]
        [None, None, 0]
        >>> waiting.pop().frame_id
        1
    """

    def __init__(self, policy: Policy, room: int) -> None:
        self._drops_newest = policy == "drop_newest"
        self._room = 1 if policy == "latest_only" else room
        self._frames: deque[Arrival] = deque()

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, arrival: Arrival) -> int | None:
        """Let a frame wait; return the number of the one that is left out for it, or None."""
        if len(self._frames) < self._room:
            self._frames.append(arrival)
            return None
        if self._drops_newest:
            return arrival.frame_id
        self._frames.append(arrival)
        return self._frames.popleft().frame_id

    def pop(self) -> Arrival:
        """Take the oldest."""
        return self._frames.popleft()


class LiveSource:
    """An iterator over the frames that a policy lets through, each with its time of arrival.

    Args:
        frames: the source, iterated over by a thread that never waits for the pipeline.
        waiting: where frames wait, with the policy.
        first: number of the first frame; they are numbered as they arrive, dropped or not.
        clock: the time, in seconds.
        dropped: called with the number of a frame that is left out, before any later one is
            let through.
    """

    def __init__(
        self,
        frames: Iterator[Frame],
        waiting: Waiting,
        *,
        first: int,
        clock: Callable[[], float],
        dropped: Callable[[int], None],
    ) -> None:
        self._frames = frames
        self._waiting = waiting
        self._first = first
        self._clock = clock
        self._dropped = dropped
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._over = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._take_in, name="source of frames", daemon=True)

    def __iter__(self) -> Self:
        """Begin to take frames from the source."""
        self._thread.start()
        return self

    def __next__(self) -> Arrival:
        """Wait for the next frame that is let through; raises what the source raised."""
        with self._lock:
            while not self._waiting and not self._over:
                self._changed.wait()
            if self._waiting:
                return self._waiting.pop()
        if self._failure is not None:
            raise self._failure
        raise StopIteration

    def close(self) -> None:
        """Let no more through. A source that hangs is left to itself, and ends with the process."""
        with self._lock:
            self._over = True
            self._changed.notify_all()

    def _take_in(self) -> None:
        try:
            for number, frame in enumerate(self._frames, self._first):
                with self._lock:
                    if self._over:
                        return
                    arrival = Arrival(frame_id=number, frame=frame, at_s=self._clock())
                    left_out = self._waiting.put(arrival)
                    if left_out is not None:
                        self._dropped(left_out)
                    self._changed.notify()
        except BaseException as error:  # noqa: BLE001 - the caller's code; raised again to it
            self._failure = error
        finally:
            self.close()


def paced(
    frames: Iterable[Frame],
    rate_hz: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Frame]:
    """Yield frames at a rate, as a camera does; a late one does not delay those after it.

    Args:
        frames: the frames.
        rate_hz: how many a second; the first comes at once.
        clock: the time, in seconds.
        sleep: waits for some seconds.

    Raises:
        InputError: a rate that is not above 0.
    """
    if rate_hz <= 0:
        raise InputError(f"a source gives no {rate_hz:g} frames a second; give a rate above 0")
    start_s = clock()
    for number, frame in enumerate(frames):
        ahead_s = start_s + number / rate_hz - clock()
        if ahead_s > 0:
            sleep(ahead_s)
        yield frame
