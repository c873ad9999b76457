"""Which values are alive where, held against the definition by brute force."""

import onnx
import onnx_ir as ir
from hypothesis import given
from hypothesis import strategies as st

from evener.network.graph import between, crossings, initialisers, live_nodes, reads
from evener.network.model import parse_network


def graph_of(text: str) -> ir.Graph:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return parse_network(model.SerializeToString(), name="net").model.graph


def names(values: object) -> list[str]:
    return [value.name for value in values]  # type: ignore[attr-defined]  # nodes or values


@st.composite
def graphs(draw: st.DrawFn) -> ir.Graph:
    """Any graph from one input to one output whose nodes all lie on a path between them."""
    values = ["x"]
    unread = {"x"}
    lines = []
    for index in range(draw(st.integers(1, 9))):
        first, second = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        lines.append(f"v{index} = Add({first}, {second})")
        unread = (unread - {first, second}) | {f"v{index}"}
        values.append(f"v{index}")
    joined = ", ".join(sorted(unread))
    return graph_of(f"(float[2] x) => (float[2] y) {{ {' '.join(lines)} y = Sum({joined}) }}")


def reaches(graph: ir.Graph, without: ir.Value) -> bool:
    """Whether some path from input to output avoids a value."""
    reached = {value for value in graph.inputs if value is not without}
    for node in graph:
        if any(value in reached for value in node.inputs):
            reached.update(value for value in node.outputs if value is not without)
    return graph.outputs[0] in reached


@given(graphs())
def test_a_lone_value_is_alive_exactly_where_every_path_passes_through_it(graph: ir.Graph) -> None:
    alone = {values[0] for values in crossings(graph) if len(values) == 1}

    assert alone == {
        value for node in graph for value in node.outputs if not reaches(graph, without=value)
    }


@given(graphs())
def test_what_is_alive_is_what_was_made_before_and_is_read_later(graph: ir.Graph) -> None:
    nodes = list(graph)
    for index, alive in enumerate(crossings(graph)):
        made = [*graph.inputs, *(one for node in nodes[: index + 1] for one in node.outputs)]
        read = {value for node in nodes[index + 1 :] for value in node.inputs} | {*graph.outputs}

        assert list(alive) == [value for value in made if value in read]


@given(graphs(), st.data())
def test_the_nodes_on_both_sides_of_a_lone_value_are_all_nodes(
    graph: ir.Graph, data: st.DataObject
) -> None:
    alone = [values[0] for values in crossings(graph) if len(values) == 1]
    value = data.draw(st.sampled_from(alone))

    before = between(graph, graph.inputs, [value])
    after = between(graph, {value}, graph.outputs)

    assert before + after == tuple(graph)


def test_nodes_that_only_make_constants_are_not_alive() -> None:
    graph = graph_of(
        "(float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1,2,3,4}, float s = {0.5}, int8 z = {0}>"
        "{ c = DequantizeLinear(w, s, z) y = MatMul(x, c) }"
    )

    assert [node.op_type for node in live_nodes(graph)] == ["MatMul"]
    assert [node.op_type for node in between(graph, graph.inputs, graph.outputs)] == [
        "DequantizeLinear",
        "MatMul",
    ]


def test_what_a_branch_captures_counts_as_read() -> None:
    graph = graph_of(
        """(float[2] x, bool c) => (float[2] y) <float[2] w = {1,2}> {
            a = Neg(x)
            y = If(c) <
                then_branch = t () => (float[2] p) { p = Add(a, w) },
                else_branch = e () => (float[2] q) { r = Abs(x) q = Neg(r) }>
        }"""
    )
    (chosen,) = (node for node in graph if node.op_type == "If")

    assert sorted(names(reads(chosen))) == ["a", "c", "w", "x"]
    assert names(initialisers([chosen])) == ["w"]
    assert [names(values) for values in crossings(graph)] == [["x", "c", "a"], ["y"]]


def test_an_early_answer_stays_alive_to_the_end() -> None:
    graph = graph_of("(float[2] x) => (float[2] a, float[2] y) { a = Neg(x) y = Abs(a) }")

    assert [names(values) for values in crossings(graph)] == [["a"], ["a", "y"]]


def test_an_input_that_is_read_late_is_alive_until_then() -> None:
    graph = graph_of(
        "(float[2] x, float[2] late) => (float[2] y) { a = Neg(x) b = Abs(a) y = Add(b, late) }"
    )

    assert [names(values) for values in crossings(graph)] == [["late", "a"], ["late", "b"], ["y"]]


def test_an_input_that_nothing_reads_is_never_alive() -> None:
    graph = graph_of("(float[2] x, float[2] unread) => (float[2] y) { a = Neg(x) y = Abs(a) }")

    assert [names(values) for values in crossings(graph)] == [["a"], ["y"]]
