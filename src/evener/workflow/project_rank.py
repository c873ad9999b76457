"""What each rank does that a build has started: `python -m evener.workflow.project_rank FOLDER`.

It trains the task that lies in the folder. The first rank writes a line with its number after each
epoch, and in the end the network beside the task.
"""

import os
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from evener.artifacts.files import write_first
from evener.comm.join import joined
from evener.comm.started import EXIT_CODE_FILE
from evener.errors import STOPPED, EvenerError, InputError, InvalidFileError
from evener.workflow.final import EPOCH, FAILURE, RESULT, TASK, Failure, Task


def main(folder: Path) -> None:
    """Train on this rank.

    Args:
        folder: where the task lies.

    Raises:
        SystemExit: something went wrong on one of the ranks; it is explained beside the task.
    """
    task = msgspec.json.decode((folder / TASK).read_bytes(), type=Task)
    with joined(ranks=task.section.ranks, explain=partial(explain, folder)) as communicator:
        from evener.data.load import load_dataset
        from evener.train.sharded_fit import fit_sharded

        dataset = load_dataset(task.data, Path(task.folder))
        if dataset.sha256 != task.sha256:
            raise InputError(
                f"the rows of {task.data.source} changed while the project was built: build again"
            )
        fitted = fit_sharded(
            task.architecture,
            dataset,
            task.section,
            communicator,
            spread=task.spread,
            checkpoints=Path(task.checkpoints),
            on_epoch=_tell,
        )
        if communicator.rank == 0:
            (folder / RESULT).write_bytes(msgspec.msgpack.encode(fitted))
            Path(os.environ[EXIT_CODE_FILE]).write_text("0")


def explain(folder: Path, error: BaseException) -> int:
    """Leave beside the task why this rank ends all, unless another one did; return the exit code.

    Args:
        folder: where the task lies.
        error: what was raised.
    """
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    code = EvenerError.exit_code
    where = "".join(
        f"{note}: " for note in getattr(error, "__notes__", ()) if note.startswith("on ")
    )
    message = f"{where}this is a fault of evener: {type(error).__name__}: {error}"
    if isinstance(error, EvenerError):
        code, message = error.exit_code, f"{where}{error}"
    else:
        traceback.print_exception(error)
    failure = Failure(exit_code=code, message=message)
    with suppress(InvalidFileError):  # the code alone is told then; all ranks end all the same
        write_first(folder / FAILURE, msgspec.json.encode(failure))
    return code


def _tell(epoch: int) -> None:
    sys.stdout.write(f"{EPOCH}{epoch}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
