"""Loading a network: what is accepted, what is normalised, and what each refusal says."""

import contextlib
import hashlib
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, InvalidFileError, InvalidNetworkError
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


SMALL = onnx.parser.parse_model(CHAIN).SerializeToString()


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


# --- what is refused ---------------------------------------------------------------------------


def test_a_missing_file_is_refused_with_the_nearest_built_in_name() -> None:
    with pytest.raises(InvalidFileError, match="no file sqeezenet.*did you mean 'squeezenet'"):
        load_network("sqeezenet")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*directory; give an ONNX file"):
        load_network(tmp_path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()

    with pytest.raises(InvalidFileError, match="empty.onnx is empty"):
        load_network(tmp_path / "empty.onnx")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(share: float) -> None:
    content = light.light_file("squeezenet").read_bytes()

    with pytest.raises(InvalidFileError, match="cut short"):
        parse_network(content[: int(len(content) * share)], name="cut")


@pytest.mark.parametrize("content", [b"name,price\n1,2\n", b"PK\x03\x04zip", b"\x00" * 64])
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidFileError, match="no ONNX file"):
        parse_network(content, name="other")


def test_a_file_without_a_graph_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="holds no graph"):
        parse_network(onnx.ModelProto(ir_version=8).SerializeToString(), name="bare")


def test_missing_external_weights_are_refused_by_name(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    (tmp_path / "weights.bin").unlink()

    with pytest.raises(InvalidFileError, match="weight 'w' in the file 'weights.bin'") as caught:
        load_network(path)
    assert caught.value.path == "weights.bin"


def test_truncated_external_weights_are_refused(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    (tmp_path / "weights.bin").write_bytes(b"1234")

    with pytest.raises(InvalidFileError, match="weight 'w'.*cannot be read"):
        load_network(path)


def test_external_weights_outside_the_folder_are_refused(tmp_path: Path) -> None:
    path = save_external(tmp_path, 1)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../secret.bin"
    (tmp_path / "inner").mkdir()
    (tmp_path / "weights.bin").rename(tmp_path / "secret.bin")
    inner = tmp_path / "inner" / "net.onnx"
    inner.write_bytes(model.SerializeToString())

    with pytest.raises(InvalidFileError, match="secret.bin"):
        load_network(inner)


def test_bytes_with_weights_in_another_file_are_refused(tmp_path: Path) -> None:
    content = save_external(tmp_path, 1).read_bytes()

    with pytest.raises(InvalidFileError, match="give the path of the network instead"):
        parse_network(content, name="net")


def test_a_weight_of_too_few_bytes_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((4, 2), np.float32), "w"))
    model.graph.initializer[0].dims[0] = 5

    with pytest.raises(InvalidNetworkError, match=r"'w' of shape \(5, 2\) needs 40 .* has 32"):
        parse_network(model.SerializeToString(), name="net")


def test_a_weight_of_too_few_numbers_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].dims[0] = 5

    with pytest.raises(InvalidNetworkError, match="graph is invalid: cannot reshape"):
        parse_network(model.SerializeToString(), name="net")


def test_a_weight_of_no_type_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.initializer[0].data_type = TensorProto.UNDEFINED

    with pytest.raises(InvalidNetworkError, match="graph is invalid: .*UNDEFINED"):
        parse_network(model.SerializeToString(), name="net")


def test_a_name_that_is_no_text_is_refused() -> None:
    content = onnx.parser.parse_model(CHAIN).SerializeToString()

    with pytest.raises(InvalidNetworkError, match="the name b.* is no text"):
        parse_network(content.replace(b"MatMul", b"Mat\xfful"), name="net")


def test_a_constant_without_a_value_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    constant = helper.make_node("Constant", [], ["c"], value_ints=[1])
    constant.attribute[0].name = "value_stones"
    model.graph.node.insert(0, constant)

    with pytest.raises(InvalidNetworkError, match="graph is invalid: .*value_stones"):
        parse_network(model.SerializeToString(), name="net")


def test_an_attribute_without_a_type_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.graph.node[0].attribute.add(name="alpha")

    with pytest.raises(InvalidNetworkError, match="node that cannot be written"):
        parse_network(model.SerializeToString(), name="net")


@given(st.integers(0, len(SMALL) - 1), st.binary(min_size=0, max_size=2))
def test_damage_anywhere_is_refused_or_harmless(place: int, junk: bytes) -> None:
    damaged = SMALL[:place] + junk + SMALL[place + 1 :]

    with contextlib.suppress(InputError):  # any other exception fails
        assert parse_network(damaged, name="net").outputs


