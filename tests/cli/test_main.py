"""Whatever happens becomes one line on stderr and the exit code that the help promises."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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


def test_debug_may_stand_before_the_verb(evener: Evener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "find_processors", raising(KeyError("lost")), raising=False)

    assert "Traceback (most recent call last)" in evener("--debug", "processors")[2]
    assert "--debug" in evener("-h")[1]


@pytest.fixture
def hearing() -> Iterator[None]:
    """Let the tests be stopped again: a command line that was stopped ignores further signals."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.usefixtures("hearing")
def test_ctrl_c_says_that_the_next_start_goes_on(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "build_project", raising(KeyboardInterrupt()), raising=False)

    assert evener("build", "p") == (
        130,
        "",
        "evener build: stopped; what was finished is kept, and the next start goes on from it\n",
    )


@pytest.mark.usefixtures("hearing")
def test_ctrl_c_while_a_library_is_loaded_is_no_fault_of_it(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(workflow, "build_project", raising(error), raising=False)

    code, _, err = evener("build", "p")

    assert code == 130
    assert err.startswith("evener build: stopped; ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", ""), "invalid value for 'NET': the name is empty: name a file or folder"),
        (("plan", "x", "-o", ""), "invalid value for '-o': the name is empty"),
        (("plan", "x", "--profile", ""), "invalid value for '--profile': the name is empty"),
        (("profile", ""), "invalid value for 'NET': the name is empty"),
        (("run", "", "--frames", "1"), "invalid value for 'NET': the name is empty"),
        (("run", "x", "--frames", "1", "--plan", ""), "'--plan': the name is empty"),
        (("split", "", "--cuts", "0", "-o", "x"), "invalid value for 'NET': the name is empty"),
        (("split", "x", "--cuts", "0", "-o", ""), "invalid value for '-o': the name is empty"),
        (("bench", "x", ""), "invalid value for 'NET...': the name is empty"),
        (("build", ""), "invalid value for 'PROJECT': the name is empty"),
        (("show", ""), "invalid value for 'FILE': the name is empty"),
        (("init", "x", "--data", ""), "invalid value for '--data': the name is empty"),
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
        (("plan", "x", "--shape", f"a={2**63}"), f"with sizes from 1 to {2**63 - 1}"),
        (("plan", "x", "--shape", "a=1", "--shape", "a=2"), "'a' is given twice"),
        (("plan", "x", "--processors", "cpu0,cpu0"), "'cpu0' is given twice"),
        (("profile", "x", "--runtimes", "ncnn,ncnn"), "'ncnn' is given twice"),
        (("plan", "x", "--fix", "a=b"), "'a=b' fixes no input: write NAME=NUMBER, such as sr=1"),
        (("plan", "x", "--fix", "a=nan"), "'a=nan' fixes no input"),
        (("plan", "x", "--fix", "7"), "'7' fixes no input"),
        (("plan", "x", "--fix", "a=1", "--fix", "a=2"), "'a' is given twice"),
        (("plan", "x", "--state", "hn"), "'hn' is no state: write OUTPUT=INPUT, such as stateN="),
        (("plan", "x", "--state", "=h"), "'=h' is no state"),
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
        (
            ("run", "x", "--frames", "1", "--transport", "pigeon"),
            "'pigeon' is not one of 'threads'",
        ),
        (("run", "x", "--frames", "1", "--ranks", "0"), "0 is not in the range x>=1"),
        (
            ("run", "x", "--frames", "1", "--ranks", "2", "--transport", "processes"),
            "ranks are processes already: leave out --transport or --ranks",
        ),
        (("run", "x", "--frames", "1", "--policy", "drop"), "'drop' is not one of 'block'"),
        (("plan", "x", "--precision", "int8", "--max-error", "nan"), "nan is no finite number"),
        (("plan", "x", "--precision", "int8", "--min-accuracy", "nan"), "nan is no finite number"),
        (("run", "x", "--frames", "1", "--source-rate", "0"), "0.0 is not in the range x>=1e-06"),
        (("run", "x", "--frames", "1", "--source-rate", "nan"), "nan is no finite number"),
        (("run", "x", "--frames", "1", "--source-rate", "inf"), "inf is no finite number"),
        (("run", "x", "--frames", "1", "--slowdown", "1e7"), "is not in the range 1<=x<=1000000.0"),
        (("run", "x", "--frames", "1", "--slowdown", "nan"), "nan is no finite number"),
        (("run", "x", "--frames", "a.png", "--scale", "nan"), "'nan' are no numbers: write 0.5"),
        (("run", "x", "--frames", "a.png", "--scale", "1,2"), "'1,2' are 2 numbers: write one"),
        (("run", "x", "--frames", "1", "--batch", "0"), "0 is not in the range x>=1"),
        (
            ("run", "x", "--frames", "1", "--board", "b", "--batch", "2"),
            "a board is simulated frame by frame in threads",
        ),
        (
            ("run", "x", "--frames", "0"),
            "'0' is neither a count from 1 nor frames: give an .npz file",
        ),
        (("run", "x", "--frames", "a.txt"), "'a.txt' is neither a count from 1 nor frames: give"),
        (("run", "x", "--frames", "a.png", "--mean", "1,x"), "'1,x' are no numbers: write 0.5"),
        (("run", "x", "--frames", "a.png", "--limit", "0"), "0 is not in the range x>=1"),
        (("bench",), "evener bench: missing argument 'NET...'"),
        (("bench", "x", "--max-latency", "0x"), "'0x' is no share: write such as 0.65x"),
        (("bench", "x", "--max-latency", "ax"), "'ax' is no share: write such as 0.65x"),
        (("bench", "x", "--max-latency", "20"), "'20' has no unit, and is no time: write '20 ms'"),
        (("bench", "x", "--little", "1"), "'1' is not a share from 0.01 to below 1, such as 0.4"),
        (("bench", "x", "--little", "0"), "'0' is not a share from 0.01 to below 1, such as 0.4"),
        (("bench", "x", "--little", "a"), "'a' is not a number"),
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
        "from evener.__main__ import main\n"
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


