"""Read frames from a picture or a folder of pictures, which Pillow decodes."""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from evener.artifacts.tensor import Tensor
from evener.data.ahead import ahead
from evener.data.pixels import Lens, Pixels
from evener.data.source import Picture, Source, Sourced
from evener.errors import InvalidDataError, InvalidFileError

SUFFIXES: Final = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
READ_AHEAD: Final = 8  # pictures that are decoded while the stages are busy


def read_pictures(path: Path, inputs: Sequence[Tensor], pixels: Pixels) -> Source:
    """Take each picture as a frame, in the order of their names.

    Args:
        path: a picture, or a folder; pictures in folders below it count, other files do not.
        inputs: what a frame holds.
        pixels: how a picture becomes numbers.

    Raises:
        InvalidFileError: there is no such file or folder.
        InvalidDataError: the folder holds no picture.
        InputError: the network reads no picture.
        MissingExtraError: Pillow is not installed.
    """
    lens = Lens(tuple(inputs), pixels)
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES)
        if not files:
            raise InvalidDataError(
                f"{path} holds no picture; give a folder with files of {', '.join(SUFFIXES)}"
            )
        names = [str(one.relative_to(path)) for one in files]
    else:
        files, names = [path], [path.name]
    frames = ahead(_frames(files, names, lens), room=READ_AHEAD)
    return Source(frames, name=str(path), count=len(files))


def _frames(files: Sequence[Path], names: Sequence[str], lens: Lens) -> Generator[Sourced]:
    for file, name in zip(files, names, strict=True):
        picture = _read(file, lens)
        yield Sourced((lens.numbers(picture),), where=name, id=name, picture=picture)


def _read(file: Path, lens: Lens) -> Picture:
    from PIL import Image, ImageOps

    try:
        with Image.open(file) as image:
            return lens.resize(ImageOps.exif_transpose(image))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        # Pillow raises SyntaxError for some broken PNG files; an OSError of it has no strerror.
        reason = getattr(error, "strerror", None) or error
        raise InvalidFileError(
            f"cannot read the picture {file}: {reason}; replace or remove it", path=str(file)
        ) from error
