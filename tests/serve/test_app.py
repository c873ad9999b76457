"""What the service answers to each request, over a predictor that computes nothing."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from evener import __version__
from evener.errors import StageFailedError, UnavailableError
from evener.serve.app import make_app
from evener.serve.messages import JSON_LENGTH
from evener.serve.predictor import Arrays, State
from evener.testing.fake_predictor import FakePredictor, add_one

PATIENCE_S = 20.0
MODEL = "/v2/models/fake net"
INFER = f"{MODEL}/infer"


def asking(*data: float, **more: object) -> dict[str, Any]:
    x = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": list(data)}
    return {"inputs": [x]} | more


def error_of(response: Response, status: int) -> str:
    assert response.status_code == status, response.text
    (key, text), *others = response.json().items()
    assert (key, others) == ("error", [])
    return str(text)


def test_the_server_describes_itself(client: TestClient) -> None:
    assert client.get("/v2").json() == {
        "name": "evener",
        "version": __version__,
        "extensions": ["binary_tensor_data"],
    }


@pytest.mark.parametrize("path", [MODEL, f"{MODEL}/versions/1"])
def test_a_model_is_described(client: TestClient, path: str) -> None:
    assert client.get(path).json() == {
        "name": "fake net",
        "versions": ["1"],
        "platform": "evener_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3]}],
        "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [1, 3]},
            {"name": "large", "datatype": "BOOL", "shape": [1, 3]},
        ],
    }


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [("ready", 200, 200), ("recovering", 200, 503), ("closed", 200, 503), ("broken", 503, 503)],
)
def test_health_is_what_the_predictor_says(
    client: TestClient, predictor: FakePredictor, state: State, live: int, ready: int
) -> None:
    predictor.state = state
    pages = [client.get(f"/v2/health/{name}") for name in ("live", "ready")]

    assert [page.status_code for page in pages] == [live, ready]
    said = {"live": live == 200, "ready": ready == 200, "state": state}
    assert [page.json() for page in pages] == [said, said]
    for path in (f"{MODEL}/ready", f"{MODEL}/versions/1/ready"):
        page = client.get(path)
        assert (page.status_code, page.json()["ready"]) == (ready, ready == 200)


@pytest.mark.parametrize("path", [INFER, f"{MODEL}/versions/1/infer", f"{INFER}?why=not"])
def test_a_prediction(client: TestClient, path: str) -> None:
    response = client.post(path, json=asking(0.5, -1, 2, id="mine"))

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.json() == {
        "model_name": "fake net",
        "model_version": "1",
        "id": "mine",
        "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [1.5, 0, 3]},
            {"name": "large", "datatype": "BOOL", "shape": [1, 3], "data": [True, False, True]},
        ],
    }


def test_a_model_on_simulated_processors_says_so(predictor: FakePredictor) -> None:
    predictor.properties = {"simulated_board": "khadas-vim3"}

    with TestClient(make_app(predictor)) as client:
        page = client.get("/v2/models/fake net").json()

    assert page["properties"] == {"simulated_board": "khadas-vim3"}


def test_who_gives_no_id_gets_none(client: TestClient) -> None:
    assert "id" not in client.post(INFER, json=asking(1, 2, 3)).json()


def test_outputs_come_as_they_are_asked_for(client: TestClient) -> None:
    wanted = [{"name": "large"}, {"name": "y"}]

    for outputs in (wanted, wanted[:1], wanted[1:]):
        answer = client.post(INFER, json=asking(1, 2, 3, outputs=outputs)).json()
        assert [one["name"] for one in answer["outputs"]] == [one["name"] for one in outputs]


def binary(response: Response) -> tuple[dict[str, Any], bytes]:
    length = int(response.headers[JSON_LENGTH])
    return json.loads(response.content[:length]), response.content[length:]


def test_tensors_can_go_as_bytes_in_both_directions(client: TestClient) -> None:
    x = np.array([[0.1, np.nan, -np.inf]], np.float32)
    about = {"name": "x", "shape": [1, 3], "datatype": "FP32"}
    head = json.dumps(
        {
            "inputs": [about | {"parameters": {"binary_data_size": 12}}],
            "parameters": {"binary_data_output": True},
        }
    ).encode()

    response = client.post(INFER, content=head + x.tobytes(), headers={JSON_LENGTH: str(len(head))})

    assert response.headers["Content-Type"] == "application/octet-stream"
    said, data = binary(response)
    assert [one["parameters"]["binary_data_size"] for one in said["outputs"]] == [12, 3]
    assert data == (x + 1).tobytes() + (x > 0).tobytes()


def test_one_output_can_go_as_bytes_and_another_as_json(client: TestClient) -> None:
    outputs = [{"name": "y", "parameters": {"binary_data": False}}, {"name": "large"}]

    said, data = binary(
        client.post(
            INFER,
            json=asking(1, -1, 1, outputs=outputs, parameters={"binary_data_output": True}),
        )
    )

    assert said["outputs"][0]["data"] == [2, 0, 2]
    assert "data" not in said["outputs"][1]
    assert data == bytes([1, 0, 1])


X = {"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is no inference request: Input data was truncated"),
        (b"{", "the body is no inference request: "),
        (b'{"inputs": ' + b"[" * 50_000, "the body is no inference request: "),
        (b"\xff", "the body is no inference request: "),
        ({"inputs": 3}, "Expected `array`, got `int` - at `$.inputs`"),
        ({}, "missing required field `inputs`"),
        ({"inputs": []}, "the input 'x' is missing: FP32 [1, 3]"),
        ({"inputs": [X, X]}, "'x' is given twice; its inputs are x"),
        ({"inputs": [X | {"name": "z"}]}, "'z' is no input of the model; its inputs are x"),
        (
            {"inputs": [X | {"shape": [3]}]},
            "'x' is given as FP32 [3]; the model takes FP32 [1, 3]",
        ),
        (
            {"inputs": [X | {"datatype": "FP64"}]},
            "'x' is given as FP64 [1, 3]; the model takes FP32 [1, 3]",
        ),
        ({"inputs": [X | {"data": [1, 2]}]}, "holds 2 elements as [2]; [1, 3] are needed"),
        ({"inputs": [X | {"data": [1, 2, "3"]}]}, "the data of 'x' is no FP32: Expected `float`"),
        (
            {"inputs": [{name: X[name] for name in ("name", "shape", "datatype")}]},
            "'x' comes without data: give its elements",
        ),
        (
            {"inputs": [X | {"parameters": {"binary_data_size": 12}}]},
            "'x' has the \"binary_data_size\" 12, and 0 bytes of binary data are left",
        ),
        (
            {"inputs": [X | {"parameters": {"binary_data_size": -1}}]},
            "'x' has the \"binary_data_size\" -1",
        ),
        (
            {"inputs": [X], "outputs": [{"name": "z"}]},
            "'z' is no output of the model; its outputs are y, large",
        ),
        (
            {"inputs": [X], "outputs": [{"name": "y"}, {"name": "y"}]},
            "'y' is asked for twice; its outputs are y, large",
        ),
        (
            {"inputs": [X], "parameters": {"binary_data_output": "yes"}},
            "the parameter \"binary_data_output\" is 'yes'; it must be true or false",
        ),
    ],
)
def test_a_request_at_fault_is_told_what_is_wrong_and_never_computed(
    client: TestClient, predictor: FakePredictor, body: object, message: str
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    assert message in error_of(client.post(INFER, content=content), 400)
    assert predictor.asked == []


@pytest.mark.parametrize("length", ["0", "-1", "99999", "1_0", "x", "\N{SUPERSCRIPT TWO}"])
def test_a_length_of_the_json_that_cannot_be_is_refused(client: TestClient, length: str) -> None:
    headers = {JSON_LENGTH.encode(): length.encode("latin-1")}
    response = client.post(INFER, json=asking(1, 2, 3), headers=headers)

    assert "must be the length of the JSON object" in error_of(response, 400)


def test_bytes_that_belong_to_no_input_are_refused(client: TestClient) -> None:
    head = json.dumps(asking(1, 2, 3)).encode()
    response = client.post(INFER, content=head + b"...", headers={JSON_LENGTH: str(len(head))})

    assert error_of(response, 400) == "3 bytes of binary data belong to no input"


@pytest.mark.parametrize(
    "path",
    ["/v2/models/net", "/v2/models/net/ready", f"{MODEL}/versions/2", "/v2/models/net/infer"],
)
def test_an_unknown_model_is_said_to_be(client: TestClient, path: str) -> None:
    ask = client.post if path.endswith("infer") else client.get

    text = error_of(ask(path), 404)
    assert text.startswith("Request for unknown model: ")
    assert text.endswith(" is not found; served is 'fake net' version '1'")


def test_other_paths_and_methods_are_refused_in_the_same_form(client: TestClient) -> None:
    assert error_of(client.get("/v3"), 404) == "Not Found"
    assert error_of(client.get(f"{MODEL}/"), 404) == "Not Found"
    assert error_of(client.get(INFER), 405) == "Method Not Allowed"


def parts(length: int) -> Iterator[bytes]:
    for _ in range(length // 1000):
        yield b" " * 1000


@pytest.mark.parametrize("content", [b" " * 100_000, parts(100_000)], ids=["announced", "streamed"])
def test_a_body_that_no_request_needs_is_refused(
    client: TestClient, content: bytes | Iterator[bytes]
) -> None:
    text = error_of(client.post(INFER, content=content), 413)

    assert "longer than 65920 bytes, and no request for 'fake net' needs more" in text


def test_a_compressed_body_is_refused(client: TestClient) -> None:
    response = client.post(INFER, content=b"x", headers={"Content-Encoding": "gzip"})

    assert error_of(response, 415) == "the body is compressed ('gzip'); send it as it is"


def test_an_answer_that_json_cannot_say_is_not_acceptable(
    client: TestClient, predictor: FakePredictor
) -> None:
    predictor.answer = lambda frame: (frame[0] * np.float32(np.nan), frame[0] > 0)

    text = error_of(client.post(INFER, json=asking(1, 2, 3)), 406)
    assert text.startswith("the answer 'y' holds NaN or infinity")


def raising(error: Exception) -> Callable[[Arrays], NoReturn]:
    def fail(_: Arrays) -> NoReturn:
        raise error

    return fail


def test_a_stage_that_failed_is_the_services_fault(
    client: TestClient, predictor: FakePredictor
) -> None:
    predictor.answer = raising(StageFailedError("stage 1 failed at frame 7", stage=1))

    assert error_of(client.post(INFER, json=asking(1, 2, 3)), 500) == "stage 1 failed at frame 7"


def test_an_unexpected_error_is_answered_too(client: TestClient, predictor: FakePredictor) -> None:
    predictor.answer = raising(ZeroDivisionError("oops"))

    text = error_of(client.post(INFER, json=asking(1, 2, 3)), 500)
    assert text == "the service failed: ZeroDivisionError: oops"


@pytest.mark.parametrize(("wait_s", "after"), [(0.001, "1"), (2.2, "3")])
def test_one_that_takes_no_request_says_when_to_ask_again(
    client: TestClient, predictor: FakePredictor, wait_s: float, after: str
) -> None:
    predictor.refusal = UnavailableError("full", retry_after_s=wait_s)

    response = client.post(INFER, json=asking(1, 2, 3))

    assert error_of(response, 503) == "full"
    assert response.headers["Retry-After"] == after


def test_each_of_many_clients_gets_its_own_answer(predictor: FakePredictor) -> None:
    with (
        TestClient(make_app(predictor)) as client,
        ThreadPoolExecutor(4) as predictor.pool,
        ThreadPoolExecutor(8) as clients,
    ):
        answers = list(
            clients.map(
                lambda n: client.post(INFER, json=asking(n, n, n, id=str(n))).json(), range(64)
            )
        )

    assert [(one["id"], one["outputs"][0]["data"][0]) for one in answers] == [
        (str(n), n + 1) for n in range(64)
    ]


def test_a_request_that_waits_holds_up_no_other_page(predictor: FakePredictor) -> None:
    go_on = threading.Event()

    def answer(frame: Arrays) -> Arrays:
        go_on.wait(PATIENCE_S)
        return add_one(frame)

    predictor.answer = answer
    with (
        TestClient(make_app(predictor)) as client,
        ThreadPoolExecutor(2) as predictor.pool,
        ThreadPoolExecutor(1) as other,
    ):
        waiting = other.submit(client.post, INFER, json=asking(1, 2, 3))
        assert client.get("/v2/health/live").status_code == 200
        assert not waiting.done()
        go_on.set()
        assert waiting.result(PATIENCE_S).status_code == 200
