"""Name what a network reads and answers, without the work of making it ready."""

from dataclasses import dataclass
from pathlib import Path

from evener.network import light
from evener.network.source import decode, read_file


@dataclass(frozen=True, slots=True)
class Ends:
    """The names at both ends of a network.

    Attributes:
        inputs: of what it reads, in graph order; no weights, which old files list as inputs too.
        outputs: of what it answers, in graph order.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read_ends(source: str | Path) -> Ends:
    """Read the names of a network's inputs and outputs.

    Args:
        source: path of an ONNX file, or a name in `evener.network.light.FILES`.

    Raises:
        InvalidFileError: there is no such file, or it is no ONNX file.
        InvalidNetworkError: its graph is invalid.

    Example:
        >>> read_ends("squeezenet")
        Ends(inputs=('data_0',), outputs=('softmaxout_1',))
    """
    path = light.light_file(str(source)) if source in light.FILES else Path(source)
    graph = decode(read_file(path), str(source)).graph
    inputs = (value.name or "" for value in graph.inputs)
    return Ends(
        tuple(name for name in inputs if name not in graph.initializers),
        tuple(value.name or "" for value in graph.outputs),
    )
