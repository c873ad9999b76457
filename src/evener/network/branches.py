"""Put the branch that is always taken in the place of its If."""

import numpy as np
import onnx_ir as ir

from evener.network.normalise import set_apart


def take_known_branches(model: ir.Model) -> bool:
    """Replace every If of the main graph whose condition is known by its branch, in place.

    What a network decides by its shapes, or by an input that has been fixed, is known before it
    runs; the layers within can then be told apart, and cut.

    Returns:
        Whether anything was replaced.
    """
    graph = model.graph
    taken = False
    for node in tuple(graph):
        if node.op_type != "If" or node.domain:
            continue
        tensor = None if node.inputs[0] is None else node.inputs[0].const_value
        if tensor is None:
            continue
        branch = "then_branch" if np.all(tensor.numpy()) else "else_branch"
        _put_in_place(graph, node, node.attributes[branch].as_graph())
        taken = True
    if taken:
        set_apart(model)
    return taken


def _put_in_place(graph: ir.Graph, node: ir.Node, branch: ir.Graph) -> None:
    for constant in tuple(branch.initializers.values()):
        name = constant.name or ""
        branch.initializers.pop(name)
        constant.name = f"{node.name}/{name}"  # both branches may use one name
        graph.register_initializer(constant)
    answers = tuple(branch.outputs)
    branch.outputs.clear()
    inner = tuple(branch)
    branch.remove(inner)
    graph.insert_before(node, inner)
    for output, answer in zip(node.outputs, answers, strict=True):
        if output.is_graph_output():  # keeps its name, which is the network's
            same = ir.node("Identity", [answer], name=f"{node.name}/{output.name}")
            same.outputs[0].name, output.name = output.name, None
            same.outputs[0].type, same.outputs[0].shape = output.type, output.shape
            graph.insert_before(node, same)
            answer = same.outputs[0]  # noqa: PLW2901 - the answer under its lasting name
        output.replace_all_uses_with(answer, replace_graph_outputs=True)
    graph.remove(node, safe=True)
