"""What networks cost on a machine, by what their blocks compute: measured once, for estimates."""

from typing import ClassVar

import msgspec

from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff


class CoreRates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a cost model knows of some cores of a processor.

    Attributes:
        processor: name of the processor.
        cores: how many of its cores compute together; 1 for a device.
        runtime: name of the runtime.
        fixed_s: seconds that any segment takes, whatever is in it.
        seconds: per unit of each feature, by its name; see `evener.network.features`.
    """

    processor: str
    cores: int
    runtime: str
    fixed_s: float
    seconds: dict[str, float]


class MachineCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cost model of a machine.

    Attributes:
        machine: its processors.
        rates: of each core set.
        hand_off: cost of passing a frame on.
        error: median of |predicted / measured - 1| over networks that the model was not fitted to.
        error_p90: 90th percentile of the same.
    """

    kind: ClassVar[str] = "machine-costs"
    schema: ClassVar[int] = 1

    machine: Machine
    rates: tuple[CoreRates, ...]
    hand_off: HandOff
    error: float
    error_p90: float