def run_in_shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command.replace("evener", f"'{sys.executable}' -m evener", 1)],
        capture_output=True,
        text=True,
        check=False,
        # What is not buffered cannot fail once more on the way out.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )


@pytest.mark.parametrize("verb", ["--version", "plan -h", "processors", "processors --json"])
@pytest.mark.parametrize(
    ("target", "why"), [("&-", "it is closed"), ("/dev/full", "No space left on device")]
)
def test_a_stdout_that_takes_nothing_is_no_fault_of_ours(verb: str, target: str, why: str) -> None:
    ended = run_in_shell(f"evener {verb} >{target}")

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f": cannot write to standard output: {why}; " in ended.stderr


def test_a_table_whose_reader_went_away_is_no_error() -> None:
    ended = run_in_shell("(sleep 0.2; evener processors; echo $? >&2) | true")

    assert ended.stderr == "141\n"


@pytest.mark.parametrize("target", ["&-", "/dev/full"])
def test_a_stderr_that_takes_nothing_leaves_the_exit_code(target: str, tmp_path: Path) -> None:
    ended = run_in_shell(f"evener show {tmp_path / 'none.json'} 2>{target}")

    assert (ended.returncode, ended.stdout) == (2, "")


def test_a_name_that_is_not_utf_8_is_a_fault_of_the_input(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = os.fsdecode(b"net\xff")
    with pytest.raises(UnicodeEncodeError) as caught:
        name.encode()
    monkeypatch.setattr(workflow, "plan_network", raising(caught.value), raising=False)

    assert evener("plan", name) == (
        2,
        "",
        "evener plan: the name 'net\\udcff' is not UTF-8; rename the file or folder\n",
    )


@pytest.mark.parametrize("signals", [1, 3])
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.4])
def test_ctrl_c_is_one_line_and_130_from_the_first_moment(signals: int, after_s: float) -> None:
    # The program says when main() imports the first module; how far it is at each signal is up to
    # the machine.
    program = (
        "import sys\n"
        "from evener.__main__ import main\n"
        "class Teller:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'evener.cli':\n"
        "            print('begun', end='', flush=True)\n"
        "sys.meta_path.insert(0, Teller)\n"
        "sys.argv = ['evener', 'bench', 'vgg19', '--rounds', '1000']\n"
        "main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(5) == "begun"
        time.sleep(after_s)
        for _ in range(signals):
            running.send_signal(signal.SIGINT)
            time.sleep(0.005)

        said = running.stderr.read()
        assert running.wait() == 130
    assert said.count("stopped") == 1
    assert "Traceback" not in said
