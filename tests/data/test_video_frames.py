"""A video becomes frames, picture by picture."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.pixels import Pixels
from evener.data.video_frames import read_camera, read_video
from evener.errors import InvalidFileError, MissingExtraError

av = pytest.importorskip("av", reason="needs the extra 'video'")
pytest.importorskip("PIL", reason="needs the extra 'images'")
INPUTS = (Tensor(name="image", shape=(1, 16, 16, 3), dtype="float32"),)
RAW = Pixels(preset="raw")


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Write five grey pictures, each brighter than the one before."""
    path = tmp_path / "grey.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=10)  # without loss
        stream.width = stream.height = 16
        stream.pix_fmt = "bgr0"
        for value in range(5):
            picture = np.full((16, 16, 3), value * 40, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_each_picture_of_a_video_is_a_frame(video: Path) -> None:
    source = read_video(video, INPUTS, RAW)
    frames = list(source.frames)

    assert [float(one.frame[0].mean()) for one in frames] == [0, 40, 80, 120, 160]
    assert [one.where for one in frames] == [f"picture {number}" for number in range(5)]
    assert not source.live


def test_a_file_that_is_no_video_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("no video")

    with pytest.raises(
        InvalidFileError, match="cannot read .*a.mp4: Invalid data .*; give a video"
    ):
        read_video(path, INPUTS, RAW)


def test_a_file_with_sound_only_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 80), np.int16), layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))

    with pytest.raises(InvalidFileError, match=r"sound.mkv holds no video stream"):
        read_video(path, INPUTS, RAW)


def test_a_missing_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*none.mp4: No such file"):
        read_video(tmp_path / "none.mp4", INPUTS, RAW)


def test_a_camera_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="cannot read /dev/video4096: "):
        read_camera("camera:4096", INPUTS, RAW)


def test_without_pyav_it_is_said_what_to_install(
    video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'evener\[video\]'"):
        read_video(video, INPUTS, RAW)
