"""What the metrics of a service say, over a predictor that computes nothing."""

from typing import Any

from starlette.testclient import TestClient

from evener.serve.app import make_app
from evener.serve.predictor import Load, StageLoad
from evener.testing.fake_predictor import FakePredictor

PATIENCE_S = 20.0
MODEL = "/v2/models/fake net"
INFER = f"{MODEL}/infer"


def asking(*data: float, **more: object) -> dict[str, Any]:
    x = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": list(data)}
    return {"inputs": [x]} | more


def figures(client: TestClient) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def test_the_metrics_count_requests_by_code_and_time_them() -> None:
    ticks = iter(float(tick) / 4 for tick in range(100))
    app = make_app(FakePredictor(), clock=lambda: next(ticks))  # each request takes 0.25 s
    with TestClient(app) as client:
        for data in ([1, 2, 3], [4, 5, 6], [7]):
            client.post(INFER, json=asking(*data))
        found = figures(client)

    assert found['evener_requests_total{code="200",model="fake net"}'] == 2
    assert found['evener_requests_total{code="400",model="fake net"}'] == 1
    assert found['evener_request_seconds_count{model="fake net"}'] == 3
    assert found['evener_request_seconds_sum{model="fake net"}'] == 0.75
    assert found['evener_request_seconds_bucket{le="0.2",model="fake net"}'] == 0
    assert found['evener_request_seconds_bucket{le="0.5",model="fake net"}'] == 3


def test_the_metrics_show_the_load_and_what_is_busy(
    client: TestClient, predictor: FakePredictor
) -> None:
    def busy(*seconds: float) -> dict[str, float]:
        stages = [
            StageLoad(stage=0, lane=lane, processor="cpu0", busy_s=one)
            for lane, one in enumerate(seconds)
        ]
        predictor.load = Load(waiting=5, in_flight=2, stages=stages)
        return figures(client)

    def lane(number: int) -> str:
        return (
            f'evener_stage_busy_seconds_total{{lane="{number}",model="fake net",'
            'processor="cpu0",stage="0"}'
        )

    first, second = busy(1, 2), busy(1.5, 0.25)  # the second lane begins anew

    assert first['evener_queue_length{model="fake net"}'] == 5
    assert first['evener_frames_in_flight{model="fake net"}'] == 2
    assert first['evener_ready{model="fake net"}'] == 1
    assert [first[lane(0)], first[lane(1)]] == [1, 2]
    assert [second[lane(0)], second[lane(1)]] == [1.5, 2.25]


def test_whatever_clients_ask_for_adds_no_series(client: TestClient) -> None:
    client.post("/v2/models/net/infer")
    before = set(figures(client))

    for number in range(20):
        client.post(f"/v2/models/net{number}/infer")
        client.get(f"/v2/{number}")

    found = figures(client)
    assert set(found) == before
    assert found['evener_requests_total{code="404",model=""}'] == 21
