"""Writing a trained network as ONNX."""

import logging
from functools import cache

import numpy as np
import onnx
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.project import TrainSection
from evener.data.dataset import Dataset
from evener.errors import EvenerError
from evener.train.export import export_onnx
from evener.train.fit import Trained, train_network
from evener.train.model import predict
from evener.train.verify import answers, verify_export

TWO_LAYERS = Architecture(hidden=(8, 4), activation="gelu")


def trained_on(rings: Dataset, architecture: Architecture = TWO_LAYERS) -> Trained:
    return train_network(architecture, rings, TrainSection(epochs=2))


@cache
def exported(rings: Dataset) -> bytes:
    return export_onnx(trained_on(rings))


@pytest.mark.parametrize("rows", [1, 7])
def test_the_file_answers_as_the_trainer_does_for_any_batch(rings: Dataset, rows: int) -> None:
    expected = predict(trained_on(rings).model, rings.features[:rows])

    found = answers(exported(rings), rings.features[:rows], outputs=2)

    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_input_and_output_are_named_and_the_batch_is_open(rings: Dataset) -> None:
    graph = onnx.load_from_string(exported(rings)).graph

    shapes = {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }
    assert shapes == {"features": ["batch", 3], "probabilities": ["batch", 2]}


def test_it_holds_one_operator_for_each_step_and_no_more(rings: Dataset) -> None:
    graph = onnx.load_from_string(exported(rings)).graph

    operators = [node.op_type for node in graph.node]
    assert operators == ["Sub", "Mul", "Gemm", "Gelu", "Gemm", "Gelu", "Gemm", "Softmax"]


def test_training_and_exporting_again_gives_the_same_bytes(rings: Dataset) -> None:
    assert export_onnx(trained_on(rings)) == exported(rings)


def test_it_says_nothing_while_it_works(
    rings: Dataset, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    level = logging.getLogger("torch.onnx").level

    export_onnx(trained_on(rings, Architecture(family="linear")))

    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]
    assert logging.getLogger("torch.onnx").level == level


def test_the_error_of_the_file_is_measured_on_the_test_rows(rings: Dataset) -> None:
    trained = trained_on(rings)

    error = verify_export(exported(rings), trained, rings)

    features, _ = rings.rows("test")
    difference = answers(exported(rings), features, 2) - predict(trained.model, features)
    assert error == float(np.abs(difference).max())
    assert error <= 1e-5


def test_a_file_of_other_weights_is_found_out(rings: Dataset) -> None:
    other = train_network(TWO_LAYERS, rings, TrainSection(epochs=2, seed=1))

    with pytest.raises(
        EvenerError,
        match=r"file of mlp 8-4 gelu answers otherwise .* by 0\.\d+ in row \d+ of 60, more than "
        r"1e-05\. Update torch",
    ):
        verify_export(exported(rings), other, rings)
