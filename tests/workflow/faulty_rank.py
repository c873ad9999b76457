"""`evener train` on a rank to which something happens: python faulty_rank.py FAULT ARGUMENT..."""

import os
import signal
import sys
from typing import Final

from evener.cli.main import execute
from evener.train.trainer import Trainer

RANK: Final = 1
STEP: Final = 6  # so many are taken before it
FAULT, *ARGUMENTS = sys.argv[1:]
_advance = Trainer.advance


def advance(self: Trainer) -> float:
    """Take a step, or not."""
    if self.network.rank == RANK and self.step == STEP:
        if FAULT == "raises":
            raise RuntimeError("the lights went out")
        if FAULT == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()  # hangs
    return _advance(self)


Trainer.advance = advance  # type: ignore[method-assign] # what this program is for
sys.exit(execute(ARGUMENTS))
