"""A build goes from rows of a table to a network that scores new ones."""

import csv
from pathlib import Path

import numpy as np
import pytest

from evener.data.sources import Reading
from evener.workflow.build import build_project
from evener.workflow.run import run_network

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")


def test_the_network_scores_new_rows_by_the_names_of_their_columns(built: Path) -> None:
    network = built / ".evener" / "network.onnx"
    with (built / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    with (built / "new.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["c", "who", "a", "b"])  # in another order, without the answer
        table.writerows([one["c"], f"n{i}", one["a"], one["b"]] for i, one in enumerate(rows))

    run_network(
        str(network),
        frames=built / "new.csv",
        reading=Reading(id_column="who"),
        out=built / "scores.csv",
        stages=1,
    )

    with (built / "scores.csv").open() as file:
        scores = list(csv.DictReader(file))
    assert [one["id"] for one in scores] == [f"n{i}" for i in range(len(rows))]
    right = [one["kind"] == score["prediction"] for one, score in zip(rows, scores, strict=True)]
    assert np.mean(right) >= 0.8


RAW = """\
[data]
source = "raw.csv"
target = "{target}"
only = ["kept=yes"]

[requirements]
{requirement}

[search]
population = 4
generations = 1
epochs = 2
widths = [64]
finalists = 1

[train]
epochs = 30
"""


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("target", "requirement"), [("price", 'r2 = ">= 0.5"'), ("dear", 'accuracy = ">= 0.7"')]
)
def test_raw_rows_with_gaps_words_and_dates_go_all_the_way_to_answers(
    tmp_path: Path, target: str, requirement: str
) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for index in range(200):
        size, colour, month = rng.uniform(1, 9), rng.choice(["red", "blue"]), rng.integers(1, 13)
        price = 1000 * size + 2000 * (colour == "red") + 10 * month
        rows.append(
            {
                "id": f"n{index}",
                "size": "" if index % 20 == 7 else f"{size:.3f}",
                "colour": "?" if index % 20 == 3 else colour,
                "sold": f"2024-{month:02}-15",
                "kept": "no" if index % 50 == 0 else "yes",
                "price": f"{price:.2f}",
                "dear": "dear" if price > 6000 else "cheap",
            }
        )
    other = "dear" if target == "price" else "price"
    names = [name for name in rows[0] if name not in (other, "id")]
    with (tmp_path / "raw.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, names, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    (tmp_path / "evener.toml").write_text(RAW.format(target=target, requirement=requirement))

    built = build_project(tmp_path)

    assert built.verdicts[0].holds
    with (tmp_path / "new.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["sold", "id", "colour", "size"], extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    run_network(
        str(tmp_path / ".evener" / "network.onnx"),
        frames=tmp_path / "new.csv",
        reading=Reading(id_column="id"),
        out=tmp_path / "scores.csv",
        stages=1,
    )
    with (tmp_path / "scores.csv").open() as file:
        scores = {one["id"]: one["prediction"] for one in csv.DictReader(file)}
    if target == "dear":
        assert np.mean([scores[one["id"]] == one["dear"] for one in rows]) > 0.8
    else:
        away = [abs(float(scores[one["id"]]) - float(one["price"])) for one in rows]
        assert np.median(away) < 1000
