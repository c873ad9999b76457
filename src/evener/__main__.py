"""Start the command line, and hear Ctrl-C from the first moment to the last."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from evener.errors import STOPPED


def main() -> NoReturn:
    """Run the command line of this process and end it with the exit code."""
    # Where Ctrl-C is ignored, as in the background of a script, it stays so.
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _stop_at_once)
    from evener.cli.main import execute

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = execute(sys.argv[1:])
    except KeyboardInterrupt:  # once more, while the first was being answered
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = STOPPED
    told = os.environ.get("EVENER_EXIT_CODE_FILE")  # see evener.workflow.ranks
    if told is not None:
        code = _tell(code, Path(told))
    if code == STOPPED:
        os._exit(code)  # a library that was interrupted may have Python end by the signal instead
    if "EVENER_OUTLIVED" in os.environ:  # see evener.comm.survive
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # whoever read it may be gone
                stream.flush()
        os._exit(code)  # Open MPI's MPI_Finalize may wait for ever for a rank that ended
    sys.exit(code)


def _tell(code: int, told: Path) -> int:
    """Leave rank 0's exit code to whoever started the ranks, and let none of them seem to fail."""
    from evener.comm.started import OUTLIVED, own_rank

    if os.environ.get(OUTLIVED, str(own_rank())) == "0":
        told.write_text(str(code))
    return 0


def _stop_at_once(_signal: int, _frame: FrameType | None) -> None:
    # Nothing was begun yet; an exception could be lost in the imports.
    os.write(2, b"evener: stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
