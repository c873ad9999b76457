"""Write a network's ONNX file as a folder of plain PyTorch, checked against ONNX Runtime."""

import importlib.util
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import load_from_string
from torch import nn

from evener.artifacts.files import write_whole
from evener.errors import InputError
from evener.train.loop import one_thread
from evener.train.torch_source import torch_source
from evener.train.verify import largest_error

SOURCE_FILE: Final = "network.py"
WEIGHTS_FILE: Final = "weights.pt"
TOLERANCE: Final = 1e-4  # of answers, where PyTorch computes what ONNX Runtime does
_ROWS: Final = 16


def write_torch(content: bytes, folder: Path, *, name: str) -> float:
    """Write `network.py` and `weights.pt`, which need PyTorch and not Evener.

    Nothing is written where the module answers otherwise than the ONNX file.

    Args:
        content: the ONNX file; it reads rows of numbers, as those do that Evener trains.
        folder: where they go; it is made if it is not there.
        name: what people call the network.

    Returns:
        The largest difference between answers of the module and of ONNX Runtime, over 16 rows of
        normal numbers.

    Raises:
        InvalidFileError: it is no ONNX file, or the folder cannot be written.
        InputError: it cannot be written as PyTorch.
        EvenerError: its answers differ by more than `TOLERANCE`.
    """
    found = torch_source(content, name=name)
    shape = (_ROWS, _features(content, name))
    rows = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    with tempfile.TemporaryDirectory() as draft:
        _write(Path(draft), found.source, found.state)
        with one_thread(), torch.no_grad():
            answers: NDArray[np.float32] = _load(Path(draft))(torch.from_numpy(rows)).numpy()
        error = largest_error(name, content, rows, answers, tolerance=TOLERANCE)
        for file in (SOURCE_FILE, WEIGHTS_FILE):
            write_whole(folder / file, (Path(draft) / file).read_bytes())
    return error


def _features(content: bytes, name: str) -> int:
    dimensions = load_from_string(content).graph.input[0].type.tensor_type.shape.dim
    if len(dimensions) != 2 or not dimensions[1].dim_value:
        raise InputError(
            f"{name} reads {len(dimensions)} dimensions, and only networks that read rows of "
            "numbers are written as PyTorch; run its ONNX file instead"
        )
    return int(dimensions[1].dim_value)


def _write(folder: Path, source: str, state: Mapping[str, "NDArray[np.generic]"]) -> None:
    (folder / SOURCE_FILE).write_text(source, encoding="utf-8")
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in state.items()}
    torch.save(tensors, folder / WEIGHTS_FILE)


def _load(folder: Path) -> nn.Module:
    spec = importlib.util.spec_from_file_location("network", folder / SOURCE_FILE)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"Python cannot load {folder / SOURCE_FILE}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network: nn.Module = module.load()
    return network
