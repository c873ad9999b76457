"""Turn a Keras image classifier, stored in HDF5, into ONNX: `python keras_to_onnx.py H5 ONNX`.

For the few layers of which MobileNet-v2 is made. Tensors become channels first, weights keep
their values, batch normalisation stays a node and dropout, which does nothing here, goes.
Weights: Keras documents (height, width, in, out) for a convolution and (height, width, in, 1) for
a depthwise one; ONNX takes (out, in / groups, height, width).
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Callable[[str, str], NDArray[np.float32]]


class Graph:
    """An ONNX graph that grows by a layer at a time."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._weights = weights

    def weight(self, layer: str, name: str, axes: tuple[int, ...] | None = None) -> str:
        """Add a weight of a layer, its axes in another order."""
        array = self._weights(layer, name)
        return self.constant(f"{layer}/{name}", array if axes is None else array.transpose(axes))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self,
        kind: str,
        name: str,
        inputs: list[str],
        **attributes: Any,  # noqa: ANN401 - as helper.make_node takes them
    ) -> str:
        """Add a node of one output, which has its name."""
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def layer(  # noqa: PLR0911 - one return for each kind of layer
        self, kind: str, config: dict[str, Any], inputs: list[str]
    ) -> str:
        """Add the nodes of a Keras layer and return what it answers."""
        name = config["name"]
        match kind:
            case "Conv2D" | "DepthwiseConv2D":
                depthwise = kind == "DepthwiseConv2D"
                axes = (2, 3, 0, 1) if depthwise else (3, 2, 0, 1)
                kernel = self.weight(name, "kernel", axes)
                return self.add(
                    "Conv",
                    name,
                    [*inputs, kernel],
                    strides=config["strides"],
                    group=self._weights(name, "kernel").shape[2] if depthwise else 1,
                    auto_pad="SAME_UPPER" if config["padding"] == "same" else "VALID",
                )
            case "BatchNormalization":
                names = ("gamma", "beta", "moving_mean", "moving_variance")
                weights = [self.weight(name, one) for one in names]
                epsilon = config["epsilon"]
                return self.add("BatchNormalization", name, [*inputs, *weights], epsilon=epsilon)
            case "ReLU":
                low = self.constant(f"{name}/low", np.array(0, np.float32))
                high = self.constant(f"{name}/high", np.array(config["max_value"], np.float32))
                return self.add("Clip", name, [*inputs, low, high])
            case "ZeroPadding2D":
                (top, bottom), (left, right) = config["padding"]
                pads = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
                return self.add("Pad", name, [*inputs, self.constant(f"{name}/pads", pads)])
            case "Add":
                return self.add("Add", name, inputs)
            case "GlobalAveragePooling2D":
                pooled = self.add("GlobalAveragePool", f"{name}/pool", inputs)
                return self.add("Flatten", name, [pooled])
            case "Dropout":
                return inputs[0]
            case "Dense":
                weights = [self.weight(name, "kernel"), self.weight(name, "bias")]
                product = self.add("Gemm", f"{name}/product", [*inputs, *weights])
                return self.add("Softmax", name, [product])
        raise ValueError(f"a layer of the kind {kind} is not known: {name}")


def convert(source: Path, target: Path) -> None:
    """Write the network of a Keras file as an ONNX file for one frame at a time."""
    with h5py.File(source) as file:
        found: dict[tuple[str, str], NDArray[np.float32]] = {}

        def note(path: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                *_, layer, name = path.split("/")
                found[layer, name] = np.asarray(item, np.float32)

        file["model_weights"].visititems(note)
        config = json.loads(file.attrs["model_config"])["config"]
    graph = Graph(lambda layer, name: found[layer, name])
    answers: dict[str, str] = {}
    shape: list[int] = []
    last = ""
    for kind, layer, sources in _layers(config):
        if kind == "InputLayer":
            shape = shape or layer["batch_shape"][1:]
            last = answers[layer["name"]] = "image"
        else:
            last = answers[layer["name"]] = graph.layer(
                kind, layer, [answers.get(one, last) for one in sources]
            )
    height, width, channels = shape
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            target.stem,
            [
                helper.make_tensor_value_info(
                    "image", TensorProto.FLOAT, [1, channels, height, width]
                )
            ],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model)
    onnx.save(model, target)


def _layers(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """List kind, settings and sources of each layer; a network within the network is opened."""
    for layer in config["layers"]:
        if "layers" in layer["config"]:
            yield from _layers(layer["config"])
        else:
            calls = [call["args"][0] for call in layer["inbound_nodes"]]
            sources = [
                one for call in calls for one in (call if isinstance(call, list) else [call])
            ]
            names = [one["config"]["keras_history"][0] for one in sources]
            yield layer["class_name"], layer["config"], names


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
