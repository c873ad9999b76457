"""Which modules pytest looks into for examples: not those whose optional package is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("ncnn") else ["src/evener/runtime/ncnn.py"]
