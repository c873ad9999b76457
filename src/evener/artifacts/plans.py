"""Several plans of one network to choose from: none of them beats another in everything."""

from typing import ClassVar

import msgspec

from evener.artifacts.plan import Plan


class Plans(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plans that no other beats in predicted rate, latency and energy.

    Attributes:
        network: name of the network.
        network_sha256: hash of the network.
        plans: quickest first; each can be run as it is.
        elapsed_s: how long planning them took, in seconds.
    """

    kind: ClassVar[str] = "plans"
    schema: ClassVar[int] = 1

    network: str
    network_sha256: str
    plans: tuple[Plan, ...]
    elapsed_s: float = 0.0
