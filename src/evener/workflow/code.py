"""Name the source that what a build keeps rests on, so that changed code runs again."""

from typing import Final

TRAIN_CODE: Final = (
    "artifacts/windows.py",
    "train",
    "search/pruning",
    "workflow/before_refit.py",
    "workflow/final.py",
    "workflow/project_rank.py",
    "workflow/pruning.py",
    "workflow/recommend.py",
)
"""What a trained network rests on."""
SEARCH_CODE: Final = (
    "artifacts/conv_stack.py",
    "artifacts/layer_graph.py",
    "artifacts/named_network.py",
    "artifacts/networks.py",
    "artifacts/windows.py",
    "search",
    "train",
    "workflow/base_models.py",
    "workflow/block_search.py",
    "workflow/coevolution.py",
    "workflow/coevolution_settings.py",
    "workflow/coevolving.py",
    "workflow/finalists.py",
    "workflow/generations.py",
    "workflow/learned.py",
    "workflow/pace.py",
    "workflow/pruning.py",  # finalists are trained in full
    "workflow/search_resume.py",
    "workflow/search_setup.py",
    "workflow/searching.py",
    "workflow/set_competition.py",
    "workflow/shortening.py",
    "workflow/trained_sets.py",
    "workflow/trial_batches.py",
)
"""What the front of a search rests on."""
PLAN_CODE: Final = (
    "plan",
    "run",
    "artifacts/trace.py",
    "workflow/live.py",
    "workflow/plan.py",
    "workflow/race.py",
    "workflow/shift.py",
)
"""What the choice of a plan rests on."""
RUN_CODE: Final = (
    "plan",
    "run",
    "artifacts/trace.py",
    "workflow/board.py",
    "workflow/near_enough.py",
    "workflow/pipeline.py",
    "workflow/place.py",
    "workflow/run.py",
    "workflow/stand_in.py",
)
"""What the figures of a run rest on."""
COMPARE_CODE: Final = (
    *RUN_CODE,
    "workflow/bench.py",
    "workflow/compared.py",
    "workflow/live.py",
    "workflow/lower_rivals.py",
    "workflow/memory.py",
    "workflow/peers.py",
    "workflow/race.py",
)
"""What a comparison of a plan with the plain ways rests on."""
