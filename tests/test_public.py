"""The names that `import evener` promises; one more or less is a decision, made here."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evener
from evener import workflow

PUBLIC = [
    "Basis",
    "Contest",
    "Cutting",
    "Engines",
    "EvenerClassifier",
    "EvenerError",
    "EvenerRegressor",
    "InfeasibleError",
    "InputError",
    "Manner",
    "PrecisionWish",
    "Wish",
    "Writing",
    "bench_networks",
    "bench_on_board",
    "build_project",
    "explain_network",
    "find_processors",
    "load_network",
    "plan_by_hand",
    "plan_front",
    "plan_network",
    "profile_network",
    "run_network",
    "run_on_board",
    "serve_network",
    "split_network",
]
HEAVY = {
    "torch",
    "onnxruntime",
    "onnx",
    "onnx_ir",
    "openvino",
    "numpy",
    "rich",
    "sklearn",
    "scipy",
    "click",
}


def test_the_public_names_are_the_agreed_ones() -> None:
    assert sorted(evener.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(evener, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'evener' has no attribute 'plan_netwerk'"):
        evener.plan_netwerk  # noqa: B018 - the access is what fails


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("evener", HEAVY),
        ("evener.cli.main", HEAVY - {"click"}),
        ("evener.workflow.chunks", HEAVY),
    ],
)
def test_starting_loads_nothing_heavy(module: str, heavy: set[str]) -> None:
    program = f"import sys, {module}; print(','.join({heavy!r} & set(sys.modules)))"

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ended.stdout == "\n"


def test_the_flow_finds_the_names_that_type_checkers_see() -> None:
    tree = ast.parse(Path(workflow.__file__).read_text())
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("evener.workflow.")
        for alias in node.names
    }

    assert seen == {name: f"evener.workflow.{home}" for name, home in workflow._HOME.items()}
    assert None not in [getattr(workflow, name) for name in seen]
    with pytest.raises(AttributeError, match="module 'evener.workflow' has no attribute 'plan_ne"):
        workflow.plan_netwerk  # noqa: B018 - the access is what fails
