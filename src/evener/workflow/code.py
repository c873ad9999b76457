"""Name the source that what a build keeps rests on, so that changed code runs again."""

from typing import Final

TRAIN_CODE: Final = ("artifacts/windows.py", "train", "search/pruning", "workflow/pruning.py")
"""What a trained network rests on."""
SEARCH_CODE: Final = (
    "artifacts/windows.py",
    "search",
    "train",
    "workflow/coevolving.py",
    "workflow/pruning.py",  # finalists are trained in full
    "workflow/set_competition.py",
    "workflow/trained_sets.py",
)
"""What the front of a search rests on."""
