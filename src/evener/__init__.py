"""Evener: from a dataset or a trained network to a service that uses every processor."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from evener.errors import EvenerError as EvenerError
from evener.errors import InfeasibleError as InfeasibleError
from evener.errors import InputError as InputError

if TYPE_CHECKING:
    from evener.network.model import load_network as load_network
    from evener.workflow import Basis as Basis
    from evener.workflow import Contest as Contest
    from evener.workflow import Cutting as Cutting
    from evener.workflow import Engines as Engines
    from evener.workflow import Manner as Manner
    from evener.workflow import PrecisionWish as PrecisionWish
    from evener.workflow import Wish as Wish
    from evener.workflow import Writing as Writing
    from evener.workflow import bench_networks as bench_networks
    from evener.workflow import bench_on_board as bench_on_board
    from evener.workflow import build_project as build_project
    from evener.workflow import explain_network as explain_network
    from evener.workflow import find_processors as find_processors
    from evener.workflow import plan_by_hand as plan_by_hand
    from evener.workflow import plan_front as plan_front
    from evener.workflow import plan_network as plan_network
    from evener.workflow import profile_network as profile_network
    from evener.workflow import run_network as run_network
    from evener.workflow import run_on_board as run_on_board
    from evener.workflow import serve_network as serve_network
    from evener.workflow import split_network as split_network
    from evener.workflow.estimators import EvenerClassifier as EvenerClassifier
    from evener.workflow.estimators import EvenerRegressor as EvenerRegressor

__version__ = "0.1.0"

# Imported when first asked for, so that `import evener` stays light.
_HOME: Final = {
    "Basis": "evener.workflow",
    "Contest": "evener.workflow",
    "Cutting": "evener.workflow",
    "Engines": "evener.workflow",
    "EvenerClassifier": "evener.workflow.estimators",
    "EvenerRegressor": "evener.workflow.estimators",
    "Manner": "evener.workflow",
    "PrecisionWish": "evener.workflow",
    "Wish": "evener.workflow",
    "Writing": "evener.workflow",
    "bench_networks": "evener.workflow",
    "bench_on_board": "evener.workflow",
    "build_project": "evener.workflow",
    "explain_network": "evener.workflow",
    "find_processors": "evener.workflow",
    "load_network": "evener.network.model",
    "plan_by_hand": "evener.workflow",
    "plan_front": "evener.workflow",
    "plan_network": "evener.workflow",
    "profile_network": "evener.workflow",
    "run_network": "evener.workflow",
    "run_on_board": "evener.workflow",
    "serve_network": "evener.workflow",
    "split_network": "evener.workflow",
}
__all__ = [  # noqa: PLE0604 - sorted names, most of them found by __getattr__
    "EvenerError",
    "InfeasibleError",
    "InputError",
    *_HOME,
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'evener' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)
