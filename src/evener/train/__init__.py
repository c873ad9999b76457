"""Fill an architecture with weights and write it as ONNX.

Reads a dataset, makes a network and its card. The mathematics is `model.py`, the training
`loop.py`; `fit.py` joins them.

A network can also be sharded, and trained by several ranks together. `sharding.py` says which
neurons see which, `sharded.py` computes a layer of one rank, `ranked.py` all layers with what
passes between ranks, and `trainer.py` takes the steps. `network.py` is the way in for a program,
`over_ranks.py` that of `evener train`, and `twin.py` the same mathematics in one process and plain
words, to check them by.
"""

import os
from importlib.util import find_spec

from evener.errors import MissingExtraError

# MKL would choose how it adds by where arrays lie in memory, and so differ by the number of ranks.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

if any(
    find_spec(name) is None
    for name in ("torch", "onnxscript", "sklearn", "skl2onnx", "safetensors")
):
    raise MissingExtraError("training", extra="train")
