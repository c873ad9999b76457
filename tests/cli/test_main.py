"""Whatever happens becomes one line on stderr and the exit code that the help promises."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from evener import workflow
from evener.cli import main
from evener.errors import (
    ChannelClosedError,
    EvenerError,
    InfeasibleError,
    InvalidNetworkError,
    MissingExtraError,
)

Evener = Callable[..., tuple[int, str, str]]
HEAVY = {"torch", "onnxruntime", "onnx", "onnx_ir", "openvino", "numpy", "rich", "sklearn", "scipy"}


def raising(error: BaseException) -> Callable[..., object]:
    def fail(*_given: object, **_options: object) -> object:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InfeasibleError("no plan is that quick"), 1),
        (InvalidNetworkError("no such network"), 2),
        (MissingExtraError("training", extra="train"), 2),
        (ChannelClosedError("closed"), 3),
        (EvenerError("ours"), 3),
    ],
)
def test_an_error_of_evener_is_one_line_with_the_verb_and_ends_with_its_code(
    error: EvenerError, code: int, evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "plan_network", raising(error), raising=False)

    assert evener("plan", "tiny") == (code, "", f"evener plan: {error}\n")


def test_a_text_of_several_lines_becomes_one(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "plan_network", raising(EvenerError("one\n  two")), raising=False)

    assert evener("plan", "tiny")[2] == "evener plan: one two\n"


def test_an_unexpected_exception_says_how_to_see_more_and_where_to_report(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "find_processors", raising(KeyError("lost")), raising=False)

    code, out, err = evener("processors")

    assert (code, out) == (3, "")
    assert err == (
        "evener processors: this is a fault of evener: KeyError: 'lost'; run again with --debug "
        f"for the traceback, and report it at {main.REPORT_TO}\n"
    )


@pytest.mark.parametrize("error", [KeyError("lost"), InvalidNetworkError("no such network")])
def test_debug_shows_the_traceback(
    error: Exception, evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "find_processors", raising(error), raising=False)

    err = evener("processors", "--debug")[2]

    assert "Traceback (most recent call last)" in err
    assert f"{type(error).__name__}: {error}" in err


def test_ctrl_c_says_that_the_next_start_goes_on(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "build_project", raising(KeyboardInterrupt()), raising=False)

    assert evener("build", "p") == (
        130,
        "",
        "evener build: stopped; what was finished is kept, and the next start goes on from it\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plam", "x"), "evener: no such command 'plam'; see evener -h"),
        (("plan",), "evener plan: missing argument 'NET'; see evener plan -h"),
        (("plan", "x", "--bord", "y"), "evener plan: no such option '--bord'"),
        (("plan", "x", "--method", "guess"), "'guess' is not one of 'dp', 'exhaustive'"),
        (("plan", "x", "--stages", "0"), "invalid value for '--stages': 0 is not in the range"),
        (("plan", "x", "--max-latency", "20"), "'20' has no unit, and is no time: write '20 ms'"),
        (("plan", "x", "--max-latency", "20 MB"), "'20 MB' has the unit 'MB', and is no time"),
        (("plan", "x", "--max-latency", "0 ms"), "'0 ms' is not above 0"),
        (("plan", "x", "--shape", "a=1,b"), "'a=1,b' is no shape: write NAME=1,3,224,224"),
        (("plan", "x", "--shape", "1,3"), "'1,3' is no shape"),
        (("plan", "x", "--processors", "cpu0,,"), "'cpu0,,' holds an empty name"),
        (("plan", "x", "--cuts", "4,b"), "'4,b' are no cuts: write 4,6 to cut after the blocks"),
        (("plan", "x", "--cuts", "4"), "--cuts needs --on, with a processor for each stage"),
        (("plan", "x", "--on", "cpu0:"), "'cpu0:' is no processor: write NAME or NAME:CORES"),
        (("plan", "x", "--on", "cpu0,,b"), "'' is no processor: write NAME or NAME:CORES"),
        (
            ("plan", "x", "--on", "cpu0", "--stages", "2", "--space", "full"),
            "--on leaves nothing to choose: leave out --space, --stages",
        ),
        (("plan", "x", "--explain", "-o", "y"), "--explain plans nothing: leave out -o"),
        (("split", "x", "-o", "y"), "evener split: missing option '--cuts'"),
        (("split", "x", "--cuts", "1"), "evener split: missing option '-o'"),
        (("run", "x"), "evener run: missing option '--frames'"),
        (("run", "x", "--frames", "0"), "'0' is neither a count from 1 nor an .npz file"),
        (("run", "x", "--frames", "a.png"), "'a.png' is neither a count from 1 nor an .npz file"),
        (("bench",), "evener bench: missing argument 'NET...'"),
        (("bench", "x", "--rounds", "many"), "'many' is not a valid integer range"),
    ],
)
def test_wrong_arguments_are_one_line_that_names_the_remedy(
    arguments: tuple[str, ...], message: str, evener: Evener
) -> None:
    code, out, err = evener(*arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_no_verb_at_all_shows_the_help(evener: Evener) -> None:
    code, out, err = evener()

    assert (code, out) == (2, "")
    assert err.startswith("Usage: evener")


@pytest.mark.parametrize("asking", ["-h", "--help"])
@pytest.mark.parametrize("verb", ["", *main.VERBS])
def test_help_is_everywhere(verb: str, asking: str, evener: Evener) -> None:
    code, out, err = evener(*filter(None, (verb, asking)))

    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: {f'evener {verb}'.strip()}")


def test_the_version_is_printed(evener: Evener) -> None:
    from evener import __version__

    assert evener("--version") == (0, f"evener {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from evener.cli.main import execute\n"
        f"code = execute({arguments!r})\n"
        f"sys.exit(code or ','.join({HEAVY!r} & set(sys.modules)) or 0)"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_reader_that_went_away_is_no_error() -> None:
    # The reader closes before anything is written, so the write must fail.
    program = (
        "import os, sys\n"
        "from evener.cli.main import main\n"
        "sys.stdin.read()\n"
        "sys.argv = ['evener', '--help']\n"
        "main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        running.stdin.close()

        assert running.stderr.read() == b""
        assert running.wait() == 141
