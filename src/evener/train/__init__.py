"""Fill an architecture with weights and write it as ONNX.

Reads a dataset, makes a network and its card. The mathematics is `model.py`, the training
`loop.py`; `fit.py` joins them.
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
