"""The command line to copy sends what it says."""

import json
import subprocess

import pytest

from evener.artifacts.tensor import Tensor
from evener.serve.example import example_line


@pytest.mark.parametrize(
    "inputs",
    [
        [Tensor(name="x", shape=(1, 3), dtype="float32")],
        [Tensor(name="a picture's %s", shape=(3, 2000), dtype="uint8")],
        [
            Tensor(name="mask", shape=(40,), dtype="bool"),
            Tensor(name="n", shape=(), dtype="int64"),
            Tensor(name="y", shape=(5, 5), dtype="float64"),
        ],
    ],
    ids=["small", "large", "several"],
)
def test_the_shell_makes_a_request_of_zeros(inputs: list[Tensor]) -> None:
    line = example_line("http://127.0.0.1:8080", "a net", inputs)
    make, _, send = line.rpartition(" | curl ")

    made = subprocess.run(["sh", "-c", make], capture_output=True, check=True).stdout

    assert send == "-s http://127.0.0.1:8080/v2/models/a%20net/infer --data-binary @-"
    sent = json.loads(made)["inputs"]
    assert [(one["name"], tuple(one["shape"])) for one in sent] == [
        (one.name, one.shape) for one in inputs
    ]
    assert [len(one["data"]) for one in sent] == [3] * (len(inputs) == 1) or [40, 1, 25]
    for one in sent:
        zero = False if one["datatype"] == "BOOL" else 0
        assert all(element is zero or element == zero == 0 for element in one["data"])
