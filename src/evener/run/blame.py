"""Tell a frame that is at fault from the processors that fail at it.

A frame is at fault itself if a stage failed at it twice, each time in another pipeline.
"""

from evener.artifacts.plan import Unit
from evener.errors import StageFailedError
from evener.run.condition import Condition
from evener.run.plans import units_of
from evener.units import count


class Blame:
    """What failed at which frame of a run.

    Args:
        condition: what is known of the machine; what a frame at fault had cost is forgiven.

    Example:
        >>> condition = Condition(term_s=60)
        >>> blame = Blame(condition)
        >>> failed = StageFailedError("device gone", stage=0, frame_id=3, processor="npu")
        >>> condition.lose(units_of(failed), now_s=0)
        >>> blame.note(failed, emitted=3)
        >>> try:
        ...     blame.note(failed, emitted=3)
        ... except StageFailedError as error:
        ...     print(error)
        frame 3 fails on every plan, the last time thus: device gone; look at its values. ...
        >>> condition.slowdowns(now_s=0)
        {}
    """

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._failed: dict[int, tuple[Unit, ...]] = {}  # by frame

    def note(self, failed: StageFailedError, *, emitted: int) -> None:
        """Note what failed at a frame; at the second time the frame is at fault.

        Args:
            failed: the failure; one that names no frame is no frame's fault.
            emitted: how many frames of the run were answered.

        Raises:
            StageFailedError: the frame is at fault.
        """
        frame = failed.frame_id
        if frame < 0:
            return
        if frame in self._failed:
            self._condition.forgive(self._failed[frame])
            raise StageFailedError(
                f"frame {frame} fails on every plan, the last time thus: {failed}; look at its "
                f"values. The {count(emitted, 'frame')} before it were answered",
                stage=failed.stage,
                frame_id=frame,
                processor=failed.processor,
                cores=failed.cores,
            ) from failed
        self._failed[frame] = units_of(failed)
