"""Which graphs, operators, shapes and types are refused, and what each refusal says."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from evener.errors import InvalidNetworkError
from evener.network.model import Network, parse_network

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
