"""Which model a build delivers, and which rows that has learned from."""

import csv
import html
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.card import Baselines, Card, to_deliver
from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.recommended import Recommended
from evener.artifacts.trace import Trace
from evener.data.sources import Reading
from evener.testing.projects import change
from evener.workflow import learn
from evener.workflow.build import build_project
from evener.workflow.run import run_network

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def test_the_chosen_network_learns_from_the_validation_rows_too(built: Path) -> None:
    card = load(built / ".evener" / "card.json", Card).value
    front = load(built / ".evener" / "front.json", Front).value
    chosen = front.retrained_of(front.chosen)
    assert chosen is not None
    assert card.learned_from == ("train", "validation")
    assert card.validation == {"accuracy": chosen.quality}  # of those that it was chosen by
    assert (
        "the training and validation rows, once the network was chosen"
        in (built / "report.html").read_text()
    )
    before = (built / ".evener" / "network.onnx").read_bytes()

    change(built, "epochs = 6", "epochs = 6\nrefit = false")
    again = build_project(built)

    assert {"data", "search", "baselines"} <= set(again.kept)
    assert "train" in again.ran
    assert again.network.read_bytes() != before
    assert again.card.learned_from == ("train",)
    assert again.card.validation["accuracy"] == chosen.validation[0]  # the first seed's training
    assert again.card.test["accuracy"] == chosen.test[0]


def test_a_simple_model_is_delivered_where_it_is_recommended_and_that_is_wanted(
    built: Path,
) -> None:
    card = load(built / ".evener" / "card.json", Card).value
    assert card.recommended is not None
    family = card.recommended.family
    assert (card.family, family) == ("network", "linear")  # a line tells the kinds apart
    assert card.advice is not None
    told = f"{card.advice[1:]}; {to_deliver(board=False)}."
    assert html.escape(told, quote=False) in (built / "report.html").read_text()
    stopped = built / ".evener" / "training" / "abc"  # a training by shards that was stopped
    stopped.mkdir(parents=True)

    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')
    again = build_project(built)

    assert {"data", "search", "baselines"} <= set(again.kept)
    assert (again.card.family, again.card.advice) == (family, None)
    assert again.card.learned_from == ("train", "validation")
    assert not stopped.parent.exists()
    trace = load(built / ".evener" / "trace.json", Trace).value
    assert trace.quality == pytest.approx(again.card.test, abs=1e-3)
    assert next(one for one in again.verdicts if one.name == "accuracy").holds
    assert (
        "the model 'linear', which answers the validation rows best"
        in (built / "report.html").read_text()
    )
    assert build_project(built).ran == ()
    run_network(
        str(again.network),
        frames=built / "rows.csv",
        reading=Reading(),
        out=built / "scores.csv",
        stages=1,
    )
    with (built / "scores.csv").open() as scores, (built / "rows.csv").open() as rows:
        pairs = list(zip(csv.DictReader(scores), csv.DictReader(rows), strict=True))
    assert np.mean([score["prediction"] == row["kind"] for score, row in pairs]) > 0.9


@pytest.mark.parametrize("family", ["forest", "boosting"])
def test_trees_are_planned_measured_and_judged(
    built: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Recommended(family=family, validation=1.0, test=None, network=0.9)
    monkeypatch.setattr(learn, "recommend", lambda *_, **__: best)
    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')

    built_again = build_project(built)

    assert built_again.card.family == family
    assert built_again.card.weights > 10
    trace = load(built / ".evener" / "trace.json", Trace).value
    assert trace.quality == pytest.approx(built_again.card.test, abs=1e-3)


def test_a_network_that_is_the_best_is_not_trained_again_to_deliver_what_is_recommended(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Recommended(family="network", validation=1.0, test=None, network=1.0)
    monkeypatch.setattr(learn, "recommend", lambda *_, **__: best)
    assert "train" in build_project(built).ran

    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')

    assert build_project(built).ran == ()


def test_a_hard_limit_of_the_size_is_kept_where_a_refit_would_break_it(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baselines = load(built / ".evener" / "baselines.json", Baselines).value
    forest = next(one for one in baselines.models if one.name == "forest")
    best = Recommended(family="forest", validation=1.0, test=None, network=0.9)
    monkeypatch.setattr(learn, "recommend", lambda *_, **__: best)
    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')
    assert build_project(built).card.network_bytes > forest.size_bytes

    change(built, "<= 1 B ?", f"<= {forest.size_bytes} B")
    again = build_project(built)

    assert (again.card.family, again.card.network_bytes) == ("forest", forest.size_bytes)
    assert (again.card.learned_from, again.card.test) == (("train",), forest.test)
    assert next(one for one in again.verdicts if one.name == "size").holds
