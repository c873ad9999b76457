"""A planned network as a predictor: what the service asks, answered by an executor."""

from collections import defaultdict
from concurrent.futures import Future

from evener.artifacts.tensor import Tensor
from evener.run.executor import PipelineExecutor
from evener.serve.predictor import Arrays, Load, StageLoad, State


class PlannedNetwork:
    """A network whose frames an executor answers; see `evener.serve.predictor.Predictor`.

    Args:
        name: what clients call it.
        executor: an open one.
        board: the board whose processors are simulated; None if they are this machine's own.
    """

    def __init__(self, name: str, executor: PipelineExecutor, *, board: str | None = None) -> None:
        self.name = name
        self.properties = {} if board is None else {"simulated_board": board}
        self.version = "1"  # the only one there is
        self._executor = executor

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a frame holds."""
        return self._executor.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds."""
        return self._executor.outputs

    @property
    def state(self) -> State:
        """Whether it answers."""
        return self._executor.state

    @property
    def load(self) -> Load:
        """How much it has to do."""
        load = self._executor.load
        lanes: dict[int, int] = defaultdict(int)
        stages = []
        for one in load.lanes:
            stages.append(
                StageLoad(
                    stage=one.stage,
                    lane=lanes[one.stage],
                    processor=one.lane.processor,
                    busy_s=one.busy_s,
                )
            )
            lanes[one.stage] += 1
        return Load(waiting=load.waiting, in_flight=load.in_flight, stages=stages)

    def submit(self, frame: Arrays) -> "Future[Arrays]":
        """Take a frame, without waiting for its answer."""
        return self._executor.submit(frame)
