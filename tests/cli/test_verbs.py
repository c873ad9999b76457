"""Every verb has the agreed options, and a help that says what each does."""

import re
from collections.abc import Callable

import click
import pytest

from evener.cli.main import VERBS, cli
from evener.cli.verb import Verb

Evener = Callable[..., tuple[int, str, str]]
# A new option is added here on purpose, or the setting belongs into evener.toml.
OPTIONS = {
    "init": ["--data", "--target"],
    "build": ["--json"],
    "search": ["--algorithm", "--budget", "--workers", "--ranks", "--json"],
    "data": ["-o", "--size", "--colours", "--fit", "--target", "--json"],
    "train": [
        "--shape",
        "--shards",
        "--halo",
        "--shuffle",
        "--coarse",
        "--input",
        "--layout",
        "--activation",
        "--data",
        "--batch",
        "--iterations",
        "--epochs",
        "--optimiser",
        "--learning-rate",
        "--precision",
        "--seed",
        "--sweep",
        "--seeds",
        "--equal-weights",
        "--auto",
        "--within",
        "--ranks",
        "--replicas",
        "--timeout",
        "--checkpoint",
        "--resume",
        "--on-failure",
        "--log",
        "-o",
        "--json",
    ],
    "verify": ["--ranks", "--timeout", "--json"],
    "processors": ["--json"],
    "profile": [
        "--granularity",
        "--max-live",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "-o",
        "--fresh",
        "--json",
    ],
    "plan": [
        "--granularity",
        "--max-live",
        "--method",
        "--objective",
        "--space",
        "--max-latency",
        "--min-rate",
        "--max-energy",
        "--memory",
        "--stages",
        "--cuts",
        "--on",
        "--explain",
        "--profile",
        "--board",
        "--transfers",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "-o",
        "--json",
    ],
    "split": [
        "--cuts",
        "-o",
        "--granularity",
        "--max-live",
        "--shape",
        "--fix",
        "--state",
        "--json",
    ],
    "run": [
        "--frames",
        "--limit",
        "--columns",
        "--id",
        "--preset",
        "--scale",
        "--mean",
        "--std",
        "--fit",
        "--out",
        "--labels",
        "--trace",
        "--annotate",
        "--plan",
        "--stages",
        "--max-latency",
        "--min-rate",
        "--profile",
        "--optimisation",
        "--credits",
        "--transport",
        "--ranks",
        "--policy",
        "--source-rate",
        "--batch",
        "--supervise",
        "--standby",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "--json",
    ],
    "serve": [
        "--plan",
        "--stages",
        "--max-latency",
        "--min-rate",
        "--profile",
        "--host",
        "--port",
        "--queue",
        "--optimisation",
        "--credits",
        "--transport",
        "--supervise",
        "--standby",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--json",
    ],
    "bench": [
        "--rounds",
        "--max-latency",
        "--little",
        "--optimisation",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--json",
    ],
    "show": ["--from", "--frames", "--svg", "--torch", "--json"],
    "selfcheck": ["--mpi", "--ranks", "--json"],
}


def verb_named(name: str) -> Verb:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, Verb)
    return found


@pytest.mark.parametrize("name", VERBS)
def test_the_options_are_the_agreed_ones(name: str) -> None:
    options = [one.opts[-1] for one in verb_named(name).params if isinstance(one, click.Option)]

    assert options == [*OPTIONS[name], "--debug"]


@pytest.mark.parametrize("name", VERBS)
def test_every_option_has_a_help_text(name: str) -> None:
    for option in verb_named(name).params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("name", VERBS)
def test_the_first_sentence_fits_into_the_list_of_verbs(name: str) -> None:
    assert not verb_named(name).get_short_help_str().endswith("...")


@pytest.mark.parametrize("name", VERBS)
def test_the_examples_are_command_lines_of_this_verb(name: str) -> None:
    import shlex

    verb = verb_named(name)

    assert verb.examples
    for example in verb.examples:
        program, called, *arguments = shlex.split(example)
        assert (program, called) == ("evener", name)
        verb.make_context(name, arguments)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_shows_the_examples_and_what_comes_next(name: str, evener: Evener) -> None:
    out = evener(name, "-h")[1]

    assert all(f"\n  {example}\n" in out for example in verb_named(name).examples)
    assert "\nWhat next:\n" in out


@pytest.mark.parametrize("name", VERBS)
def test_a_help_text_names_only_options_of_its_verb(name: str) -> None:
    options = [one for one in verb_named(name).params if isinstance(one, click.Option)]
    known = {opt for one in options for opt in one.opts}

    named = {word for one in options for word in re.findall(r"--[a-z-]+", one.help or "")}
    assert named <= known
