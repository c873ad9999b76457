"""What goes into a run and what comes out: frames of any source, and files of answers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypedDict

import msgspec

from evener.artifacts.card import Card
from evener.artifacts.files import file_sha256, load, peek
from evener.data.annotate import annotated_to
from evener.data.answers import answers_to, check_writable
from evener.data.frames import Frames
from evener.data.prediction import read_labels
from evener.data.sources import Reading, open_source
from evener.errors import FrameFailedError, InputError, InvalidFileError
from evener.network.frames import random_frames
from evener.runtime.session import Array
from evener.workflow.cutting import Cutting
from evener.workflow.opened import Opened

OnAnswer = Callable[[int, tuple[Array, ...]], None]
POOL: Final = 64  # distinct random frames; longer runs go round
_CARD_FILE: Final = "card.json"
_FEATURES: Final = "features"  # the input of a network that Evener trained


class WritingChoices(TypedDict, total=False):
    """The fields of `Writing`, as keyword arguments."""

    out: Path | None
    labels: Path | None
    annotate: Path | None
    timeline: Path | None


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """What is written of the answers of a run.

    Attributes:
        out: a file for the answers: .npz or .jsonl for all of them, .csv or .parquet for what they
            predict.
        labels: a text file with the name of a class a line; None for those of the network's card.
        annotate: a new folder for the pictures, each with what was predicted on it.
        timeline: a file for when each stage ran each frame, for Perfetto and `evener show`.
    """

    out: Path | None = None
    labels: Path | None = None
    annotate: Path | None = None
    timeline: Path | None = None

    def check(self) -> None:
        """Find out before the run, not after it, what cannot be written.

        Raises:
            InputError: a file that cannot, or labels that go nowhere.
        """
        for path in (self.out, self.annotate, self.timeline):
            if path is not None:
                check_writable(path)
        table = self.out is not None and self.out.suffix.lower() in {".csv", ".parquet"}
        if self.labels is not None and not table and self.annotate is None:
            raise InputError(
                "--labels names classes in a .csv or .parquet file or on pictures; give such an "
                "--out or --annotate, or leave it out"
            )


def find_card(net: str) -> Card | None:
    """Return the card beside a network's file, if there is one and it is that network's."""
    path = Path(net).parent / _CARD_FILE
    if not Path(net).is_file() or not path.is_file():
        return None
    try:
        if peek(path).get("kind") != Card.kind:
            return None
    except InvalidFileError:
        return None  # somebody else's file of that name
    card = load(path, Card).value
    return card if card.network_sha256 == file_sha256(Path(net)) else None


def with_card(cutting: Cutting, card: Card | None) -> Cutting:
    """Add the shape of one row, where a card says it and no other was given."""
    if card is None:
        return cutting
    shapes = {_FEATURES: (1, card.features)} | dict(cutting.shapes)
    return msgspec.structs.replace(cutting, shapes=shapes)


def take_frames(
    opened: Opened, frames: int | Path, reading: Reading | None = None, card: Card | None = None
) -> Frames:
    """Return the frames of a run.

    Args:
        opened: the network.
        frames: how many random frames, or what to read them from; see `open_source`.
        reading: how what is there becomes frames.
        card: of the network, which names the columns that it reads.

    Raises:
        InputError: no frame, or a source that cannot be read or does not fit the network.
    """
    inputs = opened.of_frames.inputs
    reading = reading or Reading()
    if isinstance(frames, Path):
        features = () if card is None else card.feature_names
        encoding = None if card is None else card.encoding
        source = open_source(frames, inputs, reading, features=features, encoding=encoding)
        return Frames.read(source)
    if reading != Reading():
        raise InputError(
            f"--frames {frames} makes up random frames, and there is nothing to read: leave out "
            "the options for pictures and tables and --limit"
        )
    if frames < 1:
        raise InputError(f"--frames {frames} must be at least 1")
    return Frames.going_round(random_frames(inputs, min(frames, POOL), seed=0), frames)


@contextmanager
def answers_for(
    opened: Opened,
    frames: Frames,
    writing: Writing | None = None,
    *,
    card: Card | None = None,
) -> Iterator[OnAnswer | None]:
    """Write the answers of a run as they come, and say which frame is at fault.

    Args:
        opened: the network.
        frames: the frames that run.
        writing: what is written.
        card: of the network, which names its classes.

    Yields:
        What to call with each answer, if they are to be written.

    Raises:
        InputError: the network cannot answer a frame, or its answers cannot be written so.
    """
    writing = writing or Writing()
    outputs = opened.of_frames.outputs
    labels = () if card is None or len(card.classes) == 1 else card.classes
    if writing.labels is not None:
        labels = read_labels(writing.labels)
    try:
        with ExitStack() as stack:
            writers = []
            if writing.out is not None:
                writers.append(
                    stack.enter_context(
                        answers_to(
                            writing.out,
                            outputs,
                            labels=labels,
                            ids=frames.have_ids,
                            apart=card is not None and card.task != "classes",
                        )
                    )
                )
            if writing.annotate is not None:
                if not frames.have_pictures:
                    raise InputError(
                        "--annotate writes on pictures, and the frames are made from none; leave "
                        "it out, or give pictures to --frames"
                    )
                writers.append(
                    stack.enter_context(annotated_to(writing.annotate, outputs, labels=labels))
                )

            def write(number: int, answer: tuple[Array, ...]) -> None:
                origin = frames.origin(number)
                for one in writers:
                    one(number, origin, answer)

            if writers:
                frames.follow()
            yield write if writers else None
    except FrameFailedError as error:
        if frames.round_again:
            raise
        raise InputError(
            f"{frames.where(error.frame_id)} cannot be answered: {error}; look at its values, such "
            "as indices beyond a table"
        ) from error
