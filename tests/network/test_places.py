"""Places where a network may be cut although several tensors cross."""

from collections.abc import Callable

import onnx
import pytest

from evener.network import places as under_test
from evener.network.blocks import cut_into_blocks
from evener.network.downsets import downsets
from evener.network.flow import Flow, flow_of, members
from evener.network.model import Network, parse_network
from evener.network.places import Places, find_places, is_legal
from evener.network.units import needs_of, units_of
from evener.testing import tiny

Loader = Callable[[str], Network]


@pytest.fixture(scope="module")
def unet() -> Network:
    return parse_network(tiny.unet(depth=3), name="unet")


def ends_of(network: Network) -> list[int]:
    ends = [0]
    for names in cut_into_blocks(network, "paper").nodes:
        ends.append(ends[-1] + len(names))
    return ends[1:]


def places_of(network: Network, **limits: int) -> Places:
    return find_places(flow_of(network.model.graph), ends_of(network), **limits)


def crossing(places: Places) -> list[tuple[str, ...]]:
    return [tuple(tensor.name for tensor in place.tensors) for place in places.inner]


def crossing_by_definition(flow: Flow, done: int) -> list[str]:
    ran = set(members(done))
    return [
        value.name or ""
        for value in flow.values
        if (flow.maker[value] in ran or flow.maker[value] < 0)
        and (
            value in flow.nodes[-1].outputs
            or any(value in node.inputs for at, node in enumerate(flow.nodes) if at not in ran)
        )
    ]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "googlenet"])
@pytest.mark.parametrize("max_live", [1, 2, 3, 4])
def test_the_places_of_a_part_are_all_its_downsets_that_few_tensors_cross(
    light_network: Loader, name: str, max_live: int
) -> None:
    network = light_network(name)
    flow = flow_of(network.model.graph)
    expected: set[int] = set()
    start = 0
    for end in ends_of(network):
        units = units_of(flow, range(start, end))
        listed = downsets(needs_of(flow, units), most=100_000)
        assert listed is not None
        sets = (sum(units[at] for at in members(one)) | (1 << start) - 1 for one in listed)
        expected |= {one for one in sets if len(crossing_by_definition(flow, one)) <= max_live}
        start = end

    found = {place.done for place in places_of(network, max_live=max_live, most=1_000).inner}

    assert found == expected - {0, flow.everything}


@pytest.mark.parametrize("max_live", [1, 2, 3, 4])
def test_what_crosses_a_place_is_what_the_rest_reads(unet: Network, max_live: int) -> None:
    flow = flow_of(unet.model.graph)

    for place in places_of(unet, max_live=max_live).inner:
        assert [one.name for one in place.tensors] == crossing_by_definition(flow, place.done)
        assert len(place.tensors) <= max_live
        assert all(not flow.before[number] & ~place.done for number in members(place.done))


def test_each_further_tensor_leads_one_level_deeper_into_a_u_net(unet: Network) -> None:
    found = {max_live: crossing(places_of(unet, max_live=max_live)) for max_live in (1, 2, 3, 4)}

    assert found[1] == [("s0",), ("j0",)]
    assert found[2] == [("s0",), ("s0", "s1"), ("s0", "j1"), ("s0", "d1"), ("j0",)]
    assert [len(one) for one in found[3]] == [1, 2, 3, 3, 3, 2, 2, 1]
    assert [len(one) for one in found[4]] == [1, 2, 3, 4, 3, 3, 2, 2, 1]


def test_places_stand_in_an_order_in_which_smaller_ones_are_first(light_network: Loader) -> None:
    inner = places_of(light_network("googlenet"), max_live=4).inner

    for at, place in enumerate(inner):
        assert not any(later.done & ~place.done == 0 for later in inner[at + 1 :])
    assert [place.macs for place in inner] == sorted(place.macs for place in inner)


