"""A command line that asks a service for one prediction, to copy and change."""

import json
import shlex
from collections.abc import Sequence
from math import prod
from typing import Final
from urllib.parse import quote

from evener.artifacts.tensor import Tensor
from evener.serve.tensors import datatype

_WRITTEN_OUT: Final = 16  # elements of an input that are typed; more are made by the shell


def model_url(url: str, name: str) -> str:
    """Return the address of a model.

    Example:
        >>> model_url("http://127.0.0.1:8080", "my net")
        'http://127.0.0.1:8080/v2/models/my%20net'
    """
    return f"{url}/v2/models/{quote(name, safe='')}"


def example_line(url: str, name: str, inputs: Sequence[Tensor]) -> str:
    """Write a command line for the shell that sends zeros.

    Args:
        url: of the service.
        name: of the model.
        inputs: what it reads.

    Example:
        >>> x = Tensor(name="x", shape=(1, 2), dtype="float32")
        >>> print(example_line("http://127.0.0.1:8080", "tiny", [x]))
        printf '{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[0,0]}]}' |
        curl -s http://127.0.0.1:8080/v2/models/tiny/infer --data-binary @-
    """
    words = ['{"inputs":[']
    for position, tensor in enumerate(inputs):
        about = {"name": tensor.name, "shape": tensor.shape, "datatype": datatype(tensor)}
        start = json.dumps(about, separators=(",", ":"))[:-1] + ',"data":['
        words[-1] += "," * bool(position) + start
        zero, count = "false" if tensor.dtype == "bool" else "0", prod(tensor.shape)
        if count <= _WRITTEN_OUT:
            words[-1] += ",".join([zero] * count)
        else:
            words += [f"yes {zero} | head -n {count} | paste -sd,", ""]
        words[-1] += "]}"
    words[-1] += "]}"
    # Every other word is text, the rest are commands.
    texts = [f"printf {shlex.quote(text.replace('%', '%%'))}" for text in words[::2]]
    steps = [step for pair in zip(texts, [*words[1::2], ""], strict=True) for step in pair if step]
    made = steps[0] if len(steps) == 1 else f"{{ {'; '.join(steps)}; }}"
    return f"{made} | curl -s {shlex.quote(model_url(url, name) + '/infer')} --data-binary @-"
