"""The networks that ship with onnx, their weights drawn from a seed."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from evener.errors import InvalidNetworkError
from evener.network import light
from evener.network.model import Network, load_network


def weights(network: Network) -> dict[str, np.ndarray]:
    return {
        name: value.const_value.numpy()
        for name, value in network.model.graph.initializers.items()
        if value.const_value is not None and value.dtype == ir.DataType.FLOAT
    }


@pytest.mark.parametrize("name", light.FILES)
def test_every_named_file_ships_with_the_package_onnx(name: str) -> None:
    assert light.light_file(name).is_file()


def test_the_same_seed_draws_the_same_weights() -> None:
    first, second = weights(load_network("squeezenet")), weights(load_network("squeezenet"))

    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_another_seed_draws_other_weights_and_another_hash() -> None:
    first, second = load_network("squeezenet", seed=0), load_network("squeezenet", seed=1)

    assert first.sha256 != second.sha256
    assert not any(np.array_equal(a, weights(second)[name]) for name, a in weights(first).items())


def test_weights_of_equal_shape_differ() -> None:
    found = weights(load_network("squeezenet"))

    assert not np.array_equal(found["fire2/expand1x1_b_0"], found["fire2/expand3x3_b_0"])


def test_no_weight_is_left_flat() -> None:
    for name in ("squeezenet", "shufflenet", "googlenet"):
        for array in weights(load_network(name)).values():
            assert array.size == 1 or array.std() > 0


def test_variances_of_batch_normalisation_are_positive() -> None:
    network = load_network("shufflenet")
    found = weights(network)
    variances = [
        node.inputs[4].name
        for node in network.model.graph
        if node.op_type == "BatchNormalization" and node.inputs[4] is not None
    ]

    assert len(variances) == 49
    assert all(found[str(name)].min() > 0 for name in variances)


def test_a_weight_whose_shape_is_computed_is_refused() -> None:
    graph = onnx.parser.parse_graph(
        "g (float[2] x) => (float[2] y) <float[2] v = {1, 2}>"
        "{ s = Shape(v) w = ConstantOfShape(s) y = Add(x, w) }"
    )
    model = ir.serde.deserialize_model(onnx.helper.make_model(graph))

    with pytest.raises(InvalidNetworkError, match="makes a weight of no fixed shape"):
        light.fill_weights(model, 0)


def test_a_weight_of_unknown_use_is_refused_by_the_name_of_its_reader() -> None:
    graph = onnx.parser.parse_graph(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = PRelu(x, w) }"
    )
    model = ir.serde.deserialize_model(onnx.helper.make_model(graph))

    with pytest.raises(InvalidNetworkError, match=r"\(PRelu\) reads a weight at position 1"):
        light.fill_weights(model, 0)