@pytest.mark.parametrize("most", [0, 12, 13, 20, 60, 128, 129, 130])
def test_never_more_places_stay_than_asked_for_but_every_cut_of_the_paper(
    light_network: Loader, most: int
) -> None:
    network = light_network("googlenet")
    found = places_of(network, max_live=3, most=most)
    cuts = [tuple(one.name for one in cut) for cut in cut_into_blocks(network, "paper").cuts]

    assert set(cuts) <= set(crossing(found))
    assert len(found.inner) <= max(most, len(cuts))
    assert len(found.inner) == len(cuts) + sum(part.kept for part in found.opened)
    if most >= 129:
        assert [part.kept for part in found.opened] == [part.found for part in found.opened]


def test_heavy_parts_keep_more_places_than_light_ones(light_network: Loader) -> None:
    network = light_network("googlenet")
    found = places_of(network, max_live=4, most=40)
    macs = [block.macs for block in cut_into_blocks(network, "paper").blocks]
    opened = sorted(
        (work, part.kept) for work, part in zip(macs, found.opened, strict=True) if part.found
    )
    light, heavy = opened[: len(opened) // 2], opened[-(len(opened) // 2) :]

    assert sum(kept for _, kept in heavy) > sum(kept for _, kept in light)


def test_of_too_many_branches_only_those_places_are_looked_at_that_end_in_fewer(
    monkeypatch: pytest.MonkeyPatch, light_network: Loader
) -> None:
    monkeypatch.setattr(under_test, "MOST_DOWNSETS", 15)

    found = places_of(light_network("googlenet"), max_live=3, most=1_000)

    assert {part.ends for part in found.opened if len(part.units) > 4} == {2}
    assert {part.ends for part in found.opened if len(part.units) == 1} == {3}


BEHIND_A_SKIP = """(float[2,2] x) => (float[2,2] y, float[2] largest)
<float[2,2] w = {1,2,3,4}, float s = {0.5}, uint8 z = {0}> {
    a = MatMul(x, w)
    q = QuantizeLinear(a, s, z)
    d = DequantizeLinear(q, s, z)
    b = MatMul(d, w)
    c = Add(b, d)
    y = MatMul(c, w)
    where = NonZero(c)
    number = Cast <to = 1> (where)
    largest = ReduceMax <axes = [1], keepdims = 0> (number)
}"""


@pytest.fixture
def behind_a_skip() -> Network:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {BEHIND_A_SKIP}')
    return parse_network(model.SerializeToString(), name="net")


def test_no_place_is_behind_what_dequantises(behind_a_skip: Network) -> None:
    assert crossing(places_of(behind_a_skip, max_live=3)) == [("q",), ("c",)]


@pytest.mark.parametrize(
    ("names", "legal"),
    [
        (["a"], True),
        (["a", "c"], True),
        (["a", "c", "q"], False),  # too many
        ([], False),
        (["d"], False),  # dequantised
        (["a", "where"], False),  # its shape depends on the data
    ],
)
def test_a_cut_is_legal_if_few_tensors_cross_that_can_all_be_handed_over(
    behind_a_skip: Network, names: list[str], legal: bool
) -> None:
    values = [behind_a_skip.value(name) for name in names]

    assert is_legal(values, max_live=2) == legal


@pytest.mark.parametrize(
    ("made", "read", "legal"),
    [
        ("Add(x, x)", "LayerNormalization(s, w)", False),
        ("Add(x, x)", "Sub(s, m) m = ReduceMean<axes = [1]>(s)", False),
        ("Mul(x, x)", "LayerNormalization(s, w)", True),
        ("Add(x, x)", "ReduceMean<axes = [1]>(s)", True),
    ],
)
def test_a_sum_is_not_parted_from_its_normalisation(made: str, read: str, legal: bool) -> None:
    line, _, before = read.partition(" m = ")
    mean = f"m = {before}" if before else ""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,4] x) => (float[1,N] y)'
        f"<float[4] w = {{1,1,1,1}}> {{ s = {made} {mean} y = {line} }}"
    )
    network = parse_network(model.SerializeToString(), name="net")

    assert is_legal([network.value("s")], max_live=1) == legal
