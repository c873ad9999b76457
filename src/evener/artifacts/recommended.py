"""Which model of some data is best on the validation split, whatever its family."""

from typing import Final

import msgspec

NETWORK: Final = "network"
"""The family of what a search finds; those of simple models are named as these are."""


class Recommended(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that is best on the validation split.

    Attributes:
        family: "network", or the name of a simple model.
        validation: quality on the validation split, by which it was picked.
        test: quality on the test split, learning from the training split alone; None of a network
            that there was no time to train in full.
        network: quality of the chosen network on the validation split, which the simple models were
            compared with: of its trainings in full in the search, which are of dense layers, or of
            its short one where there was no time for these.
    """

    family: str
    validation: float
    test: float | None
    network: float
