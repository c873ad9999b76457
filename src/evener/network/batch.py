"""Let a network answer several frames at once: its inputs grow along their first dimension.

Not every network can: one that reshapes to a fixed batch, say. What is checked here is shapes;
whether each frame's answer is that of the frame alone is for whoever runs it to compare.
"""

from collections.abc import Mapping
from pathlib import Path

import onnx_ir as ir

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidNetworkError
from evener.network.graph import static_shape
from evener.network.model import Network, load_network


def load_batched(
    source: str | Path,
    size: int,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    fixed: Mapping[str, float] | None = None,
    states: Mapping[str, str] | None = None,
    seed: int = 0,
    in_slices: bool = False,
) -> tuple[Network, Network]:
    """Load a network twice: for one frame, and for a batch of several.

    Args:
        source: path of an ONNX file, or the name of a built-in network.
        size: frames in a batch.
        shapes: shape by name of input for one frame, so that each begins with 1.
        fixed: number by name of input, for inputs that are to be constants.
        states: input by output that it becomes in the next frame; there may be none.
        seed: what the weights of a light network are drawn from.
        in_slices: whether heavy layers are sliced, see `evener.network.slices`.

    Returns:
        The network of one frame, and that of the batch.

    Raises:
        InvalidNetworkError: an input or output does not begin with a dimension of 1 for one frame,
            the network has a state, or a node, which is named, fixes the batch.

    Example:
        >>> single, batched = load_batched("squeezenet", 4)
        >>> single.inputs[0].shape, batched.inputs[0].shape
        ((1, 3, 224, 224), (4, 3, 224, 224))
    """
    single = load_network(
        source, shapes=shapes, fixed=fixed, states=states, seed=seed, in_slices=in_slices
    )
    for what, tensors in (("input", single.inputs), ("output", single.outputs)):
        for tensor in tensors:
            if tensor.shape[:1] != (1,):
                raise InvalidNetworkError(
                    f"{single.name} cannot take batches: the {what} '{tensor.name}' is "
                    f"{list(tensor.shape)} for one frame, and its first dimension must be 1; run "
                    "it without --batch"
                )
    if single.states:
        raise InvalidNetworkError(
            f"{single.name} cannot take batches: it keeps a state from each frame to the next; run "
            "it without --batch"
        )
    try:
        batched = load_network(
            source, shapes=shapes, fixed=fixed, seed=seed, batch=size, in_slices=in_slices
        )
    except InvalidNetworkError as error:
        raise InvalidNetworkError(
            f"{single.name} cannot take batches of {size}: {error}; run it without --batch",
            node=error.node,
        ) from error
    for one, many in zip(single.outputs, batched.outputs, strict=True):
        if many.shape != (size, *one.shape[1:]):
            _refuse(single, batched, many, size)
    return single, batched


def _refuse(single: Network, batched: Network, output: Tensor, size: int) -> None:
    node = _node_that_fixes(single.model.graph, batched.model.graph)
    where = f"at node '{node.name}' ({node.op_type})" if node is not None else "on its way"
    raise InvalidNetworkError(
        f"{single.name} cannot take batches of {size}: the output '{output.name}' would be "
        f"{list(output.shape)}, since the batch is fixed {where}; run it without --batch",
        node=(node.name or "") if node is not None else "",
    )


def _node_that_fixes(single: ir.Graph, batched: ir.Graph) -> ir.Node | None:
    """Find the first node that reads batches and answers something else."""
    before = {value.name: static_shape(value) for node in single for value in node.outputs}
    before |= {value.name: static_shape(value) for value in single.inputs}

    def grew(value: ir.Value) -> bool:
        old, new = before.get(value.name), static_shape(value)
        return bool(old) and bool(new) and old != new

    def in_step(value: ir.Value) -> bool:
        old, new = before.get(value.name), static_shape(value)
        return not old or not new or old[1:] == new[1:]

    for node in batched:
        fed = [value for value in node.inputs if value is not None and grew(value)]
        lost = not any(grew(value) for value in node.outputs)
        if fed and (lost or not all(map(in_step, node.outputs))):
            return node
    return None
