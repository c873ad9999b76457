"""One thread that copies frames from an inlet to an outlet, where a lane cannot reach them."""

import threading
from collections.abc import Callable

import numpy as np

from evener.errors import ChannelClosedError, ChannelError, StageFailedError
from evener.run.lane import Outlet
from evener.run.order import Inlet


class Carrier:
    """A thread between the caller's memory and a transport's.

    It takes room first, and a frame then, so that it holds no frame that cannot move.

    Args:
        source: where frames come from.
        to: where they go.
        name: for messages, such as "entry".
        crashed: called with an error that is no frame's, after which the carrier ends.
    """

    def __init__(
        self,
        source: Inlet,
        to: Outlet,
        *,
        name: str,
        crashed: Callable[[StageFailedError], None],
    ) -> None:
        self.name = name
        self._source = source
        self._to = to
        self._crashed = crashed
        self._thread = threading.Thread(
            target=self._live, name=f"carrier at the {name}", daemon=True
        )
        self._thread.start()

    def join(self, patience_s: float) -> bool:
        """Wait for its end, once its inlet and outlet are closed; return whether it came."""
        if self._thread is not threading.current_thread():
            self._thread.join(patience_s)
            return not self._thread.is_alive()
        return True

    def _live(self) -> None:
        try:
            while True:
                self._carry()
        except ChannelClosedError:
            return  # how a carrier ends
        except Exception as error:  # noqa: BLE001 - raised again to the thread that runs
            failure = StageFailedError(f"the {self.name} broke down: {error}", stage=-1)
            failure.__cause__ = error
            self._crashed(failure)

    def _carry(self) -> None:
        target = self._to.acquire()
        message = self._source.get()
        if message.slot is None:
            self._to.free(target)
            error = message.error or ChannelError(f"frame {message.frame_id} has no slot")
            self._to.put_error(message.frame_id, error)
            return
        for array, room in zip(message.slot.arrays, target.arrays, strict=True):
            np.copyto(room, array)
        self._source.free(message.slot)
        self._to.put(message.frame_id, target)
