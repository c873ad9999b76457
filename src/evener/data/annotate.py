"""Write what was predicted onto each picture, into a folder that is there whole or not at all."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evener.artifacts.folder import new_folder
from evener.artifacts.tensor import Tensor
from evener.data.prediction import Predictor
from evener.data.source import Sourced
from evener.errors import InputError, MissingExtraError
from evener.network.frames import Array


@contextmanager
def annotated_to(
    folder: Path, outputs: Sequence[Tensor], *, labels: Sequence[str]
) -> Iterator[Callable[[int, Sourced, Sequence[Array]], None]]:
    """Make a folder of pictures as the network saw them, `000000.png` and so on.

    Args:
        folder: must not be there yet.
        outputs: what an answer holds.
        labels: names of the classes; none to number them.

    Yields:
        What takes the number of a frame, the frame and its answer.

    Raises:
        InvalidFileError: the folder is there already, or cannot be written.
        InputError: an output is no prediction; or, of what is yielded, the frame is no picture.
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise MissingExtraError("writing pictures", extra="images") from error
    predictor = Predictor(outputs, labels)
    with new_folder(folder) as partial:

        def write(number: int, frame: Sourced, answer: Sequence[Array]) -> None:
            if frame.picture is None:
                raise InputError(
                    f"frame {number} is made from no picture, and has none to write on; leave "
                    "--annotate out"
                )
            lines = [
                f"{name} {value:.3g}" if isinstance(value, float) else str(value)
                for name, value in predictor.values(answer).items()
            ]
            picture = frame.picture
            grey = picture.shape[2] == 1
            image = Image.fromarray(picture[..., 0] if grey else picture).convert("RGB")
            drawn = ImageDraw.Draw(image)
            text = "\n".join(lines)
            drawn.rectangle(drawn.multiline_textbbox((4, 2), text), fill="black")
            drawn.multiline_text((4, 2), text, fill="white")
            image.save(partial / f"{number:06}.png")

        yield write
