"""Time what HTTP adds to a prediction: closed-loop clients, with and without the service.

Usage: python benchmarks/serve_overhead.py [--requests N] [--clients N,N] [--rounds N] [-o FILE]

A network of three dense layers (784-300-100-10) runs by one plan of one stage. Each client asks
again once it has its answer. The ways take turns in shuffled order, round after round; figures are
medians over the rounds:

    direct   threads of one process submit frames to the executor, and wait for the answers
    health   another process asks for /v2/health/live: what HTTP and the client cost by themselves
    json     it asks for predictions, tensors as JSON
    binary   it asks for predictions, tensors as bytes

The clients are Python too, and share the machine with the service: what they cost is in the
figures.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from onnx import helper
from record import write_record

from evener.artifacts.files import load, save
from evener.artifacts.plan import Plan
from evener.run.executor import PipelineExecutor
from evener.run.pipeline import Pipeline
from evener.serve.messages import JSON_LENGTH
from evener.testing.tiny import floats, network
from evener.workflow import open_network, plan_network

SIZES: Final = (784, 300, 100, 10)
WARM_UP: Final = 20
PATIENCE_S: Final = 60.0
Ask = Callable[[], None]


def main() -> None:
    """Take turns, print and record."""
    if sys.argv[1:2] == ["--load"]:
        be_clients(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=400, help="of each client in a round")
    parser.add_argument("--clients", default="1,8", help="how many at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    load_average = os.getloadavg()[0]
    clients = [int(number) for number in options.clients.split(",")]
    rows = measure(clients, options.requests, options.rounds)
    for row in rows:
        print(
            f"{row['way']:>7} {row['clients']:>3} clients: p50 {row['p50_ms']:7.3f} ms, "
            f"p99 {row['p99_ms']:7.3f} ms, {row['rate_hz']:7.0f} /s"
        )
    if options.out is not None:
        found = {"network": "-".join(map(str, SIZES)), "rows": rows}
        # Before it began: far from 0, others kept the machine busy.
        write_record(options.out, found | {"load_average_before": load_average})


def measure(clients: list[int], requests: int, rounds: int) -> list[dict[str, object]]:
    """Time every way with every number of clients."""
    with tempfile.TemporaryDirectory() as folder:
        net, plan = Path(folder, "mlp.onnx"), Path(folder, "mlp.plan.json")
        net.write_bytes(mlp())
        save(plan, plan_network(str(net), stages=1))
        ways = [(way, number) for way in ("direct", *PATHS) for number in clients]
        took: dict[tuple[str, int], list[tuple[float, float, float]]] = {one: [] for one in ways}
        rng = random.Random(0)  # noqa: S311 - an order, no secret
        with served(net, plan) as url, executor(net, plan) as direct:
            for _ in range(rounds):
                for way, number in rng.sample(ways, len(ways)):
                    if way == "direct":
                        asks: list[Ask] = [asks_directly(direct)] * number
                        found = take_turns(asks, requests)
                    else:
                        found = from_outside(url, way, number, requests)
                    took[way, number].append(found)
    return [
        {
            "way": way,
            "clients": number,
            "p50_ms": 1e3 * median(one[0] for one in found),
            "p99_ms": 1e3 * median(one[1] for one in found),
            "rate_hz": median(one[2] for one in found),
        }
        for (way, number), found in took.items()
    ]


def mlp() -> bytes:
    """Make the network, with seeded weights."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for layer, (width, following) in enumerate(pairwise(SIZES)):
        weights[f"w{layer}"] = rng.normal(size=(width, following)).astype(np.float32) / width**0.5
        name = "y" if following == SIZES[-1] else f"h{layer}"
        nodes.append(helper.make_node("MatMul", [last, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Tanh", [f"m{layer}"], [name]))
        last = name
    return network(
        nodes,
        inputs=[floats("x", 1, SIZES[0])],
        outputs=[floats("y", 1, SIZES[-1])],
        weights=weights,
    )


@contextmanager
def served(net: Path, plan: Path) -> Iterator[str]:
    """Serve the network in another process; yields its URL."""
    command = [sys.executable, "-m", "evener", "serve", str(net), "--plan", str(plan)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdout is None:
            raise RuntimeError("the service has no stdout")
        lines = []
        while (line := process.stdout.readline()) not in ("", "}\n"):
            lines.append(line)
        if not lines:
            raise RuntimeError("the service did not start; stderr says why")
        try:
            yield json.loads("".join([*lines, "}"]))["url"]
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def executor(net: Path, plan: Path) -> Iterator[PipelineExecutor]:
    """Open the network in this process."""
    opened, chosen = open_network(str(net)), load(plan, Plan).value

    def pipeline() -> Pipeline:
        return Pipeline(
            chosen, opened.segments, inputs=opened.network.inputs, runtimes=opened.runtimes
        )

    with PipelineExecutor(pipeline, limit=64, period_s=1 / chosen.rate_hz) as made:
        yield made


def asks_directly(made: PipelineExecutor) -> Ask:
    """Return what asks the executor once."""
    frame = (sample(),)

    def ask() -> None:
        made.submit(frame).result(PATIENCE_S)

    return ask


def sample() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return a frame."""
    return np.random.default_rng(1).normal(size=(1, SIZES[0])).astype(np.float32)


def as_json() -> tuple[bytes, dict[str, str]]:
    """Return a request whose tensor is JSON, and its headers."""
    x = {"name": "x", "shape": [1, SIZES[0]], "datatype": "FP32", "data": sample().ravel().tolist()}
    return json.dumps({"inputs": [x]}).encode(), {}


def as_binary() -> tuple[bytes, dict[str, str]]:
    """Return a request whose tensors are bytes both ways, and its headers."""
    size = {"binary_data_size": 4 * SIZES[0]}
    x = {"name": "x", "shape": [1, SIZES[0]], "datatype": "FP32", "parameters": size}
    head = json.dumps({"inputs": [x], "parameters": {"binary_data_output": True}}).encode()
    return head + sample().tobytes(), {JSON_LENGTH: str(len(head))}


Make = Callable[[], tuple[bytes, dict[str, str]]]
PATHS: Final[dict[str, tuple[str, str, Make]]] = {
    "health": ("GET", "/v2/health/live", lambda: (b"", {})),
    "json": ("POST", "/v2/models/mlp/infer", as_json),
    "binary": ("POST", "/v2/models/mlp/infer", as_binary),
}


def from_outside(url: str, way: str, clients: int, requests: int) -> tuple[float, float, float]:
    """Let another process ask; see `take_turns`."""
    command = [sys.executable, __file__, "--load", url, way, str(clients), str(requests)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    p50_s, p99_s, rate_hz = json.loads(ended.stdout)
    return p50_s, p99_s, rate_hz


def be_clients(url: str, way: str, clients: str, requests: str) -> None:
    """Be that process."""
    method, path, make = PATHS[way]
    body, headers = make()
    where = urlsplit(url)

    def client() -> Ask:
        connection = HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_S)

        def ask() -> None:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {said.decode()}")

        return ask

    print(json.dumps(take_turns([client() for _ in range(int(clients))], int(requests))))


def take_turns(asks: list[Ask], requests: int) -> tuple[float, float, float]:
    """Let each client ask again and again; returns p50 and p99 in seconds, and the rate."""

    def loop(ask: Ask) -> list[float]:
        took_s = []
        for _ in range(requests):
            begun_s = time.perf_counter()
            ask()
            took_s.append(time.perf_counter() - begun_s)
        return took_s

    for ask in asks:
        for _ in range(WARM_UP):
            ask()
    with ThreadPoolExecutor(len(asks)) as pool:
        begun_s = time.perf_counter()
        took_s = [one for part in pool.map(loop, asks) for one in part]
        elapsed_s = time.perf_counter() - begun_s
    p50_s, p99_s = np.percentile(took_s, [50, 99])
    return float(p50_s), float(p99_s), len(took_s) / elapsed_s


if __name__ == "__main__":
    main()
