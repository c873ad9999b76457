"""Making a network layer by layer, and looking at it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from onnxruntime import InferenceSession

from evener.artifacts.topology import Topology
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError, InvalidFileError, RankError
from evener.train.loop import one_thread
from evener.train.network import Network
from evener.train.recipe import Recipe
from evener.train.twin import Twin

HALO = Topology(shards=4, halo=1)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def made(communicator: Communicator | None = None, topology: Topology = HALO) -> Network:
    net = Network(topology=topology, seed=2, communicator=communicator, dtype=torch.float64)
    net.add_layer("input", 3).add_layer("hidden", 12).add_layer("hidden", 10, activation="tanh")
    return net.add_layer("output", 6)


def rows(count: int = 5) -> tuple[list[list[float]], list[list[float]]]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(count, 3)).tolist(), rng.random((count, 6)).tolist()


def test_the_paper_s_first_program_learns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.random((40, 3))
    outputs = np.stack([inputs.mean(1), inputs.max(1)], 1)
    np.savetxt(tmp_path / "testInput.txt", inputs)
    np.savetxt(tmp_path / "testLabels.txt", outputs, delimiter=",")

    net = Network(seed=0)
    net.add_layer("input", 3)
    net.add_layer("hidden", 16)
    net.add_layer("hidden", 12)
    net.add_layer("output", 2)
    net.load(tmp_path / "testInput.txt", tmp_path / "testLabels.txt")

    losses = []
    for _ in range(300):
        net.forward()
        losses.append(net.compute_loss())
        net.backward(rate=1.0)

    assert losses[-1] < losses[0] / 3


def test_steps_one_by_one_are_those_of_fit() -> None:
    inputs, outputs = rows()
    by_hand, fitted = made().load(inputs, outputs, batch=2), made().load(inputs, outputs)

    for _ in range(6):
        by_hand.forward()
        by_hand.compute_loss()
        by_hand.backward(rate=0.1)
    fitted.fit(Recipe(epochs=2, batch=2))

    assert torch.equal(by_hand.ranked.parameters.flat, fitted.ranked.parameters.flat)


def test_a_step_needs_no_loss_to_be_asked_for() -> None:
    asked, quiet = made().load(*rows()), made().load(*rows())

    asked.forward()
    asked.compute_loss()
    asked.compute_loss()
    asked.backward()
    quiet.forward()
    quiet.backward()

    assert torch.equal(asked.ranked.parameters.flat, quiet.ranked.parameters.flat)


@pytest.mark.parametrize("topology", [HALO, Topology(shards=4)], ids=str)
def test_every_rank_predicts_what_the_plain_network_answers(topology: Topology) -> None:
    inputs, _ = rows()

    def program(communicator: Communicator) -> tuple[Network, NDArray[np.floating]]:
        net = made(communicator, topology)
        return net, net.predict(inputs)

    found = run_ranks(3, program)
    twin = Twin(found[0][0].ranked.shape, [net.ranked for net, _ in found])
    expected = twin.forward(torch.tensor(inputs, dtype=torch.float32)).detach().numpy()

    for _, answers in found:
        np.testing.assert_allclose(answers, expected, rtol=1e-12)


def test_layers_and_neurons_can_be_looked_at() -> None:
    net = made().load(*rows())

    net.forward()
    net.backward(rate=0.1)

    assert [len(layer) for layer in net.layers] == [3, 12, 10, 6]
    output = net.layers[3].neurons[2]
    slope = output.output * (1 - output.output)
    np.testing.assert_allclose(output.gradient, output.error * slope, rtol=1e-12)


def test_replicas_train_by_fit_and_not_step_by_step() -> None:
    def program(communicator: Communicator) -> torch.Tensor:
        net = Network(seed=2, communicator=communicator, replicas=2, dtype=torch.float64)
        net.add_layer("input", 3).add_layer("output", 6).load(*rows())
        with pytest.raises(InputError, match="single steps with 2 replicas: use fit"):
            net.forward()
        net.fit(Recipe(epochs=2, batch=4))
        net.close()
        return net.ranked.parameters.flat

    alone = Network(seed=2, dtype=torch.float64).add_layer("input", 3).add_layer("output", 6)
    alone.load(*rows()).fit(Recipe(epochs=2, batch=4))

    for found in run_ranks(2, program):
        torch.testing.assert_close(found, alone.ranked.parameters.flat, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda net: net.add_layer("middle", 3), "'middle' is no kind of layer; choose of input"),
        (lambda net: net.add_layer("hidden", 3), "layer 0 of kind hidden: a network begins with"),
        (
            lambda net: net.add_layer("input", 3).add_layer("input", 3),
            "layer 1 of kind input: a network begins with one input, and has no other",
        ),
        (
            lambda net: net.add_layer("input", 3).add_layer("output", 2).add_layer("hidden", 2),
            "a layer of kind hidden behind the output: the output is the last",
        ),
        (
            lambda net: net.add_layer("input", 3, activation="tanh"),
            "an input with activation tanh: what goes in is as it is",
        ),
        (lambda net: net.add_layer("input", 0), "a layer of 0 neurons: give 1 or more"),
        (
            lambda net: net.add_layer("input", 3).load([[1, 2, 3]], [[1]]),
            "a network of 1 layers without an output: add one with",
        ),
    ],
)
def test_layers_that_cannot_stand_there_are_refused(
    wrong: Callable[[Network], Network], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        wrong(Network())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda net: net.forward(), "no rows to train on: give some with load"),
        (lambda net: net.fit(Recipe()), "no rows to train on"),
        (lambda net: net.compute_loss(), "nothing went forward since the last step"),
        (lambda net: net.load(*rows(), batch=0), "an iteration of 0 rows: give 1 or more"),
        (lambda net: net.load([[1, 2], [3]], [[1], [2]]), "no table of numbers: .*equal length"),
        (lambda net: net.load(np.zeros((2, 3, 4)), [1, 2]), r"an array of shape \[2, 3, 4\]"),
    ],
)
def test_calls_out_of_order_and_rows_that_are_none_are_refused(
    wrong: Callable[[Network], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        wrong(made())


def test_a_step_is_taken_once() -> None:
    net = made().load(*rows())
    net.forward()
    net.backward()

    with pytest.raises(InputError, match="nothing went forward since the last step"):
        net.backward()


def test_too_many_ranks_for_the_shards_are_refused() -> None:
    def program(communicator: Communicator) -> None:
        with pytest.raises(InputError, match="5 ranks for 4 shards"):
            _ = made(communicator).ranked

    run_ranks(5, program)


def test_every_rank_exports_and_the_first_one_writes(tmp_path: Path) -> None:
    def program(communicator: Communicator) -> NDArray[np.floating]:
        net = Network(seed=2, communicator=communicator, replicas=2, topology=HALO)
        net.add_layer("input", 3).add_layer("hidden", 12).add_layer("output", 6)
        net.export(tmp_path / "network.onnx")
        return net.predict(rows()[0])

    answers = run_ranks(4, program)
    session = InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    found = session.run(None, {"features": np.array(rows()[0], np.float32)})[0]

    for expected in answers:
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_where_nothing_can_be_exported_every_rank_says_so(tmp_path: Path) -> None:
    def program(communicator: Communicator) -> str:
        with pytest.raises((InvalidFileError, RankError)) as failure:
            made(communicator).export(tmp_path)
        return str(failure.value)

    mine, other = run_ranks(2, program)

    assert mine == f"cannot write {tmp_path}: it is a folder; name a file"
    assert other == f"rank 0: {mine}"


def test_rows_that_do_not_fit_are_not_predicted() -> None:
    with pytest.raises(InputError, match="rows of 2 inputs for a layer of 3: give 3 numbers a row"):
        made().predict([[1, 2]])


def test_many_rows_are_predicted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    net = made()
    whole = net.predict(rows()[0])

    monkeypatch.setattr("evener.train.network.TOGETHER", 2)

    np.testing.assert_allclose(net.predict(rows()[0]), whole, rtol=1e-12)
