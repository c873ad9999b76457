"""Read frames from a video or a camera, which PyAV (FFmpeg) decodes."""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

from evener.artifacts.tensor import Tensor
from evener.data.ahead import ahead
from evener.data.picture_frames import READ_AHEAD
from evener.data.pixels import Lens, Pixels
from evener.data.source import Source, Sourced
from evener.errors import InvalidFileError, MissingExtraError

SUFFIXES: Final = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")
CAMERA: Final = "camera:"


def read_video(path: Path, inputs: Sequence[Tensor], pixels: Pixels) -> Source:
    """Take each picture of a video as a frame.

    Args:
        path: a video.
        inputs: what a frame holds.
        pixels: how a picture becomes numbers.

    Raises:
        InvalidFileError: the file cannot be opened, or holds no video.
        InputError: the network reads no picture.
        MissingExtraError: PyAV or Pillow is not installed.
    """
    lens = Lens(tuple(inputs), pixels)
    frames = _frames(_open(str(path), None), str(path), lens)
    return Source(ahead(frames, room=READ_AHEAD), name=str(path))


def read_camera(name: str, inputs: Sequence[Tensor], pixels: Pixels) -> Source:
    """Take pictures from a camera for ever, by Linux's video interface (v4l2).

    Args:
        name: such as "camera:0", which is /dev/video0.
        inputs: what a frame holds.
        pixels: how a picture becomes numbers.

    Raises:
        InvalidFileError: there is no such camera, or it gives no video.
        InputError: the network reads no picture.
        MissingExtraError: PyAV or Pillow is not installed.
    """
    lens = Lens(tuple(inputs), pixels)
    device = f"/dev/video{name.removeprefix(CAMERA)}"
    return Source(_frames(_open(device, "v4l2"), device, lens), name=name, live=True)


def _open(file: str, form: str | None) -> Any:  # noqa: ANN401 - PyAV may be absent where types are checked
    try:
        import av
    except ImportError as error:
        raise MissingExtraError("reading video", extra="video") from error
    try:
        container = av.open(file, format=form)
    except (OSError, ValueError) as error:  # what av.error.FFmpegError derives from
        raise _unreadable(file, error) from error
    if not container.streams.video:
        container.close()
        raise InvalidFileError(
            f"{file} holds no video stream; give a file with pictures", path=file
        )
    return container


def _frames(container: Any, file: str, lens: Lens) -> Generator[Sourced]:  # noqa: ANN401 - as above
    with container:
        container.streams.video[0].thread_type = "AUTO"
        decoded = container.decode(video=0)
        for number in range(2**63):
            try:
                image = next(decoded, None)
            except (OSError, ValueError) as error:
                raise _unreadable(f"{file} from picture {number} on", error) from error
            if image is None:
                return
            picture = lens.resize(image.to_image())
            yield Sourced((lens.numbers(picture),), where=f"picture {number}", picture=picture)


def _unreadable(file: str, error: Exception) -> InvalidFileError:
    reason = getattr(error, "strerror", None) or error
    return InvalidFileError(f"cannot read {file}: {reason}; give a video that plays", path=file)
