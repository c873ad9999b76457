"""The whole flow, joined from the verbs: what the command line and Python callers use.

Read `build.py` first: it is the flow from a dataset to a report as one function.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evener.workflow.auto import Latitude as Latitude
    from evener.workflow.auto import TrainingChoice as TrainingChoice
    from evener.workflow.auto import calibration_among as calibration_among
    from evener.workflow.auto import calibration_for as calibration_for
    from evener.workflow.auto import check_latitude as check_latitude
    from evener.workflow.auto import choose_training as choose_training
    from evener.workflow.auto import ranks_here as ranks_here
    from evener.workflow.bench import Contest as Contest
    from evener.workflow.bench import bench_networks as bench_networks
    from evener.workflow.board import OnBoard as OnBoard
    from evener.workflow.board import open_on_board as open_on_board
    from evener.workflow.board_bench import bench_on_board as bench_on_board
    from evener.workflow.board_run import run_on_board as run_on_board
    from evener.workflow.build import BuildResult as BuildResult
    from evener.workflow.build import build_project as build_project
    from evener.workflow.by_hand import plan_by_hand as plan_by_hand
    from evener.workflow.chunks import Pool as Pool
    from evener.workflow.competition import Match as Match
    from evener.workflow.competition import compete_layers as compete_layers
    from evener.workflow.cutting import Cutting as Cutting
    from evener.workflow.dominant import find_dominant as find_dominant
    from evener.workflow.explain import explain_network as explain_network
    from evener.workflow.frames import Writing as Writing
    from evener.workflow.manner import Manner as Manner
    from evener.workflow.network_cost import NetworkCost as NetworkCost
    from evener.workflow.network_cost import cost_here as cost_here
    from evener.workflow.network_cost import cost_on_board as cost_on_board
    from evener.workflow.opened import Opened as Opened
    from evener.workflow.opened import find_absent as find_absent
    from evener.workflow.opened import find_processors as find_processors
    from evener.workflow.opening import Engines as Engines
    from evener.workflow.opening import open_network as open_network
    from evener.workflow.paper import count_plans as count_plans
    from evener.workflow.pareto import plan_front as plan_front
    from evener.workflow.plan import plan_network as plan_network
    from evener.workflow.precision import PrecisionWish as PrecisionWish
    from evener.workflow.profile import profile_network as profile_network
    from evener.workflow.run import RunResult as RunResult
    from evener.workflow.run import run_network as run_network
    from evener.workflow.search import SearchResult as SearchResult
    from evener.workflow.search import pool_of as pool_of
    from evener.workflow.search import search_project as search_project
    from evener.workflow.search import workers_here as workers_here
    from evener.workflow.search_ranks import is_one_of_ranks as is_one_of_ranks
    from evener.workflow.search_ranks import search_on_rank as search_on_rank
    from evener.workflow.search_ranks import search_on_ranks as search_on_ranks
    from evener.workflow.selfcheck import SelfCheck as SelfCheck
    from evener.workflow.selfcheck import check_self as check_self
    from evener.workflow.selfcheck import known_calibration as known_calibration
    from evener.workflow.serve import Serving as Serving
    from evener.workflow.serve import serve_network as serve_network
    from evener.workflow.served import Simulation as Simulation
    from evener.workflow.split import split_network as split_network
    from evener.workflow.sweep import SweepWish as SweepWish
    from evener.workflow.sweep import prepare_sweep as prepare_sweep
    from evener.workflow.sweep import sweep_over_ranks as sweep_over_ranks
    from evener.workflow.times import Basis as Basis
    from evener.workflow.training import prepare_training as prepare_training
    from evener.workflow.training import train_over_ranks as train_over_ranks
    from evener.workflow.training_wish import TrainingWish as TrainingWish
    from evener.workflow.verify import verify_training as verify_training
    from evener.workflow.wish import Wish as Wish

# Imported when first asked for: a verb, and each process that helps it, loads what it needs.
_HOME: Final = {
    "Basis": "times",
    "BuildResult": "build",
    "Contest": "bench",
    "Cutting": "cutting",
    "Engines": "opening",
    "Latitude": "auto",
    "Manner": "manner",
    "Match": "competition",
    "NetworkCost": "network_cost",
    "OnBoard": "board",
    "Opened": "opened",
    "Pool": "chunks",
    "PrecisionWish": "precision",
    "RunResult": "run",
    "SearchResult": "search",
    "SelfCheck": "selfcheck",
    "Serving": "serve",
    "Simulation": "served",
    "SweepWish": "sweep",
    "TrainingChoice": "auto",
    "TrainingWish": "training_wish",
    "Wish": "wish",
    "Writing": "frames",
    "bench_networks": "bench",
    "bench_on_board": "board_bench",
    "build_project": "build",
    "calibration_among": "auto",
    "calibration_for": "auto",
    "check_latitude": "auto",
    "check_self": "selfcheck",
    "choose_training": "auto",
    "compete_layers": "competition",
    "cost_here": "network_cost",
    "cost_on_board": "network_cost",
    "count_plans": "paper",
    "explain_network": "explain",
    "find_absent": "opened",
    "find_dominant": "dominant",
    "find_processors": "opened",
    "is_one_of_ranks": "search_ranks",
    "known_calibration": "selfcheck",
    "open_network": "opening",
    "open_on_board": "board",
    "plan_by_hand": "by_hand",
    "plan_front": "pareto",
    "plan_network": "plan",
    "pool_of": "search",
    "prepare_sweep": "sweep",
    "prepare_training": "training",
    "profile_network": "profile",
    "ranks_here": "auto",
    "run_network": "run",
    "run_on_board": "board_run",
    "search_on_rank": "search_ranks",
    "search_on_ranks": "search_ranks",
    "search_project": "search",
    "serve_network": "serve",
    "split_network": "split",
    "sweep_over_ranks": "sweep",
    "train_over_ranks": "training",
    "verify_training": "verify",
    "workers_here": "search",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'evener.workflow' has no attribute '{name}'")
    return getattr(import_module(f"evener.workflow.{_HOME[name]}"), name)
