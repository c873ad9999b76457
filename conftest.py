"""Which modules pytest looks into for examples: not those whose optional package is missing.

A shell ignores Ctrl-C for what it runs in the background, and so does whatever that starts; tests
of Ctrl-C hear it all the same.
"""

import signal
from importlib.util import find_spec

# Modules that cannot be imported without it; their doctests and tests are skipped.
_MPI = [
    "src/evener/comm/mpi.py",
    "src/evener/comm/mpi_faults.py",
    "src/evener/comm/mpi_ranks.py",
    "src/evener/run/ranks.py",
]
_TORCH = ["src/evener/comm/torch_distributed.py", "tests/comm/torch_program.py"]
_SERVE = [
    "src/evener/serve",
    "src/evener/testing/fake_predictor.py",
    "src/evener/workflow/predictor.py",
    "tests/serve",
]
_NCNN = ["src/evener/runtime/ncnn.py"]
_PYTORCH = [
    f"src/evener/runtime/{module}.py" for module in ("onnx2fx", "torch_session", "cuda_graph")
]
_SERVED_BY = ("starlette", "uvicorn", "prometheus_client", "httpx2")
collect_ignore = [
    *([] if find_spec("mpi4py") else _MPI),
    *([] if find_spec("torch") else _TORCH),
    *([] if all(map(find_spec, _SERVED_BY)) else _SERVE),
    *([] if find_spec("ncnn") else _NCNN),
    *([] if find_spec("torch") and find_spec("onnx2fx") else _PYTORCH),
]


def pytest_configure() -> None:
    """Let Ctrl-C interrupt the tests, wherever they were started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
