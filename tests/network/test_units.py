"""Joining nodes into units that no place parts."""

import onnx
from hypothesis import given
from hypothesis import strategies as st

from evener.network.cost import is_main
from evener.network.flow import Flow, flow_of, members
from evener.network.model import parse_network
from evener.network.units import needs_of, units_of


def flow(body: str) -> Flow:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> '
        f"g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {{1,2,3,4}}> {{ {body} }}"
    )
    return flow_of(parse_network(model.SerializeToString(), name="net").model.graph)


def units(body: str) -> list[list[str]]:
    """Name what the nodes of each unit make."""
    found = flow(body)
    return [
        [found.nodes[number].outputs[0].name or "" for number in members(unit)]
        for unit in units_of(found, range(len(found.nodes)))
    ]


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Any graph of products with weights and light nodes whose nodes all lead to the answer."""
    values, unread, lines = ["x"], {"x"}, []
    for index in range(draw(st.integers(1, 9))):
        first, second = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        line, read = draw(
            st.sampled_from(
                [
                    (f"MatMul({first}, w)", {first}),
                    (f"Relu({first})", {first}),
                    (f"Add({first}, {second})", {first, second}),
                ]
            )
        )
        lines.append(f"v{index} = {line}")
        unread = (unread - read) | {f"v{index}"}
        values.append(f"v{index}")
    return f"{' '.join(lines)} y = Sum({', '.join(sorted(unread))})"


@given(bodies())
def test_units_hold_every_node_once_and_one_main_node_each(body: str) -> None:
    found = flow(body)

    made = units_of(found, range(len(found.nodes)))

    assert sum(made) == found.everything
    assert sum(map(int.bit_count, made)) == len(found.nodes)
    main = [sum(is_main(found.nodes[number]) for number in members(unit)) for unit in made]
    assert main in ([1] * len(made), [0])


@given(bodies())
def test_a_unit_needs_only_earlier_ones(body: str) -> None:
    found = flow(body)
    made = units_of(found, range(len(found.nodes)))

    needs = needs_of(found, made)

    assert all(other < at for at, others in enumerate(needs) for other in others)
    for at, unit in enumerate(made):
        ran = unit | sum(made[other] for other in needs[at])
        assert all(not found.before[number] & ~ran for number in members(unit))


def test_what_follows_a_main_node_falls_to_the_left() -> None:
    body = "a = MatMul(x, w) b = Relu(a) c = Tanh(b) d = MatMul(c, w) y = Relu(d)"

    assert units(body) == [["a", "b", "c"], ["d", "y"]]


def test_a_sum_that_ends_a_residual_unit_falls_to_the_left() -> None:
    body = "a = MatMul(x, w) b = MatMul(a, w) c = Add(b, a) y = MatMul(c, w)"

    assert units(body) == [["a"], ["b", "c"], ["y"]]


def test_a_pool_beside_a_skip_falls_to_the_right_as_it_would_be_one_more_tensor() -> None:
    body = "a = MatMul(x, w) p = Relu(a) b = MatMul(p, w) c = MatMul(b, w) y = Add(c, a)"

    assert units(body) == [["a"], ["p", "b"], ["c", "y"]]


def test_beside_a_tensor_that_is_still_read_a_light_node_falls_to_the_last_unit() -> None:
    body = "a = MatMul(x, w) p = Relu(a) b = MatMul(a, w) y = Add(b, p)"

    assert units(body) == [["a"], ["p", "b", "y"]]


def test_leading_nodes_go_with_the_first_main_node() -> None:
    assert units("a = Relu(x) b = Tanh(a) y = MatMul(b, w)") == [["a", "b", "y"]]


def test_without_a_main_node_there_is_one_unit() -> None:
    assert units("a = Relu(x) y = Tanh(a)") == [["a", "y"]]


def test_what_dequantises_goes_with_the_node_behind_it() -> None:
    body = """a = MatMul(x, w)
              q = QuantizeLinear(a, s, z)
              d = DequantizeLinear(q, s, z)
              y = MatMul(d, w)"""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,2] x) => (float[2,2] y) '
        f"<float[2,2] w = {{1,2,3,4}}, float s = {{0.5}}, uint8 z = {{0}}> {{ {body} }}"
    )
    found = flow_of(parse_network(model.SerializeToString(), name="net").model.graph)

    assert [members(unit) for unit in units_of(found, range(4))] == [(0, 1), (2, 3)]
