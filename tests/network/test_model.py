"""Loading a network: what is accepted and what is normalised."""

import hashlib
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidNetworkError
from evener.network import light
from evener.network.graph import static_shape
from evener.network.model import Network, load_network, parse_network
from evener.network.split import whole_model
from evener.testing import tiny

CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> {
    h = Relu(x)
    y = MatMul(h, w)
}"""


def network(text: str, **shapes: tuple[int, ...]) -> Network:
    content = onnx.parser.parse_model(text).SerializeToString()
    return parse_network(content, name="net", shapes=shapes)


def body(text: str, opset: int = 17) -> str:
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}'


def operators(loaded: Network) -> list[str]:
    return [node.op_type for node in loaded.model.graph]


# --- what is accepted --------------------------------------------------------------------------


def test_a_file_is_named_after_itself_and_hashed_as_it_is(tmp_path: Path) -> None:
    content = onnx.parser.parse_model(CHAIN).SerializeToString()
    path = tmp_path / "chain.onnx"
    path.write_bytes(content)

    loaded = load_network(path)

    assert loaded.name == "chain"
    assert loaded.sha256 == hashlib.sha256(content).hexdigest()
    assert loaded.inputs == (Tensor(name="x", shape=(1, 4), dtype="float32"),)
    assert loaded.outputs == (Tensor(name="y", shape=(1, 2), dtype="float32"),)
    assert static_shape(loaded.value("h")) == (1, 4)


def test_given_shapes_change_the_hash_and_their_order_does_not() -> None:
    text = body("(float[N,4] a, float[M,4] b) => (float[N,4] y) { y = Add(a, b) }")

    first = network(text, a=(2, 4), b=(1, 4))

    assert first.sha256 == network(text, b=(1, 4), a=(2, 4)).sha256
    assert first.sha256 != network(text, a=(3, 4), b=(1, 4)).sha256


def test_a_light_network_has_a_name_and_a_file_of_the_same_name_needs_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("squeezenet").write_bytes(onnx.parser.parse_model(CHAIN).SerializeToString())

    assert load_network("squeezenet").inputs[0].shape == (1, 3, 224, 224)
    assert load_network(Path("squeezenet")).inputs[0].shape == (1, 4)
    assert load_network("./squeezenet").inputs[0].shape == (1, 4)


def test_several_inputs_and_outputs_keep_their_order() -> None:
    loaded = network(
        body(
            "(float[2] b, int64[2] a, float16[2] c) => (float[2] q, int64[2] p, float16[2] r)"
            "{ r = Neg(c) p = Neg(a) q = Neg(b) }"
        )
    )

    assert [tensor.name for tensor in loaded.inputs] == ["b", "a", "c"]
    assert [tensor.name for tensor in loaded.outputs] == ["q", "p", "r"]
    assert [tensor.dtype for tensor in loaded.inputs] == ["float32", "int64", "float16"]


def test_every_light_network_loads_as_one_input_one_output_and_only_initialised_weights() -> None:
    for name in ("squeezenet", "shufflenet", "googlenet", "inception-v2"):
        loaded = load_network(name)

        assert len(loaded.inputs) == len(loaded.outputs) == 1
        assert "ConstantOfShape" not in operators(loaded)


def test_trees_and_other_classic_models_load_and_answer_as_scikit_learn_does() -> None:
    rows, classes = load_digits(return_X_y=True)
    rows = rows.astype(np.float32)
    models = (
        RandomForestClassifier(5, max_depth=4, random_state=0),
        RandomForestRegressor(5, max_depth=4, random_state=0),
        LogisticRegression(max_iter=20, tol=0.1),
    )
    for model in models:
        model.fit(rows / 16, classes)
        plain = {} if isinstance(model, RandomForestRegressor) else {id(model): {"zipmap": False}}
        content = to_onnx(model, rows[:1], options=plain).SerializeToString()

        loaded = parse_network(content, name="classic", shapes={"X": (3, 64)})
        answer = onnxruntime.InferenceSession(whole_model(loaded)).run(None, {"X": rows[:3] / 16})

        assert [one.shape for one in answer] == [tensor.shape for tensor in loaded.outputs]
        assert np.allclose(answer[0].ravel(), model.predict(rows[:3] / 16), rtol=1e-4)


# --- normal form -------------------------------------------------------------------------------


def test_weights_listed_as_inputs_are_weights_only() -> None:
    raw = onnx.load(light.light_file("squeezenet"))
    assert len(raw.graph.input) == 53

    loaded = load_network(light.light_file("squeezenet"))

    assert [tensor.name for tensor in loaded.inputs] == ["data_0"]


def test_an_old_file_answers_as_it_did_before() -> None:
    path = light.light_file("squeezenet")
    frame = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32)

    before = onnxruntime.InferenceSession(path.read_bytes()).run(None, {"data_0": frame})
    after = onnxruntime.InferenceSession(whole_model(load_network(path))).run(
        None, {"data_0": frame}
    )

    assert np.array_equal(before[0], after[0])


def test_shape_arithmetic_is_computed_once_the_shapes_are_known() -> None:
    loaded = network(
        body("""(float[N,2,3] x) => (float[N,6] y) {
            s = Shape(x)
            zero = Constant<value_int = 0>()
            n = Gather<axis = 0>(s, zero)
            axes = Constant<value_ints = [0]>()
            n1 = Unsqueeze(n, axes)
            rest = Constant<value_ints = [-1]>()
            to = Concat<axis = 0>(n1, rest)
            y = Reshape(x, to)
        }"""),
        x=(4, 2, 3),
    )

    assert operators(loaded) == ["Reshape"]
    assert loaded.outputs[0].shape == (4, 6)


def test_axes_of_an_old_opset_are_understood_when_constants_are_computed() -> None:
    loaded = network(
        body(
            "(float[2,1] x) => (float[2,1] y) <float[2] w = {3, 4}>"
            "{ c = Unsqueeze<axes = [1]>(w) y = Mul(x, c) }",
            opset=9,
        )
    )

    assert operators(loaded) == ["Mul"]


def test_quantised_weights_stay_quantised() -> None:
    loaded = network(
        body(
            "(float[1,2] x) => (float[1,2] y)"
            "<int8[2,2] w = {1,2,3,4}, float s = {0.5}, int8 z = {0}>"
            "{ c = DequantizeLinear(w, s, z) y = MatMul(x, c) }"
        )
    )

    assert operators(loaded) == ["DequantizeLinear", "MatMul"]


def test_functions_are_inlined() -> None:
    loaded = network(
        """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
        g (float[2] x) => (float[2] y) { y = mine.twice(x) }
        <domain: "mine", opset_import: ["" : 17]>
        twice (a) => (b) { b = Add(a, a) }"""
    )

    assert operators(loaded) == ["Add"]
    assert "mine" not in loaded.model.opset_imports


def test_nodes_stand_in_order_with_names_of_their_own_and_unused_ones_are_gone() -> None:
    nodes = [
        helper.make_node("Neg", ["h"], ["y"], name="same"),
        helper.make_node("Relu", ["x"], ["h"], name="same"),
        helper.make_node("Exp", ["x"], ["unused"]),
        helper.make_node("Abs", ["x"], ["z"]),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xyz"]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    content = helper.make_model(graph).SerializeToString()

    loaded = parse_network(content, name="net")

    names = [node.name for node in loaded.model.graph]
    assert operators(loaded).index("Relu") < operators(loaded).index("Neg")
    assert len(set(names)) == len(names) == 3
    assert "z" in names


def test_weights_in_a_file_beside_are_loaded_and_hashed(tmp_path: Path) -> None:
    hashes = set()
    for scale in (1, 2):
        path = save_external(tmp_path, scale)
        loaded = load_network(path)
        (answer,) = onnxruntime.InferenceSession(whole_model(loaded)).run(
            None, {"x": np.ones((1, 4), np.float32)}
        )
        assert answer.tolist() == [[scale * 16.0, scale * 20.0]]
        hashes.add(loaded.sha256)

    assert len(hashes) == 2


def save_external(folder: Path, scale: int) -> Path:
    model = onnx.parser.parse_model(CHAIN)
    weights = numpy_helper.to_array(model.graph.initializer[0]) * scale
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w"))
    path = folder / "outside.onnx"
    (folder / "weights.bin").unlink(missing_ok=True)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_a_symbol_that_one_shape_settles_is_settled_for_all_inputs() -> None:
    text = body("(float[N,4] a, float[N,4] b) => (float[N,4] y) { y = Add(a, b) }")

    assert [tensor.shape for tensor in network(text, a=(2, 4)).inputs] == [(2, 4), (2, 4)]


def test_sizes_below_zero_and_question_marks_are_open_and_each_its_own() -> None:
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Relu", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [-1, "?", "?"])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [-1, "?", "?"])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    content = model.SerializeToString()

    loaded = parse_network(content, name="net", shapes={"x": (1, 2, 3)})
    assert loaded.outputs[0].shape == (1, 2, 3)
    with pytest.raises(
        InvalidNetworkError, match="leaves 'dimension 0', 'dimension 1', 'dimension 2"
    ):
        parse_network(content, name="net")


def test_a_stale_declared_shape_gives_way_to_the_inferred_one() -> None:
    loaded = network(body("(float[N,4] x) => (float[N,4] y) { y = Relu(x) }"), x=(5, 4))

    assert loaded.outputs[0].shape == (5, 4)


def test_a_declared_shape_fills_a_gap_that_inference_leaves() -> None:
    loaded = network(
        body(
            "(float[4] x) => (int64[1,3] z) <int64[1,3] i> { i = NonZero(x) j = Neg(i) z = Abs(j) }"
        )
    )

    assert {static_shape(loaded.value(name)) for name in "ij"} == {(1, 3)}


def test_the_long_name_of_the_default_operator_set_is_understood() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.opset_import[0].domain = "ai.onnx"
    for node in model.graph.node:
        node.domain = "ai.onnx"

    assert operators(parse_network(model.SerializeToString(), name="net")) == ["Relu", "MatMul"]


def test_a_name_that_the_network_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="'net' has no tensor 'nowhere'"):
        network(CHAIN).value("nowhere")


def test_a_file_whose_name_is_no_text_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"n\xff.onnx")
    path.write_bytes(tiny.dense())

    assert load_network(path).name == "n\\udcff"