def test_sparse_weights_are_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    values = helper.make_tensor("sparse_w", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [8]))

    with pytest.raises(InvalidNetworkError, match="weight 'sparse_w' is sparse"):
        parse_network(model.SerializeToString(), name="net")


def test_a_graph_that_makes_a_value_twice_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="graph is invalid: .*'y'"):
        network(body("(float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }"))


def test_an_unknown_operator_is_refused_with_its_node() -> None:
    with pytest.raises(
        InvalidNetworkError, match=r"node 'y' \(Warp\).*'ai.onnx' version 17 has no such operator"
    ) as caught:
        network(body("(float[2] x) => (float[2] y) { y = Warp(x) }"))
    assert caught.value.node == ""


def test_an_operator_of_a_set_that_is_not_imported_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="operator set 'com.microsoft', of which"):
        network(body("(float[2] x) => (float[2] y) { y = com.microsoft.Gelu(x) }"))


def test_an_operator_of_another_vendor_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="'com.microsoft' version 1 has no such"):
        network(
            '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
            "g (float[2] x) => (float[2] y) { y = com.microsoft.Gelu(x) }"
        )


def test_a_withdrawn_operator_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match=r"\(Upsample\) was withdrawn by version 10"):
        network(
            body(
                "(float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1,1,2,2}>"
                "{ y = Upsample(x, s) }"
            )
        )


def test_an_opset_of_the_future_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="needs opset 999, the installed onnx knows"):
        network(body("(float[2] x) => (float[2] y) { y = Relu(x) }", opset=999))


def test_a_network_that_names_no_opset_is_refused() -> None:
    model = onnx.parser.parse_model(CHAIN)
    del model.opset_import[:]

    with pytest.raises(InvalidNetworkError, match="names no opset"):
        parse_network(model.SerializeToString(), name="net")


def test_the_long_name_of_the_default_operator_set_is_understood() -> None:
    model = onnx.parser.parse_model(CHAIN)
    model.opset_import[0].domain = "ai.onnx"
    for node in model.graph.node:
        node.domain = "ai.onnx"

    assert operators(parse_network(model.SerializeToString(), name="net")) == ["Relu", "MatMul"]


def test_a_network_without_outputs_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="has no outputs"):
        network(body("(float[2] x) => () { y = Relu(x) }"))


def test_an_output_that_nothing_makes_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="output 'z' is made by no node"):
        network(body("(float[2] x) => (float[2] z) { y = Relu(x) }"))


def test_a_node_that_reads_what_nothing_makes_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match=r"node 'y' \(Add\) reads 'lost'"):
        network(body("(float[2] x) => (float[2] y) { y = Add(x, lost) }"))


def test_a_cycle_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="has a cycle"):
        network(body("(float[2] x) => (float[2] y) { a = Add(x, b) b = Neg(a) y = Relu(a) }"))


def test_a_network_whose_answer_ignores_its_inputs_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="no node leads from the network's inputs"):
        network(body("(float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Neg(w) }"))


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] x) => (float[2] y) { n = RandomNormalLike(x) y = Add(x, n) }",
        "(float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }",
        """(float[1,2] x) => (float[1,2] y) <float[2] o = {1,1}> {
            y = BatchNormalization<training_mode = 1>(x, o, o, o, o)
        }""",
    ],
)
def test_a_network_that_answers_differently_each_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidNetworkError, match="export the network for inference"):
        network(body(text))


def test_an_open_shape_is_refused_with_what_to_give() -> None:
    with pytest.raises(
        InvalidNetworkError,
        match="input 'x' leaves 'N', 'W' open: give a shape such as --shape x=1,3,640,224",
    ):
        network(body("(float[N,3,640,W] x) => (float[N,3,640,W] y) { y = Relu(x) }"))


def test_an_open_dimension_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="leaves 'dimension 0' open"):
        network(body("(float[?,4] x) => (float[?,4] y) { y = Relu(x) }"))


def test_an_input_of_unknown_rank_needs_a_shape() -> None:
    text = body("(float[] x) => (float[] y) { y = Relu(x) }")
    model = onnx.parser.parse_model(text)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    content = model.SerializeToString()

    with pytest.raises(InvalidNetworkError, match="input 'x' declares no shape"):
        parse_network(content, name="net")
    assert parse_network(content, name="net", shapes={"x": (2, 3)}).outputs[0].shape == (2, 3)


