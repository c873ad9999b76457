"""The page as a whole."""

import shlex
from html.parser import HTMLParser
from pathlib import Path

import click
import msgspec
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.dataset import SplitName
from evener.artifacts.front import Front
from evener.artifacts.recommended import Recommended
from evener.artifacts.requirements import judge, parse_requirement
from evener.cli.main import cli
from evener.errors import InvalidFileError
from evener.report.content import ReportContent
from evener.report.page import write_report

VOID = {"meta", "br"}
HOSTILE = '<script>alert("x")</script>&\'>'


class Outline(HTMLParser):
    """Checks that every element is closed, and collects text and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def outline(content: ReportContent, folder: Path) -> Outline:
    write_report(folder / "report.html", content)
    found = Outline()
    found.feed((folder / "report.html").read_text(encoding="utf-8"))
    assert not found.open
    return found


def headline(content: ReportContent, folder: Path) -> str:
    return next(one for one in outline(content, folder).text if "require" in one.lower())


def test_it_loads_nothing_from_anywhere(content: ReportContent, tmp_path: Path) -> None:
    found = outline(content, tmp_path)

    references = {name for name, _ in found.attributes} & {
        "src",
        "href",
        "srcset",
        "data",
        "action",
    }
    links = [(name, value) for name, value in found.attributes if "//" in value]
    assert not references
    assert set(links) == {("xmlns", "http://www.w3.org/2000/svg")}
    assert not set(found.tags) & {"script", "link", "img", "iframe", "object", "base"}
    style = "".join(found.text)
    assert "url(" not in style
    assert "@import" not in style


def test_the_sections_come_in_the_order_of_a_readers_questions(
    content: ReportContent, tmp_path: Path
) -> None:
    text = outline(content, tmp_path).text

    places = [
        text.index(heading)
        for heading in (
            "All requirements hold; wishes missed: size",
            "Networks tried",
            "The plan",
            "Measured on this machine",
            "How it was made",
            "What to type next",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "figure",
    [
        "0.986",  # accuracy measured
        "≥ 0.97",  # and required
        "12.3 ms",
        "84,480",  # multiply-accumulates of a candidate
        "0.9805 ± 0.0073",
        "out_of_budget: the time was up",
        "45200 /s",
        "33000 /s",  # predicted for the copies
        "d" * 64,
        "60 epochs in 1.84 s, seed 0",
        "largest difference of an answer 2.4e-07",
        "torch 2.13.0, onnxruntime 1.32.0",
        "cpu0: Cortex-A73, 4 cores; cpu1: Cortex-A53, 2 cores",
        "evener run .evener/network.onnx --shape features=1,64 --frames rows.npz --out answers.npz",
    ],
)
def test_every_figure_is_there(content: ReportContent, tmp_path: Path, figure: str) -> None:
    assert figure in outline(content, tmp_path).text


def test_sentences_carry_the_figures(content: ReportContent, tmp_path: Path) -> None:
    text = " ".join(outline(content, tmp_path).text)

    assert "1.42 times the rate of copies" in text
    assert "middle half of 9 rounds: 1.38 to 1.45" in text
    assert "No plan can be faster than 52000 /s by this profile." in text
    assert "linear: accuracy 0.961, 4.46 kB; forest: accuracy 0.972, 2.5 MB." in text
    assert "1,000 frames in 22.1 ms: 45200 /s" in text


def test_figures_that_learned_from_other_rows_say_so(
    content: ReportContent, tmp_path: Path
) -> None:
    both: tuple[SplitName, ...] = ("train", "validation")
    trees = Architecture(family="boosting")
    network = msgspec.structs.replace(content.card, learned_from=both)
    simple = msgspec.structs.replace(network, architecture=trees, epochs=0)

    def text(card: Card) -> str:
        shown = msgspec.structs.replace(content, card=card)
        return " ".join(outline(shown, tmp_path).text)

    assert "On the test rows the simple models reach: linear" in text(content.card)
    alone = "the simple models reach (learned from the training rows alone): linear"
    assert alone in text(network)
    assert "validation rows, once the network was chosen by the latter; on them" in text(network)
    assert "validation rows, once the model was chosen by the latter; on them" in text(simple)
    assert ("Network sha256" in text(network), "Model sha256" in text(simple)) == (True, True)


@pytest.mark.parametrize(
    ("board", "first"),
    [
        (False, 'write deliver = "recommended" in [train] of evener.toml'),
        (True, "take plan.board, which has times of networks alone, out of evener.toml, write"),
    ],
)
def test_it_says_how_the_recommended_model_is_delivered(
    content: ReportContent, tmp_path: Path, *, board: bool, first: str
) -> None:
    best = Recommended(family="boosting", validation=0.995, test=0.98, network=0.9875)
    shown = msgspec.structs.replace(
        content,
        card=msgspec.structs.replace(content.card, recommended=best),
        trace=msgspec.structs.replace(content.trace, simulated=board),
    )

    assert (
        "The model 'boosting' is recommended: its accuracy on the validation rows is 0.9950, the "
        f"network's 0.9875; the network was delivered; to deliver the model, {first}"
    ) in " ".join(outline(shown, tmp_path).text)


def test_notes_on_the_data_are_shown(content: ReportContent, tmp_path: Path) -> None:
    noted = msgspec.structs.replace(content, notes=("'a' lies far beyond the training rows",))

    assert (
        "Note on the data: 'a' lies far beyond the training rows." in outline(noted, tmp_path).text
    )
    assert "Note on the data" not in " ".join(outline(content, tmp_path).text)


def test_what_was_simulated_is_not_called_measured(content: ReportContent, tmp_path: Path) -> None:
    estimate = {"estimate": "cost model of a board", "estimate_error": 0.15}
    simulated = msgspec.structs.replace(
        content,
        plan=msgspec.structs.replace(content.plan, **estimate),
        trace=msgspec.structs.replace(content.trace, simulated=True),
        comparison=msgspec.structs.replace(content.comparison, simulated=True),
    )

    text = " ".join(outline(simulated, tmp_path).text)

    host = content.profile.machine.host
    assert f"Rates and latencies are simulated for {host}; nothing was measured there." in text
    assert "estimated: cost model of a board, whose cross-validated error is 15% a block." in text
    assert f"Simulated for {host}" in text
    assert "Simulated rows went through the plan as 1,000 frames" in text
    assert "easured on" not in text
    assert "middle half" not in text
    assert "evener bench" not in text


def test_the_commands_are_command_lines(content: ReportContent, tmp_path: Path) -> None:
    lines = [one for one in outline(content, tmp_path).text if one.startswith("evener ")]

    assert [line.split()[1] for line in lines] == ["run", "bench", "plan", "build"]
    for line in lines:
        _, name, *arguments = shlex.split(line)
        verb = cli.get_command(click.Context(cli), name)
        assert verb is not None
        verb.make_context(name, arguments)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("dp", "found by dynamic programming for throughput"),
        ("exhaustive", "found by trying every plan for throughput"),
        ("baseline", "found by rule, as one of the simple ways, for throughput"),
        ("luck", "found by luck for throughput"),
    ],
)
def test_how_the_plan_was_found_is_said_in_words(
    method: str, says: str, content: ReportContent, tmp_path: Path
) -> None:
    plan = msgspec.structs.replace(content.plan, method=method)

    found = outline(msgspec.structs.replace(content, plan=plan), tmp_path)

    assert f"2 stages, {says}: predicted" in " ".join(found.text)


def test_missed_requirements_are_named_first(content: ReportContent, tmp_path: Path) -> None:
    limits = (parse_requirement("accuracy", ">= 0.99"), parse_requirement("throughput", ">= 1 /s"))
    verdicts = judge(limits, {"accuracy": 0.98})
    missed = msgspec.structs.replace(content, verdicts=verdicts)

    assert headline(missed, tmp_path) == "2 of 2 requirements missed: accuracy, throughput"
    assert "✗ not measured" in outline(missed, tmp_path).text


def test_wishes_alone_and_no_requirements_say_so(content: ReportContent, tmp_path: Path) -> None:
    wish = judge((parse_requirement("size", "<= 1 MB ?"),), {"size": 1.0})

    assert headline(msgspec.structs.replace(content, verdicts=wish), tmp_path) == (
        "Nothing is required"
    )
    assert headline(msgspec.structs.replace(content, verdicts=()), tmp_path) == (
        "No requirements were set in evener.toml."
    )


def test_hostile_names_stay_text(content: ReportContent, tmp_path: Path) -> None:
    machine = msgspec.structs.replace(content.profile.machine, host=HOSTILE)
    row = msgspec.structs.replace(content.comparison.rows[0], name=HOSTILE)
    hostile = msgspec.structs.replace(
        content,
        project=HOSTILE,
        profile=msgspec.structs.replace(content.profile, machine=machine),
        comparison=msgspec.structs.replace(content.comparison, rows=(row,)),
        versions={HOSTILE: HOSTILE},
    )

    found = outline(hostile, tmp_path)

    assert "script" not in found.tags
    assert HOSTILE in found.text
    assert f"{HOSTILE}, Linux 6.1 aarch64" in found.text


def test_every_chart_has_a_title_and_a_description(content: ReportContent, tmp_path: Path) -> None:
    found = outline(content, tmp_path)

    assert found.tags.count("svg") == 3
    assert found.tags.count("desc") == 3
    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids)) == 6


def test_each_cost_of_a_search_has_a_chart_and_those_of_plans_a_column(
    content: ReportContent, planned: Front, tmp_path: Path
) -> None:
    found = outline(msgspec.structs.replace(content, front=planned), tmp_path)

    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids)) == 8
    assert "accuracy against multiply-accumulates per prediction" in found.text
    assert "accuracy against time per prediction, estimated" in found.text
    head = ["network", "multiply-accumulates", "weights", "latency", "validation accuracy"]
    start = found.text.index("latency") - 3
    assert found.text[start : start + 5] == head
    assert "0.0613 µs" in found.text


def test_a_build_without_scores_rounds_or_bound_still_has_a_page(
    content: ReportContent, tmp_path: Path
) -> None:
    comparison = msgspec.structs.replace(content.comparison, rows=(), ratios=())
    bare = msgspec.structs.replace(
        content,
        front=msgspec.structs.replace(content.front, scored=content.front.scored[5:]),
        card=msgspec.structs.replace(content.card, baselines=()),
        plan=msgspec.structs.replace(content.plan, bound_rate_hz=None),
        comparison=comparison,
    )

    assert outline(bare, tmp_path).tags.count("svg") == 1


def test_equal_content_is_an_equal_file(content: ReportContent, tmp_path: Path) -> None:
    write_report(tmp_path / "one.html", content)
    write_report(tmp_path / "deeper" / "two.html", content)

    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "deeper" / "two.html").read_bytes()


def test_a_place_that_cannot_be_written_is_named(content: ReportContent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidFileError, match=r"cannot write .*report\.html"):
        write_report(tmp_path / "file" / "report.html", content)
