"""Each of several networks gets the shapes, numbers and states that name its own ends."""

from collections.abc import Callable

import pytest
from onnx import helper

from evener.errors import InputError, InvalidNetworkError
from evener.network.model import load_network
from evener.testing import tiny
from evener.workflow.cutting import Cutting
from evener.workflow.several import each_its_own

Write = Callable[[str, bytes], str]


def relu(read: str, made: str) -> bytes:
    return tiny.network(
        [helper.make_node("Relu", [read], [made])],
        inputs=[tiny.floats(read, "batch", 4)],
        outputs=[tiny.floats(made, "batch", 4)],
    )


@pytest.fixture
def nets(write: Write) -> list[str]:
    """Return two networks, `a` to `b` and `c` to `d`."""
    return [write("ab.onnx", relu("a", "b")), write("cd.onnx", relu("c", "d"))]


def test_each_gets_what_names_its_own_inputs_and_outputs(nets: list[str]) -> None:
    given = Cutting(
        shapes={"c": (1, 4), "a": (2, 4)}, fixed={"a": 3.0}, states={"d": "c"}, granularity="strict"
    )

    assert each_its_own(nets, given) == [
        Cutting(shapes={"a": (2, 4)}, fixed={"a": 3.0}, granularity="strict"),
        Cutting(shapes={"c": (1, 4)}, states={"d": "c"}, granularity="strict"),
    ]


def test_a_name_of_both_goes_to_both(nets: list[str]) -> None:
    both = [nets[0], nets[0]]

    assert each_its_own(both, Cutting(shapes={"a": (1, 4)})) == [Cutting(shapes={"a": (1, 4)})] * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            Cutting(shapes={"z": (1,)}),
            "a shape is given for 'z', which is no input of any network",
        ),
        (
            Cutting(fixed={"b": 1.0}),
            "a number is given for 'b', which is no input of any network",
        ),
        (
            Cutting(states={"a": "b"}),
            "a state is given as 'a', which is no output of any network",
        ),
    ],
)
def test_a_name_that_none_has_is_refused_with_those_there_are(
    given: Cutting, message: str, nets: list[str]
) -> None:
    ends = ("b", "d") if given.states else ("a", "c")

    with pytest.raises(InputError) as caught:
        each_its_own(nets, given)

    listed = f"{nets[0]} has {ends[0]}; {nets[1]} has {ends[1]}"
    assert str(caught.value) == f"{message}: {listed}"


def test_a_single_network_gets_all_so_that_it_says_itself_what_is_wrong(nets: list[str]) -> None:
    given = Cutting(shapes={"aa": (1, 4)})

    (own,) = each_its_own(nets[:1], given)

    assert own == given
    with pytest.raises(InvalidNetworkError, match="'aa', which is no input; did you mean 'a'"):
        load_network(nets[0], shapes=own.shapes)
