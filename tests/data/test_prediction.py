"""What a network answered, in a word and a number."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.prediction import Predictor, read_labels
from evener.errors import InputError, InvalidFileError

CLASSES = Tensor(name="y", shape=(1, 3), dtype="float32")
NUMBER = Tensor(name="age", shape=(1, 1), dtype="float32")
LABEL = Tensor(name="label", shape=(1,), dtype="int64")
SCORES = np.array([[0.1, 0.7, 0.2]], np.float32)


def test_the_likeliest_class_is_the_prediction_and_its_number_the_score() -> None:
    assert Predictor((CLASSES,)).values([SCORES]) == {"prediction": 1, "score": 0.7}
    assert Predictor((CLASSES,), ("a", "b", "c")).values([SCORES]) == {
        "prediction": "b",
        "score": 0.7,
    }


def test_a_single_number_is_the_prediction() -> None:
    values = Predictor((NUMBER,)).values([np.array([[0.1]], np.float32)])

    assert values == {"prediction": 0.1}  # not 0.10000000149011612, the same in float64


def test_several_outputs_are_told_by_their_names() -> None:
    predictor = Predictor((LABEL, CLASSES, NUMBER), ("a", "b", "c"))

    values = predictor.values([np.array([1]), SCORES, np.array([[2.5]], np.float32)])

    assert values == {"label": 1, "y": "b", "y_score": 0.7, "age": 2.5}
    assert predictor.kinds == {"label": "i", "y": "U", "y_score": "f", "age": "f"}
    assert list(predictor.kinds) == list(values)


def test_labels_that_stand_side_by_side_have_a_number_each() -> None:
    predictor = Predictor((CLASSES,), ("a", "b", "c"), apart=True)

    assert predictor.values([SCORES]) == {"a": 0.1, "b": 0.7, "c": 0.2}
    assert predictor.kinds == {"a": "f", "b": "f", "c": "f"}


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 3)])
def test_an_output_of_several_dimensions_is_no_prediction(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="the output 'mask', .* is neither one number nor one for"):
        Predictor((Tensor(name="mask", shape=shape, dtype="float32"),))


def test_integers_are_no_scores() -> None:
    with pytest.raises(InputError, match=r"write the answers to an .npz or .jsonl file"):
        Predictor((Tensor(name="ids", shape=(1, 5), dtype="int64"),))


def test_labels_that_are_too_few_are_refused() -> None:
    with pytest.raises(InputError, match="there are 2 labels, and .*: 3 in 'y'; give one label a"):
        Predictor((CLASSES,), ("a", "b"))


def test_labels_are_read_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("cat\n black dog \n\ncow\n", encoding="utf-8")

    assert read_labels(path) == ("cat", "black dog", "", "cow")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read .*: No such file .*; give a text file, one label a line"),
        (b"", "is empty; write one label a line"),
        (b"\xff\xfe", "is no text in UTF-8: .*; save it as UTF-8"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "labels.txt"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=message):
        read_labels(path)
