"""A build runs each step once, runs again only what a change touches, and survives being killed."""

import csv
import html
import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evener.artifacts.card import Baselines, Card, to_deliver
from evener.artifacts.comparison import Comparison
from evener.artifacts.files import load
from evener.artifacts.front import Front
from evener.artifacts.recommended import Recommended
from evener.artifacts.topology import Topology
from evener.artifacts.trace import Trace
from evener.data.sources import Reading
from evener.errors import EvenerError, InputError
from evener.workflow import learn, packages, place, race
from evener.workflow.build import BuildResult, build_project
from evener.workflow.ranks import find_launcher
from evener.workflow.run import run_network
from evener.workflow.steps import open_steps

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")

STEPS = ("data", "search", "baselines", "train", "profile", "plan", "run", "compare", "judge")
TOML = """
[data]
source = "rows.csv"
target = "kind"

[requirements]
accuracy = ">= 0.8"
latency_p99 = "<= 1 s"
size = "<= 1 B ?"

[search]
population = 4
generations = 1
epochs = 2
depth = 2
density = 0.9
widths = [64, 128]
finalists = 1

[train]
epochs = 6
learning_rate = 0.03
"""


def write_project(folder: Path) -> Path:
    """Write a project of two kinds of row that a line tells apart."""
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(150, 3))
    lines = [
        f"{a:.4f},{b:.4f},{c:.4f},{'red' if a + b > 0 else 'blue'}" for a, b, c in rows.tolist()
    ]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,kind", *lines]) + "\n")
    (folder / "evener.toml").write_text(TOML)
    return folder


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Measure as little as possible."""
    patch.setattr(race, "_ROUND_S", (0.005, 0.005))
    patch.setattr(place, "ROUNDS", 2)
    patch.setattr(place, "LEAST_FRAMES", 50)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shorten(monkeypatch)
    return write_project(tmp_path / "project")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildResult]:
    """Build a project that nobody kills or changes, with a cache beside it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        project = write_project(folder / "project")
        return project, build_project(project)


