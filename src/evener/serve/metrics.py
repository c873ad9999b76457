"""What the service counts, in the text format of Prometheus.

Every label has few values, whatever clients send: names that are no model's count as none.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evener.serve.predictor import Predictor

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S: Final = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
)


class Metrics:
    """The figures of one service.

    Args:
        predictor: asked for its load whenever someone reads the figures.
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "evener_requests",
            "Inference requests that were answered, by HTTP status code.",
            ("model", "code"),
            registry=registry,
        )
        self._seconds = Histogram(
            "evener_request_seconds",
            "Time from the head of an inference request to its answer.",
            ("model",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._ready = Gauge(
            "evener_ready", "1 while requests are answered.", ("model",), registry=registry
        )
        self._waiting = Gauge(
            "evener_queue_length", "Requests that wait.", ("model",), registry=registry
        )
        self._in_flight = Gauge(
            "evener_frames_in_flight",
            "Requests in the stages of the pipeline.",
            ("model",),
            registry=registry,
        )
        self._busy = Counter(
            "evener_stage_busy_seconds",
            "Time that a lane of a stage has computed.",
            ("model", "stage", "lane", "processor"),
            registry=registry,
        )
        self._busy_before: dict[tuple[int, int], float] = {}

    def answered(self, code: int, took_s: float, *, known: bool) -> None:
        """Count an inference request.

        Args:
            code: its HTTP status.
            took_s: how long it took, in seconds.
            known: whether it named this model.
        """
        model = self._predictor.name if known else ""
        self._requests.labels(model, str(code)).inc()
        if known:
            self._seconds.labels(model).observe(took_s)

    def text(self) -> bytes:
        """Write all figures, as they are now."""
        model, load = self._predictor.name, self._predictor.load
        self._ready.labels(model).set(self._predictor.state == "ready")
        self._waiting.labels(model).set(load.waiting)
        self._in_flight.labels(model).set(load.in_flight)
        for one in load.stages:
            key = (one.stage, one.lane)
            before = self._busy_before.get(key, 0.0)
            # A pipeline that was opened anew begins at 0.
            more_s = one.busy_s - before if one.busy_s >= before else one.busy_s
            self._busy.labels(model, str(one.stage), str(one.lane), one.processor).inc(more_s)
            self._busy_before[key] = one.busy_s
        written: bytes = generate_latest(self._registry)
        return written
