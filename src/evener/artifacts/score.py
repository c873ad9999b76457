"""How good a network is and what it costs: what training tells the search."""

from typing import Literal

import msgspec


class Score(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an evaluation found about one network.

    Attributes:
        id: the network's id.
        status: "ok"; "stopped" if others were better after some epochs; or why there is no quality.
        quality: on the validation split, more is better; None unless ok or stopped.
        quality_error: one standard error of the quality, from the number of validation rows.
        macs: multiply-accumulates per prediction.
        weights: how many numbers it holds.
        epochs: that it was trained for.
        message: what went wrong, for people; "" if ok.
    """

    id: str
    status: Literal["ok", "stopped", "failed", "diverged", "out_of_budget"] = "ok"
    quality: float | None = None
    quality_error: float = 0.0
    macs: int = 0
    weights: int = 0
    epochs: int = 0
    message: str = ""