@pytest.fixture
def built(
    undisturbed: tuple[Path, BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Copy the project that is built, and its cache, to where this test looks for one."""
    shorten(monkeypatch)
    shutil.copytree(undisturbed[0].parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "project"


def change(project: Path, old: str, new: str) -> None:
    path = project / "evener.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_build_goes_from_rows_to_a_judged_plan_and_runs_nothing_twice(
    undisturbed: tuple[Path, BuildResult], built: Path
) -> None:
    first = undisturbed[1]

    assert first.ran == (*STEPS, "report")
    assert first.kept == ()
    assert first.holds
    assert {one.name: one.holds for one in first.verdicts} == {
        "accuracy": True,
        "latency_p99": True,
        "size": False,
    }
    assert first.network.read_bytes()
    assert first.report.read_text().startswith("<!doctype html>")

    again = build_project(built / "evener.toml")

    assert (again.ran, again.kept) == ((), (*STEPS, "report"))
    assert again.verdicts == first.verdicts


def test_the_pipeline_answers_the_test_rows_as_the_trainer_did(built: Path) -> None:
    card = load(built / ".evener" / "card.json", Card).value
    trace = load(built / ".evener" / "trace.json", Trace).value
    assert trace.quality == pytest.approx(card.test, abs=1e-6)
    assert trace.frames == 50
    assert trace.max_error is not None
    assert trace.max_error <= 1e-4


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


@pytest.mark.parametrize(
    ("target", "requirement"), [("price", 'r2 = ">= 0.5"'), ("dear", 'accuracy = ">= 0.7"')]
)
def test_raw_rows_with_gaps_words_and_dates_go_all_the_way_to_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, requirement: str
) -> None:
    shorten(monkeypatch)
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


@pytest.mark.parametrize(
    ("old", "new", "ran"),
    [
        ('size = "<= 1 B ?"', 'size = "<= 9 MB ?"', ("judge", "report")),
        ('"<= 1 s"', '"<= 2 s"', ("plan", "run", "compare", "judge", "report")),
        ("generations = 1", "generations = 2", ("search",)),
        ("epochs = 6", "epochs = 7", ("search", "train", "profile", "plan", "run", "compare")),
    ],
)
def test_a_change_runs_what_it_touches(
    built: Path, old: str, new: str, ran: tuple[str, ...]
) -> None:
    change(built, old, new)

    again = build_project(built).ran

    # The report is written anew if what it shows is new; so is the verdict.
    assert set(again) - {"judge", "report"} == set(ran) - {"judge", "report"}
    assert set(ran) <= set(again)


def test_what_the_search_warns_of_is_told_by_builds_that_keep_it_too(
    undisturbed: tuple[Path, BuildResult], built: Path
) -> None:
    assert undisturbed[1].warnings == ()
    change(built, "generations = 1", 'generations = 2\nalgorithm = "paper"')

    first, again = build_project(built), build_project(built)

    [warning] = first.warnings
    assert warning.startswith("drift: a population of 4, of which the best 4 breed, loses a link")
    assert again.ran == ()
    assert again.warnings == first.warnings


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


def test_a_limit_that_no_plan_keeps_is_missed_not_refused(built: Path) -> None:
    change(built, "<= 1 s", "<= 1 ns")

    result = build_project(built)

    assert not result.holds
    assert [one.name for one in result.verdicts if not one.holds] == ["latency_p99", "size"]


def test_a_network_file_that_was_changed_is_made_again(built: Path) -> None:
    network = built / ".evener" / "network.onnx"
    before = network.read_bytes()
    network.write_bytes(before[:-1])

    again = build_project(built)

    assert again.ran == ("train",)
    assert again.network.read_bytes() == before


def test_rows_that_changed_are_read_again(built: Path) -> None:
    path = built / "rows.csv"
    path.write_text(path.read_text().replace("a,b,c,kind\n", "a,b,c,kind\n9.0,9.0,9.0,red\n"))

    told: list[str] = []

    def stop(message: str, _done: int, _total: int) -> None:
        told.append(message)
        if message.startswith("fitting a linear model"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_project(built, progress=stop)
    assert told[0] == "reading the data"
    assert any(message.startswith("generation 1") for message in told)


def test_a_network_that_ranks_trained_flows_on_and_is_that_of_one_rank(built: Path) -> None:
    try:
        find_launcher()
    except EvenerError as error:
        pytest.skip(str(error))
    change(built, "epochs = 6", "epochs = 6\nranks = 2\nshards = 4\nhalo = 1")

    first = build_project(built)

    trace = load(built / ".evener" / "trace.json", Trace).value
    assert first.ran == (*(one for one in STEPS if one not in ("data", "baselines")), "report")
    assert trace.quality == pytest.approx(first.card.test, abs=1e-6)
    assert first.card.topology == Topology(shards=4, halo=1)
    assert not (built / ".evener" / "training").exists()

    change(built, "ranks = 2\n", "")  # who computes makes no other network
    assert build_project(built).ran == ()

    together = first.network.read_bytes()
    first.network.unlink()
    alone = build_project(built)
    assert first.network.read_bytes() == together
    assert alone.ran == ("train", "report")  # which shows how long ranks waited, and one does not
    assert msgspec.structs.replace(first.card, communication_share=None) == alone.card


def test_a_build_of_shards_that_was_stopped_goes_on_from_its_checkpoint(built: Path) -> None:
    change(built, "epochs = 6", "epochs = 6\nshards = 4\nhalo = 1")
    undisturbed = build_project(built).network
    before = undisturbed.read_bytes()
    undisturbed.unlink()
    other = built / ".evener" / "training" / "of-another-training"
    other.mkdir(parents=True)
    told: list[int] = []

    def stop(message: str, done: int, _total: int) -> None:
        told.append(done)
        if message.startswith("training") and done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_project(built, progress=stop)
    assert not other.exists()
    told.clear()

    assert build_project(built, progress=lambda _, done, __: told.append(done)).ran == ("train",)
    assert told[0] == 5
    assert undisturbed.read_bytes() == before


def test_what_a_stopped_training_by_shards_left_is_removed_by_the_next_build(built: Path) -> None:
    stopped = built / ".evener" / "training" / "abc"
    stopped.mkdir(parents=True)

    assert build_project(built).ran == ()
    assert not stopped.parent.exists()


def test_a_build_without_the_packages_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_PACKAGES", {"no_such_package": "none"})

    with pytest.raises(InputError, match=r"pip install 'evener\[train\]'"):
        build_project(project)
    assert not (project / ".evener").exists()


def test_a_processor_that_is_not_here_is_refused_before_the_search(project: Path) -> None:
    with (project / "evener.toml").open("a") as file:
        file.write('\n[plan]\nprocessors = ["cpu9"]\n')

    with pytest.raises(InputError, match="no processor 'cpu9'"):
        build_project(project)
    assert not (project / ".evener").exists()


def append(project: Path, text: str) -> None:
    with (project / "evener.toml").open("a") as file:
        file.write(f"\n{text}\n")


def test_a_project_for_a_board_is_judged_on_simulated_processors(built: Path) -> None:
    append(built, '[plan]\nboard = "khadas-vim3"\nprocessors = ["B", "L"]')
    change(built, '"<= 1 s"', '"<= 0.1 ms"')

    first = build_project(built)

    state = built / ".evener"
    trace = load(state / "trace.json", Trace).value
    assert first.board == "khadas-vim3"
    assert first.plan.estimate == "cost model of khadas-vim3"
    assert {lane.processor for stage in first.plan.stages for lane in stage.lanes} <= {"B", "L"}
    assert (trace.simulated, trace.frames) == (True, 50)
    assert trace.rate_hz == pytest.approx(first.plan.rate_hz, rel=0.2)
    card = load(state / "card.json", Card).value
    assert trace.quality == pytest.approx(card.test, abs=1e-6)  # computed for real
    assert (trace.equal, trace.max_error) == (True, 0.0)
    assert load(state / "comparison.json", Comparison).value.simulated
    # No plan keeps the limit there: it is missed, not refused.
    latency = next(one for one in first.verdicts if one.name == "latency_p99")
    assert (latency.value, latency.holds) == (trace.latency_p99_s, False)
    page = first.report.read_text()
    assert "Rates and latencies are simulated for khadas-vim3; nothing was measured there." in page
    assert "Simulated for khadas-vim3" in page
    assert "Measured on this machine" not in page

    assert build_project(built).ran == ()
    append(built, 'objective = "latency"')
    assert "train" in build_project(built).kept


def test_a_board_file_lies_beside_the_project_file(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(built, '[plan]\nboard = "toy.toml"')
    monkeypatch.chdir(built)

    with pytest.raises(InputError, match=r"cannot read .*toy\.toml"):
        build_project(built)
    (built / "toy.toml").write_text(
        'name = "toy"\nsource = "made up"\n'
        '[processors.B]\nkind = "cpu"\ncores = [0]\nruntime = "r"\nprecision = "f32"\n'
        "[networks.other.B]\npart_ms = [1.0]\n"
    )
    monkeypatch.chdir(built.parent)

    with pytest.raises(InputError, match="toy has no times of network and no cost model"):
        build_project(built)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('board = "vim4"', "no board 'vim4'; there are khadas-vim3"),
        (
            'board = "khadas-vim3"\nprocessors = ["cpu0"]',
            "the board khadas-vim3 has no processor 'cpu0'; it has B, G, L",
        ),
    ],
)
def test_a_board_or_processor_that_there_is_not_is_refused_before_the_search(
    project: Path, section: str, message: str
) -> None:
    append(project, f"[plan]\n{section}")

    with pytest.raises(InputError, match=message):
        build_project(project)
    assert not (project / ".evener").exists()


def test_a_project_is_the_same_from_any_folder_and_in_another(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built.parent)

    assert build_project(Path(built.name)).ran == ()


def test_a_build_beside_another_is_refused(project: Path) -> None:
    with open_steps(project), pytest.raises(InputError, match="another build of"):
        build_project(project)


# Children of one process, as starting Python and loading torch takes longer than most steps.
_KILLED = """
import os, signal, sys
from pathlib import Path
import onnxscript, skl2onnx, sklearn.linear_model, torch._dynamo, torch.onnx
from evener.train import baselines, export, fit
from evener.workflow import build, place, race
race._ROUND_S = (0.005, 0.005)
place.ROUNDS, place.LEAST_FRAMES = 2, 50
kept = {}
for folder, moment in zip(map(Path, sys.argv[1::2]), sys.argv[2::2]):
    told, tell = os.pipe()
    def progress(message, done, total):
        if moment in message:
            os.write(tell, b"now")
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        build.build_project(folder / "project", progress=progress)
        os._exit(0)
    os.close(tell)
    assert os.read(told, 3) == b"now", moment
    os.killpg(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGKILL, moment
    there = {path: path.read_bytes() for path in (folder / "project" / ".evener").glob("*.json")
             if path.name != "search.json"}  # written after each generation
    assert there.items() >= kept.get(folder, {}).items(), moment
    kept[folder] = there
"""


MOMENTS = (
    "generation 1",
    "in full",
    "and validation rows",
    "writing and checking",
    "trying the best",
)


@pytest.fixture(scope="module")
def killed(
    undisturbed: tuple[Path, BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Kill a build step by step, and another as it delivers a simple model; return their folders.

    Projects lie in them, with caches beside them.
    """
    steps, simple = (tmp_path_factory.mktemp(name) for name in ("steps", "simple"))
    write_project(steps / "project")
    shutil.copytree(undisturbed[0].parent, simple, dirs_exist_ok=True)
    change(simple / "project", "epochs = 6", 'epochs = 6\ndeliver = "recommended"')
    moments = [*((steps, one) for one in MOMENTS), (simple, "training the model")]
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, *(str(word) for pair in moments for word in pair)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return steps, simple


def test_a_build_killed_step_by_step_ends_in_the_same_network(
    killed: tuple[Path, Path],
    undisturbed: tuple[Path, BuildResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = killed[0] / "project"
    shorten(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(killed[0] / "cache"))
    state, whole = project / ".evener", undisturbed[0] / ".evener"
    there = {path.name: content_sha256(path) for path in state.glob("*.json")}

    network = build_project(project).network

    assert {name: content_sha256(state / name) for name in there} == there
    assert not list(project.rglob(".partial-*"))
    assert network.read_bytes() == (whole / "network.onnx").read_bytes()
    assert content_sha256(state / "card.json") == content_sha256(whole / "card.json")


def test_a_build_killed_as_it_delivers_a_simple_model_ends_in_the_same_file(
    built: Path, killed: tuple[Path, Path]
) -> None:
    change(built, "epochs = 6", 'epochs = 6\ndeliver = "recommended"')

    again, whole = build_project(killed[1] / "project"), build_project(built)

    assert "train" in again.ran
    assert again.card == whole.card
    assert again.card.family == "linear"
    assert again.network.read_bytes() == whole.network.read_bytes()


def content_sha256(path: Path) -> str:
    return str(json.loads(path.read_text())["sha256"])
