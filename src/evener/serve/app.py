"""What the service answers to: the Open Inference Protocol over HTTP, and `/metrics`.

Whatever goes wrong is answered as `{"error": text}`, with the status that its kind has:

    400  the request is at fault (InputError)
    404  no such model, version or path
    405  another method is needed
    406  the answer holds NaN or infinity, and was asked for as JSON
    413  the body is longer than any request for this model
    415  the body is compressed
    500  a stage failed at this request, or the service itself
    503  no request is taken just now (UnavailableError); `Retry-After` says when to ask again

Source: the REST specification of the protocol (github.com/kserve/open-inference-protocol). Where it
leaves a choice, what its clients accept is chosen: both health pages have both keys.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import ceil
from typing import Final

import msgspec
from starlette.applications import Starlette  # noqa: TID251 - the web framework lives here
from starlette.exceptions import HTTPException  # noqa: TID251 - as above
from starlette.requests import ClientDisconnect, Request  # noqa: TID251 - as above
from starlette.responses import Response  # noqa: TID251 - as above
from starlette.routing import Route  # noqa: TID251 - as above

from evener import __version__
from evener.errors import EvenerError, InputError, UnavailableError
from evener.serve.messages import JSON_LENGTH, describe, read_request, write_response
from evener.serve.metrics import CONTENT_TYPE, Metrics
from evener.serve.predictor import Predictor

EXTENSIONS: Final = ("binary_tensor_data",)
_PLATFORM: Final = "evener_onnx"
_ELEMENT_BYTES: Final = 32  # more than a number takes as JSON, its comma and some blanks included
_ROOM_BYTES: Final = 65_536  # for all else that a request says


def make_app(
    predictor: Predictor,
    *,
    started: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Starlette:
    """Make the application that serves one model.

    Args:
        predictor: answers the requests.
        started: called once, just before the first request can come.
        clock: the time, in seconds.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        started()
        yield

    service = _Service(predictor, clock)
    routes = [
        Route("/v2", service.about),
        Route("/v2/health/live", service.live),
        Route("/v2/health/ready", service.ready),
        Route("/metrics", service.metrics),
    ]
    for path in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        routes += [
            Route(path, service.model),
            Route(f"{path}/ready", service.model_ready),
            Route(f"{path}/infer", service.infer, methods=["POST"]),
        ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(Exception, _refuse)
    app.router.redirect_slashes = False
    return app


class _Service:
    """The pages, each as a coroutine from request to response."""

    def __init__(self, predictor: Predictor, clock: Callable[[], float]) -> None:
        self._predictor = predictor
        self._clock = clock
        self._metrics = Metrics(predictor)
        elements = sum(tensor.size_bytes for tensor in predictor.inputs)  # at least 1 byte each
        self._longest = _ROOM_BYTES + _ELEMENT_BYTES * elements

    async def about(self, _: Request) -> Response:
        """Describe the server."""
        return _json({"name": "evener", "version": __version__, "extensions": EXTENSIONS})

    async def live(self, _: Request) -> Response:
        """Say whether it is worth keeping."""
        return self._health(holds=self._predictor.state != "broken")

    async def ready(self, _: Request) -> Response:
        """Say whether requests are answered."""
        return self._health(holds=self._predictor.state == "ready")

    async def model(self, request: Request) -> Response:
        """Describe the model."""
        self._check_model(request)
        page: dict[str, object] = {
            "name": self._predictor.name,
            "versions": [self._predictor.version],
            "platform": _PLATFORM,
            "inputs": [describe(tensor) for tensor in self._predictor.inputs],
            "outputs": [describe(tensor) for tensor in self._predictor.outputs],
        }
        if self._predictor.properties:
            page["properties"] = self._predictor.properties
        return _json(page)

    async def model_ready(self, request: Request) -> Response:
        """Say whether requests for the model are answered."""
        self._check_model(request)
        ready = self._predictor.state == "ready"
        return _json({"name": self._predictor.name, "ready": ready}, 200 if ready else 503)

    async def infer(self, request: Request) -> Response:
        """Answer an inference request, and count it."""
        begun_s = self._clock()
        status = 500
        try:
            response = await self._infer(request)
            status = response.status_code
        except (EvenerError, HTTPException) as error:
            response = await _refuse(request, error)
            status = response.status_code
        finally:
            self._metrics.answered(status, self._clock() - begun_s, known=self._is_model(request))
        return response

    async def metrics(self, _: Request) -> Response:
        """Write the figures for Prometheus."""
        return Response(self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _infer(self, request: Request) -> Response:
        self._check_model(request)
        predictor = self._predictor
        asked = read_request(
            await self._body(request),
            request.headers.get(JSON_LENGTH),
            inputs=predictor.inputs,
            outputs=predictor.outputs,
        )
        answer = await asyncio.wrap_future(predictor.submit(asked.frame))
        try:
            body, headers = write_response(
                asked,
                answer,
                name=predictor.name,
                version=predictor.version,
                outputs=predictor.outputs,
            )
        except InputError as error:
            raise HTTPException(406, str(error)) from error
        return Response(body, headers=headers)

    async def _body(self, request: Request) -> bytes:
        coding = request.headers.get("Content-Encoding", "identity")
        if coding != "identity":
            raise HTTPException(415, f"the body is compressed ('{coding}'); send it as it is")
        announced = request.headers.get("Content-Length", "")
        chunks: list[bytes] = []
        length = int(announced) if announced.isdecimal() else 0
        try:
            if length <= self._longest:
                length = 0
                async for chunk in request.stream():
                    chunks.append(chunk)
                    length += len(chunk)
                    if length > self._longest:
                        break
        except ClientDisconnect as gone:
            raise HTTPException(400, "the body broke off") from gone
        if length > self._longest:
            raise HTTPException(
                413,
                f"the body is longer than {self._longest} bytes, and no request for "
                f"'{self._predictor.name}' needs more",
                headers={"Connection": "close"},  # what is left of the body is not read
            )
        return b"".join(chunks)

    def _is_model(self, request: Request) -> bool:
        name, version = request.path_params["name"], request.path_params.get("version")
        return name == self._predictor.name and version in (None, self._predictor.version)

    def _check_model(self, request: Request) -> None:
        if not self._is_model(request):
            asked = " version ".join(f"'{part}'" for part in request.path_params.values())
            raise HTTPException(
                404,
                f"Request for unknown model: {asked} is not found; served is "
                f"'{self._predictor.name}' version '{self._predictor.version}'",
            )

    def _health(self, *, holds: bool) -> Response:
        state = self._predictor.state
        page = {"live": state != "broken", "ready": state == "ready", "state": state}
        return _json(page, 200 if holds else 503)


async def _refuse(_: Request, error: Exception) -> Response:
    """Answer what went wrong."""
    if isinstance(error, HTTPException):
        return _json({"error": error.detail}, error.status_code, dict(error.headers or {}))
    if isinstance(error, InputError):
        return _json({"error": str(error)}, 400)
    if isinstance(error, UnavailableError):
        after = str(max(1, ceil(error.retry_after_s)))
        return _json({"error": str(error)}, 503, {"Retry-After": after})
    if isinstance(error, EvenerError):
        return _json({"error": str(error)}, 500)
    return _json({"error": f"the service failed: {type(error).__name__}: {error}"}, 500)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(value),
        status,
        headers={"Content-Type": "application/json"} | (headers or {}),
    )
