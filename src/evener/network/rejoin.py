"""Make slices of a layer that run in one segment one layer again.

Whatever runs the whole of a sliced network computes the network as it was; a segment with some of a
layer's slices computes them at once. Slices of several groups stay apart unless all are there.
"""

from collections.abc import Collection, Sequence

import onnx_ir as ir

from evener.network.slices import KEY, Layer, Slice, constant, like


def rejoined(nodes: Sequence[ir.Node], answered: Collection[ir.Value] = ()) -> tuple[ir.Node, ...]:
    """Return nodes that compute the same, with neighbouring slices of a layer in one.

    Args:
        nodes: of a graph, in an order in which they can run. Neither they nor their values are
            changed: new nodes have values of their own, of the same names.
        answered: values that must be made in any case; slices that make one are left as they are.
    """
    belonging: dict[Layer, list[ir.Node]] = {}
    for node in nodes:
        if isinstance(one := node.meta.get(KEY), Slice):
            belonging.setdefault(one.layer, []).append(node)
    new: dict[ir.Node, list[ir.Node]] = {}  # for the last of several; for the others nothing
    for layer, own in belonging.items():
        made = _in_one(layer, own, answered)
        if made is not None:
            new |= {node: [] for node in own} | {own[-1]: made}
    return tuple(one for node in nodes for one in new.get(node, [node]))


def _in_one(
    layer: Layer, own: Sequence[ir.Node], answered: Collection[ir.Value]
) -> list[ir.Node] | None:
    """Return what computes some slices of a layer at once; None if they are to be left alone."""
    products = [node for node in own if node.op_type == layer.node.op_type]
    joins = {node.meta[KEY].number: node for node in own if node.meta[KEY].joins}
    if not products:
        return None
    first, last = products[0].meta[KEY].number, products[-1].meta[KEY].number
    inner = {value for node in own for value in node.outputs} - set(own[-1].outputs)
    whole = (first, last) == (0, layer.slices - 1)
    if first == last or (layer.groups > 1 and not whole) or inner & set(answered):
        return None
    name = layer.node.name if whole else f"{layer.base}/slice{first}-{last}"
    start, end = layer.ends[first], layer.ends[last + 1]
    made = own[-1].outputs[0]
    product = ir.Node(
        "",
        layer.node.op_type,
        [_alike(layer.x), *_factors(layer, start, end, f"{first}-{last}")],
        attributes=list(layer.node.attributes.values()),
        outputs=[like(made, f"{name}" if first else made.name or "", layer, end - start)],
        name=name,
    )
    if not first:
        return [product]
    join = joins[last]
    before = _alike(joins[first].inputs[0])
    return [
        product,
        ir.Node(
            "",
            "Concat",
            [before, product.outputs[0]],
            attributes=list(join.attributes.values()),
            outputs=[like(made, made.name or "", layer, end)],
            name=join.name,
        ),
    ]


def _factors(layer: Layer, start: int, end: int, which: str) -> list[ir.Value | None]:
    whole = (start, end) == (0, layer.ends[-1])
    found: list[ir.Value | None] = []
    pieces = layer.factors(start, end)
    for what, value, array in zip(("weights", "bias"), layer.constants, pieces, strict=False):
        if whole or array is None:
            found.append(_alike(value))
        else:
            found.append(constant(array, f"{layer.base}/{what}{which}"))
    return found


def _alike(value: ir.Value | None) -> ir.Value | None:
    """Return a value of the same name that no node knows yet."""
    if value is None:
        return None
    return ir.Value(
        name=value.name, type=value.type, shape=value.shape, const_value=value.const_value
    )
