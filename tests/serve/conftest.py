"""A predictor that computes nothing, and a client of the service over it."""

from collections.abc import Iterator

import pytest

from evener.testing.fake_predictor import FakePredictor


@pytest.fixture
def predictor() -> FakePredictor:
    return FakePredictor()


@pytest.fixture
def client(predictor: FakePredictor) -> Iterator[object]:
    testclient = pytest.importorskip("starlette.testclient", reason="the extra `serve`")
    from evener.serve.app import make_app

    with testclient.TestClient(make_app(predictor), raise_server_exceptions=False) as client:
        yield client
