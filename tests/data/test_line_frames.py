"""JSON lines become frames, from a file or from standard input."""

import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.line_frames import read_lines
from evener.errors import InvalidDataError, InvalidFileError

INPUTS = (
    Tensor(name="x", shape=(1, 2), dtype="float32"),
    Tensor(name="n", shape=(1,), dtype="int32"),
)


def lines(folder: Path, text: str) -> Path:
    path = folder / "frames.jsonl"
    path.write_text(text)
    return path


def test_each_line_is_a_frame_of_arrays_by_name(tmp_path: Path) -> None:
    text = '{"id": "a", "n": [1], "x": [[0.5, 1]]}\n\n{"x": [2, 3], "n": 4}\n'

    one, other = read_lines(lines(tmp_path, text), INPUTS).frames

    assert [array.tolist() for array in one.frame] == [[[0.5, 1]], [1]]
    assert [array.tolist() for array in other.frame] == [[[2, 3]], [4]]
    assert [array.dtype for array in one.frame] == [np.float32, np.int32]
    assert [(each.where, each.id) for each in (one, other)] == [("line 1", "a"), ("line 3", None)]


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = io.BytesIO(b'{"x": [[1, 2]], "n": [3]}\n{"x": [[4, 5]], "n": [6]}\n')
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=coming))
    source = read_lines(Path("-"), INPUTS)

    first = next(source.frames)

    assert (source.live, source.name) == (True, "standard input")
    assert first.frame[1].tolist() == [3]
    assert [one.frame[1].tolist() for one in source.frames] == [[6]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"line 1 of .*frames.jsonl is not JSON \(.*\); write one object a line"),
        ("[1]", "line 1 of .* holds no JSON object; write one a line"),
        ('{"x": [[1, 2]]}', "line 1 of .* gives no array for the input 'n'; add it"),
        ('{"x": [[1, 2]], "n": 1, "z": 1}', "gives 'z', which is no input; inputs: x, n"),
        ('{"x": [[1, 2, 3]], "n": 1}', r"'x' has the shape \[1, 3\], and \[1, 2\] is needed"),
        ('{"x": [[1, 2], [3]], "n": 1}', "'x' is no array of numbers that are float32; write"),
        ('{"x": [[1, null]], "n": 1}', "'x' is no array of numbers that are float32; write"),
        ('{"x": [[1, 2]], "n": 1.5}', "'n' is no array of numbers that are int32; write"),
        ('{"x": [[1, 1e39]], "n": 1}', "'x' holds a number beyond float32; give smaller ones"),
        ('{"x": [[1, 2]], "n": 3000000000}', "'n' holds a number beyond int32; give smaller ones"),
    ],
)
def test_a_line_that_is_no_frame_is_refused_with_its_number(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        list(read_lines(lines(tmp_path, text), INPUTS).frames)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*none.jsonl: No such file"):
        read_lines(tmp_path / "none.jsonl", INPUTS)
