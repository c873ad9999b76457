"""Which live node needs and reads what."""

import onnx

from evener.network.flow import Flow, flow_of, members
from evener.network.model import parse_network


def flow(text: str) -> Flow:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    return flow_of(parse_network(model.SerializeToString(), name="net").model.graph)


TWO_ENDS = """(float[2] x, float[2] late, float[2] unread) => (float[2] early, float[2] y) {
    early = Relu(x)
    b = Neg(early)
    c = Exp(early)
    d = Add(b, late)
    y = Add(c, d)
}"""


def crossing(found: Flow, done: int) -> list[str | None]:
    return [value.name for value in found.crossing(done)]


def test_what_must_run_before_a_node_is_all_that_leads_to_it() -> None:
    assert [members(nodes) for nodes in flow(TWO_ENDS).before] == [
        (),
        (0,),
        (0,),
        (0, 1),
        (0, 1, 2, 3),
    ]


def test_what_crosses_is_there_and_still_read() -> None:
    found = flow(TWO_ENDS)

    assert crossing(found, 0) == ["x", "late"]
    assert crossing(found, 0b00001) == ["late", "early"]
    assert crossing(found, 0b00101) == ["late", "early", "c"]
    assert crossing(found, 0b01011) == ["early", "d"]


def test_an_answer_crosses_to_the_end_once_it_is_there() -> None:
    found = flow(TWO_ENDS)

    assert crossing(found, 0b01111) == ["early", "c", "d"]
    assert crossing(found, found.everything) == ["early", "y"]


def test_constants_and_what_nobody_reads_never_cross() -> None:
    found = flow(
        "(float[2] x) => (float[2] y) <float[2] w = {1,2}> { v = Exp(w) y = Add(x, v) }",
    )

    assert [value.name for value in found.values] == ["x", "y"]
    assert "unread" not in crossing(flow(TWO_ENDS), 0)
