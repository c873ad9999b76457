"""Answer predictions over HTTP, by the Open Inference Protocol.

Reads a `Predictor` (`predictor.py`) and makes a service: `app.py` says what it answers to,
`server.py` how it begins and ends. What a predictor does inside is its own business.
"""

from importlib.util import find_spec

from evener.errors import MissingExtraError

if any(find_spec(name) is None for name in ("starlette", "uvicorn", "prometheus_client")):
    raise MissingExtraError("serving", extra="serve")
