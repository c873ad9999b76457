"""`evener train` on a rank to which something happens: python faulty_rank.py FAULT ARGUMENT..."""

import os
import signal
import sys
from typing import Final

from evener.cli.main import execute
from evener.train.trainer import Trainer

RANK: Final = 1
STEP: Final = 6  # so many are taken before it


def break_rank(fault: str) -> None:
    """Let one rank raise, be killed or hang before a step."""
    advance = Trainer.advance

    def advance_or_not(self: Trainer) -> float:
        """Take a step, or not."""
        if self.network.rank == RANK and self.step == STEP:
            if fault == "raises":
                raise RuntimeError("the lights went out")
            if fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # hangs
        return advance(self)

    Trainer.advance = advance_or_not  # type: ignore[method-assign] # what this program is for


if __name__ == "__main__":
    break_rank(sys.argv[1])
    sys.exit(execute(sys.argv[2:]))
