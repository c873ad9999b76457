"""The names that `import evener` promises; one more or less is a decision, made here."""

import subprocess
import sys

import pytest

import evener

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
    [("evener", HEAVY), ("evener.cli.main", HEAVY - {"click"})],
)
def test_starting_loads_nothing_heavy(module: str, heavy: set[str]) -> None:
    program = f"import sys, {module}; print(','.join({heavy!r} & set(sys.modules)))"

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ended.stdout == "\n"