def test_an_empty_input_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="input 'x' is empty: its shape is 0,4"):
        network(body("(float[0,4] x) => (float[0,4] y) { y = Relu(x) }"))


def test_a_shape_for_no_input_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidNetworkError, match="'image1', .*did you mean 'image'"):
        network(body("(float[N] image) => (float[N] y) { y = Relu(image) }"), image1=(2,))


def test_a_shape_of_another_rank_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="shape 2,4,1 of 'x' has 3 dimensions.* 2: N,4"):
        network(body("(float[N,4] x) => (float[N,4] y) { y = Relu(x) }"), x=(2, 4, 1))


def test_a_shape_that_contradicts_a_fixed_dimension_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="has 5 in dimension 1.*fixes 4: N,4"):
        network(body("(float[N,4] x) => (float[N,4] y) { y = Relu(x) }"), x=(2, 5))


def test_a_shape_of_zero_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="shape 0,4 of 'x' must hold sizes of at least 1"):
        network(body("(float[N,4] x) => (float[N,4] y) { y = Relu(x) }"), x=(0, 4))


def test_shapes_that_contradict_one_another_are_refused() -> None:
    text = body("(float[N] a, float[N] b) => (float[N] y) { y = Add(a, b) }")

    with pytest.raises(InvalidNetworkError, match="'b' makes 'N' 3, another .* makes it 2"):
        network(text, a=(2,), b=(3,))


def test_nodes_whose_shapes_do_not_fit_are_refused_by_name() -> None:
    text = CHAIN.replace("[1,4] x", "[1,5] x").replace("y = MatMul", "[mm] y = MatMul")

    with pytest.raises(InvalidNetworkError, match="contradicts itself: .*Incompatible") as caught:
        network(text)
    assert caught.value.node == "mm"


def test_an_attribute_that_no_operator_has_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="breaks the rules of ONNX: .*speed"):
        network(body("(float[2] x) => (float[2] y) { y = Relu<speed = 2>(x) }"))


def test_an_output_whose_shape_depends_on_the_data_is_refused_with_the_node() -> None:
    text = body(
        "(float[4] x) => (int64[1,n] y) { h = Relu(x) [find] i = NonZero(h) [flip] y = Neg(i) }"
    )

    with pytest.raises(
        InvalidNetworkError, match=r"output 'y' depends on the data: .*'find' \(NonZero\)"
    ) as caught:
        network(text)
    assert caught.value.node == "find"


def test_text_inputs_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="input 'x' has elements of type STRING"):
        network(body("(string[2] x) => (string[2] y) { y = Identity(x) }"))


def test_classes_that_are_text_are_refused() -> None:
    rows, classes = load_digits(return_X_y=True)
    model = RandomForestClassifier(2, max_depth=2).fit(
        rows, np.array(["low", "high"])[classes // 5]
    )
    content = to_onnx(model, rows[:1].astype(np.float32), options={id(model): {"zipmap": False}})

    with pytest.raises(InvalidNetworkError, match="elements of type STRING.* number the classes"):
        parse_network(content.SerializeToString(), name="net", shapes={"X": (1, 64)})


def test_a_classic_model_behind_an_unknown_shape_is_unknown_too() -> None:
    with pytest.raises(InvalidNetworkError, match=r"lost at node 'find' \(NonZero\)"):
        network(
            '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 1]>'
            "g (float[4] x) => (float[1,n] y) {"
            '[find] i = NonZero(x) y = ai.onnx.ml.Normalizer<norm = "MAX">(i) }'
        )


def test_answers_that_are_no_tensors_are_refused() -> None:
    rows, classes = load_digits(return_X_y=True)
    model = RandomForestClassifier(2, max_depth=2).fit(rows, classes)
    content = to_onnx(model, rows[:1].astype(np.float32)).SerializeToString()

    with pytest.raises(InvalidNetworkError, match="zipmap=False"):
        parse_network(content, name="net", shapes={"X": (1, 64)})


def test_answers_that_are_sequences_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="output 'y' is a .*Sequence.*only tensors"):
        network(body("(float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }"))


def test_a_name_that_the_network_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="'net' has no tensor 'nowhere'"):
        network(CHAIN).value("nowhere")


def test_a_file_whose_name_is_no_text_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"n\xff.onnx")
    path.write_bytes(tiny.dense())

    assert load_network(path).name == "n\\udcff"
