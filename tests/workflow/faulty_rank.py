"""`evener train` on ranks, something happening to one: python faulty_rank.py FAULT:RANK ..."""

import os
import signal
import sys
from typing import Final

from evener.__main__ import main
from evener.comm.started import own_rank
from evener.train.trainer import Trainer

STEP: Final = 6  # so many are taken before it


def break_rank(fault: str, rank: int) -> None:
    """Let the rank that was started with a number raise, be killed or hang before a step."""
    advance = Trainer.advance

    def advance_or_not(self: Trainer) -> float:
        """Take a step, or not."""
        if own_rank() == rank and self.step == STEP:
            if fault == "raises":
                raise RuntimeError("the lights went out")
            if fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # hangs
        return advance(self)

    Trainer.advance = advance_or_not  # type: ignore[method-assign] # what this program is for


if __name__ == "__main__":
    what, _, which = sys.argv.pop(1).partition(":")
    break_rank(what, int(which))
    main()
